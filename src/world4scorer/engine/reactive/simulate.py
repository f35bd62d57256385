"""Reactive traffic of a scene beside given states of the ego, as tracks.

>>> reacted = simulate_traffic(scene, roll_out(scene, plans)[0])
>>> reacted.tracks.boxes, reacted.trace.lead
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.reactive.drive import Trace, drive, empty_traffic
from world4scorer.engine.reactive.start import SNAP_DISTANCE, TrafficStart, start_traffic
from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import STEPS, State, TrackType
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks


@dataclass(frozen=True, eq=False)
class ReactedTraffic:
    """Traffic that reacted to one rollout."""

    tracks: Tracks
    """All tracks of the scene over 41 steps."""
    start: TrafficStart
    """Which vehicles were simulated."""
    trace: Trace
    """What they did and why."""


def replayed_part(tracks: Tracks) -> tuple[Floats, NDArray[np.bool_]]:
    """Boxes (A, 41, 7) and their validity (A, 41) before any vehicle is simulated.

    At step 0 what the current frame annotates; later the replayed tracks except vehicles.
    """
    boxes = tracks.boxes[:, :STEPS].copy()
    valid = tracks.valid[:, :STEPS].copy()
    valid[:, 0] = tracks.annotated_now
    valid[tracks.type == TrackType.VEHICLE, 1:] = False
    return boxes, valid


def simulate_traffic(scene: Scene, ego_states: Floats, snap_distance: float = SNAP_DISTANCE) -> ReactedTraffic:
    """Simulate the traffic of a scene while the ego goes through states (41, 11)."""
    states = as_array("ego_states", np.asarray(ego_states).T[:, :, None], np.float64, (len(State), STEPS, 1))
    start = start_traffic(scene, snap_distance)
    tracks = scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
    boxes, valid = replayed_part(tracks)
    traffic = empty_traffic(start)
    check_traffic(scene, start, drive(start, states, 0, traffic, boxes, valid))
    return ReactedTraffic(Tracks(tracks.ids, tracks.type, boxes, valid), start, traffic.trace)


def check_traffic(scene: Scene, start: TrafficStart, failed: int) -> None:
    """Raise a SceneError if a vehicle left its corridor."""
    if failed >= 0:
        tracks = scene.tracks if scene.tracks_v2 is None else scene.tracks_v2
        raise SceneError(
            f"scene {scene.token!r}: vehicle {tracks.ids[start.track[failed]]!r} lies off the corridor of its path; "
            "reactive traffic cannot be simulated (the official evaluation fails there as well)"
        )
