"""`run.summary()` and `run.plot()`: one run, settings, streams; and one look with all other figures."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from coldtheory import ColdError, DivergenceWarning, _plots, make_tasks, simulate
from coldtheory.figures import style


def test_one_run_in_words():
    run = simulate(make_tasks("conflict", seeds=0, T=20), V=200.0)
    title, more, gradient, forgetting, queues, steps = run.summary().splitlines()
    assert title.startswith("20 tasks with 25 parameters, V = 200, eta = 0.0004, steps = 3, delta = 4e-07")
    assert more == "  reference previous, weights mean"
    assert max(map(len, run.summary().splitlines())) <= 80
    assert f"{run.avg_grad_sq_before:.3g} before a task" in gradient
    assert f"{run.avg_forgetting:.3g} on average" in forgetting
    assert f"{int((run.Q.max(axis=0) > 0).sum())} of 20 ever fill" in queues
    assert f"reaches {(run.eta * run.alpha).max():.3g}" in steps


def test_the_minimiser_has_no_steps():
    text = simulate([[0.0], [1.0]], V=1.0, solver="exact", delta=0.0).summary()
    assert "the minimiser" in text
    assert "eta" not in text


def test_settings_are_rows_and_streams_are_averaged():
    run = simulate(make_tasks("high", seeds=range(3), T=12), V=[10.0, 100.0], delta=0.1)
    title, more, names, first, second = run.summary().splitlines()
    assert "3 streams" in title
    assert "delta = 0.1" in title + more
    assert names.split() == ["V", "gradient", "before", "after", "forgetting", "queue"]
    assert [float(x) for x in second.split()][:2] == [100.0, float(f"{run.avg_grad_sq_before[:, 1].mean():.4g}")]
    assert first.split()[0] == "10"


def test_streams_of_one_setting_are_one_row():
    lines = simulate(make_tasks("high", seeds=range(3), T=12), V=100.0).summary().splitlines()
    assert len(lines) == 4
    assert "V = 100" in lines[0]


def test_many_settings_are_shown_by_some():
    lines = simulate(make_tasks("low", seeds=0, T=5), V=np.arange(1.0, 101.0)).summary().splitlines()
    assert lines[-1] == "(100 settings, of which these are some)"
    assert len(lines) == 24 + 4


def test_a_run_that_diverged_says_so():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        one = simulate([[0.0], [1.0]] * 20, V=1.0, eta=3.0)
        two = simulate([[0.0], [1.0]] * 20, V=[1.0, 2.0], eta=1.5)
    assert "the models left every bounded set: take a smaller eta" in one.summary()
    assert any(line.endswith("diverged") for line in two.summary().splitlines())


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_pictures_are_kept(kind, tmp_path):
    path = tmp_path / f"run.{kind}"
    simulate(make_tasks("conflict", seeds=0, T=12), V=200.0).plot(path)
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("tasks", "settings", "panels"),
    [
        (make_tasks("conflict", seeds=0, T=12), {"V": 200.0}, 3),  # with the bar of colours
        (make_tasks("low", seeds=0, T=12), {"V": 0.1}, 3),  # no queue ever fills
        (make_tasks("high", seeds=0, T=12), {"V": [10.0, 100.0]}, 3),
        (make_tasks("high", seeds=range(25), T=6), {"V": [10.0, 100.0]}, 3),
        (make_tasks("high", seeds=range(2), T=6), {"V": 10.0}, 3),
        (make_tasks("high", seeds=0, T=6), {"V": 10.0, "delta": [0.0, 0.1]}, 3),
    ],
)
def test_every_kind_of_run_can_be_drawn(tasks, settings, panels):
    figure = simulate(tasks, **settings).plot()
    assert len(figure.axes) == panels
    assert figure._repr_png_()[:4] == b"\x89PNG"


def test_a_sweep_is_drawn_over_what_varies():
    figure = simulate(make_tasks("high", seeds=0, T=6), V=10.0, delta=[0.1, 0.3, 0.2]).plot()
    assert {ax.get_xlabel() for ax in figure.axes} == {"delta"}
    (line,) = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert line.get_xdata().tolist() == [0.1, 0.2, 0.3]


def test_another_ending_is_refused():
    with pytest.raises(ColdError, match=r"must end in \.png"):
        simulate([[0.0], [1.0]], V=1.0).plot("run.jpg")


def test_the_colours_are_those_of_all_figures():
    assert style.PALETTE[:3] == [_plots.BLUE, _plots.ORANGE, _plots.GREEN]
    assert style.GREY == _plots.GREY
