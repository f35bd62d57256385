"""A scene from above, with plans, one rollout, and the step and object behind each of its zeros.

>>> figure = draw_scene(scene, plans, outcome=epdms(scene, plans))
>>> save(figure, "scene.png")
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from world4scorer.outcomes.results import V2Outcome
from world4scorer.rollout.plans import roll_out
from world4scorer.scene.checks import SceneError, as_array
from world4scorer.scene.files import atomic_write
from world4scorer.scene.indices import STEPS, Light, TrackType
from world4scorer.scene.plan import as_plans
from world4scorer.scene.scene import Scene
from world4scorer.view import style
from world4scorer.view.frame import EgoFrame
from world4scorer.view.panel import draw_panel
from world4scorer.view.surroundings import draw_map, draw_red_lights, draw_tracks
from world4scorer.view.verdict import Outcome, draw_faults, faults_of, tracks_of

Floats = NDArray[np.float64]

BOX_STEPS: Final = (10, 20, 30, 40)
"""Steps at which the ego's box is drawn along the rollout."""
BEHIND: Final = 14.0
"""m of street behind the ego in the picture."""
LEAST_AHEAD: Final = 46.0
"""m ahead, or more where the rollout goes farther."""
PANEL: Final = 0.235
"""Share of the picture's width that the column beside it takes."""


def draw_scene(
    scene: Scene,
    plans: Any = None,
    outcome: Outcome | None = None,
    chosen: int | None = None,
    *,
    utilities: Any = None,
    size: tuple[float, float] = (10.4, 5.2),
) -> Figure:
    """Draw a scene.

    Args:
        plans: (N, 8, 3); each is drawn as its rollout, coloured by utility, else by score.
        outcome: what `label`, `pdms` or `epdms` returned for these plans; gives scores and causes.
        chosen: the plan drawn with boxes, scores and faults; by default the one of highest utility, else score.
        utilities: (N,) the planner's own scores.
        size: inches.
    """
    poses = None if plans is None else as_plans(plans, scene.token)
    worth = _worth(scene, poses, outcome, utilities)
    if poses is not None and len(poses) and chosen is None:
        chosen = int(np.argmax(worth)) if worth is not None else 0
    if chosen is not None and (poses is None or not 0 <= chosen < len(poses)):
        raise SceneError(f"chosen: plan {chosen} of {0 if poses is None else len(poses)}")
    rollouts = None
    if poses is not None and len(poses):
        rollouts = roll_out(scene, poses) if outcome is None else outcome.rollouts
    figure = Figure(figsize=size, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0 - PANEL - 0.012, 1.0))
    frame = EgoFrame.of(scene)
    _set_window(axes, frame, size, None if rollouts is None or chosen is None else rollouts[chosen])
    draw_map(axes, scene, frame)
    draw_red_lights(axes, scene, frame)
    draw_tracks(axes, tracks_of(scene, outcome), frame)
    _draw_references(axes, scene, frame, outcome)
    faults = []
    if rollouts is not None and chosen is not None:
        _draw_plans(axes, frame, rollouts, worth, chosen)
        _draw_rollout(axes, frame, rollouts[chosen])
        if outcome is not None:
            faults = faults_of(outcome, chosen)
            draw_faults(axes, scene, frame, outcome, faults, rollouts[chosen])
    _draw_ego(axes, frame, scene.ego_state)
    _draw_scale(axes)
    column = figure.add_axes((1.0 - PANEL, 0.02, PANEL - 0.005, 0.96))
    draw_panel(column, scene, outcome, chosen, faults, _key(scene, rollouts))
    return figure


def save(figure: Figure, path: str | os.PathLike[str], dpi: int = 150) -> None:
    """Write a picture (PNG, SVG or PDF by the name's ending), atomically."""
    kind = Path(path).suffix.lower().removeprefix(".") or "png"
    with atomic_write(path) as stream:
        figure.savefig(stream, format=kind, dpi=dpi)


def _worth(scene: Scene, poses: Floats | None, outcome: Outcome | None, utilities: Any) -> Floats | None:
    """Return what plans are coloured by and chosen for (N,)."""
    if poses is None:
        if outcome is not None or utilities is not None:
            raise SceneError("plans: outcome and utilities belong to plans; give them as well")
        return None
    if outcome is not None and len(outcome.score) != len(poses):
        raise SceneError(f"outcome: of {len(outcome.score)} plans, {len(poses)} given")
    if utilities is not None:
        return as_array(f"utilities of {scene.token}", utilities, np.float64, (len(poses),))
    return None if outcome is None else outcome.score


