"""What judging plans needs of a scene alone, kept from call to call.

A grid over the map, the traffic near it, an index of the centreline; and how the reference and the human fare. Most
scenes are judged once, so the first call keeps only the last; the second prepares the rest for its rollouts and those
before. A later call whose rollouts leave that region prepares a wider one, so that few are made however many follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.outcomes.area_grid import MAX_CELLS, AreaGrid, grid_within
from world4scorer.engine.outcomes.comfort import CHECKS, ComfortFilters, comfort_filters_v1, comfort_filters_v2
from world4scorer.engine.outcomes.ego import CORNERS
from world4scorer.engine.outcomes.history_comfort import history_rows
from world4scorer.engine.outcomes.judge import (
    TRAFFIC_STEPS_V2,
    WINDOW_V1,
    Centreline,
    Judgement,
    Metric,
    Prepared,
    judge_boxes,
    judge_once,
    judge_plans,
    place_boxes,
    roll_out_boxes,
)
from world4scorer.engine.outcomes.lane_keeping import segments_by_cell
from world4scorer.engine.outcomes.progress import measured_line
from world4scorer.engine.outcomes.traffic import traffic_within
from world4scorer.engine.rollout.plans import NO_POSES, check_residuals
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import STEPS, Light, State
from world4scorer.engine.scene.packed import MapArrays
from world4scorer.engine.scene.plan import as_plans
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Tracks

MAX_ROLLOUTS: Final = 256
"""Rollouts of one call of the kernels: more plans are judged in blocks, whose arrays stay in the processor's cache."""
WIDENING: Final = 0.25
"""Share of its size by which a region grows on each side, once it has proved too small."""
MIN_WIDENING: Final = 5.0
"""m"""
MAX_CELLS_KEPT: Final = 4 * MAX_CELLS
"""Cells of such a region: its grid is worth more work, and takes half a megabyte."""
SCENES_KEPT: Final = 16
"""Scenes that the module's functions remember."""

ROWS_V1: Final = {**{name: Metric[name] for name in ("NC", "DAC", "TTC", "DDC")}, "C": Metric.COMFORT}
ROWS_V2: Final = {
    **{name: Metric[name] for name in ("NC", "DAC", "DDC", "TLC", "TTC", "LK")},
    "HC": Metric.COMFORT,
}
"""Rows of a judgement by column."""

NO_HISTORY: Final = np.zeros((0, len(State)))
NO_CELLS: Final = np.zeros(0, np.int64)
NO_LIGHTS: Final = (np.zeros(0, np.int64), np.zeros((0, STEPS), np.bool_))


class _Area(NamedTuple):
    bounds: Floats
    """(2, 4) as in `Prepared`."""
    grid: AreaGrid


