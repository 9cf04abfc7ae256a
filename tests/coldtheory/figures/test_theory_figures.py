"""Every theory figure: drawn from stored tables, the same bytes twice, with its origin, and without simulating."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

from coldtheory.figures import gallery, registry, style
from coldtheory.figures.gradient import turning_words
from coldtheory.figures.table import Table, difference, split
from coldtheory.ground.errors import ColdError
from coldtheory.report.gallery import figure_cards
from coldtheory.store import read_rows, row_files
from paper_checks import _toy
from paper_checks.toy_gradient import where_it_turns
from tests.coldtheory.figures.looks import (
    clipped,
    legends_over_data,
    notes_over_neighbours,
    outside,
    smallest_type,
    unlabelled,
)
from tests.coldtheory.figures.small import SMALL

IDS = [figure.id for figure in registry.figures() if figure.kind == "theory"]
COMMITTED = Path(__file__).parents[3] / "figures"


@pytest.fixture
def writable(stored, tmp_path):
    """A copy of the stored results that a test may spoil."""
    return Path(shutil.copytree(stored, tmp_path / "results"))


@pytest.fixture(scope="module")
def drawn(stored, tmp_path_factory):
    """The whole small gallery, drawn once."""
    folder = tmp_path_factory.mktemp("drawn")
    known = registry.figures(SMALL)
    for figure in known:
        if figure.kind == "theory":
            gallery.write_figure(figure, stored, folder)
    gallery.write_readme(known, folder)
    return folder


@pytest.mark.parametrize("id_", IDS)
def test_files_and_origin(drawn, id_):
    assert (drawn / f"{id_}.png").read_bytes().startswith(b"\x89PNG")
    assert (drawn / f"{id_}.pdf").read_bytes().startswith(b"%PDF")
    assert len(Table.from_csv((drawn / f"{id_}.csv").read_text())) > 0
    about = json.loads((drawn / f"{id_}.json").read_text())
    assert about["figure"] == id_
    for name, data in about["data"].items():
        assert data["config"]
        assert {"commit", "python", "packages", "time"} <= set(data["provenance"][0])
        assert about["seeds"][name] in ([0, 1], [0], [])
    assert {"matplotlib", "seaborn"} <= set(about["drawn_with"])


def test_plotting_simulates_nothing_and_gives_the_same_bytes(call, stored, drawn, tmp_path, no_simulation):
    done = call("plot", "all", "--results", stored, "--figures", tmp_path, "--format", "png", "--json")
    assert done.exit_code == 0, done.output
    assert [entry["id"] for entry in json.loads(done.stdout)["drawn"]] == IDS
    for path in sorted(tmp_path.iterdir()):
        assert path.read_bytes() == (drawn / path.name).read_bytes(), path.name


def test_same_pdf_twice(call, stored, drawn, tmp_path):
    assert call("plot", "tradeoff", "--results", stored, "--figures", tmp_path, "--format", "pdf").exit_code == 0
    assert (tmp_path / "tradeoff.pdf").read_bytes() == (drawn / "tradeoff.pdf").read_bytes()


def test_captions_of_the_files_the_readme_and_the_page(drawn):
    known = {figure.id: figure for figure in registry.figures()}
    readme, page = (drawn / "README.md").read_text(), figure_cards(drawn)
    for id_ in IDS:
        caption = gallery.read_caption(drawn / f"{id_}.json")
        assert (caption.title, caption.sentence, caption.label) == (
            known[id_].title, known[id_].sentence, known[id_].label,
        )  # fmt: skip
        assert (caption.command, caption.runs, caption.readings) == (known[id_].drawn_by, None, ())
        label = f" (`{caption.label}`)" if caption.label else ""
        assert f"## {caption.title}{label}\n\n{caption.sentence}\n\n![{caption.title}]({id_}.png)\n" in readme
    for places in ([readme.index(f"({id_}.png)") for id_ in IDS], [page.index(f'"figure-{id_}"') for id_ in IDS]):
        assert places == sorted(places)


def test_an_older_file_is_read_and_gets_its_caption(drawn, tmp_path):
    folder = Path(shutil.copytree(drawn, tmp_path / "gallery"))
    path = folder / "theory_plots.json"
    new = json.loads(path.read_text())
    captions = ("title", "sentence", "runs", "readings")
    old = {name: value for name, value in new.items() if name not in captions}
    path.write_text(json.dumps({**old, "format": "coldtheory-figure/1", "command": "coldtheory plot it --run"}))
    caption = gallery.read_caption(path)
    assert (caption.title, caption.label) == ("theory_plots", "fig:theory_plots")
    assert (caption.sentence, caption.command) == ("", "coldtheory plot theory_plots")
    gallery.write_readme(registry.figures(SMALL), folder)
    assert json.loads(path.read_text()) == new
    assert (folder / "README.md").read_text() == (drawn / "README.md").read_text()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda _: "{", "is damaged"),
        (lambda about: json.dumps({**about, "format": "other/1"}), "has format 'other/1', this version reads"),
        (lambda about: json.dumps({**about, "title": 3}), "is damaged (Expected `str`, got `int` - at `$.title`)"),
        (lambda about: json.dumps({**about, "readings": [{"claim": "x"}]}), "is damaged (Object missing required"),
    ],
)
def test_a_damaged_or_foreign_caption_is_one_clear_line(drawn, tmp_path, spoil, words):
    path = tmp_path / "picture.json"
    path.write_text(spoil(json.loads((drawn / "picture.json").read_text())))
    with pytest.raises(ColdError) as error:
        gallery.read_caption(path)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_data_names_the_command(call, tmp_path, no_simulation):
    done = call("plot", "eta", "--stored", "--results", tmp_path / "none", "--figures", tmp_path)
    assert done.exit_code == 2
    assert "no data 'sweep_eta'" in done.stderr
    assert done.stderr.strip().endswith("make it with: coldtheory plot plot4_theory")
    everything = call("plot", "all", "--stored", "--results", tmp_path / "none", "--figures", tmp_path)
    assert everything.exit_code == 2
    assert everything.stderr.strip().endswith("'coldtheory figures' says what makes them")


def test_a_sweep_and_a_picture_in_an_empty_folder(tmp_path):
    """The two commands as a user types them, at their real size: the picture's other data are made on the way."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    root = f"{COMMITTED.parent}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    for line in ("coldtheory sweep-V --regime high", "coldtheory plot queues", "coldtheory plot queues paper"):
        done = subprocess.run(
            line.split(), cwd=tmp_path, capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": programs, "PYTHONPATH": root},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        if line.endswith("queues"):
            assert done.stdout.startswith("queues-V-high: figures/queues-V-high.png (")
            assert done.stderr == ""
    assert "queues: computed sweep_V, sweep_queues, queue_caps, queue_maps in " in done.stderr
    assert done.stdout.startswith("queues: figures/queues.png (")
    drawn = Table.from_csv((tmp_path / "figures" / "queues.csv").read_text())
    assert difference(Table.from_csv((COMMITTED / "queues.csv").read_text()), drawn) is None


@pytest.mark.parametrize("words", [(), ("--run",)])
def test_what_is_missing_is_made_and_stays(call, tmp_path, words):
    to = ("--results", tmp_path / "made", "--figures", tmp_path / "pictures", "--format", "png")
    done = call("plot", "picture", *words, *to)
    assert done.exit_code == 0, done.output
    assert "picture: computed picture in " in done.stderr
    names = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert names == ["picture.csv", "picture.json", "picture.png"]
    again = call("plot", "picture", "--stored", *to)
    assert (again.exit_code, again.stderr) == (0, "")
    both = call("plot", "picture", "--stored", "--run", *to)
    assert both.exit_code == 2
    assert "give one of the two" in both.stderr


def test_all_makes_theory_data_and_names_what_has_no_runs(call, tmp_path, monkeypatch):
    some = tuple(f for f in registry.figures(SMALL) if f.id in ("picture", "variation", "varying_V_c10"))
    monkeypatch.setattr(registry, "figures", lambda *_: some)
    done = call("plot", "all", "--results", tmp_path / "made", "--figures", tmp_path / "to", "--format", "png")
    assert done.exit_code == 0, done.output
    assert [path.stem for path in sorted((tmp_path / "to").glob("*.png"))] == ["picture", "variation"]
    assert "variation: computed variation in " in done.stderr
    assert "no data for varying_V_c10;" in done.stderr


def test_an_interruption_says_that_the_same_command_goes_on(call, tmp_path, monkeypatch):
    def interrupted(*_args, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("coldtheory.sweep.simulate", interrupted)
    done = call("plot", "tradeoff", "--results", tmp_path / "made", "--figures", tmp_path / "to")
    assert done.exit_code == 130
    assert "the same command goes on" in done.stderr


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda about: {**about, "version": 0, "key": "x"}, "it is of version 0."),
        (lambda about: {**about, "key": "x", "config": {**about["config"], "T": 9}}, "made with another T"),
        (lambda about: {**about, "sha256": "x"}, "changed after it was made"),
        (lambda about: {**about, "format": "coldtheory-data/0"}, "not of the format"),
    ],
)
def test_stale_tables(call, writable, tmp_path, no_simulation, spoil, words):
    path = writable / "data" / "trajectory.json"
    path.write_text(json.dumps(spoil(json.loads(path.read_text()))))
    done = call("plot", "trajectory", "--stored", "--results", writable, "--figures", tmp_path)
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert words in done.stderr
    assert "make it anew with: coldtheory plot" in done.stderr
    listed = {
        entry["id"]: entry["state"] for entry in json.loads(call("figures", "--results", writable, "--json").stdout)
    }
    assert (listed["trajectory"], listed["tradeoff"]) == ("stale", "present")