def _set_window(axes: Axes, frame: EgoFrame, size: tuple[float, float], rollout: Floats | None) -> None:
    ahead, middle = LEAST_AHEAD, 0.0
    if rollout is not None:
        way = frame.local(rollout[:, :2])
        ahead = max(ahead, float(way[:, 0].max()) + 14.0)
        middle = float(np.clip((way[:, 1].min() + way[:, 1].max()) / 2, -15.0, 15.0))
    width = ahead + BEHIND
    height = width * size[1] / (size[0] * (1.0 - PANEL - 0.012))
    axes.set(xlim=(-BEHIND, ahead), ylim=(middle - height / 2, middle + height / 2), aspect="equal")
    axes.set_facecolor(style.GROUND)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)


def _draw_references(axes: Axes, scene: Scene, frame: EgoFrame, outcome: Outcome | None) -> None:
    second = isinstance(outcome, V2Outcome) and scene.reference_v2 is not None
    reference = scene.reference_v2 if second else scene.reference
    assert reference is not None
    way = frame.local(reference[:STEPS, :2])
    axes.plot(*way.T, color=style.REFERENCE, linewidth=1.8, dashes=(3, 1.5), zorder=7)
    if scene.human_future is not None:  # a plan: in the ego's frame already
        axes.plot(
            *scene.human_future[:, :2].T, color=style.HUMAN, linewidth=1.0, marker="o", markersize=4.5,
            markeredgecolor="white", markeredgewidth=0.6, zorder=8,
        )  # fmt: skip


def _draw_plans(axes: Axes, frame: EgoFrame, rollouts: Floats, worth: Floats | None, chosen: int) -> None:
    others = np.flatnonzero(np.arange(len(rollouts)) != chosen)
    if not len(others):
        return
    value = np.full(len(rollouts), 0.5) if worth is None else worth
    if np.ptp(value) > 0:
        value = (value - value.min()) / np.ptp(value)
    order = others[np.argsort(value[others], kind="stable")]  # the best on top
    lines = [frame.local(rollouts[plan][:, :2]) for plan in order]
    colours = colormaps[style.SCORE_MAP](0.15 + 0.8 * value[order])
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=1.1, alpha=0.8, zorder=5))


def _draw_rollout(axes: Axes, frame: EgoFrame, rollout: Floats) -> None:
    way = frame.local(rollout[:, :2])
    axes.plot(*way.T, color="white", linewidth=4.6, zorder=7.5, solid_capstyle="round")
    axes.plot(*way.T, color=style.EGO, linewidth=2.6, zorder=7.6, solid_capstyle="round")
    for step in BOX_STEPS:
        axes.add_patch(
            Polygon(
                frame.ego_box(rollout[step]), facecolor=style.EGO + "26", edgecolor=style.EGO, linewidth=1.1, zorder=7.4
            )
        )


def _draw_ego(axes: Axes, frame: EgoFrame, state: Floats) -> None:
    box = frame.ego_box(state)
    axes.add_patch(Polygon(box, facecolor=style.EGO, edgecolor="white", linewidth=1.2, zorder=10))
    front, rear = box[[0, 3]].mean(axis=0), box.mean(axis=0)
    nose = np.stack([front, rear + (box[0] - box[3]) * 0.32, rear - (box[0] - box[3]) * 0.32])
    axes.add_patch(Polygon(nose, facecolor="white", edgecolor="none", zorder=10.1))


def _draw_scale(axes: Axes) -> None:
    left, low = axes.get_xlim()[0] + 2.0, axes.get_ylim()[0] + 1.6
    axes.plot([left, left + 10], [low, low], color=style.INK, linewidth=2.0, zorder=12, solid_capstyle="butt")
    axes.text(left + 5, low + 0.5, "10 m", ha="center", va="bottom", fontsize=8, color=style.INK, zorder=12)


def _key(scene: Scene, rollouts: Floats | None) -> list[str]:
    """Name the legend's entries that the picture has."""
    now = set(scene.tracks.type[scene.tracks.valid[:, 0]].tolist())
    lights = scene.lights
    there = {
        "chosen": rollouts is not None,
        "plans": rollouts is not None and len(rollouts) > 1,
        "reference": True,
        "human": scene.human_future is not None,
        "route": bool(scene.on_route.any()),
        "red light": bool((lights.on_route & (lights.status[:, 0] == Light.RED)).any()),
        "vehicle": TrackType.VEHICLE in now,
        "person": bool(now & {TrackType.PEDESTRIAN, TrackType.BICYCLE}),
        "object": bool(
            now & {TrackType.TRAFFIC_CONE, TrackType.BARRIER, TrackType.CZONE_SIGN, TrackType.GENERIC_OBJECT}
        ),
    }
    return [name for name, shown in there.items() if shown]
