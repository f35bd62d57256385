"""A hub on loopback: as much of Hugging Face's HTTP interface as downloads and small uploads use."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class StandInHub(ThreadingHTTPServer):
    """Repositories in memory: name -> file -> content."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.requests: list[str] = []
        """Method and path of each request."""
        self.tokens: set[str] = set()
        """What uploads were authorised by."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def commit_of(self, name: str) -> str:
        digest = hashlib.sha1()
        for path, content in sorted(self.repositories[name].items()):
            digest.update(path.encode() + content)
        return digest.hexdigest()


class _Handler(BaseHTTPRequestHandler):
    server: StandInHub

    def log_message(self, *_: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._resolve(body=False)

    def do_GET(self) -> None:
        self._resolve(body=True)

    def _resolve(self, body: bool) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        name, _, rest = self.path.strip("/").partition("/resolve/")
        file = rest.partition("/")[2].partition("?")[0]
        content = self.server.repositories.get(name, {}).get(file)
        if content is None:
            code = "EntryNotFound" if name in self.server.repositories else "RepoNotFound"
            self.send_response(404)
            self.send_header("X-Error-Code", code)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("X-Repo-Commit", self.server.commit_of(name))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def do_POST(self) -> None:
        self.server.requests.append(f"POST {self.path}")
        length = int(self.headers.get("Content-Length") or 0)
        text = self.rfile.read(length).decode() if length else self._chunks()
        parts = self.path.strip("/").split("/")
        if parts == ["api", "repos", "create"]:
            asked = json.loads(text)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            self.server.repositories.setdefault(name, {})
            self._answer({"url": f"{self.server.url}/{name}", "id": name})
        elif parts == ["api", "validate-yaml"]:
            self._answer({"errors": [], "warnings": []})
        elif parts[:2] == ["api", "models"] and parts[4] == "preupload":
            files = [{**file, "uploadMode": "regular", "shouldIgnore": False} for file in json.loads(text)["files"]]
            self._answer({"files": files})
        elif parts[:2] == ["api", "models"] and parts[4] == "commit":
            self.server.tokens.add(self.headers.get("Authorization", ""))
            name = "/".join(parts[2:4])
            for line in map(json.loads, text.splitlines()):
                if line["key"] == "file":
                    content = base64.b64decode(line["value"]["content"])
                    self.server.repositories[name][line["value"]["path"]] = content
            commit = self.server.commit_of(name)
            self._answer({"commitUrl": f"{self.server.url}/{name}/commit/{commit}", "commitOid": commit})
        else:
            self.send_error(404)

    def _chunks(self) -> str:
        """A body sent in chunks."""
        body = b""
        while size := int(self.rfile.readline() or b"0", 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body.decode()

    def _answer(self, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def stand_in_hub() -> Iterator[StandInHub]:
    """A hub that answers until the block ends."""
    hub = StandInHub()
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
