"""Stored rows: many writers, kills, full disks, foreign files, old formats; nothing is lost and nothing is trusted."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
from pathlib import Path

import msgspec
import pytest

from coldtheory import ColdError
from coldtheory.rows import CONFIG_KEYS, MEASURED_KEYS
from coldtheory.sources import Source
from coldtheory.store import RowFile, StoredRows, read_rows, remove_rows, row_files
from coldtheory.store.schema import RowTypes
from coldtheory.sweep import grid, run_cells
from tests.crash_states import contents, record, replayed, states
from tests.fuzz.databases import left_by_a_killed_program, naming

SOURCE = Source("low", {"T": 5, "d": 2})
CELLS = grid(SOURCE, "V", [10.0, 100.0], 2)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A results folder with four rows."""
    folder = tmp_path_factory.mktemp("made")
    run_cells(CELLS, folder, engine="serial")
    return folder


@pytest.fixture
def folder(made, tmp_path):
    """A copy that a test may spoil."""
    return Path(shutil.copytree(made, tmp_path / "results"))


@pytest.fixture
def path(folder):
    (path,) = row_files(folder)
    return path


@pytest.fixture
def row(made):
    return read_rows(row_files(made)[0])["rows"][0]


def another(row, key, **changes):
    return {**row, "key": key, **changes}


def by_key(rows):
    return {row["key"]: row for row in rows}


def keys_in(path):
    with StoredRows(path) as stored:
        return {row["key"] for row in stored.rows()}


def test_rows_come_back_as_they_were_and_by_their_keys(path, row):
    extreme = another(row, "extreme", V=5e-324, delta=0.1 + 0.2, avg_Qbar=1.7976931348623157e308, D_phi=None, memory=7)
    with RowFile(path, SOURCE.config) as file:
        file.add([extreme])
        assert file.having(["extreme", "absent", row["key"]]) == {"extreme", row["key"]}
        assert list(file.rows(["extreme", "absent", row["key"]])) == [extreme, row]
    with StoredRows(path) as stored:
        assert list(stored.rows())[-1] == extreme
        assert (len(stored), stored.source, len(stored.origins)) == (5, SOURCE.config, 1)
        found = stored.summary()
        assert (found.rows, found.seeds, found.V) == (5, 2, (5e-324, 100.0))


def test_the_types_that_are_asked_for_are_those_of_known_keys():
    """Keys that came later may be absent in older rows, so they are not asked for."""
    asked = {field.name for field in msgspec.structs.fields(RowTypes)}
    assert asked <= {*CONFIG_KEYS, *MEASURED_KEYS, "schema"}
    assert {"key", "seed", "V", "diverged", "avg_grad_sq_before"} <= asked


def test_pages_are_complete_whatever_their_number(path, row):
    with RowFile(path, SOURCE.config) as file:
        file.add([another(row, f"{n:05}") for n in range(1700)])
    keys = [f"{n:05}" for n in range(1700)]
    with StoredRows(path) as stored:
        assert [row["key"] for row in stored.rows()][4:] == keys
        assert [row["key"] for row in stored.rows(keys[::-1])] == keys[::-1]
        assert stored.having([*keys, "absent"]) == {*keys}


def test_a_file_that_does_not_exist_has_no_rows(tmp_path):
    with StoredRows(tmp_path / "none.sqlite") as stored:
        assert (len(stored), list(stored.rows()), stored.having(["a"]), stored.source) == (0, [], set(), {})
        assert stored.summary().rows == 0
    with RowFile(tmp_path / "none.sqlite", SOURCE.config):
        pass
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------ costs


def pages(path):
    content = path.read_bytes()
    return [content[at : at + 4096] for at in range(0, len(content), 4096)]


