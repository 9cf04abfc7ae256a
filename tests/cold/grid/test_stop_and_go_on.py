"""Runs that stop after some tasks and go on later: the same result as in one piece."""

from __future__ import annotations

import pytest

from cold.checkpoint import checkpoints
from cold.grid import Engine, fill
from cold.runs import read_result
from cold.trainer import Stopped, Trainer
from tests.cold.tiny_runs import same_results, tiny


@pytest.mark.parametrize("method", ["cold", "der"])
def test_a_run_stops_between_tasks_and_goes_on(tmp_path, method):
    config = tiny(method=method, tasks=3)
    for until in (1, 2, 2):  # a second call with the same number does nothing
        trainer = Trainer(config, out=tmp_path)
        with pytest.raises(Stopped):
            trainer.run(resume=True, until=until)
        assert (trainer.position.task, len(trainer.record.accuracy)) == (until, until)
    same_results(Trainer(config, out=tmp_path).run(resume=True, until=3), Trainer(config).run())


def test_without_boundaries_a_run_stops_when_tasks_have_ended(tmp_path):
    """One window has all tasks: there is nowhere to stop before the end."""
    config = tiny(method="er", windows=1, epochs=1, scenario="class", memory_policy="reservoir", replay="mixed",
                  options={"fill": "stream"})  # fmt: skip
    same_results(Trainer(config, out=tmp_path).run(until=1), Trainer(config).run())


def test_a_grid_that_stops_and_goes_on(tmp_path):
    config = tiny(tasks=3)
    whole = Trainer(config).run()
    for until in (1, 2):
        events = []
        report = fill([config], tmp_path, engine=Engine("serial"), until=until, on_event=events.append)
        (event,) = events
        assert (event.state, event.acc) == ("stopped", whole.over_tasks("acc")[until - 1])
        assert (report.stopped, report.done, report.folders) == ((event.run_id,), (), {})
        assert checkpoints(tmp_path / event.run_id)
    report = fill([config], tmp_path, engine=Engine("serial"))
    (folder,) = report.folders.values()
    same_results(read_result(folder), whole)
    assert not checkpoints(folder)
    assert fill([config], tmp_path, engine=Engine("serial"), until=1).reused == report.done  # finished is finished
