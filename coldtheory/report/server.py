"""The page on this machine only.

A page that is open elsewhere in the browser may send requests here, too, and a name of its own may point here. So a
request is answered only if it has exactly one Host header (else 400), with this machine and this port (else 403). A
client that sends nothing is dropped after a while, and only a few are served at once, so open connections block nothing
else.
"""

from __future__ import annotations

import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..ground.errors import ColdError

HOST = "127.0.0.1"
AT_ONCE = 16  #: clients; a browser opens six
PATIENCE = 10.0  #: seconds that a client may take to send the next bytes
_NAMES = (HOST, "localhost")
_USUAL = 80  # the port that a browser does not name
_PATHS = ("/", "/index.html", "/report.html")


class OneFileServer(ThreadingHTTPServer):
    """Serves one file on 127.0.0.1. Its threads end with the program."""

    daemon_threads = True

    def __init__(self, file: Path, port: int, patience: float) -> None:
        self.file, self.patience = file, patience
        self._places = threading.BoundedSemaphore(AT_ONCE)
        super().__init__((HOST, port), _OneFile)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a client in a thread of its own, or drop it if all places are taken."""
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)  # full: this one has to ask again
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a client, and free its place afterwards."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that has disconnected is not an error."""


def make_server(file: Path, port: int = 0, *, patience: float = PATIENCE) -> OneFileServer:
    """A server of one file on 127.0.0.1; port 0 takes a free one. The file is read at every request.

    patience : seconds after which a client that sends nothing is dropped
    """
    if not file.is_file():
        raise ColdError(f"there is no {file}; make it with 'coldtheory report --out {file}'")
    if not 0 <= port <= 65535:
        raise ColdError(f"the port must be from 0 to 65535, got {port}")
    try:
        return OneFileServer(file, port, patience)
    except OSError as error:
        raise ColdError(f"cannot listen on port {port}: {error.strerror or error}; --port 0 takes a free one") from None


def address_of(server: ThreadingHTTPServer) -> str:
    """The URL at which the server answers."""
    return f"http://{HOST}:{server.server_address[1]}/"


class _OneFile(BaseHTTPRequestHandler):
    server: OneFileServer

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(self.server.patience)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        port = self.server.server_address[1]
        names = [f"{name}:{port}" for name in _NAMES] + list(_NAMES if port == _USUAL else ())
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1:
            self.send_error(HTTPStatus.BAD_REQUEST, "there must be exactly one Host header")
            return
        if hosts[0] not in names:
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        if self.path.split("?")[0] not in _PATHS:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        try:
            content = self.server.file.read_bytes()
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
