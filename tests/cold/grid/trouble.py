"""A method that goes wrong when its second task begins, in the way that a file says, so that it can be mended."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from cold.methods.finetune import FineTune


class Trouble(FineTune):
    name = "trouble"
    title = "Trouble"

    @dataclass(frozen=True)
    class Options:
        order: str = ""  #: a file with "raise", "kill" or "kill once"; none: all is well

    def begin_task(self, task, train):
        super().begin_task(task, train)
        order = Path(self.options.order)
        if task == 0 or not order.is_file():
            return
        what = order.read_text()
        if what == "raise":
            raise RuntimeError("told to\nfail")
        if what == "kill once":
            order.unlink()
        os.kill(os.getpid(), signal.SIGKILL)
