"""After a kill at any moment a run goes on and ends with the very same weights and results.

In CI five kills; COLD_KILLS=20 asks for more.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest
import torch

from cold.checkpoint import checkpoints, load_latest, read_checkpoint, save_checkpoint
from cold.runs import only_writer, read_result
from cold.trainer import Stopped, Trainer
from coldtheory.ground.errors import ColdError
from tests.cold.tiny_runs import killed_config, run_cold, run_killed_config, same_results, tiny
from tests.crash_states import contents, record, replayed, states

KILLS = int(os.environ.get("COLD_KILLS", "5"))


def stop_after(steps: int):
    """Asked at every step; says stop at the given one."""
    count = iter(range(10**9))
    return lambda: next(count) + 1 >= steps


def same_weights(left: Path, right: Path) -> None:
    assert (left / "model.safetensors").read_bytes() == (right / "model.safetensors").read_bytes()


# ---------------------------------------------------------------------------------------------- in one process


@pytest.mark.torch_kernels
@pytest.mark.parametrize("changes", [
    {"method": "cold"}, {"method": "cold", "queue_update": "epoch"}, {"method": "cold-oracle"}, {"method": "er"},
    {"method": "cold-oracle", "oracle": "streaming", "replay": "mixed"}, {"method": "finetune", "optimizer": "sgdm"},
    {"method": "er", "memory_policy": "reservoir", "replay": "mixed"},
    {"model": "resnet18", "width": 2, "augment": True, "memory_batch": 3},
    {"method": "er", "average": 0.9}, {"reference": "stored", "controller": "nupi"},
    {"reference": "best", "controller": "yu-neely"},
    {"controller": "yu-neely", "queue_update": "epoch"}, {"reference": "stored", "controller": "augmented"},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("step", [1, 6, 10])
def test_stopped_runs_end_the_same(changes, step, tmp_path):
    """Stopped in the first task, at its last step, in the middle of the second."""
    config = tiny(**changes)
    whole = Trainer(config, out=tmp_path / "whole").run()
    with pytest.raises(Stopped):
        Trainer(config, out=tmp_path / "parts", should_stop=stop_after(step)).run()
    trainer = Trainer(config, out=tmp_path / "parts")
    result = trainer.run(resume=True)
    assert trainer.resumed
    same_results(whole, result)
    same_weights(tmp_path / "whole" / whole.run_id, tmp_path / "parts" / whole.run_id)
    assert checkpoints(tmp_path / "parts" / whole.run_id) == []  # a finished run needs none


def test_resume_without_a_checkpoint_starts(tmp_path):
    trainer = Trainer(tiny(), out=tmp_path)
    trainer.run(resume=True)
    assert not trainer.resumed


def test_short_epochs_are_kept_too(tmp_path):
    """A checkpoint is due after N minutes however few steps an epoch has."""

    def lost() -> bool:
        if trainer.position.total == 10:  # in the fourth epoch of three steps
            raise MemoryError
        return False

    trainer = Trainer(tiny(epochs=5), out=tmp_path, checkpoint_every=0.0, should_stop=lost)
    with pytest.raises(MemoryError):
        trainer.run()
    again = Trainer(tiny(epochs=5), out=tmp_path)
    same_results(Trainer(tiny(epochs=5), out=tmp_path / "whole").run(), again.run(resume=True))
    assert again.resumed


# ---------------------------------------------------------------------------------------------- damage


def damaged(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "flipped":
        path.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
    else:
        path.write_bytes(b"")


@pytest.mark.parametrize("how", ["truncated", "flipped", "empty"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(how, tmp_path, capsys):
    whole = Trainer(tiny(), out=tmp_path / "whole").run()
    with pytest.raises(Stopped):
        Trainer(tiny(), out=tmp_path / "parts", should_stop=stop_after(15)).run()
    folder = tmp_path / "parts" / whole.run_id
    newest, before = checkpoints(folder)
    damaged(newest, how)
    assert read_checkpoint(before)["position"]["total"] == 12
    result = Trainer(tiny(), out=tmp_path / "parts").run(resume=True)
    same_results(whole, result)
    same_weights(tmp_path / "whole" / whole.run_id, folder)
    assert "damaged" in capsys.readouterr().err


def test_all_damaged_is_an_error(tmp_path):
    path = save_checkpoint(tmp_path, 1, {"a": torch.zeros(3)})
    damaged(path, "truncated")
    with pytest.raises(ColdError, match=r"no checkpoint .* can be read .* --fresh"):
        load_latest(tmp_path)


def test_a_checkpoint_can_run_no_code(tmp_path):
    """weights_only: a pickle with a call in it is refused."""
    path = save_checkpoint(tmp_path, 1, {"harm": Trainer})
    with pytest.raises(ColdError, match="cannot be read"):
        read_checkpoint(path)


def test_two_are_kept(tmp_path):
    for step in range(5):
        save_checkpoint(tmp_path, step, {"step": step})
    assert [read_checkpoint(path)["step"] for path in checkpoints(tmp_path)] == [4, 3]


def test_other_settings_are_refused(tmp_path):
    with pytest.raises(Stopped):
        Trainer(tiny(), out=tmp_path, should_stop=stop_after(3)).run()
    here, there = tmp_path / tiny().run_id, tmp_path / tiny(V=3.0).run_id
    here.rename(there)
    with pytest.raises(ColdError, match="other settings"):
        Trainer(tiny(V=3.0), out=tmp_path).run(resume=True)


def test_a_full_disk_at_each_write_and_with_room_again_the_same_result(tmp_path, monkeypatch):
    """The disk is full from the first write on, from the second, and so on; each time the run goes on afterwards."""
    whole = Trainer(tiny(), out=tmp_path / "whole").run()
    real, room = os.fsync, [0]

    def sync(file):
        if room[0] == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= 1
        real(file)

    for number in range(100):
        out = tmp_path / f"{number}"
        room[0] = number
        with monkeypatch.context() as patch:
            patch.setattr("coldtheory.ground.files.os.fsync", sync)
            try:
                Trainer(tiny(), out=out).run()
                break  # there was room for everything
            except ColdError as error:
                assert "No space left on device" in str(error)  # noqa: PT017
        again = Trainer(tiny(), out=out)
        same_results(whole, again.run(resume=True))
        same_weights(tmp_path / "whole" / whole.run_id, out / whole.run_id)
        assert not list(out.rglob(".scratch*"))
    assert number > 10


@pytest.mark.parametrize("when", [2, 5, 9])
def test_a_results_folder_that_is_deleted_during_a_run(when, tmp_path):
    """The run makes it anew and ends as if nothing had happened."""
    whole = Trainer(tiny(), out=tmp_path / "whole").run()
    count = iter(range(10**9))

    def delete():
        if next(count) == when:
            shutil.rmtree(tmp_path / "runs")
        return False

    trainer = Trainer(tiny(), out=tmp_path / "runs", should_stop=delete)
    with only_writer(trainer.folder):
        trainer.run()
    assert next(count) > when
    folder = tmp_path / "runs" / whole.run_id
    same_results(whole, read_result(folder))
    same_weights(tmp_path / "whole" / whole.run_id, folder)
    assert not list((tmp_path / "runs").rglob(".lock"))


_SAVES = """
from cold.checkpoint import save_checkpoint
for step in (1, 2, 3, 4):
    save_checkpoint(folder / "run", step, {"step": step, "weights": b"%d" % step * 3000})
    done(step)
