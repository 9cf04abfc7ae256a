"""Files are replaced whole or not at all, and nothing but files is replaced."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from coldtheory import ColdError
from coldtheory.ground import files
from coldtheory.ground.files import replacing, write_atomically
from tests.crash_states import contents, record, replayed, states


@pytest.fixture
def umask():
    """A umask of the test's choice; the old one comes back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(mask, mode, tmp_path, umask):
    umask(mask)
    write_atomically(tmp_path / "new", "x")
    assert mode_of(tmp_path / "new") == mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o666])
def test_an_existing_file_keeps_its_mode(mode, tmp_path, umask):
    path = tmp_path / "there"
    path.write_text("old")
    path.chmod(mode)
    write_atomically(path, b"new")
    assert (path.read_text(), mode_of(path)) == ("new", mode)


def test_a_secret_file_is_secret_all_the_time(tmp_path, umask):
    path = tmp_path / "secret"
    path.write_text("old")
    path.chmod(0o600)
    with replacing(path) as file:
        (scratch,) = tmp_path.glob(".scratch*")
        assert mode_of(scratch) == 0o600
        file.write(b"new")
    assert mode_of(path) == 0o600


def test_links_are_followed(tmp_path):
    """One to a file, one to that one, one through a linked folder, and one to a file that does not exist yet."""
    far = tmp_path / "far"
    far.mkdir()
    (far / "file").write_text("old")
    (far / "again").symlink_to("file")
    (tmp_path / "link").symlink_to(far / "again")
    (tmp_path / "folder").symlink_to(far)
    (tmp_path / "folder" / "dangling").symlink_to("later")
    for number, name in enumerate(("link", "folder/again", "folder/file")):
        write_atomically(tmp_path / name, f"{number}")
        assert (far / "file").read_text() == f"{number}"
    write_atomically(tmp_path / "folder" / "dangling", "there")
    assert (far / "later").read_text() == "there"
    assert not (far / "later").is_symlink()
    for name in ("link", "folder", "far/again", "far/dangling"):
        assert (tmp_path / name).is_symlink(), name
    assert sorted(os.listdir(far)) == ["again", "dangling", "file", "later"]


def test_a_ring_of_links_is_one_line(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ColdError, match=r"cannot write .*symbolic links"):
        write_atomically(tmp_path / "a", "x")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def _pipe(path):
    os.mkfifo(path)


def _socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        here = os.getcwd()
        os.chdir(path.parent)  # names of sockets are short
        try:
            one.bind(path.name)
        finally:
            os.chdir(here)


@pytest.mark.parametrize(("make", "kind"), [(Path.mkdir, "a folder"), (_pipe, "a pipe"), (_socket, "a socket")])
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_file_is_refused_and_stays(make, kind, linked, tmp_path):
    path = name = tmp_path / "it"
    make(path)
    before = path.lstat()
    if linked:
        name = tmp_path / "link"
        name.symlink_to("it")
    with pytest.raises(ColdError, match=rf"{name} is {kind} and cannot be replaced; give the name of a file"):
        write_atomically(name, "x")
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not list(tmp_path.glob(".*"))


def test_devices_are_refused(tmp_path):
    """A device of the test's own: as root, code that fails this test would replace the system's."""
    if os.geteuid() == 0:
        device = tmp_path / "null"
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    else:
        device = Path("/dev/null")  # in a folder that is closed to this user
    (tmp_path / "link").symlink_to(device)
    for name in (device, tmp_path / "link"):
        with pytest.raises(ColdError, match="is a device"):
            write_atomically(name, "x")
    assert stat.S_ISCHR(device.stat().st_mode)
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("name", ["stdout", "fd/1", "link", "/proc/self/fd/1"])
def test_the_programs_own_output_is_refused_wherever_it_goes(name, tmp_path):
    """Into a file too: replacing that file would leave the program writing to one without a name.

    The links are those of /dev, in the test's own folder: as root, code that fails this test would replace them there.
    """
    (tmp_path / "stdout").symlink_to("/proc/self/fd/1")
    (tmp_path / "fd").symlink_to("/proc/self/fd")
    (tmp_path / "link").symlink_to("stdout")
    program = (
        "import sys; from pathlib import Path; from coldtheory.ground.files import write_atomically\n"
        "try: write_atomically(Path(sys.argv[1]), 'x')\n"
        "except ValueError as error: print(error, file=sys.stderr)\n"
        "print('still here')\n"
    )
    with (tmp_path / "output").open("wb") as output:
        words = [sys.executable, "-c", program, name]
        done = subprocess.run(words, stdout=output, stderr=subprocess.PIPE, text=True, check=True, cwd=tmp_path)
    assert "give the name of a file" in done.stderr
    assert (tmp_path / "output").read_text() == "still here\n"


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_impossible_names_are_one_line(name, tmp_path):
    with pytest.raises(ColdError, match=r"cannot write .*too long|cannot be the name"):
        write_atomically(tmp_path / name, "x")


def test_a_name_of_full_length_is_possible(tmp_path):
    write_atomically(tmp_path / ("x" * 255), "x")
    assert (tmp_path / ("x" * 255)).read_text() == "x"


