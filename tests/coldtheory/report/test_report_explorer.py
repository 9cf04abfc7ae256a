"""The page's own simulation against the Python simulator and bounds: gradients, queues, averages, bounds, pictures."""

from __future__ import annotations

import json
import re
import warnings
from itertools import product

import numpy as np
import pytest

from coldtheory import make_tasks, simulate
from coldtheory.bounds import evaluate, facts_of
from coldtheory.controllers import controller_of
from coldtheory.ground.errors import DivergenceWarning
from coldtheory.sources import load_source
from tests.coldtheory.report.explorer_driver import choose, choose_settings, open_at, open_page, redraws, seen

pytestmark = pytest.mark.needs("chromium")

PAPER = {"V": 200.0, "eta": 4e-4, "delta": 4e-7, "steps": 3}
SETTINGS = (
    PAPER,
    {"V": 50.0, "eta": 1e-4, "delta": 1e-2, "steps": 1},
    {"V": 5.0, "eta": "auto", "delta": 1e-5, "steps": 5},
    {"V": 1000.0, "eta": 1e-3, "delta": 1e-3, "steps": 10},
    {"V": 3000.0, "eta": 9e-4, "delta": 4e-7, "steps": 1},  # diverges
)
STREAMS = (("low", 0, 40), ("high", 1, 150), ("high", 2, 7), ("conflict", 2, 60), ("conflict", 0, 2))
RTOL = 1e-9


@pytest.fixture(scope="module")
def explorer(chrome, page):
    open_page(chrome, page)
    return chrome


def python_run(s):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        names = ("V", "eta", "delta", "steps", "reference", "weights")
        tasks = s["tasks"] if "tasks" in s else make_tasks(s["regime"], s["seed"], T=s["T"])
        return simulate(tasks, **{name: s[name] for name in names}, controller=s.get("controller_text"))


def close(found, wanted, scale):
    wanted = np.asarray(wanted)
    found = np.asarray(found, dtype=float).reshape(wanted.shape)
    assert np.abs(found - wanted).max() <= RTOL * scale


def same_run(shown, run):
    """All series and every queue, each within RTOL of its own largest entry (gradients: of the first ones)."""
    largest = run.grad_sq_before.max()
    close(shown["grad_sq_before"], run.grad_sq_before, largest)
    close(shown["grad_sq_after"], run.grad_sq_after, largest)
    close(shown["w"], run.w, np.abs(run.w).max())
    for name, wanted in (("Q", run.Q), ("Qbar", run.Qbar), ("Delta", run.Delta), ("alpha", run.alpha), ("eta", run.eta),
                         ("lyapunov", run.lyapunov)):  # fmt: skip
        close(shown[name], wanted, np.abs(wanted).max())
    size = max(np.abs(run.forgetting).max(), largest)
    close(shown["avg_forgetting"], run.avg_forgetting, size)
    close(shown["max_forgetting"], run.max_forgetting, size)


def same_bounds(shown, run):
    facts = facts_of(run)
    close(shown["r"], facts.r_models, facts.r_models)
    close(
        shown["D_phi_trajectory"],
        facts.variation("trajectory").mean(),
        max(float(facts.variation("trajectory").mean()), 1e-300),
    )
    for bound in shown["list"]:
        id_, form = bound["form"].split()
        whole = evaluate(id_, form, facts)
        assert (bound["missing"] is None) == bool(whole.applicable), (bound, dict(whole.assumptions))
        if bound["missing"] is not None:
            continue
        lhs, rhs = float(whole.lhs.max()), float(whole.rhs.max())
        if form == "a_priori":  # the page has no set W: r at the models, which is all that the proof needs
            rhs = float(0.5 * facts.r_models**2 * (facts.T - 1))
        close(bound["measured"], lhs, max(lhs, 1e-300))
        close(bound["bound"], rhs, float(whole.scale.max()))


@pytest.mark.parametrize("weights", ["mean", "sum", "none"])
@pytest.mark.parametrize("reference", ["previous", "best", "stored"])
@pytest.mark.parametrize(("regime", "seed", "T"), STREAMS)
def test_the_page_simulates_what_python_simulates(explorer, regime, seed, T, reference, weights):
    diverged = []
    for numbers in SETTINGS:
        s = {"regime": regime, "seed": seed, "T": T, "reference": reference, "weights": weights, **numbers}
        choose_settings(explorer, s)
        shown = seen(explorer)
        assert {name: shown["state"][name] for name in ("regime", "seed", "T", "V")} == {
            name: s[name] for name in ("regime", "seed", "T", "V")
        }
        run = python_run(s)
        diverged.append(bool(run.diverged))
        assert shown["run"]["diverged"] == diverged[-1]
        if not run.diverged:
            same_run(shown["run"], run)
            same_bounds(shown["bounds"], run)
    assert not all(diverged)