def test_one_more_row_changes_a_handful_of_pages_however_large_the_file_is(path, row):
    with RowFile(path, SOURCE.config) as file:
        file.add([another(row, f"{n:016}") for n in range(20_000)])
    before = pages(path)
    with RowFile(path, SOURCE.config) as file:
        file.add([another(row, "one more")])
    after = pages(path)
    assert len(before) > 1000
    changed = sum(old != new for old, new in zip(before, after, strict=False)) + len(after) - len(before)
    assert 0 < changed <= 8


def test_a_list_all_rows_and_one_more_row_need_no_more_memory_for_a_larger_file(path, row):
    def peak(work):
        tracemalloc.start()
        try:
            work()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    def read():
        with StoredRows(path) as stored:
            stored.summary()
            assert sum(1 for _ in stored.rows()) == len(stored)

    def add():
        with RowFile(path, SOURCE.config) as file:
            assert not file.having(["one more"])
            file.add([another(row, "one more")])

    peaks = []
    for upto in (1500, 9000):
        with RowFile(path, SOURCE.config) as file:
            file.add([another(row, f"{n:016}") for n in range(upto)])
        for _ in range(2):  # what is loaded once does not count
            _sql("DELETE FROM rows WHERE key = 'one more'")(path)
            found = peak(read), peak(add)
        peaks.append(found)
    (read_small, add_small), (read_large, add_large) = peaks
    assert path.stat().st_size > 7_000_000
    assert read_large < 1.2 * read_small < 4_000_000
    assert add_large < 1.2 * add_small < 1_000_000


# ------------------------------------------------------------------------------------------------ several programs


def test_two_programs_write_one_file(path, row):
    with RowFile(path, SOURCE.config, save_every=0.0) as left, RowFile(path, SOURCE.config, save_every=0.0) as right:
        for n in range(5):
            left.add([another(row, f"left {n}")])
            right.add([another(row, f"right {n}"), another(row, "both")])
    assert len(keys_in(path)) == 4 + 11


def _write(path, row, number, together):
    together.wait(600)  # only so that a writer that does not come is a failure
    with RowFile(path, SOURCE.config) as file:
        file.add([another(row, f"{number}"), another(row, "everyone's")])


