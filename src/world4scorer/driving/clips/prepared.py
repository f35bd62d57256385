"""Prepared clips on disk: one file per clip with what training needs; images stay in place.

    FOLDER/prepared.json           clips, left-out clips with reasons, folder of the images
    FOLDER/clips/NAME.npz          plain arrays, one file per clip

Tokens of samples are NAME/FRAME, as in `HardBreakRoute_Town05_Route68_Weather8/00040`.

Shapes: F frames of a clip, S samples of it, B frames with boxes, M boxes.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.drivable import unpack_raster
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.outcomes import Surroundings, label_plans
from world4scorer.engine.scene.geometry import relative_poses
from world4scorer.engine.scene.indices import LOGGED_POSES, PLAN_POSES
from world4scorer.jobs.array_files import open_archive
from world4scorer.jobs.files import atomic_write, read_json, write_json

FORMAT: Final = "world4scorer-clips-1"
MANIFEST: Final = "prepared.json"
CLIPS: Final = "clips"
FRAMES_PER_POSE: Final = 5
"""Frames, 0.1 s apart, from one pose of a plan to the next."""
FUTURE_FRAMES: Final = FRAMES_PER_POSE * PLAN_POSES
"""Frames required after a sample."""
CLIP_CACHE_SIZE: Final = 4096
"""Clips cached in memory."""


@dataclass(frozen=True, eq=False)
class PreparedClip:
    """Arrays of one clip, in our axes."""

    options: str
    """Preparation options, as JSON."""
    town: str
    moments: NDArray[np.int64]
    """(S,) frames of the samples, ascending."""
    poses: NDArray[np.float64]
    """(F, 3) rear-axle poses."""
    velocity: NDArray[np.float32]
    """(F, 2) forward, left [m/s]."""
    acceleration: NDArray[np.float32]
    """(F, 2) forward, left [m/s^2]."""
    commands: NDArray[np.int8]
    """(F,) codes of `RoadOption`."""
    route: NDArray[np.float64]
    """(n, 2) route points, 1 m apart."""
    route_points: NDArray[np.float32]
    """(F, 2) in ego axes [m]."""
    last_image: int
    """Last frame with images of all cameras."""
    boxes: NDArray[np.float32]
    """(M, 5) x, y, heading, half length, half width, relative to `box_origin`."""
    box_origin: NDArray[np.float64]
    """(2,) origin near the clip, for single precision [m]."""
    box_frames: NDArray[np.int64]
    """(B,) frames with boxes, ascending."""
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
        """(8 to 10, 3) driven poses every 0.5 s after a frame, in its ego axes."""
        rows = np.arange(frame + FRAMES_PER_POSE, len(self.poses), FRAMES_PER_POSE)[:LOGGED_POSES]
        return relative_poses(self.poses[rows], self.poses[frame])

    def surroundings(self, name: str, frame: int) -> Surroundings:
        """Surroundings of a sample, for labels."""
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
            with open_archive(path) as file:
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


def sample_token(name: str, frame: int) -> str:
    """Token of a sample."""
    return f"{name}/{frame:05d}"


@dataclass(frozen=True)
class PreparedClips:
    """A folder of prepared clips. Cheap to pickle; files are read lazily."""

    folder: Path
    images: Path
    """Folder that clip paths are relative to."""
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
            raw = read_json(path, ClipError, "prepare the clips again with `w4s b2d prepare`")
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
        write_json(self.folder / MANIFEST, content)

    def __getitem__(self, name: str) -> PreparedClip:
        if name not in self.clips:
            raise ClipError(f"{self.folder}: no clip {name!r}")
        path = clip_file(self.folder, name)
        if not path.is_file():
            raise ClipError(f"{path}: no such file; prepare the clips again with `w4s b2d prepare`")
        return _open_cached(path, path.stat().st_mtime_ns)

    def only(self, names: Sequence[str]) -> PreparedClips:
        """A subset of the clips."""
        return PreparedClips(self.folder, self.images, {name: self.clips[name] for name in names}, self.left_out)

    def expert_motion(self, token: str) -> tuple[float, NDArray[np.float64]]:
        """Speed of the expert at a sample [m/s], and its driven poses (8, 3), every 0.5 s."""
        name, frame = self._split_token(token)
        clip = self[name]
        return float(clip.velocity[frame, 0]), clip.future(frame)[:PLAN_POSES]

    def surroundings(self, token: str) -> Surroundings:
        """Surroundings of a sample, for labels."""
        name, frame = self._split_token(token)
        return self[name].surroundings(name, frame)

    def label(self, token: str, plans_NT3: NDArray[np.float64]) -> NDArray[np.float64]:
        """Labels (N, 7) of plans at a sample, by the rules of `outcomes`."""
        return label_plans(plans_NT3, self.surroundings(token))

    def _split_token(self, token: str) -> tuple[str, int]:
        name, _, frame = token.rpartition("/")
        if name not in self.clips or not frame.isdigit():
            raise ClipError(f"{self.folder}: no sample {token!r}")
        return name, int(frame)


def clip_file(folder: Path, name: str) -> Path:
    """Path of a prepared clip."""
    return folder / CLIPS / f"{name}.npz"


@lru_cache(CLIP_CACHE_SIZE)
def _open_cached(path: Path, changed: int) -> PreparedClip:
    """Clip of a file with a modification time [ns]."""
    return PreparedClip.open(path)