CONTROLLED = (
    {"V": 50.0, "eta": 1e-4, "delta": 1e-2, "steps": 3},
    {"V": 5.0, "eta": "auto", "delta": 1e-5, "steps": 1},
)


@pytest.mark.parametrize("controller", ["leaky", "leaky:a=0.5", "nupi", "nupi:kappa_i=0.2,kappa_p=3,nu=0.7", "yu-neely",
                                        "augmented", "augmented:c=0.01"])  # fmt: skip
@pytest.mark.parametrize("reference", ["previous", "best", "stored"])
def test_the_page_has_the_controllers_of_python(explorer, reference, controller):
    diverged = []
    for numbers, (regime, seed, T), weights in product(CONTROLLED, STREAMS[1:4:2], ("mean", "sum")):
        s = {"regime": regime, "seed": seed, "T": T, "reference": reference, "weights": weights, **numbers}
        choose_settings(explorer, {**s, "controller": controller})
        shown = seen(explorer)
        told = controller_of(controller)
        assert (shown["state"]["controller"], shown["state"]["parameters"]) == (told.name, vars(told))
        run = python_run(s | {"controller_text": controller})
        diverged.append(bool(run.diverged))
        assert shown["run"]["diverged"] == diverged[-1]
        if not run.diverged:
            same_run(shown["run"], run)
            same_bounds(shown["bounds"], run)
    assert not all(diverged)


@pytest.mark.parametrize("width", [360, 1400])
def test_a_moved_slider_changes_the_plotted_numbers(chrome, page, width):
    """Everything that is shown, read back from the page: numbers, the table, the curve and the heatmap's colours."""
    open_page(chrome, page, width)
    chrome.run("document.getElementById('numbers').open = true")
    before = drawn(chrome)
    choose(chrome, V=1.5)  # the slider is logarithmic: 10^1.5 with three digits
    shown = seen(chrome)["state"]
    assert shown["V"] == 31.6
    run = python_run(shown)
    now = drawn(chrome)
    assert now["path"] != before["path"]
    close(now["table"][:, 0], run.grad_sq_before, run.grad_sq_before.max())
    close(now["table"][:, 1], run.grad_sq_after, run.grad_sq_before.max())
    close(now["table"][:, 2], run.Qbar, run.Qbar.max())
    close(now["numbers"], [run.avg_grad_sq_before, run.avg_Qbar], 1.0)
    points = np.array(re.findall(r"[ML]([\d.]+) ([\d.]+)", now["path"]), dtype=float)
    assert on_one_line(points[:, 0], np.arange(1.0, 151.0)) < 0.02  # pixels
    assert on_one_line(points[:, 1], np.log10(run.grad_sq_before)) < 0.02
    curve = now["curve"]  # the present setting is its last entry
    assert curve[-1, 0] == 31.6
    assert len(curve) > 8
    runs = python_run(shown | {"V": curve[:, 0]})
    assert on_one_line(curve[:, 1], np.log10(runs.avg_Qbar)) < 0.02
    assert on_one_line(curve[:, 2], np.log10(runs.avg_grad_sq_before)) < 0.02
    colours = np.array(now["pixels"], dtype=float).reshape(150, 150, 4)[::-1]  # row k-1, column t-1
    past = np.tri(150, k=-1, dtype=bool)  # [t-1, k-1], k < t
    assert np.array_equal(colours[..., 3].T, np.where(past, 255, 0))
    bright = colours[..., :3].sum(axis=-1).T[past]
    order = np.argsort(run.Q[1:][past])
    assert np.diff(bright[order]).min() >= -3  # brighter with the queue, up to rounding of three channels
    assert bright.max() - bright.min() > 300


def drawn(chrome):
    place = "(c => [+c.dataset.v, c.cx.baseVal.value, c.cy.baseVal.value])"
    cells = "(r => [...r.cells].slice(1).map(c => +c.textContent))"
    return {
        "path": chrome.run("document.querySelector('#plot-gradient .c-before').getAttribute('d')"),
        "table": np.array(chrome.run(f"[...document.querySelectorAll('#series-rows tr')].map({cells})")),
        "numbers": chrome.run("['n-avg_grad_sq_before', 'n-avg_Qbar'].map(id => +document.getElementById(id).value)"),
        "curve": np.array(chrome.run(f"[...document.querySelectorAll('#plot-tradeoff circle')].map({place})")),
        "pixels": chrome.run("[...document.getElementById('heat').getContext('2d').getImageData(0, 0, 150, 150).data]"),
    }


