"""A clip of Bench2Drive: a folder with annotations and images of one drive at 10 Hz.

>>> clip = read_clip(Path("Bench2Drive/HardBreakRoute_Town05_Route68_Weather8"))
>>> clip.town, len(clip), clip.poses[0]

    CLIP/anno/00000.json.gz ...
    CLIP/camera/rgb_front/00000.jpg ...      likewise rgb_back, rgb_front_left, rgb_front_right

Shapes: F frames, M boxes of all frames, C = 4 cameras.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.annotation import Annotation, Obstacle, read_annotation
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.rig import CAMERA_FOLDERS, ClipCameras, read_cameras
from world4scorer.engine.scene.indices import DT

ANNOTATIONS: Final = "anno"
SUFFIX: Final = ".json.gz"
ARCHIVE: Final = ".tar.gz"
MAX_SEARCH_DEPTH: Final = 2
"""Depth to which clips are searched below a folder."""
TOWN_PATTERN: Final = re.compile(r"_(Town[0-9A-Za-z-]+)_Route")


@dataclass(frozen=True, eq=False)
class Clip:
    """One drive, in our axes."""

    folder: Path
    town: str
    """Town name, as in map files."""
    poses: NDArray[np.float64]
    """(F, 3) x, y [m], heading [rad] of the rear axle."""
    heights: NDArray[np.float64]
    """(F,) z of the ego [m]."""
    velocity: NDArray[np.float64]
    """(F, 2) forward, left [m/s]."""
    acceleration: NDArray[np.float64]
    """(F, 2) forward, left [m/s^2]."""
    commands: NDArray[np.int8]
    """(F,) codes of `RoadOption`."""
    near: NDArray[np.float64]
    """(F, 2) next command point [m]; NaN where unknown."""
    far: NDArray[np.float64]
    """(F, 2) command point after it [m]; NaN where unknown."""
    boxes: NDArray[np.float64]
    """(M, 6) obstacles, columns of `Obstacle`."""
    box_offsets: NDArray[np.int64]
    """(F + 1,) frame f has the boxes from `box_offsets[f]` to before `box_offsets[f + 1]`."""
    cameras: ClipCameras

    def __len__(self) -> int:
        return len(self.poses)

    @property
    def name(self) -> str:
        """Name of the clip: scenario, town, route and weather."""
        return self.folder.name

    def boxes_at(self, frame: int) -> NDArray[np.float64]:
        """(n, 6) obstacles of a frame."""
        return self.boxes[self.box_offsets[frame] : self.box_offsets[frame + 1]]


def image_name(camera: int, frame: int) -> str:
    """Path of an image within its clip; `camera` indexes `rig.CAMERA_FOLDERS`."""
    return f"camera/{CAMERA_FOLDERS[camera]}/{frame:05d}.jpg"


def find_clips(folder: Path) -> tuple[list[Path], list[Path]]:
    """Folders of clips in or below a folder, by name, and archives that are not unpacked."""
    if not folder.is_dir():
        raise ClipError(f"{folder}: no such folder; give the one that the clips were unpacked to")
    clips, archives = _search(folder, MAX_SEARCH_DEPTH)
    unpacked = {clip.name for clip in clips}
    packed = sorted(path for path in archives if path.name.removesuffix(ARCHIVE) not in unpacked)
    if not clips:
        hint = f"unpack {packed[0].name}, ...: {unpack_command(folder)}" if packed else "is it Bench2Drive's?"
        raise ClipError(f"{folder}: no clip in it (a folder with {ANNOTATIONS}/00000{SUFFIX}); {hint}")
    twice = [clip.name for clip in clips if sum(clip.name == other.name for other in clips) > 1]
    if twice:
        raise ClipError(f"{folder}: two clips are called {twice[0]}; names must differ")
    return sorted(clips, key=lambda clip: clip.name), packed


def unpack_command(folder: Path) -> str:
    """Shell command that unpacks archives in place."""
    return f"(cd {folder} && for f in *{ARCHIVE}; do tar xzf $f; done)"


def _search(folder: Path, depth: int) -> tuple[list[Path], list[Path]]:
    if (folder / ANNOTATIONS).is_dir():
        return [folder], []
    clips: list[Path] = []
    archives: list[Path] = []
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir() and depth and not entry.name.startswith("."):
            found = _search(Path(entry.path), depth - 1)
            clips, archives = clips + found[0], archives + found[1]
        elif entry.name.endswith(ARCHIVE):
            archives.append(Path(entry.path))
    return clips, archives


def clip_town(name: str) -> str:
    """Town in the name of a clip."""
    found = TOWN_PATTERN.search(name)
    if found is None:
        raise ClipError(f"{name}: names of clips tell their town, as in HardBreakRoute_Town05_Route68_Weather8")
    return found.group(1)


def read_clip(folder: Path) -> Clip:
    """Read all annotations of a clip."""
    town = clip_town(folder.name)
    frames = [read_annotation(path) for path in _annotation_files(folder)]
    offsets = np.cumsum([0, *(len(frame.obstacles) for frame in frames)])
    poses = np.stack([frame.pose for frame in frames])
    speed = _filled(np.array([frame.speed for frame in frames]), _speeds(poses))
    return Clip(
        folder=folder,
        town=town,
        poses=poses,
        heights=np.array([frame.z for frame in frames]),
        velocity=np.column_stack([speed, np.zeros(len(frames))]),
        acceleration=_accelerations(frames, poses, speed),
        commands=np.array([frame.command for frame in frames], np.int8),
        near=np.stack([frame.near for frame in frames]),
        far=np.stack([frame.far for frame in frames]),
        boxes=np.concatenate([np.zeros((0, len(Obstacle))), *(frame.obstacles for frame in frames)]),
        box_offsets=offsets.astype(np.int64),
        cameras=read_cameras(frames[0].sensors, str(folder / ANNOTATIONS / f"00000{SUFFIX}")),
    )


def _annotation_files(folder: Path) -> list[Path]:
    """Files of frames 0, 1, 2, ... without a gap."""
    place = folder / ANNOTATIONS
    if not place.is_dir():
        raise ClipError(f"{place}: no such folder; {folder} is no clip of Bench2Drive")
    names = sorted(name for name in os.listdir(place) if name.endswith(SUFFIX))
    if not names:
        raise ClipError(f"{place}: no annotation in it; unpack this clip again")
    for number, name in enumerate(names):
        if name != f"{number:05d}{SUFFIX}":
            raise ClipError(f"{place}: frame {number:05d} is missing before {name}; unpack this clip again")
    return [place / name for name in names]


def _speeds(poses: NDArray[np.float64]) -> NDArray[np.float64]:
    """(F,) m/s of poses 0.1 s apart."""
    if len(poses) < 2:
        return np.zeros(len(poses))
    return np.asarray(np.linalg.norm(np.gradient(poses[:, :2], DT, axis=0), axis=1))


def _accelerations(
    frames: Sequence[Annotation], poses: NDArray[np.float64], speed: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(F, 2) measured accelerations; missing ones from speeds and headings by finite differences."""
    measured = np.stack([frame.acceleration for frame in frames])
    if len(frames) < 2:
        return np.nan_to_num(measured)
    turning = np.gradient(np.unwrap(poses[:, 2]), DT)
    return _filled(measured, np.column_stack([np.gradient(speed, DT), speed * turning]))


def _filled(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values), values, others)
