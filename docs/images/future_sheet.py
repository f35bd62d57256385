"""Draw docs/images/future.png: all plans of a scene have outcomes, the driven one alone has a future.

python docs/images/future_sheet.py --pools RUN/pools/city_val --data DATA --token TOKEN
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import tyro
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.strokes import ramp
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.drawing.trajectories import draw_ego
from world4scorer.engine.rollout import roll_out
from world4scorer.evaluation.pools import ScoredPools
from world4scorer.jobs.data_folder import DataFolder

OUT: Final = Path(__file__).with_name("future.png")
WINDOW: Final = (-9.0, 45.0, -15.5, 15.5)
"""m: behind, ahead, right, left of the ego."""
LATER: Final = 4
"""Key frames: two seconds."""

Floats = NDArray[np.float64]


def main(pools: Path, data: Path, token: str, store: Path | None = None, out: Path = OUT) -> None:
    """Draw the frame `token` of a folder of pools; `data` holds the camera images."""
    scored = ScoredPools.open(pools, store)
    place = scored.tokens.index(token)
    scene = SceneStore(scored.about["store"])[token]
    rollouts = roll_out(scene, scored.plans[place])
    now, later = views(data, scored.log_names[place], token)
    figure = Figure(figsize=(12.8, 2.75), layout="constrained")
    FigureCanvasAgg(figure)
    first, second, third = figure.subplots(1, 3)
    show(first, now, "Now: what the planner sees (front of four views)")
    show(third, later, "Two seconds later: seen along the driven plan only")
    frame = EgoFrame.of(scene)
    draw_map(second, scene, frame)
    draw_tracks(second, scene.tracks, frame)
    score = scored.pdms[place]
    lines = [frame.local(rollouts[plan][:, :2]) for plan in score.argsort(kind="stable")]
    colours = ramp()(np.sort(score))
    second.add_collection(LineCollection(lines, colors=colours, linewidths=1.2, alpha=0.85, zorder=8))
    driven = np.concatenate([np.zeros((1, 2)), scored.human_plan[place, :, :2]])
    second.plot(*driven.T, color="white", linewidth=4.5, zorder=9)
    second.plot(*driven.T, color=style.HUMAN, linewidth=2.6, marker="o", markersize=4, zorder=9.5, label="driven")
    draw_ego(second, frame, scene.ego_state)
    behind, ahead, right, left = WINDOW
    second.set(xlim=(behind, ahead), ylim=(right, left), aspect="equal", facecolor=style.GROUND)
    second.legend(loc="lower left", fontsize=8, framealpha=0.95)
    finish(second, "Every plan has an outcome (dark: PDMS 1)")
    figure.savefig(out, dpi=110)


def views(data: Path, log_name: str, token: str) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The front views of a frame and of the one two seconds later."""
    (path,) = DataFolder(data).find_log(log_name)
    log = read_log(path)
    row = next(row for row, frame in enumerate(log.frames) if frame.token == token)
    later = int(log.rows_after(LATER)[row])
    if later < 0:
        raise ValueError(f"{path}: {token} has no frame two seconds later; choose another token")
    sensors = DataFolder(data).sensors(path.parent.name)
    now, then = (log.frames[place].cameras["CAM_F0"].load(sensors) for place in (row, later))
    return now, then


def show(axes: Axes, image: NDArray[np.uint8], title: str) -> None:
    """A camera image."""
    axes.imshow(image, interpolation="lanczos")
    finish(axes, title)


def finish(axes: Axes, title: str) -> None:
    """A title, and no frame."""
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=9.5, color=style.INK)
    for side in axes.spines.values():
        side.set_visible(False)


if __name__ == "__main__":
    tyro.cli(main)
