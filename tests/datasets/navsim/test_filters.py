from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.faults.injection import Fault, Injection, injected
from tests.support.navsim_golden import NavsimGolden
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import (
    OFFICIAL_COUNTS,
    SceneFilter,
    Split,
    read_scene_filter,
    read_split,
    windows,
    write_split,
)
from world4scorer.datasets.navsim.logs import Log


def test_golden_tokens(compact: NavsimGolden, logs: list[Log], split: Split) -> None:
    found = [window[3].token for log in logs for window in windows(log, split.filter)]
    assert sorted(found) == sorted(compact.tokens)
    assert split.data_split == "test" and split.filter.num_frames == 14


def test_route_is_needed(logs: list[Log], split: Split) -> None:
    last = logs[3]
    every = replace(split.filter, tokens=None)
    with_route = list(windows(last, every))
    without = list(windows(last, replace(every, has_route=False)))
    assert len(without) - len(with_route) == 2
    assert all(window[3].roadblock_ids for window in with_route)


def test_intervals_limits_and_log_names(logs: list[Log]) -> None:
    log = logs[0]
    starts = [window[0].token for window in windows(log, SceneFilter())]
    assert starts == [log.frames[0].token, log.frames[14].token]
    assert len(list(windows(log, SceneFilter(frame_interval=1), limit=3))) == 3
    assert not list(windows(log, SceneFilter(log_names=("another",))))
    assert not list(windows(log, SceneFilter(num_future_frames=40)))


@given(st.integers(1, 6), st.integers(1, 12), st.none() | st.integers(1, 20))
def test_windows_are_whole_and_in_order(logs: list[Log], history: int, future: int, interval: int | None) -> None:
    log = logs[1]
    chosen = SceneFilter(history, future, interval, has_route=False)
    found = list(windows(log, chosen))
    step = interval or history + future
    assert len(found) == len(range(0, len(log.frames) - (history + future) + 1, step))
    for index, window in enumerate(found):
        assert window == log.frames[index * step : index * step + history + future]


def test_splits_survive_writing(split: Split, tmp_path: Path) -> None:
    two_stage = replace(split, name="again", two_stage=(("a", "b", (("c", "d"), ("e", "f"))),))
    for one in (split, two_stage):
        assert read_split(write_split(tmp_path, one)) == one


def test_a_split_on_a_full_disk_is_named_and_the_former_one_stays(split: Split, tmp_path: Path) -> None:
    path, other = write_split(tmp_path, split), replace(split, data_split="other")
    errors = []
    for step in range(1, 13):
        with injected(Injection(tmp_path, Fault.ENOSPC, step)):
            try:
                write_split(tmp_path, other)
            except OSError as error:
                errors.append(str(error))
        assert read_split(path) in (split, other)
    assert len(errors) > 5 and all(str(tmp_path) in error for error in errors)


def test_official_counts() -> None:
    assert OFFICIAL_COUNTS == {"navtrain": (1_192, 103_288), "navtest": (136, 12_146)}


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    with pytest.raises(DatasetError, match="no such file"):
        read_scene_filter(path)
    for text, words in (
        ("- 1\n- 2", "expected keys"),
        ("a: [", "not YAML"),
        ("a: !!timestamp x", "not YAML"),
        ("a: !!int ''", "not YAML"),
        ("a: !!bool x", "not YAML"),
        ("a: 2001-99-99", "not YAML"),
        ("num_history_frames: none", "num_history_frames"),
        ("tokens: abc", "tokens must be a list"),
    ):
        path.write_text(text)
        with pytest.raises(DatasetError, match=words) as error:
            read_scene_filter(path)
        assert str(path) in str(error.value)
    path.write_text("data_split: test")
    with pytest.raises(DatasetError, match="scene_filter"):
        read_split(path)
    path.write_text("!!python/object/apply:os.system ['true']")
    with pytest.raises(DatasetError, match="not YAML"):
        read_split(path)
