"""The tightness of a statement of one's own: drawn, stored with its source, and drawn anew when the file changes."""

from __future__ import annotations

import json

import pytest

from coldtheory.figures import style
from coldtheory.figures.bounds import draw_statement
from coldtheory.figures.table import Table
from tests.coldtheory.figures.looks import outside, smallest_type, unlabelled
from tests.coldtheory.search.own_theorems import FALSE, HEAD, TRUE


@pytest.fixture
def drawn(call, tmp_path):
    """`coldtheory plot bounds mine.py` with this text in the file."""

    def draw(text, *words):
        (tmp_path / "mine.py").write_text(text)
        places = ("--results", tmp_path / "results", "--figures", tmp_path / "figures", "--format", "png")
        return call("plot", "bounds", tmp_path / "mine.py", *places, *words)

    return draw


def table_in(folder):
    return Table.from_csv((folder / "figures" / "bounds-mine.csv").read_text())


def test_a_statement_is_drawn_with_its_data_and_its_origin(drawn, tmp_path):
    done = drawn(FALSE)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "figures" / "bounds-mine.png").read_bytes().startswith(b"\x89PNG")
    about = json.loads((tmp_path / "figures" / "bounds-mine.json").read_text())
    assert about["title"] == "What a past task has lost since it was learnt is at most its queue."
    assert about["command"] == f"coldtheory plot bounds {tmp_path / 'mine.py'}"
    table = table_in(tmp_path)
    assert table.values("regime") == ["low", "high", "conflict"]
    assert (table.where(part="ratio", regime="conflict")["mean"] < 1.0).all()  # it is violated there


def test_a_changed_file_needs_other_data(drawn, tmp_path):
    assert drawn(FALSE).exit_code == 0
    assert drawn(FALSE, "--stored").exit_code == 0
    stale = drawn(TRUE, "--stored")
    assert stale.exit_code == 2
    assert "it was made with another source" in stale.output
    assert drawn(TRUE).exit_code == 0
    assert (table_in(tmp_path).where(part="ratio", regime="conflict")["mean"] >= 1.0 - 1e-9).all()


def test_a_form_that_applies_nowhere_says_so(drawn, tmp_path):
    body = 'bound(facts, facts.avg_Qbar, 1.0, where={"never": facts.V < 0})'
    assert drawn(f'"""Never."""{HEAD}@form\ndef printed(facts):\n    return {body}\n').exit_code == 0
    with style.styled():
        picture = draw_statement({"any": table_in(tmp_path)})
    assert ["not applicable" in ax.texts[0].get_text() for ax in picture.axes[3:]] == [True] * 3


def test_forms_of_several_cases_are_measured_on_runs_of_their_own(drawn, tmp_path):
    forms = "".join(
        f"@form\ndef case_{n}(facts):\n    return bound(facts, facts.avg_Qbar, 1.0, premises='Case {n}')\n\n\n"
        for n in (1, 3)
    )
    assert drawn(f'"""Two cases."""{HEAD}{forms}').exit_code == 0
    first, third = (table_in(tmp_path).where(form=f"case_{n}", part="measured", regime="high")["mean"] for n in (1, 3))
    assert first[-1] < third[-1]  # at the largest V the stored reference has more to add up


def test_it_looks_like_the_other_figures(drawn, tmp_path):
    assert drawn(TRUE).exit_code == 0
    with style.styled():
        picture = draw_statement({"any": table_in(tmp_path)})
        style.settle(picture)
    assert smallest_type(picture) >= 6.0
    assert not outside(picture)
    assert not unlabelled(picture)


def test_a_statement_of_the_paper_is_drawn_by_its_name(call, tmp_path):
    done = call(
        "plot", "bounds", "lindley", "--results", tmp_path, "--figures", tmp_path / "figures", "--format", "png"
    )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "figures" / "bounds-lindley.png").is_file()