class JudgedScene:
    """A scene and what its plans are judged with, by version."""

    def __init__(self, scene: Scene, polygons: MapArrays | None = None, tracks: Tracks | None = None) -> None:
        """`polygons` replace the scene's map, `tracks` its traffic in v1.1."""
        self.scene = scene
        self.reference_progress_v1: dict[str, float] = {}
        """The reference's progress times its NC * DAC [m], by LQR profile."""
        self.own_v2: dict[tuple[str, bool], tuple[float, Floats]] = {}
        """The reference's progress times its multipliers [m], the human's row (10,) or (0,); by profile and filter."""
        self._polygons = scene.packed_map if polygons is None else polygons
        self._tracks = scene.tracks if tracks is None else tracks
        self._area: _Area | None = None
        self._bounds: dict[bool, Floats] = {}
        """(2, 4) as in `Prepared`, of the first call, by version."""
        self._prepared: dict[bool, Prepared] = {}

    @cached_property
    def cause_names_v1(self) -> dict[str, tuple[Metric, tuple[str, ...]]]:
        """Row of a judgement and names of its causes, by column of v1.1."""
        ids = self.scene.tracks.ids
        names = {"NC": ids, "DAC": CORNERS, "TTC": ids, "C": CHECKS, "DDC": ()}
        return {name: (ROWS_V1[name], of) for name, of in names.items()}

    @cached_property
    def cause_names_v2(self) -> dict[str, tuple[Metric, tuple[str, ...]]]:
        """The same by column of v2.2."""
        scene = self.scene
        ids = tracks_v2(scene).ids
        lights = tuple(scene.map.ids[p] if p >= 0 else "" for p in scene.lights.polygon)
        names = {"NC": ids, "DAC": CORNERS, "DDC": (), "TLC": lights, "TTC": ids, "LK": (), "HC": CHECKS}
        return {name: (ROWS_V2[name], of) for name, of in names.items()}

    def judge(self, second: bool, plans: Floats, reference: Floats, profile: int) -> tuple[list[Floats], Judgement]:
        """Return states and judgement of plans (N, 8, 3) and, unless empty, the reference as the last of L rollouts.

        Plans are C-contiguous; their values are checked here. States come as blocks (11, 41, ..) of rollouts, by v2.2
        only: v1.1 does not return them, and holding them takes new memory for each block.
        """
        if len(plans) <= MAX_ROLLOUTS:
            states, found = self._judge_block(second, plans, reference, profile)
            return [states], found
        as_plans(plans, self.scene.token)  # names a bad plan by its index among all
        blocks, judgements = [], []
        for start in range(0, len(plans), MAX_ROLLOUTS):
            end = start + MAX_ROLLOUTS
            own = NO_POSES if end < len(plans) else reference
            states, found = self._judge_block(second, plans[start:end], own, profile, start)
            if second:
                blocks.append(states)
            judgements.append(found)
        return blocks, _joined(judgements)

    def judge_states(self, second: bool, states: Floats) -> Judgement:
        """Return the judgement of states (11, 41, L)."""
        ego, reach, bounds = place_boxes(states)
        return self._checked(judge_boxes(states, ego, reach, self._prepare(second, ego, bounds)), second)

    def _judge_block(
        self, second: bool, plans: Floats, reference: Floats, profile: int, first: int = 0
    ) -> tuple[Floats, Judgement]:
        scene = self.scene
        prepared = self._prepared.get(second)
        if prepared is not None:
            done, states, found = judge_plans(plans, reference, scene.ego_state, scene.time_us, profile, prepared)
            if done:
                return states, self._checked(found, second)
        as_plans(plans, scene.token)
        rollout = (plans, reference, scene.ego_state, scene.time_us, profile)
        if second not in self._bounds:
            rules, (tracks, steps) = self._rules(second), self._traffic(second)
            states, residuals, found, self._bounds[second] = judge_once(
                *rollout,
                second,
                self._polygons,
                scene.centerline,
                tracks.boxes,
                tracks.valid,
                tracks.type,
                steps,
                *rules,
            )
            check_residuals(residuals, scene.token, first)
            return states, self._checked(found, second)
        states, residuals, ego, reach, bounds = roll_out_boxes(*rollout)
        check_residuals(residuals, scene.token, first)
        bounds = _around(bounds, self._bounds[second])
        return states, self._checked(judge_boxes(states, ego, reach, self._prepare(second, ego, bounds)), second)

    def _checked(self, found: Judgement, second: bool) -> Judgement:
        if second and self.scene.past_states is None:
            found.values[Metric.COMFORT] = 1.0
        return found

    def _traffic(self, second: bool) -> tuple[Tracks, int]:
        """The tracks of a version, and how many of their steps it reads."""
        return (
            (tracks_v2(self.scene), TRAFFIC_STEPS_V2) if second else (self._tracks, min(WINDOW_V1, self._tracks.steps))
        )

    def _rules(self, second: bool) -> tuple[ComfortFilters, Floats, NDArray[np.int64], NDArray[np.bool_]]:
        return rules_v2(self.scene) if second else (comfort_filters_v1(), NO_HISTORY, *NO_LIGHTS)

    def _prepare(self, second: bool, ego: object, bounds: Floats) -> Prepared:
        """Prepare a version for rollouts within `bounds` (2, 4), and for what was prepared before."""
        scene, area = self.scene, self._area
        if area is None or not _within(bounds, area.bounds):
            wider = bounds if area is None else _widened(_around(bounds, area.bounds))
            cells = MAX_CELLS if area is None else MAX_CELLS_KEPT
            area = self._area = _Area(wider, grid_within(self._polygons, wider[0], cells))
        tracks, steps = self._traffic(second)
        segments: tuple[NDArray[np.int64], NDArray[np.int64]] = (NO_CELLS, NO_CELLS)
        if second:
            segments = segments_by_cell(area.grid, scene.centerline)
        line_bounds, line_length = measured_line(scene.centerline)
        prepared = Prepared(
            second,
            self._polygons,
            area.grid,
            Centreline(scene.centerline, line_bounds, line_length, *segments),
            traffic_within(tracks.boxes, tracks.valid, tracks.type, steps, second, ego, area.bounds[1]),
            area.bounds,
            *self._rules(second),
        )
        self._prepared[second] = prepared
        return prepared


@lru_cache(maxsize=SCENES_KEPT)
def judged_scene(scene: Scene) -> JudgedScene:
    """What is kept of a scene that was judged lately."""
    return JudgedScene(scene)


def tracks_v2(scene: Scene) -> Tracks:
    """The tracks of the v2 metrics."""
    return scene.tracks if scene.tracks_v2 is None else scene.tracks_v2


def rules_v2(scene: Scene) -> tuple[ComfortFilters, Floats, NDArray[np.int64], NDArray[np.bool_]]:
    """Filters, history (H, 11), areas of the lights (K,) and when they are closed (K, T..)."""
    history = NO_HISTORY
    if scene.past_states is not None and scene.past_time_us is not None:
        history = history_rows(scene.past_states, scene.past_time_us)
    red = (scene.lights.status == Light.RED) & scene.lights.on_route[:, None]
    return comfort_filters_v2(len(history) + STEPS), history, scene.lights.polygon, red


def _within(bounds: Floats, outer: Floats) -> bool:
    return bool((bounds[:, :2] >= outer[:, :2]).all() and (bounds[:, 2:] <= outer[:, 2:]).all())


def _around(bounds: Floats, others: Floats) -> Floats:
    """Bounds (2, 4) around both."""
    low, high = np.minimum(bounds[:, :2], others[:, :2]), np.maximum(bounds[:, 2:], others[:, 2:])
    return np.concatenate([low, high], axis=1)


def _widened(bounds: Floats) -> Floats:
    """Bounds (2, 4) with a margin on every side."""
    margin = np.maximum(WIDENING * (bounds[:, 2:] - bounds[:, :2]), MIN_WIDENING)
    return np.concatenate([bounds[:, :2] - margin, bounds[:, 2:] + margin], axis=1)


def _joined(found: Sequence[Judgement]) -> Judgement:
    return Judgement(
        values=np.concatenate([block.values for block in found], axis=1),
        steps=np.concatenate([block.steps for block in found], axis=1),
        causes=np.concatenate([block.causes for block in found], axis=1),
        within=np.concatenate([block.within for block in found]),
    )
