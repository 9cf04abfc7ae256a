"""Sweeps: the same rows whatever computes them, nothing lost, nothing computed twice."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import coldtheory.sweep as sweep_module
from coldtheory import ColdError, simulate
from coldtheory.cli.options import parse_grid
from coldtheory.ground.files import config_key
from coldtheory.rows import CONFIG_KEYS, MEASURED_KEYS, axis_value, loglog_slope, mean_over_seeds, smallest_at
from coldtheory.sources import Source, load_source
from coldtheory.store import RowFile, StoredRows, read_rows, row_files
from coldtheory.sweep import Numbers, Scheme, cell_keys, grid, run_cells

SMALL = Source("high", {"T": 20, "d": 4})
V = [10.0, 50.0, 200.0]


def without_origin(rows):
    return [{name: value for name, value in row.items() if name != "provenance"} for row in rows]


@pytest.mark.kernels
def test_keys_and_grids_are_the_same_on_every_machine():
    """Rows that one machine has stored are found again on another."""
    assert config_key({"V": 0.1, "eta": "auto", "delta": [4e-7, 2.5e-300]}) == "eb6448ca384e5bc9"
    grids = {"V": "10:1000:20log", "w": "10:4000:24log", "d": "0.1:1000:25log"}
    assert config_key({name: parse_grid(text, name) for name, text in grids.items()}) == "f3c6d3dc818b00f1"


@pytest.mark.kernels
def test_rows_hold_what_the_simulator_says(tmp_path):
    rows = run_cells(grid(SMALL, "V", V, 3), tmp_path, engine="serial")
    assert len(rows) == 9
    for row in rows:
        run = simulate(SMALL.tasks([row["seed"]])[0], V=row["V"])
        assert row["avg_grad_sq_before"] == pytest.approx(run.avg_grad_sq_before, rel=1e-12)
        assert row["avg_grad_sq_after"] == pytest.approx(run.avg_grad_sq_after, rel=1e-12)
        assert row["avg_Qbar"] == pytest.approx(run.avg_Qbar, rel=1e-12)
        assert row["Delta_bar"] == pytest.approx(run.Delta_bar, rel=1e-12)


OLD_KEYS = ["a716d0c8965a30b6", "fcbe79d586de0613", "fb2a0c7b107a3580"]  # as the first versions made them


@pytest.mark.kernels
def test_settings_that_came_later_do_not_change_the_keys_of_old_rows():
    plain = grid(SMALL, "V", [10.0, 200.0], 1)
    scheme = Scheme(reference="best", weights="sum", window=3, noise=0.5)
    other = grid(Source("conflict", {"T": 9}), "delta", [0.1], 1, numbers=Numbers(eta="auto"), scheme=scheme)
    assert [cell.key for cell in (*plain, *other)] == OLD_KEYS
    spelt = grid(
        SMALL, "V", [10.0, 200.0], 1, scheme=Scheme(controller="queue"), numbers=Numbers(eta_factor=None)
    )  # fmt: skip
    assert [cell.key for cell in spelt] == OLD_KEYS[:2]
    auto = [grid(SMALL, "V", [10.0], 1, numbers=Numbers(eta="auto", eta_factor=c))[0].key for c in (None, 0.5, 0.9)]
    assert auto[0] == auto[1] != auto[2]
    schemes = [Scheme(reference="stored"), Scheme(controller="leaky"), Scheme(controller="leaky:a=0.02"),
               Scheme(V_schedule="power:0.5"), Scheme(V_schedule="power:0.25"), Scheme()]  # fmt: skip
    assert len({grid(SMALL, "V", [10.0], 1, scheme=scheme)[0].key for scheme in schemes}) == len(schemes)
    assert Scheme(controller="leaky:a=.010") == Scheme(controller="leaky")
    assert Scheme(V_schedule="power:.50") == Scheme(V_schedule="power:0.5")


def test_rows_stored_before_forgetting_was_measured_are_still_used(tmp_path, monkeypatch):
    cells = grid(SMALL, "V", V, 1)
    run_cells(cells, tmp_path, engine="serial")
    path = row_files(tmp_path)[0]
    later = ("avg_forgetting", "max_forgetting", "eta_factor", "controller", "V_schedule")
    content = read_rows(path)
    rows = [{name: value for name, value in row.items() if name not in later} for row in content["rows"]]
    path.unlink()
    path.with_suffix(".json").write_text(json.dumps({**content, "rows": rows}))
    monkeypatch.setattr(sweep_module, "_run_job", None)  # nothing may be simulated
    found = run_cells(cells, tmp_path, engine="serial")
    assert len(found) == len(V)
    assert mean_over_seeds(found, "avg_forgetting").n == 0
    assert loglog_slope(found, "V", "avg_forgetting") is None
    assert loglog_slope(found, "V", "avg_grad_sq_before") is not None


@pytest.mark.kernels
@pytest.mark.parametrize(("axis", "values", "scheme", "numbers"), [
    ("controller.a", [0.01, 0.5], Scheme(reference="stored", controller="leaky"), Numbers(V=2.0, eta="auto")),
    ("controller.kappa_p", [0.1, 3.0], Scheme(controller="nupi:nu=0.5"), Numbers(V=2.0, eta="auto", eta_factor=0.1)),
    ("eta_factor", [0.25, 0.5, 1.0], Scheme(V_schedule="power:0.33"), Numbers(V=2.0, eta="auto")),
    ("V", [1.0, 2.0], Scheme(controller="yu-neely", V_schedule="list:" + ",".join(["2"] * 20)), Numbers(eta="auto")),
])  # fmt: skip
def test_sweeps_over_controllers_factors_and_schedules(axis, values, scheme, numbers, tmp_path):
    rows = run_cells(grid(SMALL, axis, values, 2, numbers=numbers, scheme=scheme), tmp_path, engine="serial")
    assert [axis_value(row, axis) for row in rows] == [value for value in values for _ in range(2)]
    for row in rows:
        run = simulate(
            SMALL.tasks([row["seed"]])[0], V=row["V"], eta=row["eta"], eta_factor=row["eta_factor"],
            reference=row["reference"], controller=row["controller"], V_schedule=row["V_schedule"],
        )  # fmt: skip
        for name in ("avg_forgetting", "max_forgetting", "avg_Qbar", "avg_grad_sq_before"):
            assert row[name] == pytest.approx(float(getattr(run, name)), rel=1e-9, abs=1e-15)
    assert len({row["avg_Qbar"] for row in rows}) == len(rows)


def test_bad_axes_of_controllers():
    for axis, scheme, message in (
        ("controller.b", Scheme(controller="leaky"), "known: a"),
        ("controller.a", Scheme(), "known: none"),
        ("controllers", Scheme(), "unknown axis"),
        ("V", Scheme(V_schedule="list:1,2"), "one factor per task"),
    ):
        with pytest.raises(ColdError, match=message):
            grid(SMALL, axis, [0.5], 1, scheme=scheme)


def test_every_key_of_a_row_is_documented(tmp_path):
    (row,) = run_cells(grid(SMALL, "V", [5.0], 1), tmp_path, engine="serial")
    assert set(row) == {*CONFIG_KEYS, *MEASURED_KEYS, "schema", "provenance"}
    content = read_rows(row_files(tmp_path)[0])
    assert content["rows"] == [row]
    assert content["source"] == SMALL.config
    assert {"commit", "packages", "python", "time"} <= set(content["provenance"][0])


@pytest.mark.kernels
@pytest.mark.parametrize("engine", ["serial", "loky"])
def test_rows_are_the_same_for_every_engine_and_number_of_jobs(engine, tmp_path):
    cells = grid(SMALL, "V", V, 12)
    first = run_cells(cells, tmp_path / "serial", engine="serial")
    other = run_cells(cells, tmp_path / engine, engine=engine, n_jobs=2)
    assert without_origin(first) == without_origin(other)


@pytest.mark.slow
def test_dask_cluster_of_two_workers_gives_the_same_rows(tmp_path):
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    cells = grid(SMALL, "V", V, 12)
    serial = run_cells(cells, tmp_path / "serial", engine="serial")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        assert len(cluster.workers) == 2
        rows = run_cells(cells, tmp_path / "dask", engine="dask", scheduler=cluster.scheduler_address)
    assert without_origin(serial) == without_origin(rows)


def test_a_resumed_sweep_computes_only_what_is_missing(tmp_path, monkeypatch):
    first = run_cells(grid(SMALL, "V", V, 2), tmp_path, engine="serial")
    jobs = []
    real = sweep_module._run_job
    monkeypatch.setattr(sweep_module, "_run_job", lambda job: jobs.append(job) or real(job))
    again = run_cells(grid(SMALL, "V", [*V, 400.0], 3), tmp_path, engine="serial")
    assert sum(len(job.seeds) * len(job.numbers) for job in jobs) == 12 - 6
    assert [row for row in again if row["V"] in V and row["seed"] < 2] == first
    fresh = run_cells(grid(SMALL, "V", [*V, 400.0], 3), tmp_path / "fresh", engine="serial")
    for row, other in zip(again, fresh, strict=True):
        assert row["key"] == other["key"]
        assert row["avg_grad_sq_after"] == pytest.approx(other["avg_grad_sq_after"], rel=1e-13)


def test_an_interrupted_sweep_keeps_its_finished_cells(tmp_path, monkeypatch):
    real = sweep_module._run_job
    count = iter(range(100))

    def interrupted(job):
        if next(count) == 2:
            raise KeyboardInterrupt
        return real(job)

    monkeypatch.setattr(sweep_module, "_run_job", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_cells(grid(SMALL, "V", V, 20), tmp_path, engine="serial")
    assert len(read_rows(row_files(tmp_path)[0])["rows"]) == 2 * 5 * len(V)


def test_a_killed_sweep_leaves_a_readable_file(tmp_path):
    program = (
        "import os, sys; from pathlib import Path\n"
        "import coldtheory.sweep as s; from coldtheory.sources import Source\n"
        "real, done = s._run_job, []\n"
        "def job(j):\n"
        "    done.append(j)\n"
        "    if len(done) == 4: os.kill(os.getpid(), 9)\n"
        "    return real(j)\n"
        "s._run_job = job\n"
        "import coldtheory.store as store; store.RowFile.__init__.__kwdefaults__['save_every'] = 0.0\n"
        "s.run_cells(s.grid(Source('low', {'T': 10, 'd': 2}), 'V', [1.0], 40), Path(sys.argv[1]), engine='serial')\n"
    )
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert killed.returncode == -9
    assert len(read_rows(row_files(tmp_path)[0])["rows"]) == 15
    rows = run_cells(grid(Source("low", {"T": 10, "d": 2}), "V", [1.0], 40), tmp_path, engine="serial")
    assert len(rows) == 40


_KILL_A_WORKER = """
import os, signal, sys
from pathlib import Path

