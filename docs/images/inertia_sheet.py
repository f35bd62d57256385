"""Draw docs/images/inertia.png: the plan chosen before, the framewise choice now, the re-ranked choice, and why.

python docs/images/inertia_sheet.py --pools RUN/pools/city_val --token TOKEN
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import tyro
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import draw_line, plot_style
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.drawing.trajectories import draw_ego
from world4scorer.engine.outcomes.extended_comfort import MAX_RMS_DIFFERENCES, extended_comfort_rms, overlap_shift
from world4scorer.engine.rollout import roll_out
from world4scorer.engine.scene import State
from world4scorer.evaluation.pools import ScoredPools, framewise, inertial

OUT: Final = Path(__file__).with_name("inertia.png")
WINDOW: Final = (-9.0, 29.0, -14.0, 11.0)
"""m: behind, ahead, right, left of the ego."""
UNITS: Final = ("acceleration [m/s²]", "jerk [m/s³]", "yaw rate [rad/s]", "yaw acc. [rad/s²]")
BEFORE: Final = style.Stroke(style.INK, 2.0, dashes=(1.0, 1.0))
RERANKED: Final = style.Stroke(style.EGO, 2.4, casing=0.8)
"""Thinner than a choice elsewhere: the other two ways run along it."""

Floats = NDArray[np.float64]


def main(pools: Path, token: str, store: Path | None = None, out: Path = OUT) -> None:
    """Draw the frame `token` of a folder of pools and what was chosen in the frame before."""
    scored = ScoredPools.open(pools, store)
    place = scored.tokens.index(token)
    before = int(scored.previous[place])
    scenes = SceneStore(scored.about["store"])
    scene, earlier = scenes[token], scenes[scored.tokens[before]]
    reranked = inertial(scored, scored.utility_v2)
    previous = roll_out(earlier, scored.plans[before, reranked[before]][None])[0]
    now = roll_out(scene, scored.plans[place])
    alone, chosen = now[framewise(scored.utility_v2)[place]], now[reranked[place]]
    interval = float(scored.interval[place])
    shift = overlap_shift(interval)
    choices = (("framewise", alone, style.FRAMEWISE), ("re-ranked", chosen, RERANKED))

    figure = Figure(figsize=(12.8, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    above, acceleration, turning, table = figure.subplots(1, 4, width_ratios=(1.75, 1, 1, 0.95))
    frame = EgoFrame.of(scene)
    draw_map(above, scene, frame)
    draw_tracks(above, scene.tracks, frame)
    draw_ego(above, frame, scene.ego_state)
    draw_line(above, frame.local(previous[:, :2]), BEFORE, 7.0)
    for height, (_, rollout, stroke) in zip((8.5, 8.0), choices, strict=True):  # the shorter one on top
        draw_line(above, frame.local(rollout[:, :2]), stroke, height)
        inside = style.EGO if stroke is RERANKED else style.PAPER
        above.plot(*frame.local(rollout[-1, :2]), "o", color=style.EGO, markerfacecolor=inside, zorder=9.5)
    behind, ahead, right, left = WINDOW
    above.set(xlim=(behind, ahead), ylim=(right, left), aspect="equal", xticks=[], yticks=[], facecolor=style.GROUND)
    above.set_title(f"Two consecutive choices, {interval:.1f} s apart", fontsize=9.5)
    strokes = (("chosen before", BEFORE), *((name, stroke) for name, _, stroke in choices))
    marks = [Line2D([], [], label=name, **plot_style(stroke)) for name, stroke in strokes]
    above.legend(handles=marks, loc="lower left", fontsize=8, framealpha=0.95, handlelength=2.6)

    time = 0.1 * np.arange(len(previous) - shift)
    for axes, title, signal in (
        (acceleration, "size of the acceleration [m/s²]", size_of_acceleration),
        (turning, "yaw rate [rad/s]", lambda states: states[:, State.ANGULAR_VELOCITY]),
    ):
        axes.plot(time, signal(previous)[shift:], **plot_style(BEFORE))
        for _, rollout, stroke in choices:
            axes.plot(time, signal(rollout)[: len(time)], **plot_style(stroke))
        axes.set_title(title, fontsize=9.5)
        axes.set_xlabel("s from now", fontsize=8.5)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    tell(table, {name: extended_comfort_rms(rollout[None], previous, interval)[0] for name, rollout, _ in choices})
    figure.savefig(out, dpi=110)


def size_of_acceleration(states: Floats) -> Floats:
    """(41,) of states (41, 11), as extended comfort compares it, before its filter."""
    return np.hypot(states[:, State.ACCELERATION_X], states[:, State.ACCELERATION_Y])


def tell(axes: Axes, differences: dict[str, Floats]) -> None:
    """Root mean square differences to the plan chosen before, beside what is allowed; what is more stands out."""
    axes.axis("off")
    axes.set_title("difference to the plan before", fontsize=9.5)
    at = {"ha": "right", "transform": axes.transAxes}
    columns = dict(
        zip((0.3, 0.66, 1.0), {"allowed": np.array(MAX_RMS_DIFFERENCES), **differences}.items(), strict=True)
    )
    for x, (name, _) in columns.items():
        axes.text(x, 0.87, name, fontsize=8, color=style.EGO if name in differences else style.INK, **at)
    for row, (unit, allowed) in enumerate(zip(UNITS, MAX_RMS_DIFFERENCES, strict=True)):
        y = 0.73 - 0.2 * row
        axes.text(0.0, y + 0.045, unit, fontsize=8, color=style.INK, transform=axes.transAxes)
        for x, (_, values) in columns.items():
            too_much = {"color": style.FAULT, "weight": "bold"} if values[row] > allowed else {"color": style.INK}
            axes.text(x, y - 0.04, f"{values[row]:.2f}", fontsize=9, **too_much, **at)


if __name__ == "__main__":
    tyro.cli(main)