@pytest.mark.parametrize("begun", [False, True])
def test_a_hundred_writers_in_parallel_store_all_rows(begun, path, row):
    """Of a file that is there, and of one that the first of them makes; all are there before any of them begins."""
    if not begun:
        path.unlink()
    before = keys_in(path)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.coldtheory.test_store"])
    together = context.Barrier(100)
    writers = [context.Process(target=_write, args=(path, row, number, together)) for number in range(100)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert {writer.exitcode for writer in writers} == {0}
    assert keys_in(path) == before | {f"{number}" for number in range(100)} | {"everyone's"}
    assert os.listdir(path.parent) == [path.name]  # no lock and no journal


def test_a_writer_that_waits_too_long_says_for_what(path, row, monkeypatch):
    monkeypatch.setattr("coldtheory.store.database._PATIENCE", 0.01)
    waiting = pytest.raises(ColdError, match=r"another program is writing .*; wait for it")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with waiting, RowFile(path, SOURCE.config) as file:
            file.add([row])


# ------------------------------------------------------------------------------------------------ kills, full disks


def _program(text, *arguments, check=True):
    head = (
        "import os, signal, sys; from pathlib import Path\n"
        "import coldtheory.store as s\n"
        "from coldtheory import ColdError\n"
        "from tests.coldtheory.test_store import SOURCE, another\n"
        "path = Path(sys.argv[1]); row = s.read_rows(path)['rows'][0]\n"
    )
    words = [sys.executable, "-c", head + textwrap.dedent(text), *map(str, arguments)]
    return subprocess.run(words, check=check, capture_output=True, text=True, cwd=Path(__file__).parents[2])


def test_a_writer_killed_in_the_middle_of_a_save_leaves_the_last_complete_state(path, row):
    """With so little cache the file itself is half overwritten when the kill comes: the journal undoes that."""
    before = keys_in(path)
    killed = _program(
        """
        s.database._CACHE = 1
        def rows():
            for n in range(20_000):
                if n == 15_000: os.kill(os.getpid(), signal.SIGKILL)
                yield another(row, f"{n:016}")
        with s.RowFile(path, SOURCE.config) as file:
            file._unsaved = rows()
            file.save()
        """,
        path,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert os.listdir(path.parent) != [path.name]
    assert path.stat().st_size > 1_000_000
    assert keys_in(path) == before  # a reader sees to it
    assert os.listdir(path.parent) == [path.name]
    with RowFile(path, SOURCE.config) as file:
        file.add([another(row, "next")])
    assert keys_in(path) == {*before, "next"}


@pytest.mark.parametrize("begun", [False, True])
def test_a_full_disk_keeps_what_was_there_and_with_more_room_the_rest_follows(begun, path, row):
    if begun:
        with RowFile(path, SOURCE.config) as file:
            file.add([another(row, f"before {n}") for n in range(100)])
    before = keys_in(path)
    done = _program(
        f"""
        import resource
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10_000, hard))
        rows = [another(row, f"{{n}}") for n in range(1000)]
        try:
            with s.RowFile(path, SOURCE.config) as file: file.add(rows)
        except ColdError as error: print(error)
        with s.StoredRows(path) as stored: print(len(stored))
        resource.setrlimit(resource.RLIMIT_FSIZE, ({resource.RLIM_INFINITY}, hard))
        with s.RowFile(path, SOURCE.config) as file: file.add(rows)
        """,
        path,
    )
    told, count = done.stdout.splitlines()
    assert told.startswith(f"cannot write {path}: ")
    assert told.endswith("what was stored stays, so make room and run it again")
    assert int(count) == len(before)
    assert keys_in(path) == before | {f"{n}" for n in range(1000)}
    assert os.listdir(path.parent) == [path.name]


_SAVES = """
from coldtheory.store import RowFile, read_rows
from tests.coldtheory.test_store import SOURCE, another
path, row = Path(sys.argv[2]), json.loads(sys.argv[3])
with RowFile(path, SOURCE.config, save_every=0.0) as file:
    file.add([another(row, "one")])
    done("one")
    file.add([another(row, f"many {n}") for n in range(40)] + [another(row, "one", avg_Qbar=2.0)])
    done("many")
"""


@pytest.mark.needs("gcc")
@pytest.mark.parametrize("begun", ["no file", "a file", "a file of the old format"])
def test_the_order_of_writes_replayed_up_to_every_point(begun, made, old, row, tmp_path):
    """Whatever the disk has lost when the power comes back: the rows of the last save, or of the one under way."""
    folder, before = tmp_path / "folder", tmp_path / "before"
    folder.mkdir()
    if begun != "no file":  # then the program makes the folder of results, too
        shutil.copytree(made if begun == "a file" else old.parent, folder / "results")
    shutil.copytree(folder, before)
    name = f"results/{SOURCE.stem}.sqlite"

    def content(folder):
        with StoredRows(folder / name) as stored:
            return {row["key"]: row["avg_Qbar"] for row in stored.rows()}

    first = content(folder)
    one = {**first, "one": row["avg_Qbar"]}
    many = {**one, **{f"many {n}": row["avg_Qbar"] for n in range(40)}, "one": 2.0}
    calls = record(_SAVES, folder, tmp_path / "scratch", folder / name, json.dumps(row))
    assert replayed(before, calls, tmp_path / "again") == contents(folder)  # nothing is missing in the record
    kinds = [call.kind for call in calls]
    assert kinds.count("mark") == 2
    assert {"create", "write", "sync", "remove"} <= set(kinds)
    assert ("rename" in kinds) == (begun == "a file of the old format")
    seen = set()
    for state in states(before, calls, tmp_path):
        found = content(state.folder)
        assert found in ([first, one], [one, many], [many])[state.marks], state
        seen.add((state.kind, state.marks, len(found)))
        if state.kind == "killed":  # and one can go on from there
            with RowFile(state.folder / name, SOURCE.config) as file:
                file.add([another(row, "next")])
            assert content(state.folder) == {**found, "next": row["avg_Qbar"]}, state
            assert not list(state.folder.rglob("*-journal")), state
    assert {("killed", 0, len(first)), ("killed", 0, len(one))} <= seen
    assert {("synced", 1, len(one)), ("synced", 2, len(many))} <= seen


def test_a_file_that_is_removed_meanwhile_is_one_line(path, row):
    def write_and_remove() -> None:
        with RowFile(path, SOURCE.config) as file:
            file.add([another(row, "a")])
            file.save()
            path.unlink()
            file.add([another(row, "b")])
            file.save()

    with pytest.raises(ColdError, match="was removed while it was being written"):
        write_and_remove()


# ------------------------------------------------------------------------------------------------ foreign, damaged


def _sql(*statements):
    def spoil(path):
        with contextlib.closing(sqlite3.connect(path)) as db:
            for statement in statements:
                db.execute(statement)
            db.commit()

    return spoil


def _content(**changes):
    """A row's content with other entries, or without some (None)."""

    def spoil(path):
        with contextlib.closing(sqlite3.connect(path)) as db:
            ((content,),) = db.execute("SELECT content FROM rows WHERE id = 1")
            mended = {name: value for name, value in {**json.loads(content), **changes}.items() if value is not ...}
            db.execute("UPDATE rows SET content = ? WHERE id = 1", [json.dumps(mended)])
            db.commit()

    return spoil


DAMAGES = {
    "no database": lambda path: path.write_bytes(b"rows " * 1000),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "first page only": lambda path: path.write_bytes(path.read_bytes()[:4096]),
    "another program's": _sql("PRAGMA application_id = 7"),
    "an unnamed one": _sql("PRAGMA application_id = 0"),
    "an earlier version": _sql("PRAGMA user_version = 1"),
    "a further table": _sql("CREATE TABLE more (a)"),
    "a trigger": _sql("CREATE TRIGGER t AFTER INSERT ON rows BEGIN DELETE FROM rows; END"),
    "a view for a table": _sql("ALTER TABLE rows RENAME TO r", "CREATE VIEW rows AS SELECT * FROM r"),
    "no JSON": _sql("UPDATE rows SET content = '{' WHERE id = 2"),
    "JSON in a blob of no text": _sql("UPDATE rows SET content = x'ff00' WHERE id = 2"),
    "a number": _sql("UPDATE rows SET content = 7 WHERE id = 2"),
    "deeply nested": _sql(f"UPDATE rows SET content = '{'[' * 100_000}' WHERE id = 2"),
    "another key": _sql("UPDATE rows SET key = 'other' WHERE id = 2"),
    "a key that is no text": _sql("UPDATE rows SET key = x'00ff' WHERE id = 2"),
    "no origin": _sql("DELETE FROM provenance"),
    "an origin without a time": _sql("UPDATE provenance SET content = '{}'"),
    "an origin that is no object": _sql("UPDATE provenance SET content = '[]'"),
    "a source that is no object": _sql("UPDATE about SET source = '[1]'"),
    "a V that is no number": _content(V="large"),
    "a seed that is no whole number": _content(seed=1.5),
    "a truth value that is none": _content(diverged="no"),
    "a measure that is a list": _content(avg_Qbar=[1.0]),
    "a missing measure": _content(D_phi=...),
    "a value within a value": _content(regime={"a": {"b": 1}}),
}


def _read_all(path):
    with StoredRows(path) as stored:
        return [*stored.rows()], stored.origins, stored.source, stored.summary()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_or_foreign_file_is_named_and_kept(damage, path):
    DAMAGES[damage](path)
    content = path.read_bytes()
    with pytest.raises(ColdError, match=rf"{path.name} is damaged .*results rm {path.stem}"):
        _read_all(path)
    with contextlib.suppress(ColdError), RowFile(path, SOURCE.config):
        pass
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("doing", ["read", "write"])
def test_a_journal_that_names_another_file_does_not_remove_it(doing, path, row, tmp_path, monkeypatch):
    """SQLite removes the file, a journal of several databases, when it has undone what the journal says."""
    precious = tmp_path / "precious"
    precious.write_text("stays")
    journal = path.with_name(f"{path.name}-journal")
    journal.write_bytes(left_by_a_killed_program(path) + naming(str(precious).encode()))
    with pytest.raises(ColdError, match=r"-journal is not of this program.*remove it"):
        _use(doing, path, row)
    assert precious.read_text() == "stays"
    assert journal.exists()
    journal.unlink()
    _use(doing, path, row)


@pytest.mark.parametrize("doing", ["read", "write"])
@pytest.mark.parametrize("ending", ["-journal", "-wal", "-shm"])
def test_what_lies_beside_a_file_leads_nowhere_else(ending, doing, path, row, tmp_path):
    (tmp_path / "empty").touch()
    for target in ("empty", "nothing"):
        link = path.with_name(f"{path.name}{ending}")
        link.symlink_to(tmp_path / target)
        with pytest.raises(ColdError, match="is not a regular file"):
            _use(doing, path, row)
        link.unlink()
    assert (tmp_path / "empty").read_bytes() == b""
    assert not (tmp_path / "nothing").exists()


def _use(doing, path, row):
    if doing == "read":
        return read_rows(path)
    with RowFile(path, SOURCE.config) as file:
        return file.add([another(row, "new")])


def test_a_file_of_a_later_version_is_named(path):
    _sql("PRAGMA user_version = 9")(path)
    with pytest.raises(ColdError, match="later version"):
        _read_all(path)


def test_an_empty_file_is_what_a_writer_killed_early_leaves(path, row):
    path.write_bytes(b"")
    assert keys_in(path) == set()
    with RowFile(path, SOURCE.config) as file:
        file.add([row])
    assert keys_in(path) == {row["key"]}


def test_no_mutation_of_a_file_is_more_than_one_line(path):
    """Seeded: bytes changed anywhere, and most often where the structure is."""
    whole, rng = path.read_bytes(), random.Random(13)
    read, words = 0, []
    for _ in range(300):
        content = bytearray(whole)
        for _ in range(rng.choice([1, 3, 30])):
            page = rng.randrange(len(whole) // 4096) * 4096
            content[page + rng.choice([rng.randrange(100), rng.randrange(4096)])] = rng.randrange(256)
        path.write_bytes(content)
        try:
            _read_all(path)
            read += 1
        except ColdError as error:
            words.append(str(error))
        for left in path.parent.iterdir():
            left.unlink()
    assert read > 0
    assert words
    assert not any("\n" in line for line in words)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.sqlite")
    (tmp_path / "folder.json").mkdir()
    for name in ("pipe.sqlite", "folder.json"):
        with pytest.raises(ColdError, match=f"{name} is not a regular file"), StoredRows(tmp_path / name):
            pass


def test_the_rows_of_other_tasks_are_not_mixed(path):
    with pytest.raises(ColdError, match="rows of other tasks"), RowFile(path, Source("low", {"T": 6}).config):
        pass


def test_a_file_may_be_read_only(path):
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert len(keys_in(path)) == 4
    finally:
        path.parent.chmod(0o755)


# ------------------------------------------------------------------------------------------------ the old format


@pytest.fixture
def old(made, tmp_path):
    """The same rows as an earlier version stores them, with what it leaves behind."""
    path = tmp_path / "old" / f"{SOURCE.stem}.json"
    path.parent.mkdir()
    path.write_text(json.dumps(read_rows(row_files(made)[0])))
    path.with_suffix(".lock").touch()
    return path


def test_old_rows_are_read_and_nothing_is_changed_by_reading(old, made):
    before = sorted(os.listdir(old.parent))
    assert row_files(old.parent) == [old]
    assert read_rows(old) == read_rows(row_files(made)[0])
    assert by_key(run_cells(CELLS, old.parent, engine="serial")) == by_key(read_rows(old)["rows"])
    assert sorted(os.listdir(old.parent)) == before


def test_the_first_new_row_brings_the_old_ones_along(old, row, monkeypatch):
    content, before = old.read_bytes(), read_rows(old)
    with RowFile(old, SOURCE.config) as file:
        assert row["key"] in file.having([row["key"]])
        file.add([another(row, "new")])
    new = old.with_suffix(".sqlite")
    kept = old.with_name(f"{old.name}.old")
    assert sorted(os.listdir(old.parent)) == sorted([new.name, kept.name])
    assert kept.read_bytes() == content
    assert row_files(old.parent) == [new]
    assert [r for r in read_rows(new)["rows"] if r["key"] != "new"] == before["rows"]
    monkeypatch.setattr("coldtheory.sweep._run_job", None)  # nothing may be simulated
    assert by_key(run_cells(CELLS, old.parent, engine="serial")) == by_key(before["rows"])


def test_a_kill_between_taking_over_and_renaming_loses_nothing(old, row):
    content = old.read_bytes()
    with RowFile(old, SOURCE.config) as file:
        file.add([another(row, row["key"], avg_Qbar=123.0), another(row, "new")])
    old.with_name(f"{old.name}.old").rename(old)  # as if the program had been killed before it gave the name
    with StoredRows(old) as stored:
        assert len(stored) == 5
        assert next(stored.rows([row["key"]]))["avg_Qbar"] == 123.0  # the newer one counts
    with RowFile(old, SOURCE.config) as file:
        file.add([another(row, "newer")])
    assert len(keys_in(old)) == 6
    assert old.with_name(f"{old.name}.old").read_bytes() == content
    assert not old.exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda _: "",
        lambda _: "{",
        lambda _: "[" * 100_000,
        lambda _: "[]",
        lambda content: json.dumps(content)[:-400],
        lambda content: json.dumps({**content, "format": "other/9"}),
        lambda content: json.dumps({**content, "rows": None}),
        lambda content: json.dumps({**content, "rows": [1]}),
        lambda content: json.dumps({**content, "rows": [{}]}),
        lambda content: json.dumps({**content, "provenance": []}),
        lambda content: json.dumps({**content, "provenance": [{"commit": 3}]}),
        lambda content: json.dumps({**content, "rows": [{**content["rows"][0], "provenance": -1}]}),
        lambda content: json.dumps({**content, "rows": [{**content["rows"][0], "V": "x"}]}),
        lambda content: json.dumps({**content, "rows": [{**content["rows"][0], "seed": 2**70, "schema": 1}]}),
        lambda content: json.dumps({**content, "rows": [{**content["rows"][0], "V": {}, "schema": 1}]}),
    ],
)
def test_a_damaged_old_file_is_named_and_kept(spoil, old, row):
    old.write_text(spoil(json.loads(old.read_text())))
    content = old.read_bytes()
    with pytest.raises(ColdError, match=rf"{SOURCE.stem}\.\w+ is damaged .*results rm"), StoredRows(old):
        pass
    with pytest.raises(ColdError, match="is damaged"), RowFile(old, SOURCE.config) as file:
        file.add([row])
    assert old.read_bytes() == content
    assert not old.with_suffix(".sqlite").exists()


def test_old_rows_of_another_schema_are_counted_and_not_used(old):
    content = json.loads(old.read_text())
    content["rows"] = [{**row, "schema": 1, "D_phi": [1]} for row in content["rows"]]
    for row in content["rows"]:
        del row["rho_bar"], row["D_phi"]
    old.write_text(json.dumps(content))
    with StoredRows(old) as stored:
        assert stored.has_another_schema()
        assert stored.summary().rows == 4


def test_removing_leaves_nothing(old, row):
    with RowFile(old, SOURCE.config) as file:
        file.add([row])
    remove_rows(row_files(old.parent)[0])
    assert os.listdir(old.parent) == []
