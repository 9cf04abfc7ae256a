"""The picture of the imports shows the code as it is, and an import against the direction would be seen."""

from __future__ import annotations

import json

from tests.docs.pages import load

drawing = load("docs/import_graph.py")


def test_the_picture_is_up_to_date():
    now = json.loads(json.dumps(drawing.read_graph().as_json()))
    assert drawing.stored_graph() == now, "draw it again: python docs/import_graph.py"


def small_tree(tmp_path, sources=()):
    for name in ("coldtheory/ground", "coldtheory/bounds", "cold/runs", "paper_checks"):
        (tmp_path / name).mkdir(parents=True)
        for package in (tmp_path / name, (tmp_path / name).parent):
            if package != tmp_path:
                (package / "__init__.py").touch()
    (tmp_path / "coldtheory/bounds/thm.py").write_text("from ..ground import files\n")
    (tmp_path / "coldtheory/ground/files.py").touch()
    (tmp_path / "cold/runs/read.py").write_text("def f():\n    from coldtheory.bounds.thm import x\n")
    (tmp_path / "paper_checks/drift.py").write_text("import cold.runs.read\nfrom coldtheory import make\n")
    for path, text in dict(sources).items():
        (tmp_path / path).write_text(text)
    return drawing.read_graph(tmp_path)


def test_imports_are_found_wherever_they_stand(tmp_path):
    graph = small_tree(tmp_path)
    assert ("coldtheory.bounds", "coldtheory.ground") in graph.edges
    assert ("cold.runs", "coldtheory.bounds") in graph.edges  # inside a function
    assert ("paper_checks (1)", "cold.runs") in graph.edges
    assert drawing.against(graph) == []


def test_an_import_against_the_direction_is_seen(tmp_path):
    graph = small_tree(tmp_path, {"coldtheory/ground/files.py": "from cold.runs import read\n"})
    assert drawing.against(graph) != []


def test_names_that_a_package_hands_on_lead_to_their_module(tmp_path):
    handed_on = {"coldtheory/__init__.py": "from .tasks import make\n", "coldtheory/tasks.py": "make = 1\n"}
    graph = small_tree(tmp_path, handed_on)
    assert ("paper_checks (1)", "coldtheory (1)") in graph.edges


def test_lines_that_follow_from_others_are_left_out():
    graph = drawing.Graph(
        {name: (name,) for name in ("cold.a", "cold.b", "cold.c")},
        frozenset({("cold.c", "cold.b"), ("cold.b", "cold.a"), ("cold.c", "cold.a")}),
    )
    assert drawing.drawn_edges(graph) == [("cold.b", "cold.a"), ("cold.c", "cold.b")]
    assert drawing.rows(graph) == [["cold.a"], ["cold.b"], ["cold.c"]]
