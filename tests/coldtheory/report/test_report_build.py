"""The page as a file: self-contained, small, quick to write, honest about where its verdicts come from."""

from __future__ import annotations

import html as html_module
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from coldtheory import make_tasks
from coldtheory.bounds import load_statement
from coldtheory.claims import all_claims, find_claims, run_claim
from coldtheory.ground.errors import ColdError
from coldtheory.report import Outcomes, build_report, gallery, read_outcomes, run_checks, store_outcomes
from coldtheory.report import outcomes as stored
from coldtheory.report.builder import _SCRIPTS, as_script_json
from coldtheory.report.idea import IDEA, ten_sentences
from coldtheory.report.mathml import command, formula, paragraphs, typeset
from coldtheory.report.streams import parts
from tests.calls import calls_of
from tests.coldtheory.report.pixel import PICTURE

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class Nesting(HTMLParser):
    """Whether every element is closed where it should be, and which ids and links there are."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.sources = [], [], [], []

    def handle_starttag(self, tag, attrs):
        about = dict(attrs)
        self.ids += [about["id"]] if "id" in about else []
        self.links += [about["href"]] if "href" in about else []
        self.sources += [about["src"]] if "src" in about else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def html(page):
    return page.read_text(encoding="utf-8")


def test_it_is_well_formed_and_links_only_to_itself(html):
    parser = Nesting()
    parser.feed(html)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert {link[1:] for link in parser.links if link.startswith("#")} <= set(parser.ids)
    assert all(link.startswith(("#", "data:")) for link in parser.links)
    assert all(source.startswith("data:image/png;base64,") for source in parser.sources)
    assert not re.search(r"https?://", html)
    assert "$" not in re.sub(r"<script.*?</script>", "", html, flags=re.S)  # no placeholder, no raw formula, is left


def test_it_is_little_work_to_write(outcomes, tmp_path):
    """It is written from what is stored: nothing is checked or simulated again."""
    build_report(outcomes, results=tmp_path, figures=None)  # imports, and what is kept
    assert calls_of(lambda: build_report(outcomes, results=tmp_path, figures=None)) < 2_000_000  # about two seconds


def test_every_claim_has_its_statement_and_explanation(html, outcomes):
    for row in outcomes.rows:
        assert f'id="claim-{row["id"]}"' in html
        assert typeset(row["statement"]) in html
        assert paragraphs(row["explain"]) in html


def test_text_from_a_check_cannot_become_markup(outcomes, tmp_path):
    evil = "</script><script>alert(1)</script><b>&\"'"
    names = ("id", "evidence", "verdict", "label", "section", "statement", "explain")
    row = outcomes.rows[0] | dict.fromkeys(names, evil)
    html = build_report(Outcomes((row,), None), results=tmp_path, figures=None)
    assert "alert(1)</script>" not in html
    assert "<script>alert" not in html
    assert as_script_json({"a": "</script>&"}) == '{"a":"\\u003c/script\\u003e\\u0026"}'


def test_the_page_says_when_and_by_what_its_verdicts_were_found(outcomes, tmp_path):
    origin = outcomes.origin | {"time": "2001-02-03T04:05:06+00:00", "commit": "abcdef0123456789", "changed": True}

    def shown(**change):
        return build_report(replace(outcomes, origin=origin, **change), results=tmp_path, figures=None)

    fresh = shown()
    assert "2001-02-03 04:05:06 UTC, commit <code>abcdef0123</code> with local changes" in fresh
    assert "has changed since" not in fresh
    stale = shown(stale=dict.fromkeys(("a", "b", "c", "d"), "code x"))
    assert "Stale verdicts: 4 (<code>a</code>, <code>b</code>, <code>c</code>, …). What they depend on has" in stale
    assert "does not say whether what they depend on has changed" in shown(unknown=("a",))
    assert "Claims of this version that are not among them: 2." in shown(missing=("a", "b"))
    assert "time and commit not recorded" in build_report(
        replace(outcomes, origin=None), results=tmp_path, figures=None
    )


def test_outcomes_survive_storage(outcomes, tmp_path):
    path = stored.place(tmp_path)
    store_outcomes(outcomes, path)
    assert read_outcomes(path) == outcomes
    assert read_outcomes(path).current


def test_a_file_of_format_1_is_read_and_does_not_say_what_its_verdicts_depend_on(outcomes, tmp_path):
    path = tmp_path / "outcomes.json"
    rows = [{name: value for name, value in row.items() if name != "depends_on"} for row in outcomes.rows]
    content = {"format": "coldtheory-outcomes/1", "provenance": outcomes.origin, "code": "abc", "outcomes": rows}
    path.write_text(json.dumps(content))
    found = read_outcomes(path)
    assert [row["id"] for row in found.rows] == [row["id"] for row in outcomes.rows]
    assert found.current is None
    assert found.to_check == tuple(row["id"] for row in rows)


def test_absent_runs_are_shown_in_grey_with_the_command_that_makes_them(outcomes, tmp_path):
    row = outcomes.rows[0] | {
        "verdict": "no runs here", "recorded": "holds", "data": {"command": "cold run <x>"},
        "evidence": "2 of 3 runs are not stored; make them: cold run <x>",
    }  # fmt: skip
    html = build_report(Outcomes((row,), None), results=tmp_path, figures=None)
    assert '<span class="badge v-no-runs-here">no runs here</span><small class="faint">recorded: holds</small>' in html
    assert "make them: <code>cold run &lt;x&gt;</code>" in html


def test_what_check_prints_can_be_shown(tmp_path):
    (claim,) = find_claims("toy-one-step")
    path = tmp_path / "outcomes.json"
    path.write_text(json.dumps([run_claim(claim).as_json()]))
    found = read_outcomes(path)
    assert found.rows[0]["explain"] == claim.explain
    assert found.origin is None
    assert found.current is None
    assert len(found.missing) == len(all_claims()) - 1


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", "3", '["a"]', '[{"id": "a"}]', '{"format": "coldtheory-outcomes/0", "outcomes": []}',
     '{"format": "coldtheory-outcomes/1", "provenance": 3, "outcomes": [{"id": "", "verdict": "", "evidence": ""}]}',
     '[{"id": "a", "verdict": "", "evidence": "", "depends_on": []}]',
     '[{"id": "a", "verdict": "", "evidence": "", "depends_on": {"code x": 3}}]'],
)  # fmt: skip
def test_a_damaged_outcome_file_is_one_clear_line(content, tmp_path):
    path = tmp_path / "outcomes.json"
    path.write_text(content)
    with pytest.raises(ColdError, match=r"outcomes\.json .*; make it anew with 'coldtheory report --check'$"):
        read_outcomes(path)


def test_a_check_that_breaks_is_a_row_that_says_so():
    (claim,) = find_claims("toy-one-step")

    def breaks():
        raise ZeroDivisionError("by nothing")

    broken = replace(claim, id="broken", check=breaks)
    told = []
    found = run_checks((claim, broken), progress=lambda done, count: told.append((done, count)))
    assert [row["verdict"] for row in found.rows] == ["holds", "check failed"]
    assert found.rows[1]["evidence"] == "ZeroDivisionError: by nothing"
    assert told == sorted(told)
    assert {(0, 2), (2, 2)} <= set(told)
    assert found.current
    assert found.origin["packages"]["numpy"] == np.__version__


def test_what_is_found_does_not_depend_on_the_number_of_processes(monkeypatch):
    wanted = [claim for name in ("toy-one-step", "lemma1", "cor1", "tab-oracle-highest") for claim in find_claims(name)]
    told = []
    alone = run_checks(wanted, jobs=1)
    monkeypatch.setattr(stored, "_WORTH_A_PROCESS", 1)
    together = run_checks(wanted, jobs=2, progress=lambda done, count: told.append((done, count)))

    def lasting(found):
        return [{name: value for name, value in row.items() if name != "seconds"} for row in found.rows]

    assert lasting(together) == lasting(alone)
    assert told[-1] == (len(wanted), len(wanted))


@pytest.mark.parametrize("T", [1, 7, 150])
@pytest.mark.parametrize("regime", ["low", "high", "conflict"])
def test_the_streams_of_the_page_are_those_of_the_library(regime, T):
    fixed, slope = parts(regime, 1)
    tasks = fixed[:T] + (np.arange(1, T + 1) / T)[:, None] * slope
    assert np.abs(tasks - make_tasks(regime, 1, T=T).phi.optima).max() <= 1e-15


def test_large_pictures_are_scaled_down_until_they_fit(monkeypatch):
    monkeypatch.setattr(gallery, "_WIDTHS", (90, 45))
    noise = np.random.default_rng(0).integers(0, 256, (60, 90, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noise).save(buffer, "PNG")
    pictures = [buffer.getvalue()] * 2  # 16 kB each; a byte a pixel and a palette 6 kB, a quarter of the pixels 2 kB
    assert gallery.fitting(pictures, 100_000) == pictures
    for budget, size in ((13_000, (90, 60)), (5_000, (45, 30))):
        small = gallery.fitting(pictures, budget)
        assert sum(map(len, small)) <= budget
        with Image.open(io.BytesIO(small[0])) as picture:
            assert picture.size == size
    with pytest.raises(ColdError, match="MB even when scaled down"):
        gallery.fitting(pictures, 1000, most=1000)
    assert len(gallery.fitting(pictures, 1000)) == 2  # too many to be small; a page that is too large is still a page


def test_figures_come_with_title_sentence_and_command(tmp_path, outcomes):
    (tmp_path / "one.png").write_bytes(PICTURE)
    (tmp_path / "two.png").write_bytes(PICTURE)
    (tmp_path / "queues.png").write_bytes(PICTURE)
    reading = {"claim": "some-id", "statement": "It rises.", "answer": "Agrees", "evidence": "by 3 < 4"}
    caption = {
        "title": "Two <b>",
        "sentence": "It shows V & Q_k.",
        "label": "fig:two",
        "command": "coldtheory plot two",
    }
    about = {"format": "coldtheory-figure/2", **caption, "runs": None, "readings": [reading]}
    (tmp_path / "two.json").write_text(json.dumps(about))
    html = build_report(outcomes, results=tmp_path, figures=tmp_path)
    places = [html.index(f'id="figure-{name}"') for name in ("queues", "one", "two")]  # a known figure comes first
    assert places == sorted(places)
    card = html[places[-1] : html.index("</figure>", places[-1])]
    assert 'alt="Two &lt;b&gt; (fig:two)"' in card
    assert "<code>coldtheory plot two</code>" in card
    assert "It shows <math" in card
    assert "&amp;" in card
    assert "<li>The paper: It rises. <strong>Agrees</strong>: by 3 &lt; 4.</li>" in card


def test_what_is_no_picture_is_one_clear_line(tmp_path, outcomes):
    (tmp_path / "one.png").write_bytes(b"x" * 6_000_000)
    with pytest.raises(ColdError, match="cannot read the figures in"):
        build_report(outcomes, results=tmp_path, figures=tmp_path)


def test_no_formula_keeps_a_command_of_its_source(html):
    formulas = re.findall(r"<math.*?</math>", html, flags=re.S)
    assert len(formulas) > 500
    assert [formula for formula in formulas if "\\" in formula] == []


def shown(text):
    """Typeset text with its elements left out, and formulas in brackets."""
    told = re.sub(r"<math>(.*?)</math>", r"[\1]", typeset(text))
    return html_module.unescape(re.sub(r"<[^>]*>", "", told))


def test_typesetting():
    assert typeset("as V grows").count("<math") == 1
    assert typeset("a vase, the sum of all, maximum T_").count("<math") == 0
    assert typeset("Phi_t(w*_t) <= sum_{k<t} beta_k").count("<math") == 4
    assert "≤" in typeset("a <= b")
    assert typeset("one < two & three") == "one &lt; two &amp; three"
    assert "<mo>∇</mo>" in typeset("grad hatPhi_k")
    assert (
        typeset("see thm:queue_stability and `code_x`")
        == "see <code>thm:queue_stability</code> and <code>code_x</code>"
    )
    assert formula(r"\frac{") == '<code class="latex">\\frac{</code>'


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("hatPhi_k(ref_{t,k}) <= 0", "[Φ^k]([reft,k]) ≤ 0"),
        ("falls as V^-1.00 or faster", "falls as [V−1.00] or faster"),
        ("O(T^(-1/3)), (1-a)^(t-k)", "[O]([T−1/3]), (1−[a])[t−k]"),
        ("eta = c/alpha_t, l/delta", "[η] = [c]/[αt], [l]/[δ]"),
        ("sqrt(2 B_s/theta), sqrt(log((T-1)/p)/2)", "[2Bs/θ], [log((T−1)/p)/2]"),
        ("(1/V_t - 1/V_{t+1})_+", "(1/[Vt] − 1/[Vt+1])[+]"),
        ("delta' and Delta_bar, Wbar_t", "[δ′] and [Δ¯], [W¯t]"),
        ("for all k < t, a task; (t-1), t-k", "for all [k] < [t], a task; ([t]−1), [t]−[k]"),
        ("-0.06 > 4e-7 > 1e-9 and 0-8", "−0.06 > 4·10−7 > 10−9 and 0-8"),
        ("e.g. each_task and a_priori, s.d. 3", "e.g. each_task and a_priori, s.d. 3"),
        ("12 streams x 14 settings; Theorem 3's D; L-smooth", "12 streams × 14 settings; Theorem 3's [D]; [L]-smooth"),
        ("the toy-delta-feasible one, A-GEM", "the toy-delta-feasible one, A-GEM"),
    ],
)  # fmt: skip
def test_formulas_in_prose(text, wanted):
    assert shown(text) == wanted


def test_no_formula_of_a_claim_is_left_as_it_is_typed(html):
    words = re.sub(r"<(script|style|math|code|svg)\b.*?</\1>", " ", html, flags=re.S)
    words = html_module.unescape(re.sub(r"<[^>]*>", " ", words))
    raw = r"[A-Za-z)]_[\w{]|\^|\b(?:hatPhi|sqrt|grad)\b|(?<![\w-])(?:alpha|beta|delta|eta|Delta|Phi|rho)\b"
    assert re.findall(rf"\S*(?:{raw})\S*", words) == []


def test_commands_do_not_break_inside_their_options():
    told = command("coldtheory simulate --regime high --V 200 && cold run --resume -x")
    assert re.findall(r'<span class="whole">([^<]*)</span>', told) == ["--regime high", "--V 200", "--resume", "-x"]
    assert re.sub("<[^>]*>", "", told) == "coldtheory simulate --regime high --V 200 &amp;&amp; cold run --resume -x"
    assert "&lt;b&gt;" in command("cold run --out <b>")
    assert "<code>coldtheory certify " in typeset("Proved by z3: coldtheory certify --only thm2.")


def test_the_idea_is_told_in_ten_sentences():
    told = [sentence for part in IDEA for sentence in part]
    assert len(told) == 10
    assert all(sentence.endswith(".") and sentence.count(". ") == 0 for sentence in told)
    page = ten_sentences()
    assert "$" not in page
    assert [re.sub("<[^>]*>", "", word) for word in re.findall(r"<dfn>.*?</dfn>", page)] == [
        "virtual queue", "tolerance", "weight",
    ]  # fmt: skip


def test_no_two_scripts_define_one_name():
    """They are joined to one script, in which a second function of a name would silently replace the first."""
    folder = Path(__file__).parents[3] / "coldtheory" / "report"
    names = [
        name
        for file in sorted(folder.glob("*.js"))
        for name in re.findall(r"^(?:async )?(?:function|const|let|class) +(\w+)", file.read_text(), re.M)
    ]
    assert len(names) > 60
    assert [name for name in set(names) if names.count(name) > 1] == []
    assert sorted(file.name for file in folder.glob("*.js")) == sorted(_SCRIPTS)


def test_the_page_is_part_of_the_installed_package():
    """Every file that the builder reads is one that the build takes into the wheel."""
    wheel = pytest.importorskip("hatchling.builders.wheel")
    root = Path(__file__).parents[3]
    taken = {Path(file.path) for file in wheel.WheelBuilder(str(root)).recurse_included_files()}
    files = {path for path in (root / "coldtheory" / "report").iterdir() if path.suffix in (".html", ".css", ".js")}
    assert len(files) >= 11
    assert files <= taken


def test_a_statement_of_ones_own_is_shown(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        '"""Queues stay below <em>one</em>.\n\nBecause they do."""\nfrom coldtheory.bounds import bound, form\n'
        'LATEX = r"\\bar Q\\le 1"\n@form\ndef hopeful(facts):\n    return bound(facts, facts.avg_Qbar, 1.0)\n'
    )
    page = build_report(Outcomes((), None), results=tmp_path, figures=None, own=[load_statement(file)])
    (card,) = re.findall(r'<details class="statement" id="statement-mine.py">.*?</details>', page, re.S)
    for words in ("own:mine.py", "hopeful", "Because they do.", "<math", "&lt;em&gt;one"):
        assert words in card
    parser = Nesting()
    parser.feed(page)
    assert parser.open == []
