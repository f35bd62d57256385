"""Official datasets, by small files of their layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from world4scorer.cube.about import digest_of
from world4scorer.cube.datasets import read_dataset
from world4scorer.cube.episodes import (
    RECORDED_FIELDS,
    EpisodeConfig,
    EpisodeKind,
    Episodes,
    make_episodes,
    read_episodes,
)
from world4scorer.cube.errors import CubeError
from world4scorer.cube.model.world_model import ActionScale
from world4scorer.cube.windows import draw_places, draw_windows


def rows(expert: Episodes) -> dict[str, Any]:
    """The episodes as a table of steps."""
    return {name: getattr(expert, name).reshape(-1, getattr(expert, name).shape[-1]) for name in RECORDED_FIELDS}


def write_npz(path: Path, expert: Episodes, **changed: Any) -> Path:
    terminals = np.zeros((len(expert), expert.steps), np.float32)
    terminals[:, -1] = 1
    arrays = {**rows(expert), "terminals": terminals.ravel(), **changed}
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def write_h5(path: Path, expert: Episodes, **changed: Any) -> Path:
    h5py = pytest.importorskip("h5py")
    table = rows(expert)
    table["actions"] = table["actions"].copy()
    table["actions"][expert.steps - 1 :: expert.steps] = np.nan
    columns = {
        "observation": table["observations"],
        "action": table["actions"],
        "qpos": table["qpos"],
        "qvel": table["qvel"],
        "ep_len": np.full(len(expert), expert.steps),
        "ep_offset": expert.steps * np.arange(len(expert)),
        **changed,
    }
    with h5py.File(path, "w") as file:
        for name, array in columns.items():
            if array is not None:
                file[name] = array
    return path


def test_ogbenchs_file(expert: Episodes, tmp_path: Path) -> None:
    read = read_dataset(write_npz(tmp_path / "cube-single-play-v0.npz", expert))
    assert all(np.array_equal(getattr(read, name), getattr(expert, name)) for name in RECORDED_FIELDS)


def test_lewms_file(expert: Episodes, tmp_path: Path) -> None:
    read = read_dataset(write_h5(tmp_path / "cube.h5", expert))
    for name in ("qpos", "qvel", "observations"):
        assert np.array_equal(getattr(read, name), getattr(expert, name))
    assert np.array_equal(read.actions[:, :-1], expert.actions[:, :-1])
    assert not read.actions[:, -1].any()


def test_a_seed_names_the_rows_of_the_published_draw(expert: Episodes, tmp_path: Path) -> None:
    """By the published rule on the table itself: valid rows leave 25 steps, 50 of all but the last are drawn."""
    read = read_dataset(write_npz(tmp_path / "cube.npz", expert))
    step = np.tile(np.arange(read.steps), len(read))
    valid = np.flatnonzero(step < read.steps - 25)
    drawn = valid[np.sort(np.random.default_rng(42).choice(len(valid) - 1, 50, replace=False))]
    expected = [(int(row) // read.steps, int(row) % read.steps) for row in drawn]
    assert draw_places(len(read), read.steps, 42) == expected
    assert [(one.episode, one.step) for one in draw_windows(read, 42)] == expected
    np.testing.assert_array_equal(draw_windows(read, 42)[0].goal, rows(expert)["qpos"][drawn[0] + 25, -7:-4])


def test_a_study_takes_them_for_the_experts(expert: Episodes, tmp_path: Path) -> None:
    path = write_npz(tmp_path / "cube.npz", expert)
    read = read_dataset(path)
    config = EpisodeConfig(expert=len(read), noisy=1, steps=read.steps, dataset=digest_of(path))
    folder = tmp_path / "episodes"
    assert make_episodes(folder, config, workers=1, progress=False, official=read) == len(read) + 1
    found = read_episodes(folder, EpisodeKind.EXPERT)
    assert all(np.array_equal(getattr(found, name), getattr(expert, name)) for name in RECORDED_FIELDS)
    np.testing.assert_array_equal(ActionScale.of(found.actions).std, expert.actions.reshape(-1, 5).std(0))
    (folder / "expert_000000.npz").unlink()
    with pytest.raises(CubeError, match="with this study and its --dataset again"):
        make_episodes(folder, config, workers=1, progress=False)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"qpos": None}, "no array 'qpos"),
        ({"qvel": np.zeros((480, 7))}, r"qvel of shape \(480, 7\)"),
        ({"terminals": np.zeros(480)}, "does not end with its last step"),
        ({"terminals": np.eye(480)[[99, 479]].sum(0)}, "episodes of 100 to 380 steps"),
        ({"actions": np.full((480, 5), np.nan)}, "actions contains numbers that are not finite"),
    ],
)
def test_files_that_are_refused(changed: dict[str, Any], told: str, expert: Episodes, tmp_path: Path) -> None:
    assert len(expert) * expert.steps == 480
    with pytest.raises(CubeError, match=told):
        read_dataset(write_npz(tmp_path / "cube.npz", expert, **changed))


def test_lewms_files_that_are_refused(expert: Episodes, tmp_path: Path) -> None:
    with pytest.raises(CubeError, match="lacks a column"):
        read_dataset(write_h5(tmp_path / "a.h5", expert, ep_len=None))
    with pytest.raises(CubeError, match="without gaps"):
        read_dataset(write_h5(tmp_path / "b.h5", expert, ep_offset=7 * np.arange(len(expert))))
    (tmp_path / "c.h5").write_bytes(b"garbage")
    with pytest.raises(CubeError, match="damaged"):
        read_dataset(tmp_path / "c.h5")


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(CubeError, match="is missing"):
        read_dataset(tmp_path / "cube.npz")
    (tmp_path / "cube.csv").write_text("")
    with pytest.raises(CubeError, match="neither"):
        read_dataset(tmp_path / "cube.csv")
    (tmp_path / "cube.npz").write_bytes(b"garbage")
    with pytest.raises(CubeError, match="damaged"):
        read_dataset(tmp_path / "cube.npz")
