"""A scene with the traffic and the lights of a branch in place of the logged ones.

By default the branch is sampled twice a second and joined by straight lines, as logs are: then nothing but the
traffic's answer differs. `every_step` takes all ten steps of a second, which shows what the sampling hides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.prepare.tracks import STEPS_PER_FRAME, tracks_from_detections
from world4scorer.engine.scene.geometry import direction
from world4scorer.engine.scene.indices import STEPS, Box, Light
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Lights, Tracks
from world4scorer.studies.branches.records import Branch

Floats = NDArray[np.float64]


def reactive_scene(scene: Scene, branch: Branch, every_step: bool = False) -> Scene:
    """The scene as it would have been."""
    tracks, later = (_at_every_step(branch), None) if every_step else _at_frames(branch)
    found = replace(scene, tracks=tracks, tracks_v2=later, lights=_lights(scene.lights, branch))
    found.__dict__["packed_map"] = scene.packed_map  # the map is the same, and packing it is what costs time
    return found


def _at_frames(branch: Branch) -> tuple[Tracks, Tracks | None]:
    there = branch.there[:, ::STEPS_PER_FRAME]
    rows = np.flatnonzero(there.any(1))
    rows = rows[np.argsort(branch.types[rows], kind="stable")]
    poses = np.concatenate([branch.poses, _velocities(branch)], axis=2)[rows, ::STEPS_PER_FRAME]
    ids = [str(token) for token in branch.tokens[rows]]
    return tracks_from_detections(ids, branch.types[rows], branch.sizes[rows], poses, there[rows])


def _at_every_step(branch: Branch) -> Tracks:
    boxes = np.zeros((*branch.there.shape, len(Box)))
    boxes[..., [Box.X, Box.Y, Box.HEADING]] = branch.poses
    boxes[..., [Box.LENGTH, Box.WIDTH]] = branch.sizes[:, None]
    boxes[..., [Box.VELOCITY_X, Box.VELOCITY_Y]] = _velocities(branch)
    return Tracks(tuple(map(str, branch.tokens)), branch.types, boxes, branch.there)


def _velocities(branch: Branch) -> Floats:
    return np.asarray(branch.speeds[..., None] * direction(branch.poses[..., 2]))


def _lights(logged: Lights, branch: Branch) -> Lights:
    """Each frame's states hold for the five steps that follow it, as in logs; what is not red is unknown."""
    codes = np.where(branch.red, Light.RED, Light.UNKNOWN).astype(np.int8)
    return replace(logged, status=np.repeat(codes, STEPS_PER_FRAME, axis=1)[:, :STEPS])
