"""Learning curves of runs: score of the selected plans on validation, ordering, and losses."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from world4scorer.scene.files import atomic_write

History = Sequence[Mapping[str, float]]

PANELS: Final = (
    ("val/score", "PDMS of the selected plans", 100.0),
    ("val/ordering", "pairs in the true order [%]", 100.0),
    ("train/score", "outcome loss, training", 1.0),
    ("train/future", "future loss, training", 1.0),
)


def draw_curves(runs: Mapping[str, History], path: Path) -> None:
    """One line per run in each panel, over steps."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(PANELS), figsize=(4.0 * len(PANELS), 3.2), layout="constrained")
    for axis, (key, title, scale) in zip(axes, PANELS, strict=True):
        for name, history in runs.items():
            known = [line for line in history if key in line]
            if known:
                axis.plot(
                    [line["step"] for line in known], [scale * line[key] for line in known], "o-", ms=3, label=name
                )
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("steps")
        axis.grid(alpha=0.3)
    best = max((line for history in runs.values() for line in history), key=lambda line: line["val/oracle"])
    axes[0].axhline(100 * best["val/oracle"], color="0.5", ls=":", lw=1)
    axes[0].annotate(
        "best of the pool", (0.02, 100 * best["val/oracle"]), xycoords=("axes fraction", "data"), fontsize=8
    )
    if len(runs) > 1:
        axes[0].legend(fontsize=8)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    pyplot.close(figure)
    with atomic_write(path) as stream:
        stream.write(picture.getvalue())