"""


@pytest.mark.needs("gcc")
def test_a_loss_of_power_at_any_point_leaves_the_last_checkpoint_or_the_new_one(tmp_path):
    folder, before = tmp_path / "folder", tmp_path / "before"
    folder.mkdir()
    before.mkdir()
    calls = record(_SAVES, folder, tmp_path / "scratch")
    assert replayed(before, calls, tmp_path / "again") == contents(folder)
    for state in states(before, calls, tmp_path):
        found = load_latest(state.folder / "run")
        step = 0 if found is None else found[0]["step"]
        assert found is None or found[1] == [], state  # no damaged one had to be passed over
        assert step in (state.marks, state.marks + 1), state


# ---------------------------------------------------------------------------------------------- killed processes


@pytest.fixture(scope="module")
def processes():
    """New processes that need not import torch again: forked from a server that did."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cold.cli.app", "tiny_runs"])
    return context


@pytest.mark.slow
def test_killed_at_random_moments(processes, tmp_path):
    """kill -9, again and again, while it trains, evaluates and writes (a checkpoint every epoch of three steps)."""
    parts = tmp_path / "parts"
    whole = Trainer(killed_config(), out=tmp_path / "whole").run()
    far = 2 * whole.timing["steps"] // KILLS  # so that most kills fall after a new checkpoint, before the end
    folders = tmp_path / "whole" / whole.run_id, parts / whole.run_id
    moments = random.Random(0)
    kills = positions = 0
    steps = processes.Value("i", 0)
    while kills < KILLS:
        steps.value = 0
        process = processes.Process(target=run_killed_config, args=(parts, steps))
        process.start()
        until = moments.randrange(far)
        while steps.value < until and process.is_alive():
            time.sleep(0.001)
        process.join(moments.uniform(0.0, 0.05))
        process.kill()
        process.join()
        if process.exitcode == 0:  # it was faster than the kill: check, and begin another one
            same_weights(*folders)
            shutil.rmtree(parts)
            continue
        assert process.exitcode == -signal.SIGKILL
        kills += 1
        positions += bool(checkpoints(folders[1]))
    assert positions > KILLS / 2  # most of the kills met a run that had something to lose
    process = processes.Process(target=run_killed_config, args=(parts, steps))
    process.start()
    process.join()
    assert process.exitcode == 0
    same_results(whole, read_result(folders[1]))
    same_weights(*folders)
    assert checkpoints(folders[1]) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_signal_saves_and_exits(processes, number, tmp_path):
    words = ["run", "--dataset", "synthetic", "--tasks", "2", "--epochs", "100000", "--memory", "10", "--threads", "1"]
    errors = tmp_path / "stderr"
    process = processes.Process(target=run_cold, args=([*words, "--out", str(tmp_path / "runs")], errors))
    process.start()
    while not list(tmp_path.glob("runs/*/.lock")):  # from then on it listens; it looks for signals after each step
        assert process.is_alive(), errors.read_text()
        time.sleep(0.05)
    os.kill(process.pid, number)
    process.join(600)  # only so that a run which does not stop is a failure, not an endless test
    assert process.exitcode == 128 + number
    assert "go on with --resume" in errors.read_text()
    (saved,) = tmp_path.glob("runs/*/checkpoint-*.pt")
    assert read_checkpoint(saved)["position"]["total"] > 0
