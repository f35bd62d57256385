"""A small server on the loopback interface: the page, its catalogue, and the data of a log when it is asked for.

Paths are numbers only, so that no file can be named from outside; requests for another host are refused, as a page of
another site could reach this server by a name that resolves to the loopback address.

>>> with ExplorerServer([ExploredRun.open(Path("runs/city"))]) as server:
...     server.serve_forever()
"""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Final
from urllib.parse import urlsplit

from world4scorer.reporting.explorer.catalogue import catalogue
from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.page import policy, render_page

logger = logging.getLogger(__name__)

HOST: Final = "127.0.0.1"
KEPT_LOGS: Final = 64
"""Logs whose data stay in memory."""
TABLE: Final = re.compile(r"/data/(\d{1,4})/(\d{1,7})/table")
SCENES: Final = re.compile(r"/data/(\d{1,4})/(\d{1,7})/scenes")
IMAGE: Final = re.compile(r"/image/(\d{1,4})/(\d{1,7})/(\d{1,7})/(\d{1,2})")
VIEW: Final = re.compile(r"/view/(\d{1,4})/(\d{1,7})/(\d{1,7})/(\d{1,5})")
BINARY, JPEG, JSON, HTML = "application/octet-stream", "image/jpeg", "application/json", "text/html; charset=utf-8"

Answer = tuple[str, bytes]
"""Content type and content."""


class ExplorerServer(ThreadingHTTPServer):
    """Serves runs to browsers of this machine."""

    daemon_threads = True

    def __init__(self, runs: Sequence[ExploredRun], port: int = 0) -> None:
        """Listen on a port; on a free one unless given."""
        self.runs = tuple(runs)
        self.policy = policy(images="'self' blob:", connections="'self'")
        self._page = render_page(self.policy).encode()
        self._catalogue = json.dumps(catalogue(self.runs)).encode()
        self._lock, self._view_lock = Lock(), Lock()
        self._packed = lru_cache(KEPT_LOGS)(self._pack)
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise ValueError(f"port {port}: cannot listen there ({error}); choose another, or none") from error

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{HOST}:{self.server_port}/"

    def is_own(self, host: str) -> bool:
        """Whether a request's host is this server."""
        return host in (f"{HOST}:{self.server_port}", f"localhost:{self.server_port}")

    def answer(self, path: str) -> Answer | None:
        """Answer a path; None for one that is not there."""
        if path == "/":
            return HTML, self._page
        if path == "/catalogue.json":
            return JSON, self._catalogue
        for pattern, find in (
            (TABLE, lambda run, log: self._data("table", run, log)),
            (SCENES, lambda run, log: self._data("scenes", run, log)),
            (IMAGE, self._image),
            (VIEW, self._view),
        ):
            if found := pattern.fullmatch(path):
                act: Callable[..., Answer | None] = find
                return act(*(int(number) for number in found.groups()))
        return None

    def _data(self, kind: str, run: int, log: int) -> Answer | None:
        if run >= len(self.runs) or log >= len(self.runs[run].logs):
            return None
        with self._lock:  # two requests for a log make it once
            return BINARY, self._packed(kind, run, log)

    def _pack(self, kind: str, run: int, log: int) -> bytes:
        chosen = self.runs[run]
        return chosen.table(log) if kind == "table" else chosen.scenes(log)

    def _image(self, run: int, log: int, frame: int, camera: int) -> Answer | None:
        if run >= len(self.runs) or log >= len(self.runs[run].logs):
            return None
        chosen, rows = self.runs[run], self.runs[run].logs[log].rows
        if frame >= rows.stop - rows.start or camera >= len(chosen.cameras):
            return None
        content = chosen.image(rows.start + frame, camera)
        return None if content is None else (JPEG, content)

    def _view(self, run: int, log: int, frame: int, plan: int) -> Answer | None:
        if run >= len(self.runs) or log >= len(self.runs[run].logs):
            return None
        chosen, rows = self.runs[run], self.runs[run].logs[log].rows
        if frame >= rows.stop - rows.start or plan >= chosen.pools.plans.shape[1]:
            return None
        with self._view_lock:  # the first one reads the planner and its targets
            content = chosen.view(log, frame, plan)
        return None if content is None else (JPEG, content)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that asks for something else meanwhile is no error; others go to the log."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            logger.exception("a request failed")


class _Handler(BaseHTTPRequestHandler):
    server: ExplorerServer
    server_version = "world4scorer"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(with_content=True)

    def do_HEAD(self) -> None:
        self._answer(with_content=False)

    def _answer(self, with_content: bool) -> None:
        if not self.server.is_own(self.headers.get("Host", "")):
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"this server answers its own address only\n")
            return
        try:
            found = self.server.answer(urlsplit(self.path).path)
        except ValueError as error:  # a file that is damaged or has gone: the page shows what and where
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", f"{error}\n".encode())
            return
        if found is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"not here\n")
        else:
            self._send(HTTPStatus.OK, found[0], found[1] if with_content else b"", len(found[1]))

    def _send(self, status: HTTPStatus, kind: str, content: bytes, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(content) if length is None else length)),
            ("Content-Security-Policy", f"{self.server.policy}; frame-ancestors 'none'"),
            ("X-Content-Type-Options", "nosniff"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not worth a line each."""