def on_one_line(pixels, values):
    """The largest distance of the pixels from the best affine map of the values."""
    design = np.stack([values, np.ones_like(values)], axis=1)
    return np.abs(design @ np.linalg.lstsq(design, pixels, rcond=None)[0] - pixels).max()


def test_each_control_has_an_effect(explorer):
    choose_settings(
        explorer, {"regime": "conflict", "seed": 0, "T": 40, "reference": "previous", "weights": "mean", **PAPER}
    )
    start = seen(explorer)
    shown = [start["summary"]]
    for change in ({"V": 1.0}, {"delta": -1.0}, {"eta": -4.5}, {"steps": 1}, {"T": 30}, {"regime": "low"}, {"seed": 1},
                   {"regime": "conflict"}, {"reference": "best"}, {"weights": "sum"}, {"eta-auto": True}):  # fmt: skip
        choose(explorer, **change)
        assert seen(explorer)["summary"] not in shown, change
        shown.append(seen(explorer)["summary"])


@pytest.mark.parametrize("preset", ["paper", "conflict", "tight"])
def test_the_examples_run(chrome, page, preset):
    open_page(chrome, page)
    chrome.run(f"document.querySelector('[data-preset={preset}]').click()")
    chrome.wait("document.getElementById('explorer').dataset.redraws > 1")
    shown = seen(chrome)
    run = python_run(shown["state"] | {"eta": shown["state"]["eta"] or "auto"})
    assert not run.diverged
    same_run(shown["run"], run)
    same_bounds(shown["bounds"], run)


def test_a_diverged_run_is_said_and_not_drawn(chrome, page):
    open_page(chrome, page)
    before = redraws(chrome)
    chrome.run("document.querySelector('[data-preset=wild]').click()")
    chrome.wait(f"document.getElementById('explorer').dataset.redraws > {before}")
    assert python_run(seen(chrome)["state"]).diverged
    assert "diverged at task" in chrome.run("document.getElementById('warning').textContent")
    for plot in ("gradient", "queue", "mean"):
        assert chrome.run(f"document.querySelectorAll('#plot-{plot} path').length") == 0
        assert "diverged" in chrome.run(f"document.getElementById('plot-{plot}').textContent")
    assert chrome.run("document.querySelector('#plot-tradeoff .now')") is None
    assert chrome.run("[...document.querySelectorAll('.numbers data')].map(d => d.textContent)") == ["–"] * 10
    assert chrome.run("document.querySelectorAll('#bounds-rows data').length") == 0
    text = chrome.run("document.getElementById('explorer').innerText")
    assert "NaN" not in text
    assert "Infinity" not in text
    chrome.run("document.querySelector('[data-preset=paper]').click()")
    chrome.wait(f"document.getElementById('explorer').dataset.redraws > {before + 1}")
    assert chrome.run("document.querySelectorAll('#plot-gradient .line').length") == 2
    assert chrome.complaints() == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("V", "", "V is empty: type a number from 1e-6 to 1e9, such as 200."),
        ("V", "abc", "V: “abc” is not a number; type a number from 1e-6 to 1e9, such as 200."),
        ("V", "-1", "V: -1 is too small; type a number from"),
        ("V", "0", "V: 0 is too small;"),
        ("V", "1e99", "V: 1e99 is too large;"),
        ("V", "NaN", "V: “NaN” is not a number;"),
        ("V", "0x10", "V: “0x10” is not a number;"),
        ("delta", "0,5", "δ: “0,5” has a comma; write 0.5."),
        ("eta", "<b>x</b>", "η: “<b>x</b>” is not a number;"),
        ("steps", "2.5", "J: 2.5 is not a whole number; type a whole number from 1 to 1000, such as 3."),
        ("T", "q", "T: “q” is not a number; type a whole number from 2 to 150, such as 150."),
    ],
)
def test_a_number_that_cannot_be_is_said_in_one_line_and_changes_nothing(chrome, page, name, text, said):
    open_page(chrome, page)
    start, box = seen(chrome)["state"][name], f"document.getElementById('{name}-number')"
    complaint = f"document.getElementById('{name}-complaint')"
    assert not chrome.run(f"{complaint}.checkVisibility()")
    chrome.run(f"{box}.focus(); {box}.select()")
    chrome.type(text) if text else chrome.run(f"{box}.value = ''; {box}.dispatchEvent(new Event('input'))")
    assert chrome.run(f"{box}.checkValidity()") is False
    told = chrome.run(f"{complaint}.textContent")
    assert told.startswith(said)
    assert told.endswith(f"Until then it stays {chrome.run(f'String({start!r})')}.")
    assert chrome.run(f"{complaint}.checkVisibility()")
    assert seen(chrome)["state"][name] == start
    chrome.run(f"{box}.blur(); {box}.dispatchEvent(new Event('change'))")
    assert float(chrome.run(f"{box}.value")) == start
    assert chrome.run(f"{complaint}.textContent") == told  # it can still be read
    choose(chrome, **{f"{name}-number": {"V": 3, "delta": 3, "eta": 3, "steps": 4, "T": 5}[name]})
    assert chrome.run(f"{complaint}.textContent") == ""
    assert chrome.complaints() == []


