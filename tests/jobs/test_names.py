"""Tokens and log names that would leave their folder are refused wherever they enter."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.scene_factory import make_frame
from tests.support.stored_pools import store_pools
from tests.support.tampering import tamper
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import MAX_YAML_DEPTH, read_scene_filter, read_yaml
from world4scorer.datasets.navsim.pools import read_pools
from world4scorer.datasets.navsim.submissions import read_submission
from world4scorer.engine.scene.checks import SceneError
from world4scorer.evaluation.pools.pool_files import PoolError, PoolFolder
from world4scorer.jobs.names import MAX_LENGTH, is_safe_name, safe_name

HOSTILE = (
    "../x",
    "/x",
    "a/b",
    "a\\b",
    "a\0b",
    "",
    ".",
    "..",
    ".hidden",
    "a" * 300,
    "CON",
    "nul.txt",
    "com1",
    "a:b",
    "a ",
    "\n",
)
GOOD = (
    "ba1bd196cdf43379",
    "2021.05.12.19.36.12_veh-35_00005_00204",
    "braunschweig_000_v23_00285",
    "a b",
    "a..b",
    "Straße",
)


def test_the_corpus() -> None:
    assert not any(map(is_safe_name, (*HOSTILE, None, 5, b"a"))) and all(map(is_safe_name, GOOD))
    with pytest.raises(ValueError, match=r"^x.pkl: token: '\.\./x' cannot be a file name") as raised:
        safe_name("x.pkl: token", "../x")
    assert len(str(raised.value)) < 300
    with pytest.raises(ValueError, match=r"a\.\.\. cannot") as raised:
        safe_name("x", "a" * 100_000)
    assert len(str(raised.value)) < 500


@given(st.text(max_size=2 * MAX_LENGTH))
def test_safe_names_stay_in_their_folder(name: str) -> None:
    if is_safe_name(name):
        path = Path("/folder") / f"{name}.json"
        assert (
            path.parent == Path("/folder") and path.name == f"{name}.json" and len(name.encode()) < 4 * MAX_LENGTH + 1
        )


@pytest.mark.parametrize("name", HOSTILE)
def test_no_file_brings_them_in(name: str, tmp_path: Path) -> None:
    frame = make_frame(0)
    for field in ("token", "log_name"):
        with pytest.raises(SceneError, match="cannot be a file name"):
            replace(frame.scene, **{field: name})
    dump = tmp_path / "dump.pkl"
    dump.write_bytes(pickle.dumps({name: np.zeros((8, 3))}))
    for read in (read_pools, read_submission):
        with pytest.raises(DatasetError, match="cannot be a file name"):
            read(dump)
    for key in ("tokens", "log_names"):
        (tmp_path / "filter.yaml").write_text(json.dumps({key: [name]}))
        with pytest.raises(DatasetError, match="cannot be a file name"):
            read_scene_filter(tmp_path / "filter.yaml")


def test_pools_with_such_tokens_are_refused(tmp_path: Path) -> None:
    pools = PoolFolder(store_pools(tmp_path))
    log = pools.read(pools.logs[0])
    with pytest.raises(PoolError, match=r"token: '\.\./x' cannot be a file name"):
        pools.write(log._replace(tokens=("../x", *log.tokens[1:])))
    path = pools.path(log.log_name)
    hostile = b"/" * len(log.tokens[0])
    tamper(path, lambda content: content.replace(log.tokens[0].encode(), hostile))
    with pytest.raises(PoolError, match=r"token: '//+' cannot be a file name"):
        pools.read(log.log_name)


def test_yaml_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "bomb.yaml"
    for text, why in (("[" * 50_000, "levels deep"), ("a: &a [1]\nb: [*a, *a]", "aliases")):
        path.write_text(text)
        with pytest.raises(DatasetError, match=why):
            read_yaml(path)
    nested: object = 1
    for _ in range(MAX_YAML_DEPTH - 1):
        nested = [nested]
    path.write_text(yaml.safe_dump({"a": nested}))
    assert read_yaml(path) == {"a": nested}
