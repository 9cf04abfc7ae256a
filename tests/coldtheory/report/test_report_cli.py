"""`coldtheory report` and `coldtheory serve`: what they write, where they listen, and how they fail."""

from __future__ import annotations

import http.client
import inspect
import json
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from coldtheory.cli import app
from coldtheory.cli import report as command
from coldtheory.figures import registry
from coldtheory.report import make_server, store_outcomes
from coldtheory.report import outcomes as stored
from coldtheory.report.server import AT_ONCE, PATIENCE
from tests.coldtheory.report.drawings import figure, table
from tests.coldtheory.report.pixel import PICTURE


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(app, list(words))


@pytest.fixture
def checks(monkeypatch, outcomes):
    """Checking without the wait; counts how often it is asked for."""
    asked = []
    monkeypatch.setattr(command, "run_checks", lambda *claims, **options: asked.append(1) or outcomes)
    return asked


def refused(done, *words):
    assert done.exit_code == 2, done.output
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    for word in words:
        assert word in lines[0]


def test_verdicts_are_found_once_and_then_read(call, checks, tmp_path, outcomes):
    first = call("report", "--json")
    assert first.exit_code == 0
    about = json.loads(first.stdout)
    page = tmp_path / "report.html"
    assert about["bytes"] == page.stat().st_size < 3_000_000
    assert about["claims"] == len(outcomes.rows)
    assert about["verdicts_current"] is True
    assert about["verdicts_provenance"]["time"] == outcomes.origin["time"]
    assert stored.place(tmp_path / "results").is_file()
    assert call("report").exit_code == 0
    assert len(checks) == 1
    assert call("report", "--check-claims").exit_code == 0
    assert len(checks) == 2


def test_a_fresh_folder_is_told_that_all_claims_are_checked_first(call, checks, outcomes):
    done = call("report", "--json")
    told = f"checking all {len(outcomes.rows)} claims first (no verdicts are stored in results/checks); "
    assert done.stderr == f"{told}the verdicts are kept for the next report\n"
    assert "checking all" not in done.stdout
    assert call("report").stderr == ""  # they are there now
    assert f"checking all {len(outcomes.rows)} claims first (as --check asks)" in call("report", "--check").stderr
    assert len(checks) == 2


def test_figures_that_cannot_be_drawn_are_said_in_one_line(call, checks, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "figures", lambda *_: (figure("refuse"),))
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "wave.png").write_bytes(PICTURE)
    (tmp_path / "figures" / "wave.csv").write_text(table().to_csv())
    call("report")
    done = call("report")
    assert done.exit_code == 0
    assert done.stderr == (
        "figures shown as PNGs: 1, as their tables cannot be drawn anew (wave: ZeroDivisionError: it cannot be "
        "drawn); 'coldtheory plot all --to figures' makes them again\n"
    )
    assert 'src="data:image/png' in (tmp_path / "report.html").read_text()


def test_stale_verdicts_are_shown_as_such(call, checks, tmp_path, outcomes):
    first, *others = outcomes.rows
    changed = replace(outcomes, rows=(first | {"depends_on": {"code paper_checks.drift": "another"}}, *others))
    store_outcomes(changed, stored.place(tmp_path / "results"))
    done = call("report")
    assert done.exit_code == 0
    assert "stale verdicts: 1, as what they depend on has changed" in done.stdout
    assert f"({first['id']}: code paper_checks.drift)" in done.stdout
    assert "'coldtheory check --stale' finds them again" in done.stdout
    assert "has changed since" in (tmp_path / "report.html").read_text()
    assert checks == []
    about = json.loads(call("report", "--json").stdout)
    assert about["stale"] == [first["id"]]
    assert about["verdicts_current"] is False


def test_a_broken_check_is_exit_code_1(call, tmp_path, outcomes, monkeypatch):
    row = outcomes.rows[0] | {"verdict": stored.FAILED, "changed": True}
    monkeypatch.setattr(command, "run_checks", lambda *claims, **options: replace(outcomes, rows=(row,)))
    done = call("report")
    assert done.exit_code == 1
    assert f"not as recorded: {row['id']}" in done.stdout
    assert (tmp_path / "report.html").is_file()


def test_bad_input_is_one_line(call, checks, tmp_path):
    refused(call("report", "--figures", "nowhere"), "there is no folder nowhere")
    refused(call("report", "--results", "nowhere"), "there is no folder nowhere")
    refused(call("report", "--outcomes", "nowhere.json"), "cannot read nowhere.json")
    (tmp_path / "bad.json").write_text("{")
    refused(call("report", "--outcomes", "bad.json"), "bad.json is damaged", "coldtheory report --check-claims")
    refused(call("report", "--outcomes", "bad.json", "--check-claims"), "give one of the two")
    refused(call("report", "--out", "."), "is a folder")
    (tmp_path / "file").write_text("")
    refused(call("report", "--out", "file/report.html"), "cannot write", "--out")
    assert not (tmp_path / "report.html").exists()


def test_a_damaged_store_of_verdicts_is_not_guessed_over(call, checks, tmp_path):
    path = stored.place(tmp_path / "results")
    path.parent.mkdir(parents=True)
    path.write_text("[{")
    refused(call("report"), "outcomes.json is damaged", "coldtheory report --check-claims")
    assert checks == []
    assert call("report", "--check-claims").exit_code == 0
    assert call("report").exit_code == 0


def test_help_has_examples():
    for name in ("report", "serve"):
        assert "Example:" in CliRunner().invoke(app, [name, "--help"]).stdout
        assert name in CliRunner().invoke(app, ["--help"]).stdout


