"""One file: what it holds, how large it gets, what it says; and the command that writes it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.support.scenes import make_log
from tests.support.stored_pools import store_pools
from tests.support.typed_arrays import read_typed
from world4scorer.cli.run import main
from world4scorer.datasets.store import write_shard
from world4scorer.reporting.explorer.explored_run import ExploredRun, shrink
from world4scorer.reporting.explorer.page import read_asset, render_page
from world4scorer.reporting.explorer.single_file import PAGE_BYTES, write_single_file


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return store_pools(tmp_path_factory.mktemp("single"))


def blocks(page: str) -> dict[str, str]:
    return dict(re.findall(r'<script type="application/[a-z-]+" id="([\w-]+)">([^<]*)</script>', page))


def catalogue(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(blocks(page)["catalogue"])
    return found


def test_the_command_writes_everything(pools: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "explorer.html"
    assert main(["explore", str(pools), "--out", str(out)]) == 0
    assert "15 of 15 frames, 3 of 3 logs" in capsys.readouterr().out
    page, run = out.read_text(), ExploredRun.open(pools)
    assert catalogue(page)["note"] == ""
    for log in range(3):
        for kind, content in (("table", run.table(log)), ("scenes", run.scenes(log))):
            packed = gzip.decompress(base64.b64decode(blocks(page)[f"{kind}-0-{log}"]))
            assert packed == content and read_typed(packed)


def test_a_scene_store_and_two_sources(pools: Path, tmp_path: Path, capsys: Any) -> None:
    out, store = tmp_path / "explorer.html", pools.parent / "store"
    assert main(["explore", str(store), "--out", str(out)]) == 0
    assert catalogue(out.read_text())["runs"][0]["plans"] == 1
    assert main(["explore", str(store), "--out", str(out), "--split", "mini"]) == 1
    assert "is a scene store" in capsys.readouterr().err
    assert main(["explore", str(pools), str(store), "--out", str(out)]) == 0
    both = catalogue(out.read_text())["runs"]
    assert [run["plans"] for run in both] == [6, 1] and both[0]["logs"][0]["tokens"] == both[1]["logs"][0]["tokens"]
    others = random_store(tmp_path / "others")
    assert main(["explore", str(pools), str(others), "--out", str(out)]) == 1
    assert "no frame in common" in capsys.readouterr().err


def random_store(folder: Path) -> Path:
    scenes = [replace(scene, token=f"other{number}") for number, scene in enumerate(make_log("other", 2, seed=3))]
    write_shard(folder, "other", scenes, {"options": {"split": "mini"}})
    return folder


def test_images_are_made_smaller_never_larger(tmp_path: Path) -> None:
    for width, expected in ((800, 256), (196, 196)):
        Image.new("RGB", (width, width // 2)).save(tmp_path / "image.jpg")
        with Image.open(io.BytesIO(shrink(tmp_path / "image.jpg", 256))) as small:
            assert small.size == (expected, expected // 2)


def test_named_logs_only(pools: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "explorer.html"
    assert main(["explore", str(pools), "--out", str(out), "--logs", "gamma"]) == 0
    assert "5 of 15 frames, 1 of 3 logs" in capsys.readouterr().out
    page = out.read_text()
    assert [log["name"] for log in catalogue(page)["runs"][0]["logs"]] == ["gamma"]
    assert "This file holds 5 of 15 frames" in catalogue(page)["note"] and "--logs" in catalogue(page)["note"]


def test_as_many_logs_as_fit(pools: Path, tmp_path: Path) -> None:
    run = ExploredRun.open(pools)
    whole = write_single_file([run], tmp_path / "whole.html").bytes
    room = PAGE_BYTES + (whole - len(render_page("").encode())) // 2
    report = write_single_file([run], tmp_path / "part.html", max_bytes=room)
    assert 0 < report.logs < 3 and report.bytes <= room
    with pytest.raises(ValueError, match="name fewer"):
        write_single_file([run], tmp_path / "x.html", ["alpha", "beta", "gamma"], max_bytes=room)
    with pytest.raises(ValueError, match="the first log alone needs more"):
        write_single_file([run], tmp_path / "x.html", max_bytes=PAGE_BYTES)
    assert not (tmp_path / "x.html").exists()


def test_the_policy_names_script_and_style(pools: Path, tmp_path: Path) -> None:
    out = tmp_path / "explorer.html"
    write_single_file([ExploredRun.open(pools)], out)
    page = out.read_text()
    for name in ("explorer.js", "explorer.css"):
        digest = base64.b64encode(hashlib.sha256(read_asset(name).encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "connect-src 'none'" in policy[1] and "unsafe" not in policy[1]


def test_data_cannot_end_their_block() -> None:
    page = render_page("", {"name": "</script><script>alert(1)</script>"})
    assert page.count("</script>") == 2 and "alert(1)\\u003c/script>" in page


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--out", "page.pdf"], 2, "name it .html"),
        (["--logs", "alpha"], 2, "belongs to --out"),
        (["--out", "page.html", "--logs", "delta"], 1, "--logs delta: no such log"),
        (["another", "third", "--out", "page.html"], 2, "give one, or two"),
    ],
)
def test_what_cannot_be_done_is_said(
    pools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, words: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["explore", str(pools), *words]) == code
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