def test_all_says_what_is_stale_and_draws_the_rest(call, writable, tmp_path, no_simulation):
    for path in writable.glob("data/*.json"):
        if path.stem == "trajectory":
            path.write_text("{}")
        elif path.stem != "picture":
            path.unlink()
    done = call("plot", "all", "--stored", "--results", writable, "--figures", tmp_path / "to", "--format", "png")
    assert done.exit_code == 0
    assert "trajectory: the data 'trajectory'" in done.stderr
    assert "no data for" in done.stderr
    assert "picture: " in done.stdout
    drawn = {path.stem for path in (tmp_path / "to").glob("*.png")}
    assert "picture" in drawn
    assert drawn.isdisjoint({"trajectory", "bounds"})


def test_stale_table_is_made_anew(call, writable, tmp_path):
    path = writable / "data" / "picture.json"
    path.write_text("{")
    assert call("plot", "picture", "--stored", "--results", writable, "--figures", tmp_path).exit_code == 2
    assert call("plot", "picture", "--results", writable, "--figures", tmp_path).exit_code == 0
    assert json.loads(path.read_text())["name"] == "picture"


def test_rows_of_another_schema(call, writable, tmp_path):
    for path in row_files(writable):
        content = read_rows(path)
        for row in content["rows"]:
            row |= {"schema": 0, "key": "old " + row["key"]}
        path.unlink()
        path.with_suffix(".json").write_text(json.dumps(content))
    done = call("plot", "tradeoff", "--stored", "--results", writable, "--figures", tmp_path)
    assert done.exit_code == 2
    assert "another version (its rows have another schema" in done.stderr
    assert "coldtheory sweep V --regime all" in done.stderr
    assert (
        call("plot", "tradeoff", "--results", writable, "--figures", tmp_path).exit_code == 0
    )  # old rows stay, unused


