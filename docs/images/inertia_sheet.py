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
from numpy.typing import NDArray

from world4scorer.outcomes.extended_comfort import LARGEST, extended_comfort_rms, overlap_shift
from world4scorer.pools import ScoredPools, framewise, inertial
from world4scorer.rollout import roll_out
from world4scorer.scene import State
from world4scorer.store import SceneStore
from world4scorer.view import style
from world4scorer.view.frame import EgoFrame
from world4scorer.view.strokes import draw_way
from world4scorer.view.surroundings import draw_map, draw_tracks
from world4scorer.view.ways import draw_ego

OUT: Final = Path(__file__).with_name("inertia.png")
WINDOW: Final = (-12.0, 40.0, -17.0, 17.0)
"""m: behind, ahead, right, left of the ego."""
UNITS: Final = ("acceleration [m/s²]", "jerk [m/s³]", "yaw rate [rad/s]", "yaw acc. [rad/s²]")

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
    choices = (("framewise", alone, style.FAULT, (0, (5, 2))), ("re-ranked", chosen, style.EGO, "solid"))

    figure = Figure(figsize=(12.8, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    above, acceleration, turning, table = figure.subplots(1, 4, width_ratios=(1.75, 1, 1, 0.95))
    frame = EgoFrame.of(scene)
    draw_map(above, scene, frame)
    draw_tracks(above, scene.tracks, frame)
    above.add_patch(Polygon(frame.ego_box(scene.ego_state), facecolor=style.INK, edgecolor="white", zorder=10))
    above.plot(*frame.local(previous[:, :2]).T, color=style.INK, linewidth=2.2, dashes=(1, 1), label="chosen before")
    for name, rollout, colour, line in choices:
        above.plot(*frame.local(rollout[:, :2]).T, color=colour, linewidth=2.2, linestyle=line, label=name, zorder=9)
        above.plot(*frame.local(rollout[-1, :2]), "o", color=colour, markeredgecolor="white", zorder=9.5)
    behind, ahead, right, left = WINDOW
    above.set(xlim=(behind, ahead), ylim=(right, left), aspect="equal", xticks=[], yticks=[], facecolor=style.GROUND)
    above.set_title(f"Two consecutive choices, {interval:.1f} s apart", fontsize=9.5)
    above.legend(loc="lower left", fontsize=8, framealpha=0.95)

    time = 0.1 * np.arange(len(previous) - shift)
    for axes, title, signal in (
        (acceleration, "size of the acceleration [m/s²]", size_of_acceleration),
        (turning, "yaw rate [rad/s]", lambda states: states[:, State.ANGULAR_VELOCITY]),
    ):
        axes.plot(time, signal(previous)[shift:], color=style.INK, linewidth=2.0, dashes=(1, 1))
        for _, rollout, colour, line in choices:
            axes.plot(time, signal(rollout)[: len(time)], color=colour, linestyle=line, linewidth=2.0)
        axes.set_title(title, fontsize=9.5)
        axes.set_xlabel("s from now", fontsize=8.5)
        axes.tick_params(labelsize=8)
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    tell(table, [extended_comfort_rms(rollout[None], previous, interval)[0] for _, rollout, _, _ in choices])
    figure.savefig(out, dpi=110)


def size_of_acceleration(states: Floats) -> Floats:
    """(41,) of states (41, 11), as extended comfort compares it, before its filter."""
    return np.hypot(states[:, State.ACCELERATION_X], states[:, State.ACCELERATION_Y])


def tell(axes: Axes, differences: list[Floats]) -> None:
    """Root mean square differences to the plan chosen before, beside what is allowed."""
    axes.axis("off")
    axes.set_title("difference to the plan before", fontsize=9.5)
    columns = ((0.3, "allowed", style.INK), (0.66, "framewise", style.FAULT), (1.0, "re-ranked", style.EGO))
    for x, name, colour in columns:
        axes.text(x, 0.87, name, fontsize=8, color=colour, ha="right", transform=axes.transAxes)
    for row, (unit, allowed) in enumerate(zip(UNITS, LARGEST, strict=True)):
        y = 0.73 - 0.2 * row
        axes.text(0.0, y + 0.045, unit, fontsize=8, color=style.INK, transform=axes.transAxes)
        values = (allowed, *(float(one[row]) for one in differences))
        for (x, _, colour), value in zip(columns, values, strict=True):
            weight = "bold" if value > allowed else "normal"
            axes.text(
                x,
                y - 0.04,
                f"{value:.2f}",
                fontsize=9,
                color=colour,
                ha="right",
                weight=weight,
                transform=axes.transAxes,
            )


if __name__ == "__main__":
    tyro.cli(main)
