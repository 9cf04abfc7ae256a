"""What a program loads for a call, by name: a clock would say what else the machine does."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

_CODE = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module

program, calls, environment = json.loads(sys.argv[1])
os.environ.update(environment)
main = import_module(program + ".cli").main
found = []
for words in calls:
    sys.argv = [program, *words]
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        try:
            main()
        except SystemExit:
            pass
    found.append([output.getvalue(), sorted(sys.modules)])
print(json.dumps(found))
"""


def calls_of_a_program(
    program: str, *calls: Sequence[str], environment: Mapping[str, str] | None = None
) -> list[tuple[str, set[str]]]:
    """What each call prints, and all modules that are loaded after it; the calls are made in one new process."""
    told = json.dumps([program, calls, dict(environment or {})])
    done = subprocess.run([sys.executable, "-c", _CODE, told], capture_output=True, text=True, check=True)
    return [(output, set(modules)) for output, modules in json.loads(done.stdout)]


def completion(program: str, typed: str) -> dict[str, str]:
    """The environment in which bash asks a program how the typed words go on."""
    return {
        f"_{program.upper()}_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
    }
