"""The figure of the geometry of targets: how cosines of pairs are distributed, and the spectrum of the features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from world4scorer.drawing import style
from world4scorer.drawing.charts import GOOD, OTHER, OURS, PAPER, chart, set_title

if TYPE_CHECKING:
    from world4scorer.studies.target_geometry.study import Geometry
    from world4scorer.studies.target_geometry.views import Form

BINS: Final = 80
CUT_QUANTILE: Final = 0.002
"""Share of the lowest cosines that is not drawn."""
DRAWN: Final = (
    ("true", OURS, "own future"),
    ("same_log", GOOD, "same log, another time"),
    ("shuffled", OTHER, "another scene"),
)
TITLES: Final = {"raw": "cosine with the current view", "centred": "the same, the mean taken off"}


def draw(found: Geometry, reported: Any) -> Figure:
    """Cosines raw and centred, and how much of the variance the first directions hold."""
    figure, (left, middle, right) = chart(3, size=(12.6, 4.0), width_ratios=(1.15, 1.15, 1.0))
    _cosines(left, found, "raw")
    _cosines(middle, found, "centred")
    theirs = (("paired_cos", OURS), ("same_log_cos", GOOD), ("deranged_cos", OTHER))
    for name, colour in theirs:
        left.plot([reported[name]], [1.0], marker="v", ms=7, color=colour, mec="white", clip_on=False, zorder=6,
                  transform=left.get_xaxis_transform())  # fmt: skip
    left.plot([], [], marker="v", ls="none", color=PAPER, label="mean in the paper, NAVSIM")
    left.set_ylabel("density")
    _spectrum(right, found)
    for axes in (left, middle, right):
        axes.set_title(axes.get_title(), fontsize=10, color=style.INK, pad=12)  # room for the paper's marks
    figure.legend(*left.get_legend_handles_labels(), fontsize=8.5, ncols=5, frameon=False, loc="outside lower center")
    return figure


def _cosines(axes: Axes, found: Geometry, form: Form) -> None:
    kinds = found.cosines[form]
    known = {kind: kinds[kind][~np.isnan(kinds[kind])] for kind, _, _ in DRAWN}
    lowest = min((float(np.quantile(values, CUT_QUANTILE)) for values in known.values() if len(values)), default=-1.0)
    edges = np.linspace(lowest, 1.0, BINS + 1).tolist()
    for kind, colour, label in DRAWN:
        if len(known[kind]):
            axes.hist(known[kind], edges, density=True, histtype="stepfilled", color=colour, alpha=0.25)
            axes.hist(known[kind], edges, density=True, histtype="step", color=colour, lw=1.4)
        axes.plot([], [], color=colour, lw=2, label=label)
        axes.axvline(found.means[form][kind].value, color=colour, lw=1.1, ls=(0, (3, 2)))
    axes.plot([], [], color=style.INK, lw=1.1, ls=(0, (3, 2)), label="mean")
    axes.set_xlabel("cosine")
    set_title(axes, TITLES[form])


def _spectrum(axes: Axes, found: Geometry) -> None:
    for (name, shares), (colour, line) in zip(found.spectra.items(), ((OURS, "-"), (OTHER, "--")), strict=True):
        rank = found.ranks[name]["centred"]
        label = (
            f"{name}: {rank['singular_values'].value:.1f} (singular values), {rank['variances'].value:.1f} (variances)"
        )
        axes.plot(np.arange(1, len(shares) + 1), 100 * np.cumsum(shares), color=colour, ls=line, lw=1.8, label=label)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.set_xlim(1, len(next(iter(found.spectra.values()))))
    axes.set_ylim(0, 103)
    axes.set_xlabel("directions, largest first")
    axes.legend(fontsize=8, loc="lower right", frameon=False, title="effective rank", title_fontsize=8)
    set_title(axes, "variance in the first directions [%]")