def test_wrong_parameters_are_said_in_one_line(chrome, page):
    open_page(chrome, page)
    choose(chrome, controller="leaky")
    box = "document.getElementById('parameters')"
    chrome.run(f"{box}.value = 'a=x'; {box}.dispatchEvent(new Event('input'))")
    told = chrome.run("document.getElementById('parameters-complaint').textContent")
    assert told == "“a=x” cannot be read; type a=0.01 with numbers of your own."
    assert seen(chrome)["state"]["parameters"] == {"a": 0.01}


# ---------------------------------------------------------------------------------------------------
# links to a setting


SETTING = {
    "regime": "conflict", "seed": 2, "T": 60, "reference": "best", "weights": "sum", "V": 31.5, "eta": 2e-4,
    "delta": 0.015, "steps": 2, "controller": "nupi:kappa_i=0.5,kappa_p=2,nu=0.25",
}  # fmt: skip


def state_of(chrome):
    return {name: value for name, value in seen(chrome)["state"].items() if name != "cursor"}


def link(chrome):
    """What the button gives, whatever the browser says to copying."""
    chrome.run("document.getElementById('copy-link').click()")
    chrome.wait("document.getElementById('copied').textContent !== ''")
    return chrome.run("location.href")


def test_a_link_brings_a_setting_back(chrome, page):
    open_page(chrome, page)
    assert chrome.run("location.hash") == ""  # nothing to say of the paper's setting
    choose_settings(chrome, SETTING)
    choose(chrome, log=True)
    before, address = seen(chrome), link(chrome)
    assert "#explorer:" in address
    chrome.wait("location.hash.startsWith('#explorer:')")  # the address follows by itself, too
    open_at(chrome, page, "#" + address.partition("#")[2])
    after = seen(chrome)
    assert state_of(chrome)["log"] is True
    assert after["state"] == before["state"]
    assert after["run"] == before["run"]
    assert float(chrome.run("document.getElementById('V-number').value")) == SETTING["V"]
    assert chrome.run("document.getElementById('parameters').value") == "kappa_i=0.5,kappa_p=2,nu=0.25"
    chrome.run("location.hash = '#explorer:eta=auto'")  # another link in the same page: all else is the paper's
    chrome.wait("document.getElementById('explorer').now.state.eta === null")
    assert state_of(chrome) == {
        "regime": "high", "seed": 0, "T": 150, "reference": "previous", "weights": "mean", "V": 200, "eta": None,
        "delta": 4e-7, "steps": 3, "controller": "queue", "parameters": {}, "log": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("V=abc", "The link has a wrong V, “abc”; the setting was not changed."),
        ("V=1e99", "The link has a wrong V"), ("steps=2.5", "The link has a wrong steps"),
        ("regime=nowhere", "The link has a wrong regime"), ("seed=7", "The link has a wrong seed"),
        ("regime=own", "The link has a wrong choice of tasks"),
        ("own=2.1.AAAA&regime=own", "The link has a wrong list of optima"),
        ("controller=leaky&parameters=a=9", "The link has a wrong list of parameters"),
        ("controller=leaky&parameters=constructor=1", "The link has a wrong list of parameters"),
        ("constructor=1", "The link has a wrong word, “constructor”"),
        ("regime=<img src=x onerror=alert(1)>", "The link has a wrong regime"),
    ],
)  # fmt: skip
def test_a_wrong_link_is_said_in_one_line_and_changes_nothing(chrome, page, place, said):
    open_page(chrome, page)
    usual = state_of(chrome)
    open_at(chrome, page, f"#explorer:{place}")
    assert chrome.run("document.getElementById('link-complaint').textContent").startswith(said)
    assert state_of(chrome) == usual
    assert chrome.complaints() == []


# ---------------------------------------------------------------------------------------------------
# tasks of one's own


OWN = np.random.default_rng(5).normal(size=(9, 3))


