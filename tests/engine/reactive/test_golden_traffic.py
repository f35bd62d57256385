"""Traffic simulations of the official code: same vehicles, leads and candidates at every step, states within 1e-6."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.navhard_golden import NavhardGolden
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.reactive.drive import GONE, NOBODY
from world4scorer.engine.reactive.simulate import ReactedTraffic, simulate_traffic
from world4scorer.engine.scene import Scene, TrackType

STATE = 1e-6
GAP = 1e-4
"""GEOS of another version moves corners of footprints by up to 2e-5 m where nobody follows."""


def test_traces(navhard: NavhardGolden, navhard_store: SceneStore) -> None:
    for path, distance in navhard.traces:
        scene = navhard_store[path.name.split(".")[0]]
        with np.load(path) as archive:
            want = {name: archive[name] for name in archive.files}
        found = simulate_traffic(scene, want["ego_states"], distance)
        compare_start(path, scene, found, want)
        compare_steps(path, scene, found, want)
        compare_observation(path, found, want)


def compare_start(path: Path, scene: Scene, found: ReactedTraffic, want: dict[str, np.ndarray]) -> None:
    names = want["track_tokens"][want["built_track"]].tolist()
    start = found.start
    assert [found.tracks.ids[row] for row in start.track] == names, path.name
    assert scene.lanes is not None
    assert [scene.lanes.ids[lane] for lane in start.lane] == [str(lane) for lane in want["built_lane"]], path.name
    ends = start.paths.along[start.paths.first[1:] - 1]
    built = np.stack([start.progress, start.speed, start.target, ends], axis=1)
    np.testing.assert_allclose(built, want["built"].reshape(-1, 4), rtol=0, atol=1e-9, err_msg=path.name)


def compare_steps(path: Path, scene: Scene, found: ReactedTraffic, want: dict[str, np.ndarray]) -> None:
    trace, count = found.trace, len(found.start.track)
    vehicle = {track: place for place, track in enumerate(want["built_track"].tolist())} | {-1: NOBODY, -2: count}
    step, own = want["idm_step"], np.array([vehicle[track] for track in want["idm_track"].tolist()], np.int64)
    assert (trace.lead[1:] != GONE).sum() == len(step), path.name
    lead = [vehicle[track] for track in want["idm_nearest"].tolist()]
    np.testing.assert_array_equal(trace.lead[step, own], lead, err_msg=path.name)
    np.testing.assert_array_equal(trace.candidates[step, own], want["idm_candidates"], err_msg=path.name)
    ahead = np.stack([trace.gap[step, own], trace.lead_speed[step, own]], axis=1)
    np.testing.assert_allclose(ahead, want["idm_lead"].reshape(-1, 3)[:, :2], rtol=0, atol=GAP, err_msg=path.name)
    motion = np.stack([trace.progress[step, own], trace.speed[step, own]], axis=1)
    np.testing.assert_allclose(motion, want["idm_state"].reshape(-1, 2), rtol=0, atol=STATE, err_msg=path.name)


def compare_observation(path: Path, found: ReactedTraffic, want: dict[str, np.ndarray]) -> None:
    tracks = found.tracks
    vehicles = tracks.type == TrackType.VEHICLE
    shown = {(int(k), tracks.ids[row]) for row in np.flatnonzero(vehicles) for k in np.flatnonzero(tracks.valid[row])}
    names = [str(want["track_tokens"][track]) for track in want["obs_track"]]
    assert shown == set(zip(want["obs_step"].tolist(), names, strict=True)), path.name
    rows = [tracks.ids.index(name) for name in names]
    states = tracks.boxes[rows, want["obs_step"]][:, [0, 1, 2, 5, 6]]
    np.testing.assert_allclose(states, want["obs_state"].reshape(-1, 5), rtol=0, atol=STATE, err_msg=path.name)