def test_the_next_writer_removes_what_dead_processes_left(tmp_path):
    program = textwrap.dedent("""
        import os, sys; from pathlib import Path
        from coldtheory.ground.files import replacing
        with replacing(Path(sys.argv[1])) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), 9)
    """)
    killed = subprocess.run([sys.executable, "-c", program, str(tmp_path / "file")], check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    elsewhere = tmp_path / left.name.replace("scratch-", "scratch-anothermachine")
    elsewhere.write_text("its process may live, on another machine")
    with replacing(tmp_path / "other") as file:  # this process lives
        write_atomically(tmp_path / "file", "whole")
        assert not left.exists()
        file.write(b"whole, too")
    assert sorted(os.listdir(tmp_path)) == sorted([elsewhere.name, "file", "other"])
    assert (tmp_path / "other").read_text() == "whole, too"


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_keeps_the_old_file_and_leaves_nothing_behind(call, error, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(f"coldtheory.ground.files.os.{call}", fail)
    with pytest.raises(ColdError if isinstance(error, OSError) else KeyboardInterrupt, match=r"No space left|^$"):
        write_atomically(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_and_its_recovery(tmp_path):
    """The system refuses to write more than a limit, as a full disk does; with more room the same call succeeds."""
    path = tmp_path / "file"
    path.write_text("old")
    program = textwrap.dedent(f"""
        import resource, sys; from pathlib import Path
        from coldtheory.ground.files import write_atomically
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        try: write_atomically(Path(sys.argv[1]), b"n" * 100_000)
        except ValueError as error: print(error)
        assert Path(sys.argv[1]).read_text() == "old"
        resource.setrlimit(resource.RLIMIT_FSIZE, ({resource.RLIM_INFINITY}, hard))
        write_atomically(Path(sys.argv[1]), b"n" * 100_000)
    """)
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"cannot write {path}: File too large; choose another folder with --out\n"
    assert path.read_bytes() == b"n" * 100_000
    assert os.listdir(tmp_path) == ["file"]


class Recorder:
    """The calls that change files, in their order; the program stops before the call of a given number."""

    class Stopped(BaseException):
        pass

    def __init__(self, monkeypatch, stop_at=None):
        self.calls, self._stop_at = [], stop_at
        for name in ("open", "fsync", "chmod", "replace"):
            monkeypatch.setattr(f"coldtheory.ground.files.os.{name}", self._wrapped(name, getattr(os, name)))
        for name in ("unlink",):  # a machine that has stopped does not tidy up either
            monkeypatch.setattr(files.Path, name, self._wrapped(name, getattr(Path, name)))

    def _wrapped(self, name, real):
        def call(*arguments, **options):
            if len(self.calls) == self._stop_at:
                raise self.Stopped
            where = "folder" if name == "open" and arguments[1] & os.O_DIRECTORY else "file"
            if name == "fsync":
                where = "folder" if stat.S_ISDIR(os.fstat(arguments[0]).st_mode) else "file"
            self.calls.append(f"{name} {where}")
            return real(*arguments, **options)

        return call


def test_the_order_of_writes_replayed_up_to_every_point(tmp_path, monkeypatch):
    """Content before name, name before the end; stopped before any of the calls, the file is the old or the new one."""

    def replay(stop_at):
        folder = tmp_path / f"{stop_at}"
        folder.mkdir()
        (folder / "file").write_text("old")
        with monkeypatch.context() as patch:
            recorder = Recorder(patch, stop_at)
            with contextlib.suppress(Recorder.Stopped):
                write_atomically(folder / "file", "new")
        return recorder.calls, folder

    calls, folder = replay(None)
    assert calls == ["open file", "fsync file", "chmod file", "replace file", "open folder", "fsync folder"]
    assert (folder / "file").read_text() == "new"
    for stop_at in range(len(calls)):
        done, folder = replay(stop_at)
        assert done == calls[:stop_at]
        assert (folder / "file").read_text() == ("new" if "replace file" in done else "old")
        write_atomically(folder / "file", "newer")  # and the next one succeeds
        assert (folder / "file").read_text() == "newer"


_WRITES = """
from coldtheory.ground.files import write_atomically
for number in range(3):
    write_atomically(folder / "new" / "deep" / "file", f"{number}" * 2000)
    done(number)
"""


@pytest.mark.needs("gcc")
def test_a_loss_of_power_at_any_point_leaves_the_old_or_the_new_file(tmp_path):
    """What was written when the call returned stays, the names of new folders included."""
    folder, before = tmp_path / "folder", tmp_path / "before"
    folder.mkdir()
    before.mkdir()
    calls = record(_WRITES, folder, tmp_path / "scratch")
    assert replayed(before, calls, tmp_path / "again") == contents(folder)
    possible = [None, *(f"{number}" * 2000 for number in range(3))]
    for state in states(before, calls, tmp_path):
        path = state.folder / "new" / "deep" / "file"
        found = path.read_text() if path.exists() else None
        assert found in possible[state.marks :][:2], state
