"""Draw docs/images/pool.png: a plan and its rollout, a pool by what the planner thinks, the same pool by what happens.

python docs/images/pool_sheet.py --pools RUN/pools/city_val --token TOKEN
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tyro
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import ramp
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.drawing.trajectories import draw_ego
from world4scorer.engine.rollout import roll_out
from world4scorer.engine.scene import Scene
from world4scorer.evaluation.pools import ScoredPools

OUT = Path(__file__).with_name("pool.png")
WINDOW = (-9.0, 48.0, -19.0, 19.0)
"""m: behind, ahead, right, left of the ego."""
BOXES = (10, 20, 30, 40)
"""Steps at which the ego's box is drawn."""

Floats = NDArray[np.float64]


def main(pools: Path, token: str, store: Path | None = None, out: Path = OUT) -> None:
    """Draw the frame `token` of a folder of pools."""
    scored = ScoredPools.open(pools, store)
    place = scored.tokens.index(token)
    scene = SceneStore(scored.about["store"])[token]
    utility, outcome = scored.utility_v2[place].astype(np.float64), scored.pdms[place]
    rollouts = roll_out(scene, scored.plans[place])
    chosen = int(utility.argmax())
    figure = Figure(figsize=(12.8, 3.05), layout="constrained")
    FigureCanvasAgg(figure)
    first, second, third = figure.subplots(1, 3)
    draw_plan(first, scene, scored.plans[place, chosen], rollouts[chosen])
    rank = utility.argsort().argsort() / (len(utility) - 1)
    draw_pool(second, scene, rollouts, rank, chosen, "What the planner thinks: utility")
    draw_pool(third, scene, rollouts, outcome, chosen, f"What the simulator says: PDMS (chosen: {outcome[chosen]:.2f})")
    for axes, label in ((second, "rank"), (third, "score")):
        colours = ScalarMappable(Normalize(0, 1), ramp())
        bar = figure.colorbar(colours, ax=axes, shrink=0.7, pad=0.01, aspect=26, ticks=[0, 1])
        bar.set_label(label, fontsize=8, labelpad=-4)
        bar.ax.tick_params(labelsize=8)
    figure.savefig(out, dpi=110)


def draw_plan(axes: Axes, scene: Scene, plan: Floats, rollout: Floats) -> None:
    """Eight poses, and the car that follows them."""
    frame = begin(axes, scene, "A plan: 8 poses. Its rollout: 41 states")
    for step in BOXES:
        box = frame.ego_box(rollout[step])
        axes.add_patch(Polygon(box, facecolor=style.EGO + "26", edgecolor=style.EGO, linewidth=1.0, zorder=7))
    axes.plot(*frame.local(rollout[:, :2]).T, color=style.EGO, linewidth=2.0, zorder=8)
    axes.plot(*plan[:, :2].T, "o", color=style.FAULT, markersize=5, markeredgecolor="white", zorder=9)
    for pose, seconds in ((plan[1], "1 s"), (plan[3], "2 s"), (plan[5], "3 s"), (plan[7], "4 s")):
        side = np.array([-np.sin(pose[2]), np.cos(pose[2])]) * 2.6
        axes.text(*(pose[:2] + side), seconds, ha="center", va="center", fontsize=7.5, color=style.INK, zorder=10)


def draw_pool(axes: Axes, scene: Scene, rollouts: Floats, worth: Floats, chosen: int, title: str) -> None:
    """All rollouts, dark where they are worth much; a dot ends the chosen one."""
    frame = begin(axes, scene, title)
    order = worth.argsort(kind="stable")
    lines = [frame.local(rollouts[plan][:, :2]) for plan in order]
    colours = ramp()(worth[order])
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=1.3, alpha=0.9, zorder=8))
    axes.plot(*frame.local(rollouts[chosen, -1, :2]), "o", color=style.FAULT, markeredgecolor="white", zorder=9)


def begin(axes: Axes, scene: Scene, title: str) -> EgoFrame:
    """Map, traffic and ego."""
    frame = EgoFrame.of(scene)
    draw_map(axes, scene, frame)
    draw_tracks(axes, scene.tracks, frame)
    draw_ego(axes, frame, scene.ego_state)
    behind, ahead, right, left = WINDOW
    axes.set(xlim=(behind, ahead), ylim=(right, left), aspect="equal", xticks=[], yticks=[], facecolor=style.GROUND)
    axes.set_title(title, fontsize=9.5, color=style.INK)
    for side in axes.spines.values():
        side.set_visible(False)
    return frame


if __name__ == "__main__":
    tyro.cli(main)
