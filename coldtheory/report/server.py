"""The page on this machine only."""

from __future__ import annotations

from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ..ground.errors import ColdError

HOST = "127.0.0.1"
_PATHS = ("/", "/index.html", "/report.html")


def make_server(file: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of one file on 127.0.0.1; port 0 takes a free one. The file is read at every request."""
    if not file.is_file():
        raise ColdError(f"there is no {file}; make it with 'coldtheory report --out {file}'")
    if not 0 <= port <= 65535:
        raise ColdError(f"the port must be from 0 to 65535, got {port}")

    class Handler(_OneFile):
        path_on_disk = file

    try:
        server = ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        raise ColdError(f"cannot listen on port {port}: {error.strerror or error}; --port 0 takes a free one") from None
    server.daemon_threads = True
    return server


def address_of(server: ThreadingHTTPServer) -> str:
    return f"http://{HOST}:{server.server_address[1]}/"


class _OneFile(BaseHTTPRequestHandler):
    path_on_disk: Path

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        if host not in (HOST, "localhost"):  # a page elsewhere that had its name point here
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        if self.path.split("?")[0] not in _PATHS:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            content = self.path_on_disk.read_bytes()
        except OSError:
            self.send_error(HTTPStatus.NOT_FOUND, "the report is gone")
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet: the terminal shows the address, not every request."""
