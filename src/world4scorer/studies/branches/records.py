"""Branches of scenes, and their files: one per log, NumPy's archives without pickled objects.

Shapes: S scenes of a log, B branches of a scene (two controls, then the plans), K plans, R = 51 rows from now on every
0.1 s, A road users of a branch, L lights of a scene, F = 11 frames.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.scene.indices import STEPS
from world4scorer.jobs.array_files import open_archive
from world4scorer.jobs.files import atomic_write, read_json, write_json

FORMAT: Final = "world4scorer-branches-1"
SUFFIX: Final = ".npz"
LOGGED_POSES, LOGGED_PLAN, FIRST_PLAN = 0, 1, 2
"""Branches: through the very poses of the log; along the rollout of the logged plan; along rollouts of the plans."""

Floats = NDArray[np.float64]


class BranchError(ValueError):
    """Branches that cannot be made or read."""


@dataclass(frozen=True, eq=False)
class AskedScene:
    """A scene and the plans to be driven there."""

    token: str
    chosen: NDArray[np.int64]
    """(K,) indices of the plans in their pool."""
    plans: NDArray[np.float32]
    """(K, 8, 3)"""

    def digest(self) -> str:
        """16 hexadecimal digits that change with any of the plans."""
        return hashlib.sha256(self.chosen.tobytes() + self.plans.tobytes()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Branch:
    """What happened while the ego was driven along one way."""

    ego: Floats
    """(R, 3) rear axle, global."""
    tokens: NDArray[np.str_]
    """(A,) as the log names them."""
    types: NDArray[np.int8]
    """(A,) codes of `TrackType`."""
    sizes: Floats
    """(A, 2) length, width [m]."""
    poses: Floats
    """(A, R, 3) centres, global."""
    speeds: Floats
    """(A, R) m/s"""
    there: NDArray[np.bool_]
    """(A, R) within 150 m of the ego."""
    red: NDArray[np.bool_]
    """(L, F) which of the scene's lights were red."""
    off_road: NDArray[np.bool_]
    """(R,) where the others did not see the ego, so far from every lane it was."""
    gone: int
    """First row without the ego in the traffic, as its route had ended; -1 for none."""
    jumped: int
    """Road users near the ego whom SUMO had put there; those whom it put out of sight are not counted."""
    view: bytes
    """JPEG of the front camera two seconds ahead."""

    @property
    def unseen(self) -> bool:
        """Whether the ego was too far from every lane to be seen at some time of the plan's own 41 states."""
        return bool(self.off_road[:STEPS].any())

    @property
    def ended(self) -> bool:
        """Whether the ego's route ended within these states."""
        return 0 <= self.gone < STEPS


@dataclass(frozen=True, eq=False)
class SceneBranches:
    """All branches of a scene."""

    token: str
    chosen: NDArray[np.int64]
    """(K,) indices of the plans in the pool."""
    plans: NDArray[np.float32]
    """(K, 8, 3)"""
    branches: tuple[Branch, ...]
    """B = 2 + K."""


_OF_TRACKS: Final = ("tokens", "types", "sizes", "poses", "speeds", "there")


def write_log(path: Path, scenes: Sequence[SceneBranches]) -> None:
    """Keep the branches of a log, whole or not at all."""
    every = [branch for scene in scenes for branch in scene.branches]
    fields: dict[str, Any] = {
        "format": np.array(FORMAT),
        "token": np.array([scene.token for scene in scenes]),
        "chosen": np.stack([scene.chosen for scene in scenes]),
        "plans": np.stack([scene.plans for scene in scenes]),
        "lights": np.array([len(scene.branches[0].red) for scene in scenes]),
        "tracks": np.array([len(branch.tokens) for branch in every]),
        "view_bytes": np.array([len(branch.view) for branch in every]),
        "views": np.frombuffer(b"".join(branch.view for branch in every), np.uint8),
        "red": np.concatenate([branch.red for branch in every]),
        "ego": np.stack([branch.ego for branch in every]),
        "off_road": np.stack([branch.off_road for branch in every]),
        "gone": np.array([branch.gone for branch in every]),
        "jumped": np.array([branch.jumped for branch in every]),
    }
    fields |= {f"track_{name}": np.concatenate([getattr(branch, name) for branch in every]) for name in _OF_TRACKS}
    packed = io.BytesIO()
    np.savez_compressed(packed, **fields)
    with atomic_write(path) as stream:
        stream.write(packed.getvalue())


def read_log(path: Path) -> list[SceneBranches]:
    """The branches of a log."""
    try:
        with open_archive(path) as archive:
            fields = {name: archive[name] for name in archive.files}
        if str(fields["format"]) != FORMAT:
            raise BranchError(f"{path}: not branches of the format {FORMAT!r}; delete it to make them anew")
        return _unpack(fields)
    except FileNotFoundError:
        raise BranchError(f"{path}: no such file") from None
    except (OSError, KeyError, IndexError, EOFError, zipfile.BadZipFile, ValueError) as error:
        if isinstance(error, BranchError):
            raise
        raise BranchError(f"{path}: not a readable file of branches ({error}); delete it to make them anew") from error


def kept_scenes(path: Path) -> dict[str, SceneBranches]:
    """The branches of a log by token; none where there is no file, or a damaged one."""
    try:
        return {scene.token: scene for scene in read_log(path)}
    except BranchError:
        return {}


def lose(path: Path, asked: AskedScene) -> None:
    """Note, beside the file of a log, a scene in which SUMO crashed: it would crash again."""
    write_json(_lost_path(path), {**lost(path), asked.token: asked.digest()})


def lost(path: Path) -> dict[str, str]:
    """Scenes of a log in which SUMO crashed: digests of the plans asked for, by token."""
    file = _lost_path(path)
    found = read_json(file, BranchError, "delete it") if file.exists() else {}
    return {str(token): str(digest) for token, digest in found.items()}


def _lost_path(path: Path) -> Path:
    return path.with_suffix(".lost.json")


def _unpack(fields: dict[str, Any]) -> list[SceneBranches]:
    scenes, count = len(fields["token"]), 2 + fields["chosen"].shape[1]
    tracks = np.concatenate([[0], np.cumsum(fields["tracks"])])
    views = np.concatenate([[0], np.cumsum(fields["view_bytes"])])
    lights = np.concatenate([[0], np.cumsum(np.repeat(fields["lights"], count))])
    content = fields["views"].tobytes()
    branches = [
        Branch(
            ego=fields["ego"][b],
            **{name: fields[f"track_{name}"][tracks[b] : tracks[b + 1]] for name in _OF_TRACKS},
            red=fields["red"][lights[b] : lights[b + 1]],
            off_road=fields["off_road"][b],
            gone=int(fields["gone"][b]),
            jumped=int(fields["jumped"][b]),
            view=content[views[b] : views[b + 1]],
        )
        for b in range(scenes * count)
    ]
    return [
        SceneBranches(
            str(fields["token"][s]),
            fields["chosen"][s],
            fields["plans"][s],
            tuple(branches[s * count : (s + 1) * count]),
        )
        for s in range(scenes)
    ]
