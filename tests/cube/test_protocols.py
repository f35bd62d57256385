"""Which windows count by which protocol, and the manifest that freezes them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.cube_results import window
from world4scorer.cube.errors import CubeError
from world4scorer.cube.evaluate import Player, evaluate
from world4scorer.cube.play import WindowResult
from world4scorer.cube.protocols import MANIFEST, Protocol, annotate, described, freeze, read_manifest
from world4scorer.cube.study import Study

NEAR = 0.01


def idle() -> list[WindowResult]:
    """What doing nothing leads to: window 0 is solved at the start, window 1 later, windows 2 and 3 never."""
    played = [window(0, True, NEAR), window(1, True), window(2, False), window(3, False)]
    return [replace(one, solved_by_nothing=None) for one in played]


def test_windows_of_each_protocol(tmp_path: Path) -> None:
    freeze(tmp_path, {5: idle()})
    episodes = {name: [episode for episode, _ in places] for name, places in read_manifest(tmp_path)[5].items()}
    assert episodes == {"published": [0, 1, 2, 3], "moderate": [1, 2, 3], "strict": [2, 3]}


def test_digests_are_those_of_the_lists(tmp_path: Path) -> None:
    freeze(tmp_path, {5: idle(), 4: idle()})
    expected = hashlib.sha256(b"4 2 3\n4 3 3\n5 2 3\n5 3 3\n").hexdigest()
    assert described(tmp_path, (4, 5))["strict"] == {"rule": Protocol.STRICT.rule, "windows": 4, "digest": expected}
    assert described(tmp_path, (4,))["strict"]["windows"] == 2


def test_results_are_told_what_doing_nothing_leads_to(tmp_path: Path) -> None:
    freeze(tmp_path, {5: idle()})
    others = [replace(one, success=False) for one in idle()]
    told = annotate(tmp_path, 5, others)
    assert [one.solved_by_nothing for one in told] == [True, True, False, False]
    assert [Protocol.STRICT.has(one) for one in told] == [False, False, True, True]
    assert annotate(tmp_path, 6, others) == others
    assert not any(Protocol.STRICT.has(one) for one in others)


def test_other_windows_are_refused(tmp_path: Path) -> None:
    freeze(tmp_path, {5: idle()})
    freeze(tmp_path, {5: idle(), 6: idle()})
    with pytest.raises(CubeError, match="lists other windows of seed 5"):
        freeze(tmp_path, {5: [replace(one, success=True) for one in idle()]})
    with pytest.raises(CubeError, match="lists other windows of seed 5"):
        annotate(tmp_path, 5, idle()[1:])


def test_a_changed_manifest_is_refused(tmp_path: Path) -> None:
    freeze(tmp_path, {5: idle()})
    path = tmp_path / MANIFEST
    changed = json.loads(path.read_text())
    assert changed["seeds"]["5"]["strict"] == "2:3 3:3"
    changed["seeds"]["5"]["strict"] = "2:3"
    path.write_text(json.dumps({name: value for name, value in changed.items() if name != "checksum"}))
    with pytest.raises(CubeError, match="digest of strict"):
        read_manifest(tmp_path)


def test_an_evaluation_writes_it_and_keeps_to_it(finished: Study, tmp_path: Path) -> None:
    config = replace(finished.preset.evaluate, players=("expert",))
    alone = evaluate(finished.contest(), tmp_path, config, workers=1, progress=False)
    assert all(one.solved_by_nothing is None for one in alone[Player.EXPERT][42])
    both = replace(config, players=("zero", "expert"))
    results = evaluate(finished.contest(), tmp_path, both, workers=1, progress=False)
    assert [one.solved_by_nothing for one in results[Player.EXPERT][42]] == [
        one.success or one.solved_at_start for one in results[Player.ZERO][42]
    ]
    again = evaluate(finished.contest(), tmp_path, config, workers=1, progress=False)
    assert again[Player.EXPERT] == results[Player.EXPERT]
