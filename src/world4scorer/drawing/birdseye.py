"""Bird's-eye figure of a scene with plans, a rollout, and the causes of its metrics below 1.

>>> figure = draw_scene(scene, plans, outcome=epdms(scene, plans))
>>> save(figure, "scene.png")
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

try:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError as error:
    from world4scorer.jobs.extras import missing

    raise missing(error, "drawing") from error

from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.faults import Outcome, draw_faults, faults_of, tracks_of
from world4scorer.drawing.figure_layout import (
    STANDARD_LAYOUT,
    THUMBNAIL_LAYOUT,
    FigureLayout,
    draw_cameras,
    with_cameras,
)
from world4scorer.drawing.panel import draw_badge, draw_panel
from world4scorer.drawing.strokes import draw_line
from world4scorer.drawing.surroundings import draw_map, draw_red_lights, draw_tracks, kinds_in_view, red_light_in_view
from world4scorer.drawing.trajectories import draw_ego, draw_plans, draw_rollout, draw_scale
from world4scorer.engine.outcomes.results import V2Outcome
from world4scorer.engine.rollout.plans import roll_out
from world4scorer.engine.scene.checks import SceneError, as_array
from world4scorer.engine.scene.geometry import Floats
from world4scorer.engine.scene.indices import STEPS, TrackType
from world4scorer.engine.scene.plan import as_plans
from world4scorer.engine.scene.scene import Scene
from world4scorer.jobs.files import atomic_write

VIEW_BEHIND: Final = 11.0
"""View behind the ego [m]."""
MIN_VIEW_AHEAD: Final = 34.0
"""Minimum view ahead of the ego [m]."""
VIEW_BEYOND: Final = 14.0
"""View beyond the end of rollouts [m]."""
VIEW_BESIDE: Final = 9.0
"""Minimum view on either side of rollouts [m]."""


def draw_scene(
    scene: Scene,
    plans: Any = None,
    outcome: Outcome | None = None,
    chosen: int | None = None,
    *,
    utilities: Any = None,
    framewise: int | None = None,
    explained: int | None = None,
    cameras: Mapping[str, NDArray[np.uint8]] | None = None,
    thumbnail: bool = False,
) -> Figure:
    """Draw a scene.

    Args:
        plans: (N, 8, 3); each is drawn as its rollout, coloured by utility, else by score.
        outcome: result of `label`, `pdms` or `epdms` for these plans; gives scores and causes.
        chosen: index of the chosen plan, drawn with boxes; by default that of highest utility, else score.
        utilities: (N,) the planner's own scores.
        framewise: index of the plan of framewise selection; drawn if different.
        explained: index of the plan whose scores and faults are shown; by default `chosen`.
        cameras: images (H, W, 3) by label, shown above the figure.
        thumbnail: a small figure without a text panel, readable at a width of 240 pixels.
    """
    poses = None if plans is None else as_plans(plans, scene.token)
    scores = _plan_scores(scene, poses, outcome, utilities)
    if poses is not None and len(poses) and chosen is None:
        chosen = int(np.argmax(scores)) if scores is not None else 0
    for name, plan in (("chosen", chosen), ("framewise", framewise), ("explained", explained)):
        if plan is not None and (poses is None or not 0 <= plan < len(poses)):
            raise SceneError(f"{name}: plan {plan} of {0 if poses is None else len(poses)}")
    shown = chosen if explained is None else explained
    rollouts = None
    if poses is not None and len(poses):
        rollouts = roll_out(scene, poses) if outcome is None else outcome.rollouts
    layout = THUMBNAIL_LAYOUT if thumbnail else with_cameras(cameras) if cameras else STANDARD_LAYOUT
    figure = Figure(figsize=layout.size, facecolor=style.PAPER)
    FigureCanvasAgg(figure)
    axes = figure.add_axes(layout.view)
    frame = EgoFrame.of(scene)
    _set_window(
        axes, frame, layout, [] if rollouts is None else [rollouts[p] for p in {chosen, shown} if p is not None]
    )
    draw_map(axes, scene, frame)
    draw_red_lights(axes, scene, frame)
    draw_tracks(axes, tracks_of(scene, outcome), frame)
    _draw_references(axes, scene, frame, outcome)
    faults = []
    if rollouts is not None and chosen is not None and shown is not None:
        special = [plan for plan in (chosen, shown, framewise) if plan is not None]
        draw_plans(axes, frame, rollouts, scores, special)
        if framewise is not None and framewise != chosen:
            draw_line(axes, frame.local(rollouts[framewise][:, :2]), style.FRAMEWISE, 7.45)
        if shown != chosen:
            draw_rollout(axes, frame, rollouts[shown], style.REFUSED, 7.5)
        draw_rollout(axes, frame, rollouts[chosen], style.CHOICE, 7.6)
        if outcome is not None:
            faults = faults_of(outcome, shown)
            draw_faults(axes, scene, frame, outcome, faults, rollouts[shown], numbered=not thumbnail)
    draw_ego(axes, frame, scene.ego_state)
    if layout.panel is None:
        draw_badge(axes, outcome, shown, faults)
        return figure
    draw_scale(axes)
    seen = kinds_in_view(axes, tracks_of(scene, outcome), frame)
    red = red_light_in_view(axes, scene, frame)
    key = _key(scene, rollouts, chosen, framewise, shown, utilities is not None, seen, red)
    draw_panel(figure.add_axes(layout.panel), scene, outcome, chosen, shown, faults, key)
    if cameras:
        draw_cameras(figure, layout, cameras)
    return figure


def save(figure: Figure, path: str | os.PathLike[str], dpi: int = 150) -> None:
    """Write a figure (PNG, SVG or PDF by suffix), atomically."""
    kind = Path(path).suffix.lower().removeprefix(".") or "png"
    with atomic_write(path) as stream:
        figure.savefig(stream, format=kind, dpi=dpi)


def _plan_scores(scene: Scene, poses: Floats | None, outcome: Outcome | None, utilities: Any) -> Floats | None:
    """Utilities or scores (N,) that plans are coloured and chosen by."""
    if poses is None:
        if outcome is not None or utilities is not None:
            raise SceneError("plans: outcome and utilities belong to plans; give them as well")
        return None
    if outcome is not None and len(outcome.score) != len(poses):
        raise SceneError(f"outcome: of {len(outcome.score)} plans, {len(poses)} given")
    if utilities is not None:
        return as_array(f"utilities of {scene.token}", utilities, np.float64, (len(poses),))
    return None if outcome is None else outcome.score


def _set_window(axes: Axes, frame: EgoFrame, layout: FigureLayout, rollouts: list[Floats]) -> None:
    ahead, middle = MIN_VIEW_AHEAD, 0.0
    if rollouts:
        line = np.concatenate([frame.local(rollout[:, :2]) for rollout in rollouts])
        ahead = max(ahead, float(line[:, 0].max()) + VIEW_BEYOND)
        middle = float((line[:, 1].min() + line[:, 1].max()) / 2)
        ahead = max(ahead, float(np.ptp(line[:, 1]) + 2 * VIEW_BESIDE) * layout.view_aspect - VIEW_BEHIND)
    width = ahead + VIEW_BEHIND
    height = width / layout.view_aspect
    axes.set(xlim=(-VIEW_BEHIND, ahead), ylim=(middle - height / 2, middle + height / 2), aspect="equal")
    axes.set_facecolor(style.GROUND)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def _draw_references(axes: Axes, scene: Scene, frame: EgoFrame, outcome: Outcome | None) -> None:
    second = isinstance(outcome, V2Outcome) and scene.reference_v2 is not None
    reference = scene.reference_v2 if second else scene.reference
    assert reference is not None
    draw_line(axes, frame.local(reference[:STEPS, :2]), style.REFERENCE_LINE, 7.0)
    if scene.human_future is not None:  # a plan: in the ego's frame already
        draw_line(axes, scene.human_future[:, :2], style.DRIVEN, 8.0)


def _key(
    scene: Scene,
    rollouts: Floats | None,
    chosen: int | None,
    framewise: int | None,
    shown: int | None,
    was_choice: bool,
    seen: Collection[TrackType],
    red: bool,
) -> list[str]:
    """Legend entries of the figure; `seen` are the track types in view, `red` whether a red light is."""
    objects = {TrackType.TRAFFIC_CONE, TrackType.BARRIER, TrackType.CZONE_SIGN, TrackType.GENERIC_OBJECT}
    there = {
        "plan": rollouts is not None and not was_choice,
        "choice": rollouts is not None and was_choice,
        "framewise": framewise is not None and framewise != chosen,
        "refused": shown != chosen,
        "plans": rollouts is not None and len(rollouts) > 1,
        "human": scene.human_future is not None,
        "reference": True,
        "route": bool(scene.on_route.any()),
        "red light": red,
        "vehicle": TrackType.VEHICLE in seen,
        "bicycle": TrackType.BICYCLE in seen,
        "pedestrian": TrackType.PEDESTRIAN in seen,
        "object": not objects.isdisjoint(seen),
    }
    return [name for name in style.LEGEND if there.get(name)]
