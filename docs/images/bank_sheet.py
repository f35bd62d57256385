"""Draw docs/images/bank.png: the families of a bank in one scene, family by family, and what the pack keeps.

python docs/images/bank_sheet.py --store scenes --token TOKEN
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tyro
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing import style
from world4scorer.drawing.ego_frame import EgoFrame
from world4scorer.drawing.surroundings import draw_map, draw_tracks
from world4scorer.engine.outcomes import label
from world4scorer.planner.bank import BankConfig
from world4scorer.planner.bank.choice import is_unsafe
from world4scorer.planner.bank.config import FAMILIES
from world4scorer.planner.bank.perturbations import Perturbations
from world4scorer.planner.bank.scene_bank import build_scene_bank

OUT = Path(__file__).with_name("bank.png")


def main(store: Path, token: str, out: Path = OUT) -> None:
    """Unsafe plans are orange, the others blue, the log black."""
    scene, config = SceneStore(store)[token], BankConfig()
    proposals = Perturbations(config).propose(scene, 0)
    assert proposals is not None and scene.human_future is not None
    labels, bank = label(scene, proposals.plans).table, build_scene_bank(scene, Perturbations(config), config)
    panels = [
        (family.label, proposals.plans[proposals.family == family], labels[proposals.family == family])
        for family in FAMILIES
    ]
    panels.append((f"kept: {len(bank.plans)}", bank.plans, bank.labels))
    figure = Figure(figsize=(12.8, 7.2), layout="constrained")
    FigureCanvasAgg(figure)
    ends = np.concatenate([proposals.plans[..., :2].reshape(-1, 2), [[0.0, 0.0]]])
    middle, half = (ends.min(0) + ends.max(0)) / 2, max(np.ptp(ends[:, 0]) / 2 + 4, (np.ptp(ends[:, 1]) / 2 + 4) * 1.5)
    for axes, (name, plans, table) in zip(figure.subplots(3, 4).ravel(), panels, strict=True):
        draw_map(axes, scene, EgoFrame.of(scene))
        draw_tracks(axes, scene.tracks, EgoFrame.of(scene))
        ways = np.concatenate([np.zeros((len(plans), 1, 2)), plans[..., :2]], axis=1)
        colours = np.where(is_unsafe(table), style.FAULT, style.EGO).tolist()
        axes.add_collection(LineCollection(list(ways), colors=colours, linewidths=0.9, alpha=0.75, zorder=8))
        dots = ways[:, 1:].reshape(-1, 2)
        axes.scatter(*dots.T, s=3, c=np.repeat(colours, 8), linewidths=0, zorder=9)
        axes.plot(*np.concatenate([[[0, 0]], scene.human_future[:, :2]]).T, color=style.INK, linewidth=1.0, zorder=10)
        axes.set(xlim=middle[0] + [-half, half], ylim=middle[1] + [-half / 1.5, half / 1.5], aspect="equal")
        axes.set(xticks=[], yticks=[], facecolor=style.GROUND)
        axes.set_title(name, fontsize=9)
    figure.savefig(out, dpi=100)


if __name__ == "__main__":
    tyro.cli(main)