def test_damaged_rows(call, writable, tmp_path):
    for path in row_files(writable):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = call("plot", "tradeoff", "--results", writable, "--figures", tmp_path)
    assert done.exit_code == 2
    assert "is damaged" in done.stderr
    assert "results rm" in done.stderr


def test_bad_input(call, stored, tmp_path):
    done = call("plot", "gradeint", "--results", stored, "--figures", tmp_path)
    assert done.exit_code == 2
    assert "unknown figure 'gradeint'; did you mean gradient" in done.stderr
    done = call("plot", "picture", "--results", stored, "--figures", tmp_path, "--format", "jpeg")
    assert done.exit_code == 2
    assert "unknown format 'jpeg'" in done.stderr
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", "/proc/nowhere"):
        done = call("plot", "picture", "--results", stored, "--figures", folder)
        assert done.exit_code == 2
        assert len(done.stderr.strip().splitlines()) == 1
        assert "--figures" in done.stderr
        assert "Traceback" not in done.output


def test_check_tells_what_no_longer_matches(call, drawn, tmp_path):
    folder = Path(shutil.copytree(drawn, tmp_path / "gallery"))
    done = call("plot", "all", "--check", "--figures", folder, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == dict.fromkeys(IDS)

    csv, about = folder / "picture.csv", folder / "picture.json"
    lines = csv.read_text().splitlines()
    lines[-1] = lines[-1].replace(lines[-1].split(",")[3], "7.5", 1)
    csv.write_text("\n".join(lines) + "\n")
    words = call("plot", "picture", "--check", "--figures", folder)
    assert words.exit_code == 1
    assert "picture: picture.csv was changed since it was drawn" in words.stdout

    record = json.loads(about.read_text())
    record["csv_sha256"] = gallery.digest(csv.read_bytes())
    about.write_text(json.dumps(record))
    numbers = call("plot", "picture", "--check", "--figures", folder)
    assert numbers.exit_code == 1
    assert "the code now gives other numbers: y in row" in numbers.stdout

    record["data"]["picture"]["key"] = "other"
    about.write_text(json.dumps(record))
    (folder / "tradeoff.png").unlink()
    done = call("plot", "all", "--check", "--figures", folder, "--json")
    assert done.exit_code == 1
    found = {id_: problem for id_, problem in json.loads(done.stdout).items() if problem}
    assert found == {
        "picture": "the code now asks for other data: picture", "tradeoff": "not drawn: no tradeoff.png",
    }  # fmt: skip


@pytest.mark.parametrize("id_", IDS)
def test_committed_pictures_belong_to_this_code(id_):
    """Without computing anything: their files are whole and their tables are the ones that the code asks for."""
    found = gallery.check([registry.find(id_, registry.figures())], COMMITTED, recompute=False)
    assert found == {id_: None}


@pytest.mark.parametrize("id_", IDS)
def test_how_the_committed_pictures_look(id_):
    """Redrawn from the committed CSV: sizes, labels, nothing over the data, and nothing clipped at an axis."""
    picture = redrawn(id_)
    with style.styled():
        assert clipped(picture) == []
        assert picture.get_figwidth() in (style.COLUMN, style.PAGE)
        assert unlabelled(picture) == []
        assert legends_over_data(picture) == []
        assert outside(picture) == []
        assert notes_over_neighbours(picture) == []
        assert smallest_type(picture) >= 5.5


def redrawn(id_):
    figure = registry.find(id_, registry.figures())
    table = Table.from_csv((COMMITTED / f"{id_}.csv").read_text())
    return figure.picture(split(table, [data.name for data in figure.data]))


def words_in(picture):
    return [text.get_text() for text in picture.findobj(Text) if text.get_text().strip()]


def test_one_turning_point_everywhere():
    """In the figures, in the claim, on the page of findings and on that of claims; the numbers come from one rule."""
    found = _toy.turning_point("high")
    words = turning_words(found)
    for id_ in ("gradient", "turning"):
        assert [text for text in words_in(redrawn(id_)) if words in text], id_
    assert f"V = {words} (HIGH)" in where_it_turns().evidence
    for page in ("findings.md", "claims.md"):
        assert f"V = {words}" in (COMMITTED.parent / "docs" / page).read_text(), page


def test_heatmaps_of_queues_name_their_regime_and_say_where_they_are_empty():
    assert "every queue of one seed, CONFLICT" in words_in(redrawn("queues"))
    assert words_in(redrawn("queues_delta")).count("every queue is empty") == 1


def test_a_cut_line_shows_where_it_goes_on():
    with style.styled():
        ax = style.panels(1)[1][0, 0]
        x, y = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1.0, 100.0, 1.0, 0.0])
        style.cut_line(ax, x, y, low=0.1, high=10.0, color="black")
    x, y = ax.lines[0].get_data()
    assert (np.nanmin(y), np.nanmax(y)) == pytest.approx((0.1, 10.0))
    assert x[1] == pytest.approx(np.sqrt(2.0))  # half of the way to 100, on logarithmic axes
    assert len([note for note in ax.texts if note.arrow_patch]) == 3  # out at the top, back in, and out below


def test_the_gallery_stays_small():
    """Pictures and their data can be under version control: less than 0.4 MB each on average."""
    total = sum(path.stat().st_size for path in COMMITTED.iterdir())
    assert total < 400_000 * len(list(COMMITTED.glob("*.png")))