def workers():
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            words = (entry / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if parent == os.getpid() and b"popen_loky" in words:
            yield int(entry.name)

class Bar:
    killed = 0
    def __init__(self, text): pass
    def __enter__(self): return self.tell
    def __exit__(self, *_): assert Bar.killed == 1, "no worker was killed"
    def tell(self, done, total):
        if 0 < done < total and not Bar.killed:
            os.kill(next(workers()), signal.SIGKILL)
            Bar.killed = 1
"""


def test_progress_is_told_before_the_first_job(tmp_path, monkeypatch):
    """So a bar is there as soon as the program has started, however long the first cells take."""
    told = []
    real = sweep_module._run_job
    monkeypatch.setattr(sweep_module, "_run_job", lambda job: told.append("job") or real(job))
    cells = grid(Source("low", {"T": 5, "d": 2}), "V", [5.0, 50.0], range(7))
    run_cells(cells, tmp_path, engine="serial", progress=lambda done, total: told.append((done, total)))
    assert told[0] == (0, 14)
    assert told[1] == "job"
    assert told[-1] == (14, 14)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to find the workers")
def test_a_sweep_whose_worker_is_killed_goes_on(tmp_path):
    """The system kills a worker (out of memory, for instance): exit code 0 and the rows of a sweep in one process."""
    words = ["sweep-V", "--regime", "low", "--V", "10,100", "--T", "40", "--d", "2", "--seeds", "0-59", "--json"]
    program = _KILL_A_WORKER + (
        "import coldtheory.cli.sweeps; coldtheory.cli.sweeps.Bar = Bar\nfrom coldtheory.cli import main; main()\n"
    )
    command = [sys.executable, "-c", program, *words, "--jobs", "2"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    source = Source("low", {"T": 40, "d": 2})
    serial = run_cells(grid(source, "V", [10.0, 100.0], 60), tmp_path / "serial", engine="serial")
    assert without_origin(json.loads(done.stdout)) == without_origin(serial)
    assert sorted(os.listdir(tmp_path / "results")) == [f"{source.stem}.sqlite", "sweeps"]


def test_a_job_that_kills_its_worker_twice_is_named_when_all_else_is_stored(tmp_path):
    program = (
        "import os, signal\n"
        "import coldtheory.sweep as s\n"
        "real = s._run_job\n"
        "def deadly(job):\n"
        "    if 12 in job.seeds: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return real(job)\n"
        "s._run_job = deadly\n"
        "from coldtheory.cli import main; main()\n"
    )
    words = ["sweep-V", "--regime", "low", "--V", "10,100", "--T", "10", "--d", "2", "--seeds", "0-29", "--jobs", "2"]
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "lost twice" in done.stderr
    assert f"10 runs of {Source('low', {'T': 10, 'd': 2}).stem} (seeds 10 to 14, V from 10)" in " ".join(
        done.stderr.split()
    )
    assert "Traceback" not in done.stderr
    with StoredRows(row_files(tmp_path / "results")[0]) as stored:
        assert {row["seed"] for row in stored.rows()} == {*range(30)} - {*range(10, 15)}
        assert len(stored) == 50


def test_a_folder_that_is_removed_meanwhile_is_one_line(tmp_path, monkeypatch):
    real, count = sweep_module._run_job, iter(range(100))

    def removing(job):
        if next(count) == 2:
            shutil.rmtree(tmp_path / "out")
        return real(job)

    monkeypatch.setattr(sweep_module, "_run_job", removing)
    monkeypatch.setitem(RowFile.__init__.__kwdefaults__, "save_every", 0.0)
    with pytest.raises(ColdError, match=r"\.sqlite was removed while it was being written; run the command again"):
        run_cells(grid(SMALL, "V", V, 20), tmp_path / "out", engine="serial")


def test_keys_of_many_cells_are_the_keys_of_each():
    cells = [
        *grid(SMALL, "V", V, 3),
        *grid(SMALL, "delta", [0.0, 1e-3], 2, scheme=Scheme("best", window=3, noise=0.5), numbers=Numbers(eta="auto")),
        *grid(Source("low", {"T": 12, "d": 3, "n": 8}), "memory", [1, 4], 2),
    ]
    assert cell_keys(cells) == [cell.key for cell in cells]


def test_diverged_cells_are_rows_too(tmp_path):
    rows = run_cells(grid(SMALL, "V", [100.0, 1e5], 1), tmp_path, engine="serial")
    assert [row["diverged"] for row in rows] == [False, True]
    json.dumps(rows, allow_nan=False)
    assert mean_over_seeds(rows[1:], "avg_grad_sq_before").n == 0


@pytest.mark.parametrize(
    ("axis", "values", "source"),
    [
        ("delta", [0.0, 1e-3], SMALL),
        ("eta", [1e-4, 1e-3], SMALL),
        ("steps", [1, 4], SMALL),
        ("T", [5, 9], SMALL),
        ("memory", [1, 4], Source("low", {"T": 12, "d": 3, "n": 8})),
    ],
)
def test_other_axes(axis, values, source, tmp_path):
    rows = run_cells(grid(source, axis, values, 2, scheme=Scheme(reference="best")), tmp_path, engine="serial")
    assert [row[axis] for row in rows] == [value for value in values for _ in range(2)]
    name = "D_phi_hat" if axis == "memory" else "Delta_bar" if axis == "delta" else "avg_grad_sq_after"
    assert rows[0][name] != rows[-1][name]


def test_auto_eta_in_a_grid(tmp_path):
    rows = run_cells(grid(SMALL, "V", V, 1, numbers=Numbers(eta="auto")), tmp_path, engine="serial")
    assert all(row["eta_alpha_max"] == pytest.approx(0.5) and row["eta"] == "auto" for row in rows)


def test_a_larger_memory_comes_closer_to_the_tasks(tmp_path):
    source = Source("low", {"T": 30, "n": 50})
    rows = run_cells(grid(source, "memory", [1, 5, 25, 50], 4), tmp_path, engine="serial")
    by_memory = [np.mean([row["D_phi_hat"] for row in rows if row["memory"] == m]) for m in (1, 5, 25, 50)]
    assert by_memory == sorted(by_memory, reverse=True)


def test_noise_belongs_to_the_seed_and_not_to_the_job(tmp_path):
    source, scheme = Source("low", {"T": 6, "d": 2}), Scheme(noise=0.5)
    whole = run_cells(grid(source, "steps", [1, 2, 4], 7, scheme=scheme), tmp_path / "whole", engine="serial")
    for steps in (2, 4, 1):  # resumed in another order, a grid point at a time
        parts = run_cells(grid(source, "steps", [steps], 7, scheme=scheme), tmp_path / "parts", engine="serial")
        assert [row["avg_grad_sq_after"] for row in parts] == [
            row["avg_grad_sq_after"] for row in whole if row["steps"] == steps
        ]
    assert len({row["avg_grad_sq_after"] for row in whole}) == len(whole)


def test_slope_of_a_power_law():
    V = np.geomspace(1, 100, 7)
    rows = [{"V": v, "seed": s, "y": (2 + s) * v**-1.5, "diverged": False} for s in range(3) for v in V]
    slope = loglog_slope(rows, "V", "y")
    assert (slope.slope, slope.low, slope.high) == pytest.approx((-1.5, -1.5, -1.5))
    assert loglog_slope(rows, "V", "y", (1, 2)) is None
    one = loglog_slope([row for row in rows if row["seed"] == 0], "V", "y")
    assert one.slope == pytest.approx(-1.5)


def test_interval_covers_the_slope_95_times_of_100():
    rng = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        rows = [
            {"V": v, "seed": s, "y": math.exp(slope * math.log(v)), "diverged": False}
            for s, slope in enumerate(rng.normal(-1, 0.2, size=5))
            for v in (1.0, 2.0, 4.0)
        ]
        fit = loglog_slope(rows, "V", "y")
        hits += fit.low <= -1 <= fit.high
    assert 0.92 <= hits / 400 <= 0.98


def test_turning_point_of_a_parabola():
    rows = [
        {"V": v, "seed": s, "y": math.exp((math.log(v) - math.log(30 + s)) ** 2), "diverged": False}
        for s in range(3)
        for v in np.geomspace(1, 1000, 13)
    ]
    assert smallest_at(rows, "V", "y").mean == pytest.approx(31.0, rel=1e-6)
    assert smallest_at([row | {"y": row["V"]} for row in rows], "V", "y") is None


def test_own_optima_from_every_kind_of_file(tmp_path):
    optima = np.arange(12.0).reshape(4, 3)
    np.savez(tmp_path / "own.npz", optima=optima)
    np.savetxt(tmp_path / "own.csv", optima, delimiter=",", header="a,b,c", comments="")
    (tmp_path / "own.toml").write_text('optima = "own.npz"\n')
    for name in ("own.npz", "own.csv", "own.toml"):
        source = load_source(str(tmp_path / name))
        assert (source.tasks(source.seeds(5)).phi.optima == optima[None]).all()
        assert source.seeds(5) == [0]
    (tmp_path / "regime.toml").write_text('regime = "high"\nT = 12\nc2 = 0.01\nn = 6\nm = 2\n')
    source = load_source(str(tmp_path / "regime.toml"))
    assert source.config["c2"] == 0.01
    assert source.tasks([0, 1]).phi_hat.optima.shape == (2, 12, 25)
    rows = run_cells(grid(source, "V", V, 2), tmp_path / "out", engine="serial")
    assert {row["memory"] for row in rows} == {2}
    sampled = load_source(str(tmp_path / "own.npz")).with_constants(n=5, m=2)
    assert sampled.seeds(3) == [0, 1, 2]
    assert sampled.tasks([0, 1, 2]).phi.optima.shape == (3, 4, 3)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"1,2\n3\n", "one length"),
        ("a.csv", b"1,2\n3,x\n", "line 2"),
        ("a.csv", b"1,nan\n", "finite"),
        ("a.csv", b"", "at least one line"),
        ("a.npz", b"PK\x03\x04 truncated", "npz"),
        ("a.npz", b"", "npz"),
        ("a.toml", b"regime = ", "cannot read"),
        ("a.toml", b"T = 3\n", "needs either"),
        ("a.toml", b'regime = "hgih"\n', "did you mean high"),
        ("a.toml", b'regime = "high"\nc3 = 1\n', "c3"),
        ("a.toml", b'regime = "high"\nT = "x"\n', "finite number"),
        ("a.txt", b"1", "unknown regime"),
    ],
)
def test_bad_files_are_named(name, content, words, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ColdError, match=words):
        load_source(str(tmp_path / name))


def test_a_pickle_is_not_opened(tmp_path):
    np.savez(tmp_path / "evil.npz", optima=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ColdError, match="does not hold numbers"):
        load_source(str(tmp_path / "evil.npz"))


def test_a_file_fixes_its_own_tasks(tmp_path):
    np.savez(tmp_path / "own.npz", optima=np.zeros((3, 2)))
    with pytest.raises(ColdError, match="leave --T out"):
        load_source(str(tmp_path / "own.npz")).with_constants(T=5)