def paste(chrome, text):
    chrome.run("document.getElementById('own').open = true")
    chrome.run(f"document.getElementById('own-text').value = {json.dumps(text)}")
    chrome.run("document.getElementById('own-use').click()")
    return chrome.run("document.getElementById('own-complaint').textContent")


def as_csv(optima, head=""):
    return head + "".join(",".join(map(repr, row)) + "\r\n" for row in optima.tolist())


@pytest.mark.parametrize("reference", ["previous", "best", "stored"])
def test_optima_of_ones_own_are_simulated_as_python_does(chrome, page, reference, tmp_path):
    open_page(chrome, page)
    before = redraws(chrome)
    assert paste(chrome, as_csv(OWN, "x,y,z\n")) == ""
    chrome.wait(f"document.getElementById('explorer').dataset.redraws > {before}")
    choose(chrome, reference=reference, **{"V-number": 2.0, "eta-number": 0.05, "delta-number": 0.01})
    shown = seen(chrome)
    (tmp_path / "my_optima.csv").write_text(as_csv(OWN, "x,y,z\n"), newline="")
    tasks = load_source(str(tmp_path / "my_optima.csv")).tasks([0])[0]
    run = python_run(shown["state"] | {"tasks": tasks})
    same_run(shown["run"], run)
    same_bounds(shown["bounds"], run)
    assert shown["run"]["T"] == 9
    told = chrome.run("document.getElementById('same-run').textContent")
    assert told.startswith("coldtheory simulate --regime my_optima.csv --V 2 --eta 0.05")
    assert "--seed" not in told
    assert "--T" not in told
    assert chrome.run("document.getElementById('T').disabled && document.getElementById('seed').disabled")
    address = link(chrome)  # they travel in the link
    open_at(chrome, page, "#" + address.partition("#")[2])
    assert seen(chrome)["run"] == shown["run"]
    before = redraws(chrome)
    chrome.run("document.querySelector('[data-preset=paper]').click()")
    chrome.wait(f"document.getElementById('explorer').dataset.redraws > {before}")
    assert seen(chrome)["run"]["T"] == 150
    assert not chrome.run("document.getElementById('T').disabled")
    choose(chrome, regime="own")
    assert seen(chrome)["run"]["T"] == 9
    assert chrome.complaints() == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "There are no numbers: give at least two lines, one per task."),
        ("x,y\n", "There are no numbers"), ("1,2\n", "There is only one task"),
        ("1,2\n3,alert(1)", "Line 2: “alert(1)” is not a number; write numbers with a point, and commas between them."),
        ("1,2\n\n3\n", "Line 3 has 1 number and the first has 2: give every task as many coordinates."),
        ("1,2\n3,\n", "Line 2: “” is not a number"), ("1,2\n3,1e7\n", "Line 2 has a number beyond 1e6"),
        ("1,2\n3,Infinity\n", "Line 2: “Infinity” is not a number"),
        ("1\n" * 301, "301 tasks with 1 coordinate are too many"),
        ("1," * 1_000_000, "This is more than a million signs"),
    ],
)  # fmt: skip
def test_what_are_no_optima_is_said_in_one_line(explorer, text, said):
    before = state_of(explorer)
    assert paste(explorer, text).startswith(said)
    assert state_of(explorer) == before
    assert explorer.complaints() == []


def test_a_dropped_file_is_read(chrome, page):
    open_page(chrome, page)
    before = redraws(chrome)
    drop = """(content => {
      const data = new DataTransfer();
      data.items.add(new File([content], "tasks-2.csv", { type: "text/csv" }));
      const event = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer: data });
      return !document.getElementById("explorer").dispatchEvent(event);
    })"""
    assert chrome.run(f"{drop}({json.dumps(as_csv(OWN))})")  # the browser does not open the file itself
    chrome.wait(f"document.getElementById('explorer').dataset.redraws > {before}")
    assert seen(chrome)["run"]["T"] == 9
    assert "--regime tasks-2.csv" in chrome.run("document.getElementById('same-run').textContent")


def test_a_move_redraws_fast(chrome, page, capsys):
    """The promise is 100 ms on an idle machine; a loaded one must still be below a second."""
    open_page(chrome, page)
    work = []
    for position in np.linspace(-7.0, 0.0, 12):
        choose(chrome, delta=position)  # moves the whole trade-off curve too
        work.append(float(chrome.run("document.getElementById('explorer').dataset.latency")))
    assert seen(chrome)["state"]["T"] == 150
    with capsys.disabled():
        print(
            f" [a slider's move redraws in {np.median(work):.0f} ms (median), {max(work):.0f} ms (slowest of 12)]",
            end="",
        )
    assert np.median(work) < 1000
