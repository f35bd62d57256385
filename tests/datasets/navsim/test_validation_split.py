from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.support.navsim_golden import NavsimGolden
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.filters import SceneFilter, Split, windows, write_split
from world4scorer.datasets.navsim.logs import Log
from world4scorer.datasets.navsim.splits import TEST_SPLITS, check_not_test
from world4scorer.datasets.navsim.validation_split import cut_by_lists, cut_by_share, tokens_by_log
from world4scorer.jobs.executors import SerialExecutor

SPLIT = Split("any", "test", SceneFilter(tokens=("listed",)))


@pytest.fixture(scope="module")
def tokens(compact: NavsimGolden, split: Split):
    return tokens_by_log(compact.dataset, split, SerialExecutor())


def test_tokens_of_logs_are_those_of_their_windows(tokens, logs: list[Log], split: Split) -> None:
    assert tokens == {log.name: tuple(window[3].token for window in windows(log, split.filter)) for log in logs}


@given(
    st.dictionaries(st.integers(), st.integers(1, 5), min_size=2, max_size=12),
    st.floats(0.01, 0.99),
    st.integers(0, 100),
)
def test_parts_share_no_log_and_lose_no_token(counts, share: float, seed: int) -> None:
    tokens = {f"log{name}": tuple(f"{name}-{k}" for k in range(count)) for name, count in counts.items()}
    parts = cut_by_share(SPLIT, tokens, share, seed)
    assert parts == cut_by_share(SPLIT, dict(reversed(tokens.items())), share, seed)
    logs = [set(part.filter.log_names) for part in parts]
    assert logs[0] | logs[1] == set(tokens) and not logs[0] & logs[1]
    assert len(logs[1]) == min(max(1, round(share * len(tokens))), len(tokens) - 1)
    for part, names in zip(parts, logs, strict=True):
        assert set(part.filter.tokens) == {token for name in names for token in tokens[name]}
        assert part.filter.num_frames == SPLIT.filter.num_frames and part.data_split == "test"


def test_splits_without_tokens_stay_without(tokens, split: Split) -> None:
    whole = replace(split, filter=replace(split.filter, tokens=None))
    assert all(part.filter.tokens is None and part.filter.log_names for part in cut_by_share(whole, tokens, 0.25, 3))


def test_the_devkits_lists(tokens, split: Split, tmp_path: Path) -> None:
    path, names = tmp_path / "lists.yaml", list(tokens)
    path.write_text(yaml.safe_dump({"train_logs": [names[0], "other"], "val_logs": names[2:], "test_logs": []}))
    training, validation = cut_by_lists(split, tokens, path)
    assert training.filter.log_names == (names[0],) and validation.filter.log_names == tuple(names[2:])
    assert training.filter.tokens == tokens[names[0]]
    for lists, words in (
        ({"train_logs": names}, "val_logs"),
        ({"train_logs": names, "val_logs": names[:1]}, "both lists"),
        ({"train_logs": names, "val_logs": ["other"]}, "no log of synth_mini"),
    ):
        path.write_text(yaml.safe_dump(lists))
        with pytest.raises(DatasetError, match=words):
            cut_by_lists(split, tokens, path)


def test_what_cannot_be_cut(compact: NavsimGolden, tokens, split: Split) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        cut_by_share(split, tokens, 1.0, 3)
    with pytest.raises(DatasetError, match="at least two"):
        cut_by_share(split, dict(list(tokens.items())[:1]), 0.5, 3)
    missing = replace(split, filter=replace(split.filter, log_names=("elsewhere",)))
    with pytest.raises(DatasetError, match="elsewhere"):
        tokens_by_log(compact.dataset, missing, SerialExecutor())
    with pytest.raises(DatasetError, match="max_scenes"):
        tokens_by_log(compact.dataset, replace(split, filter=replace(split.filter, max_scenes=3)), SerialExecutor())


def test_test_splits_are_known_by_name_token_and_log(split: Split, tokens, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("NAVSIM_DEVKIT_ROOT", raising=False)
    folder = tmp_path / "config" / "train_test_split"
    training, validation = cut_by_share(split, tokens, 0.25, 3)
    write_split(folder, training)
    write_split(folder, replace(validation, name="navtest"))
    for name in TEST_SPLITS:
        with pytest.raises(ValueError, match=f"--val-split {name}: this is a test split"):
            check_not_test(name, tmp_path, "--val-split")
    check_not_test(training.name, tmp_path, "--split")
    check_not_test("a_folder_of_logs", tmp_path, "--split")
    renamed = write_split(tmp_path, replace(validation, name="mine"))
    with pytest.raises(ValueError, match="tokens are of the test split navtest"):
        check_not_test(str(renamed), tmp_path, "--val-split")
    without = replace(validation, name="logs", filter=replace(validation.filter, tokens=None))
    with pytest.raises(ValueError, match=r"logs are of the test split navtest.*w4s split"):
        check_not_test(str(write_split(tmp_path, without)), tmp_path, "--val-split")
