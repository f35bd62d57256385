"""Prepare clips: annotations, routes and maps to the arrays that training needs.

>>> report = prepare_clips(Path("Bench2Drive"), Path("maps"), Path("prepared"))

An interrupted run resumes: finished clips are kept, unless the map, the clip's files or the options have changed. A
clip that cannot be used is left out and named with the reason; the others are prepared all the same.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.driving.clips.annotation import Obstacle
from world4scorer.driving.clips.clip import (
    ANNOTATIONS,
    Clip,
    clip_town,
    find_clips,
    image_name,
    read_clip,
    unpack_command,
)
from world4scorer.driving.clips.clip_route import clip_route, route_points
from world4scorer.driving.clips.drivable import DrivableGrid, map_path, missing_map_error, pack_raster
from world4scorer.driving.clips.errors import ClipError
from world4scorer.driving.clips.prepared import (
    CLIPS,
    FORMAT,
    FRAMES_PER_POSE,
    FUTURE_FRAMES,
    PreparedClip,
    PreparedClips,
    clip_file,
)
from world4scorer.driving.clips.rig import CAMERA_FOLDERS
from world4scorer.jobs.executors import Executor, ProcessExecutor
from world4scorer.jobs.resumable import resumable

FRAMES_PER_SAMPLE: Final = 5
"""Frames between training samples: half a second, as in NAVSIM."""
MAX_HEIGHT_DIFFERENCE: Final = 4.0
"""Obstacles with a larger height difference to the ego are on another road [m]."""
MAX_LISTED_CLIPS: Final = 10
"""Left-out clips that a report lists."""
DIGEST_LENGTH: Final = 16
"""Hex digits kept of digests."""
_CAMERAS: Final = range(len(CAMERA_FOLDERS))


@dataclass(frozen=True)
class PrepareReport:
    """Result of preparing a folder of clips."""

    clips: int
    """Prepared clips."""
    kept: int
    """Clips kept from an earlier run."""
    moments: int
    """Training samples."""
    left_out: Mapping[str, str]
    """Reason by name."""

    def __str__(self) -> str:
        lines = [f"{self.moments:,} moments of {self.clips:,} clips, {self.kept:,} of them kept from before"]
        lines += [f"  left out: {name}: {reason}" for name, reason in list(self.left_out.items())[:MAX_LISTED_CLIPS]]
        if len(self.left_out) > MAX_LISTED_CLIPS:
            lines.append(f"  and {len(self.left_out) - MAX_LISTED_CLIPS:,} more; prepared.json names all")
        return "\n".join(lines)


def prepare_clips(
    source: Path,
    maps: Path,
    out: Path,
    every: int = FRAMES_PER_SAMPLE,
    executor: Executor | None = None,
    show_progress: bool = False,
) -> PrepareReport:
    """Prepare all clips below `source`; `maps` holds TOWN.npz of each of their towns."""
    if every < 1:
        raise ClipError(f"every: {every}; at least 1")
    found, archives = find_clips(source)
    if not maps.is_dir():
        raise ClipError(f"{maps}: no such folder of maps; `w4s b2d map` makes them")
    root = source.parent if source in found else source
    left_out = {path.name: f"not unpacked: {unpack_command(path.parent)}" for path in archives}
    with resumable(out, "preparing these clips", ClipError, leftovers=(f"{CLIPS}/.*.tmp",)) as job:
        work = _PrepareClip(maps, out, every)
        made = job.run_missing(
            executor or ProcessExecutor(), work, found, "clips", "clips", is_done=work.is_done, show=show_progress
        )
        left_out |= {clip.name: reason for clip, reason in made if reason is not None}
        usable = [clip for clip in found if clip.name not in left_out]
        if not usable:
            name, reason = next(iter(left_out.items()))
            raise ClipError(f"{source}: none of {len(left_out)} clips can be used; {name}: {reason}")
        clips = PreparedClips(
            out, root, {clip.name: os.path.relpath(clip, root) for clip in usable}, dict(sorted(left_out.items()))
        )
        clips.save()
    moments = sum(len(clips[name].moments) for name in clips.clips)
    return PrepareReport(len(usable), len(found) - len(made), moments, clips.left_out)


@dataclass(frozen=True)
class _PrepareClip:
    """Task of a worker process: one clip."""

    maps: Path
    out: Path
    every: int

    def is_done(self, folder: Path) -> bool:
        """Whether a clip is already prepared from the same files with the same options."""
        path = clip_file(self.out, folder.name)
        if not path.is_file():
            return False
        try:
            return PreparedClip.open(path).options == self._options(folder)
        except ClipError:
            return False

    def __call__(self, folder: Path) -> str | None:
        """Prepare a clip; returns why it cannot be used, if it cannot."""
        try:
            self._prepare(folder)
        except (ValueError, OSError) as error:
            return f"{type(error).__name__}: {error}"
        return None

    def _prepare(self, folder: Path) -> None:
        options = self._options(folder)
        path = self._map(folder)
        grid, town = _grid(path, _digest(path, path.stat().st_mtime_ns)), clip_town(folder.name)
        if grid.town != town:
            raise ClipError(
                f"{path}: the map of {grid.town}, and this clip is of {town}; make it again with "
                f"`w4s b2d map --town {town}` and the OpenDRIVE file of that town"
            )
        clip = read_clip(folder)
        prepare_clip(clip, grid, self.every, options).save(clip_file(self.out, clip.name))

    def _options(self, folder: Path) -> str:
        """Everything that a prepared clip depends on, as JSON."""
        path = self._map(folder)
        files = {"map": _digest(path, path.stat().st_mtime_ns), "clip": _clip_digest(folder)}
        return json.dumps({"format": FORMAT, "every": self.every, **files})

    def _map(self, folder: Path) -> Path:
        path = map_path(self.maps, clip_town(folder.name))
        if not path.is_file():
            raise missing_map_error(path)
        return path


def prepare_clip(clip: Clip, grid: DrivableGrid, every: int = FRAMES_PER_SAMPLE, options: str = "") -> PreparedClip:
    """The arrays of a clip in a town."""
    last_image = _last_image(clip)
    last = min(len(clip) - 1 - FUTURE_FRAMES, last_image)
    if last < 0:
        raise ClipError(
            f"{clip.folder}: {len(clip)} annotations and images up to frame {last_image}; {FUTURE_FRAMES + 1} "
            "annotations and an image of each camera are the least"
        )
    moments = np.arange(0, last + 1, every)
    steps = FRAMES_PER_POSE * np.arange(1, FUTURE_FRAMES // FRAMES_PER_POSE + 1)
    box_frames = np.unique(moments[:, None] + steps)
    boxes = [_boxes_on_same_level(clip, int(frame)) for frame in box_frames]
    origin = np.round(clip.poses[0, :2])
    shifted = np.concatenate([np.zeros((0, int(Obstacle.Z))), *boxes])
    shifted[:, :2] -= origin
    route = clip_route(clip)
    return PreparedClip(
        options=options,
        town=clip.town,
        moments=moments,
        poses=clip.poses,
        velocity=clip.velocity.astype(np.float32),
        acceleration=clip.acceleration.astype(np.float32),
        commands=clip.commands,
        route=route.points,
        route_points=route_points(route, clip.poses).astype(np.float32),
        last_image=last_image,
        boxes=shifted.astype(np.float32),
        box_origin=origin,
        box_frames=box_frames,
        box_offsets=np.cumsum([0, *map(len, boxes)]),
        rasters=np.stack([pack_raster(grid.around(clip.poses[frame])) for frame in moments]),
        intrinsics=clip.cameras.intrinsics,
        rotation=clip.cameras.rotation,
        translation=clip.cameras.translation,
        image_size=clip.cameras.image_size,
    )


def _boxes_on_same_level(clip: Clip, frame: int) -> NDArray[np.float64]:
    """Obstacles of a frame, without those on bridges above or roads below."""
    boxes = clip.boxes_at(frame)
    level = np.abs(boxes[:, Obstacle.Z] - clip.heights[frame]) <= MAX_HEIGHT_DIFFERENCE
    return boxes[level, : Obstacle.Z]


def _last_image(clip: Clip) -> int:
    """Last frame up to which all cameras have images; -1 for none."""
    last = len(clip) - 1
    for camera in _CAMERAS:
        folder = clip.folder / Path(image_name(camera, 0)).parent
        if not folder.is_dir():
            raise ClipError(f"{folder}: no such folder; unpack this clip again, images are needed")
        there = {entry.name for entry in os.scandir(folder)}
        missing = (frame for frame in range(last + 1) if Path(image_name(camera, frame)).name not in there)
        last = next(missing, last + 1) - 1
    return last


def _clip_digest(folder: Path) -> str:
    """Digest of names and sizes of a clip's annotations, and of names of its images."""
    annotations = [(entry.name, entry.stat().st_size) for entry in _entries(folder / ANNOTATIONS)]
    images = [[entry.name for entry in _entries((folder / image_name(camera, 0)).parent)] for camera in _CAMERAS]
    text = json.dumps([sorted(annotations), [sorted(names) for names in images]])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Entries of a folder; none if it is missing, which reading the clip reports."""
    return list(os.scandir(folder)) if folder.is_dir() else []


@lru_cache
def _digest(path: Path, changed: int) -> str:
    """Digest of a file with a modification time [ns]."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()[:DIGEST_LENGTH]


@lru_cache(4)
def _grid(path: Path, digest: str) -> DrivableGrid:
    return DrivableGrid.open(path)
