"""Prepared clips on disk: what training needs of each clip in one file; images stay where they are.

    FOLDER/prepared.json           which clips, which were left out and why, where the images are
    FOLDER/clips/NAME.npz          plain arrays, one file per clip

A moment of a clip is called NAME/FRAME, as in `HardBreakRoute_Town05_Route68_Weather8/00040`.

Shapes: F frames of a clip, S moments of it, B frames whose boxes are kept, M boxes.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.annotation import Obstacle
from world4scorer.driving.clips.drivable import unpack_raster
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.outcomes import Surroundings
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import LOGGED_POSES, PLAN_POSES
from world4scorer.jobs.files import atomic_write

FORMAT: Final = "world4scorer-clips-1"
MANIFEST: Final = "prepared.json"
CLIPS: Final = "clips"
FRAMES_PER_POSE: Final = 5
"""Frames, 0.1 s apart, from one pose of a plan to the next."""
FUTURE_FRAMES: Final = FRAMES_PER_POSE * PLAN_POSES
"""A moment needs so many frames after it."""
CLIP_CACHE_SIZE: Final = 4096
"""Clips that stay in memory."""


@dataclass(frozen=True, eq=False)
class PreparedClip:
    """The arrays of one clip; the world is ours."""

    options: str
    """What it was prepared with, as text."""
    town: str
    moments: NDArray[np.int64]
    """(S,) frames to train on, rising."""
    poses: NDArray[np.float64]
    """(F, 3) of the rear axle."""
    velocity: NDArray[np.float32]
    """(F, 2) forward, left [m/s]."""
    acceleration: NDArray[np.float32]
    """(F, 2) forward, left [m/s^2]."""
    commands: NDArray[np.int8]
    """(F,) codes of `RoadOption`."""
    route: NDArray[np.float64]
    """(n, 2) points of the route, a metre apart."""
    route_points: NDArray[np.float32]
    """(F, 2) in ego axes [m]."""
    last_image: int
    """Frames up to this one have images of all cameras."""
    boxes: NDArray[np.float32]
    """(M, 5) x, y, heading, half length, half width, seen from `box_origin`."""
    box_origin: NDArray[np.float64]
    """(2,) near the clip, so that boxes keep their digits [m]."""
    box_frames: NDArray[np.int64]
    """(B,) frames whose boxes are kept, rising."""
    box_offsets: NDArray[np.int64]
    """(B + 1,)"""
    rasters: NDArray[np.uint8]
    """(S, 1500) packed drivable areas around the ego."""
    intrinsics: NDArray[np.float64]
    """(C, 3, 3)"""
    rotation: NDArray[np.float64]
    """(C, 3, 3)"""
    translation: NDArray[np.float64]
    """(C, 3)"""
    image_size: NDArray[np.int32]
    """(2,) width, height."""

    def boxes_at(self, frame: int) -> NDArray[np.float64]:
        """(n, 5) obstacles of a frame in the world."""
        index = int(np.searchsorted(self.box_frames, frame))
        assert index < len(self.box_frames) and self.box_frames[index] == frame
        found = self.boxes[self.box_offsets[index] : self.box_offsets[index + 1]].astype(np.float64)
        found[:, :2] += self.box_origin
        return found

    def future(self, frame: int) -> NDArray[np.float64]:
        """(8 to 10, 3) the poses that were driven, every 0.5 s, seen from a frame."""
        rows = np.arange(frame + FRAMES_PER_POSE, len(self.poses), FRAMES_PER_POSE)[:LOGGED_POSES]
        return relative_poses(self.poses[rows], self.poses[frame])

    def surroundings(self, name: str, frame: int) -> Surroundings:
        """What plans of a moment are judged by."""
        pose = self.poses[frame]
        seen = []
        for step in range(1, PLAN_POSES + 1):
            boxes = self.boxes_at(frame + FRAMES_PER_POSE * step)
            boxes[:, :3] = relative_poses(boxes[:, :3], pose)
            seen.append(boxes)
        index = int(np.searchsorted(self.moments, frame))
        return Surroundings(
            token=sample_token(name, frame),
            boxes=np.concatenate(seen),
            offsets=np.cumsum([0, *map(len, seen)]).astype(np.int64),
            drivable=unpack_raster(self.rasters[index]),
            expert_end=self.future(frame)[PLAN_POSES - 1, :2],
        )

    def save(self, path: Path) -> None:
        """Write a plain .npz file."""
        with atomic_write(path) as stream:
            arrays: dict[str, Any] = {name: np.asarray(value) for name, value in vars(self).items()}
            np.savez_compressed(stream, format=np.array(FORMAT), **arrays)

    @classmethod
    def open(cls, path: Path) -> PreparedClip:
        """Read what `save` wrote."""
        try:
            with np.load(path, allow_pickle=False) as file:
                if str(file["format"]) != FORMAT:
                    raise ClipError(f"{path}: a file of {file['format']}, not of {FORMAT}; prepare this clip again")
                values: dict[str, Any] = {name: file[name] for name in cls.__dataclass_fields__}
        except FileNotFoundError:
            raise ClipError(f"{path}: no such file; prepare the clips with `w4s b2d prepare`") from None
        except (KeyError, ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            if isinstance(error, ClipError):
                raise
            raise ClipError(f"{path}: not a prepared clip ({error}); delete it and prepare it again") from error
        plain = {name: str(values[name]) for name in ("options", "town")}
        return cls(**{**values, **plain, "last_image": int(values["last_image"])})


def box_columns(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """What is kept of obstacles (n, 6): all but their height."""
    return boxes[:, : Obstacle.Z]


def sample_token(name: str, frame: int) -> str:
    """What a moment of a clip is called."""
    return f"{name}/{frame:05d}"


@dataclass(frozen=True, eq=False)
class ExpertMotion:
    """What was driven at a moment of a clip."""

    speed: float
    """m/s"""
    future: NDArray[np.float64]
    """(8, 3) poses that were driven, every 0.5 s."""


@dataclass(frozen=True)
class PreparedClips:
    """A folder of prepared clips. Cheap to send to other processes; files are read when they are needed."""

    folder: Path
    images: Path
    """Folder that paths of clips are relative to."""
    clips: Mapping[str, str]
    """Folder of each clip below `images`, by name, sorted."""
    left_out: Mapping[str, str]
    """Why, by name."""

    @classmethod
    def open(cls, folder: Path) -> PreparedClips:
        """Read what `w4s b2d prepare` wrote."""
        path = Path(folder) / MANIFEST
        if not path.is_file():
            raise ClipError(f"{path}: no such file; prepare clips with `w4s b2d prepare --out {folder}`")
        try:
            raw = json.loads(path.read_bytes())
            if raw["format"] != FORMAT:
                raise ClipError(f"{path}: clips of {raw['format']}, not of {FORMAT}; prepare them again")
            return cls(Path(folder), Path(raw["images"]), dict(raw["clips"]), dict(raw["left_out"]))
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, ClipError):
                raise
            raise ClipError(f"{path}: not a list of prepared clips ({error}); prepare them again") from error

    def save(self) -> None:
        """Write the list."""
        content = {
            "format": FORMAT,
            "images": str(self.images.resolve()),
            "clips": dict(self.clips),
            "left_out": dict(self.left_out),
        }
        with atomic_write(self.folder / MANIFEST) as stream:
            stream.write((json.dumps(content, indent=1) + "\n").encode())

    def __getitem__(self, name: str) -> PreparedClip:
        if name not in self.clips:
            raise ClipError(f"{self.folder}: no clip {name!r}")
        path = clip_file(self.folder, name)
        if not path.is_file():
            raise ClipError(f"{path}: no such file; prepare the clips again with `w4s b2d prepare`")
        return _open_cached(path, path.stat().st_mtime_ns)

    def only(self, names: Sequence[str]) -> PreparedClips:
        """Some of the clips."""
        return PreparedClips(self.folder, self.images, {name: self.clips[name] for name in names}, self.left_out)

    def expert_motion(self, token: str) -> ExpertMotion:
        """What was driven at a moment."""
        name, frame = self._split_token(token)
        clip = self[name]
        return ExpertMotion(float(clip.velocity[frame, 0]), clip.future(frame)[:PLAN_POSES])

    def surroundings(self, token: str) -> Surroundings:
        """What plans of a moment are judged by."""
        name, frame = self._split_token(token)
        return self[name].surroundings(name, frame)

    def _split_token(self, token: str) -> tuple[str, int]:
        name, _, frame = token.rpartition("/")
        if name not in self.clips or not frame.isdigit():
            raise ClipError(f"{self.folder}: no moment {token!r}")
        return name, int(frame)


def clip_file(folder: Path, name: str) -> Path:
    """Where a prepared clip lies."""
    return folder / CLIPS / f"{name}.npz"


@lru_cache(CLIP_CACHE_SIZE)
def _open_cached(path: Path, changed: int) -> PreparedClip:
    """A file that was last changed at a time [ns]."""
    return PreparedClip.open(path)