# ---------------------------------------------------------------------------------------------------
# serve


@contextmanager
def serving(folder, **options):
    """A server at work, in a thread."""
    (folder / "report.html").write_text("<p>the page</p>")
    (folder / "secret.txt").write_text("secret")
    with make_server(folder / "report.html", **options) as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as running:
        yield running


def ask(server, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers
    finally:
        connection.close()


def test_serve_listens_on_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.socket.getsockname()[0] == "127.0.0.1"
    for address in {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {
        "127.0.0.1"
    }:
        with pytest.raises(OSError):  # noqa: PT011 - refused or unreachable, as the system says it
            socket.create_connection((address, server.server_address[1]), timeout=2)


def test_serve_gives_the_page_and_nothing_else(server):
    status, body, headers = ask(server, "/")
    assert (status, body) == (200, b"<p>the page</p>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(server, "/report.html?x=1")[0] == 200
    assert ask(server, "/", "HEAD")[:2] == (200, b"")
    for path in (
        "/secret.txt",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "//secret.txt",
        "/report.html/../secret.txt",
        "secret.txt",
    ):
        status, body, _ = ask(server, path)
        assert status == 404, path
        assert b"secret" not in body.replace(path.encode(), b"")
    for method in ("POST", "PUT", "DELETE"):
        assert ask(server, "/", method)[0] == 501


def test_serve_refuses_names_that_others_point_here(server):
    port = server.server_address[1]
    for name in (f"localhost:{port}", f"127.0.0.1:{port}"):
        assert ask(server, "/", Host=name)[0] == 200
    for name in (
        "evil.example",
        f"evil.example:{port}",
        "localhost",
        f"localhost:{port + 1}",
        f"localhost:{port}:1",
        "",
    ):
        assert ask(server, "/", Host=name)[0] == 403


def said(server, request):
    """All that the server answers to these bytes."""
    with socket.create_connection(server.server_address[:2], timeout=60) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


@pytest.mark.parametrize("hosts", [[], ["localhost", "evil.example"], ["localhost", "localhost"]])
def test_serve_wants_one_host_header(server, hosts):
    port = server.server_address[1]
    lines = "".join(f"Host: {name}:{port}\r\n" for name in hosts)
    assert said(server, f"GET / HTTP/1.1\r\n{lines}\r\n".encode()).split()[1] == b"400"


def test_serve_does_not_wait_for_silent_clients(tmp_path):
    assert inspect.signature(make_server).parameters["patience"].default == PATIENCE == 10
    with serving(tmp_path, patience=0.05) as server:
        for request in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: loc"):
            assert said(server, request) == b""  # the server hangs up first


def test_serve_has_a_limited_number_of_clients(tmp_path):
    assert AT_ONCE == 16
    with serving(tmp_path, patience=600) as server:
        _fill_up(server)


def _fill_up(server):
    silent = [socket.create_connection(server.server_address[:2], timeout=60) for _ in range(AT_ONCE)]
    try:
        while server._places._value:  # all of them have a thread of their own
            pass
        assert said(server, b"") == b""  # one more is sent away
    finally:
        for client in silent:
            client.close()
    while server._places._value < AT_ONCE:  # their threads end
        pass
    assert ask(server, "/")[0] == 200


def test_ctrl_c_ends_serve_at_once(tmp_path, monkeypatch):
    """Whether the browser is being opened or pages are served, and whoever is connected."""
    page = tmp_path / "report.html"
    page.write_text("<p>the page</p>")

    def interrupted(*_args, **_more):
        raise KeyboardInterrupt

    for where in ("webbrowser.open", "coldtheory.report.server.OneFileServer.serve_forever"):
        with monkeypatch.context() as patch:
            patch.setattr("webbrowser.open", lambda _: True)
            patch.setattr(where, interrupted)
            done = CliRunner().invoke(app, ["serve", "--file", str(page)])
        assert done.exit_code == 0
        assert "stopped" in done.stderr


def test_ctrl_c_ends_serve_while_clients_are_connected(tmp_path):
    """The program itself: neither a client that says nothing nor one that says half a request holds it up.

    The server would wait for them for ever, so that a program which waits for its clients does not pass.
    """
    (tmp_path / "report.html").write_text("<p>the page</p>")
    patient = "from coldtheory.report import server; server.make_server.__kwdefaults__['patience'] = None"
    code = f"{patient}; from coldtheory.cli import main; main()"
    words = [sys.executable, "-c", code, "serve", "--no-browser", "--json"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        port = int(json.loads(process.stdout.readline())["address"].strip("/").rpartition(":")[2])
        clients = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in range(3)]
        clients[1].sendall(b"GET / HTTP/1.1\r\nHost:")
        clients[2].sendall(f"GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        assert clients[2].recv(12) == b"HTTP/1.0 200"
        process.send_signal(signal.SIGINT)
        told = process.communicate(timeout=600)[1]
        for client in clients:
            client.close()
    assert process.returncode == 0
    assert told.split() == [b"stopped"]


def test_a_page_that_went_away_is_not_found(server, tmp_path):
    (tmp_path / "report.html").unlink()
    assert ask(server, "/")[0] == 404


def test_serve_refuses_bad_input(call, tmp_path):
    refused(call("serve", "--no-browser"), "there is no report.html", "coldtheory report --out report.html")
    (tmp_path / "report.html").write_text("")
    refused(call("serve", "--port", "70000", "--no-browser"), "from 0 to 65535")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        refused(call("serve", "--port", port, "--no-browser"), f"cannot listen on port {port}", "--port 0")
