"""The server answers what the page asks for, to its own address only, and names no file."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import serving
from tests.support.stored_pools import store_pools
from tests.support.typed_arrays import read_typed
from world4scorer.reporting.explorer.server import ExplorerServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExplorerServer]:
    with serving(store_pools(tmp_path_factory.mktemp("server"))) as running:
        yield running


def ask(
    server: ExplorerServer, path: str, host: str | None = None, method: str = "GET"
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.putrequest(method, path, skip_host=True)
    connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def test_it_listens_on_the_loopback_interface_only(server: ExplorerServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("port", [None, 70_000])
def test_a_port_that_cannot_be_had_is_named(server: ExplorerServer, port: int | None) -> None:
    wanted = server.server_port if port is None else port
    with pytest.raises(ValueError, match=f"port {wanted}: cannot listen there"):
        ExplorerServer(server.runs, wanted)


def test_page_catalogue_and_data(server: ExplorerServer) -> None:
    answer, content = ask(server, "/")
    assert answer.status == 200 and b"<canvas" in content and b'id="catalogue"' not in content
    answer, content = ask(server, "/catalogue.json")
    assert json.loads(content)["format"] == "world4scorer-explorer-1"
    assert read_typed(ask(server, "/data/0/2/table")[1]).header["log_name"] == "gamma"
    first, again = (ask(server, "/data/0/1/scenes")[1] for _ in range(2))
    assert read_typed(first).header["log_name"] == "beta" and first == again
    answer, content = ask(server, "/data/0/1/scenes", method="HEAD")
    assert content == b"" and answer.headers["Content-Length"] == str(len(first))


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "/../../etc/passwd",
        "/data/0/../../etc/passwd",
        "/data/0/%2e%2e/table",
        "/data/0/0/plans",
        "/data/0/3/table",
        "/data/1/0/table",
        "/data/0/-1/table",
        "/data/0/00000000000000/table",
        "/image/0/0/0/0",  # these pools have no images
        "/image/0/0/99/0",
        "/explorer.js",
    ],
)
def test_nothing_else_is_there(server: ExplorerServer, path: str) -> None:
    answer, content = ask(server, path)
    assert answer.status == 404 and content == b"not here\n"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "evil.example:{port}", "localhost.evil.example:{port}"])
def test_other_hosts_are_refused(server: ExplorerServer, host: str) -> None:
    answer, content = ask(server, "/catalogue.json", host.format(port=server.server_port))
    assert answer.status == 421 and b"world4scorer" not in content


def test_localhost_is_this_host(server: ExplorerServer) -> None:
    assert ask(server, "/", f"localhost:{server.server_port}")[0].status == 200


@pytest.mark.parametrize("path", ["/", "/catalogue.json", "/data/0/0/table", "/nowhere"])
def test_headers(server: ExplorerServer, path: str) -> None:
    answer, _ = ask(server, path)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["Server"].strip() == "world4scorer"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_nothing_can_be_changed(server: ExplorerServer, method: str) -> None:
    assert ask(server, "/", method=method)[0].status == 501


def test_a_file_that_has_gone_is_named(tmp_path: Path) -> None:
    pools = store_pools(tmp_path)
    with serving(pools) as running:
        (pools / "beta.arrow").unlink()
        answer, content = ask(running, "/data/0/1/scenes")
        assert answer.status == 500 and b"beta.arrow: no such file" in content
        assert ask(running, "/catalogue.json")[0].status == 200


def test_browsers_that_do_not_wait_are_no_errors(server: ExplorerServer, caplog: pytest.LogCaptureFixture) -> None:
    for error, logged in ((BrokenPipeError(), 0), (RuntimeError("odd"), 1)):
        caplog.clear()
        try:
            raise error
        except type(error):
            server.handle_error(None, None)
        assert len(caplog.records) == logged


def test_images_of_a_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(store_pools(tmp_path)) as running:
        run = type(running.runs[0])
        monkeypatch.setattr(run, "cameras", ("CAM_F0", "CAM_B0"))
        monkeypatch.setattr(run, "image", lambda self, frame, camera: f"{frame} {camera}".encode())
        answer, content = ask(running, "/image/0/1/2/1")
        assert (answer.status, answer.headers["Content-Type"], content) == (200, "image/jpeg", b"7 1")
        assert ask(running, "/image/0/1/5/0")[0].status == 404  # the log has five frames
        assert ask(running, "/image/0/1/0/2")[0].status == 404
