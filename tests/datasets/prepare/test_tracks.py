"""10 Hz tracks against a readable version of the rule, on made-up logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import Log
from world4scorer.datasets.prepare.lights import light_states
from world4scorer.datasets.prepare.tracks import interpolate_tracks
from world4scorer.engine.scene import Box, Light, Tracks, TrackType

Sightings = list[list[tuple[str, int, float]]]
"""Frame by frame: name, type, a number that the box is made from."""


def frames_of(template: LogFrame, sightings: Sightings) -> list[LogFrame]:
    frames = []
    for seen in sightings:
        rows = [[10 * v, -v, 0.0, 4.0 + v, 2.0, 1.5, 3 * v] for _, _, v in seen]
        velocity = [[v, 2 * v, 0.0] for _, _, v in seen]
        names = tuple(name for name, _, _ in seen)
        kinds = np.array([kind for _, kind, _ in seen], np.int8)
        boxes = np.array(rows).reshape(-1, 7)
        annotations = Annotations(boxes, kinds, np.array(velocity).reshape(-1, 3), names, names)
        frames.append(replace(template, annotations=annotations))
    return frames


def oracle(frames: list[LogFrame], count: int) -> dict[str, dict[int, NDArray[np.float64]]]:
    """Step by step and thing by thing: name -> step -> x, y, heading, vx, vy."""
    rows: dict[str, list[tuple[float, NDArray[np.float64]]]] = {}
    for index in range(count):
        for i in frames[index].order_by_type:
            rows.setdefault(frames[index].track_tokens[i], []).append((0.5 * index, frames[index].global_boxes[i]))
    out: dict[str, dict[int, NDArray[np.float64]]] = {}
    for name, seen in rows.items():
        times = np.array([time for time, _ in seen])
        values = np.array([value for _, value in seen])
        values[:, 2] = np.unwrap(values[:, 2])
        out[name] = {}
        for step in range((count - 1) * 5 + 1):
            if len(seen) == 1 or times[0] <= step * 0.1 <= times[-1]:
                out[name][step] = np.array([np.interp(step * 0.1, times, values[:, c]) for c in range(5)])
    return out


def same(tracks: Tracks, want: dict[str, dict[int, NDArray[np.float64]]], steps: int) -> None:
    there = {name: list(places) for name, places in want.items() if places}
    found = {name: np.flatnonzero(valid[:steps]).tolist() for name, valid in zip(tracks.ids, tracks.valid, strict=True)}
    assert {name: steps for name, steps in found.items() if steps} == {
        name: list(places) for name, places in there.items()
    }
    for row, name in enumerate(tracks.ids):
        for step in found[name]:
            box, value = tracks.boxes[row, step], want[name][step]
            np.testing.assert_allclose(box[[Box.X, Box.Y]], value[:2], atol=1e-8)
            np.testing.assert_allclose(np.exp(1j * box[Box.HEADING]), np.exp(1j * value[2]), atol=1e-9)
            np.testing.assert_allclose(box[[Box.VELOCITY_X, Box.VELOCITY_Y]], value[3:], atol=1e-9)
            assert abs(box[Box.HEADING]) <= np.pi + 1e-12


# Headings step by less than pi between sights, where unwrapping is unambiguous.
sightings = st.lists(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.integers(0, 6), st.floats(-0.5, 0.5)),
        max_size=4,
        unique_by=lambda s: s[0],
    ),
    min_size=11,
    max_size=11,
)


@settings(max_examples=60, deadline=None)
@given(sightings)
def test_any_sightings(logs: list[Log], seen: Sightings) -> None:
    kinds: dict[str, int] = {}  # a thing keeps its type, so that velocities of both rules agree
    seen = [[(name, kinds.setdefault(name, kind), value) for name, kind, value in frame] for frame in seen]
    frames = frames_of(logs[0].frames[0], seen)
    tracks, second = interpolate_tracks(frames)
    same(tracks, oracle(frames, 11), 51)
    same(second or tracks, oracle(frames, 9), 41)
    assert (np.diff(tracks.type) >= 0).all()
    if second is None:
        again, nothing = interpolate_tracks(frames[:9])
        assert nothing is None
        late = tracks.valid[:, :41].any(axis=1)
        assert tuple(name for name, there in zip(tracks.ids, late, strict=True) if there) == again.ids


def test_track_seen_once_stands_at_all_steps(logs: list[Log]) -> None:
    seen: Sightings = [[] for _ in range(11)]
    seen[4] = [("once", TrackType.VEHICLE, 0.3)]
    tracks, second = interpolate_tracks(frames_of(logs[0].frames[0], seen))
    assert second is None and tracks.valid.all()
    assert (tracks.boxes == tracks.boxes[:, :1]).all()


def test_track_seen_again_late_differs_between_versions(logs: list[Log]) -> None:
    seen: Sightings = [[] for _ in range(11)]
    seen[2] = [("slow", TrackType.PEDESTRIAN, 0.1)]
    seen[10] = [("slow", TrackType.PEDESTRIAN, 0.3)]
    first, second = interpolate_tracks(frames_of(logs[0].frames[0], seen))
    assert second is not None
    assert np.flatnonzero(first.valid[0]).tolist() == list(range(10, 51))
    assert second.valid.all() and second.steps == 41


def test_size_and_type_are_those_of_the_first_sight(logs: list[Log]) -> None:
    seen: Sightings = [[("a", TrackType.BICYCLE, 0.1)], *[[("a", TrackType.VEHICLE, 0.4)] for _ in range(10)]]
    tracks, _ = interpolate_tracks(frames_of(logs[0].frames[0], seen))
    assert tracks.type.tolist() == [TrackType.BICYCLE]
    assert (tracks.boxes[0, :, Box.LENGTH] == 4.1).all()


@pytest.mark.parametrize("frames", [9, 10])
def test_short_windows_have_41_steps(logs: list[Log], frames: int) -> None:
    tracks, second = interpolate_tracks(logs[0].frames[:frames])
    assert tracks.steps == 41 and second is None


def test_lights_hold_until_the_next_frame(logs: list[Log]) -> None:
    red_at = (0, 3, 8)
    frames = [replace(logs[0].frames[0], traffic_lights=(("1", index in red_at), ("2", True))) for index in range(9)]
    states = light_states(frames, ["1", "3"])
    assert list(states) == ["1"]
    expected = [step // 5 in red_at for step in range(41)]
    assert (states["1"] == Light.RED).tolist() == expected
