"""Distances of readouts to observed views, and how much they differ between queries.

Grids of one encoder are alike in any two views; centred cosines take the mean grid vector of the training pairs off.

Shapes: K scenes, P patches, V channels, Q queries, H x W pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from world4scorer.jobs.progress import ProgressBar
from world4scorer.studies.readout_networks.make import Readouts
from world4scorer.studies.readout_networks.pairs import Pairs, as_images

Floats = NDArray[np.float64]

BATCH: Final = 32
"""Scenes at a time."""
MOST_SHIFT: Final = 42
"""Pixels by which views are shifted against each other, at most."""
GRIDS: Final = {
    "copy": "current grid, unchanged",
    "null": "CondGrid without vector",
    "executed_g2": "CondGrid, g(z) of the executed plan, guidance 2",
    "executed_g1": "CondGrid, g(z) of the executed plan, guidance 1",
    "selected_g2": "CondGrid, g(z) of the selected plan, guidance 2",
    "selected_g1": "CondGrid, g(z) of the selected plan, guidance 1",
    "observed_g2": "CondGrid, observed vector, guidance 2",
    "observed_g1": "CondGrid, observed vector, guidance 1",
    "diffusion": "diffusion, g(z) of the executed plan, guidance 1",
    "diffusion_observed": "diffusion, observed vector, guidance 1",
}
DRAWN: Final = ("copy", "null", "executed_g2", "executed_g1", "observed_g2", "observed_g1", "diffusion", "ceiling")
"""Grids that are decoded and compared pixel by pixel; the ceiling is the observed future's own."""


@dataclass(frozen=True, eq=False)
class Fidelity:
    """Of K scenes."""

    cosine: Mapping[str, Floats]
    """(K, P) with the observed future, by name of `GRIDS`"""
    centred: Mapping[str, Floats]
    """(K, P)"""
    psnr: Mapping[str, Floats]
    """(K,) of decoded images against the observed view [dB], by name of `DRAWN`, and of the current view"""
    absolute: Mapping[str, Floats]
    """(K,) mean absolute difference, colours from 0 to 1"""


def fidelity(
    readouts: Readouts, pairs: Pairs, executed_KE: Tensor, selected_KE: Tensor, show: bool = False
) -> Fidelity:
    """Compare readouts with observed views."""
    found: dict[str, dict[str, list[Floats]]] = {name: {} for name in ("cosine", "centred", "psnr", "absolute")}

    def note(kind: str, name: str, values: Tensor) -> None:
        found[kind].setdefault(name, []).append(values.double().numpy())

    mean = readouts.condgrid.statistics.grid_mean
    with ProgressBar("readouts", "scenes", len(pairs), show) as progress:
        for start in range(0, len(pairs), BATCH):
            rows = slice(start, start + BATCH)
            future = pairs.future[rows].float()
            grids = _grids(readouts, pairs, executed_KE, selected_KE, rows)
            for name, grid in grids.items():
                note("cosine", name, functional.cosine_similarity(grid, future, dim=-1))
                note("centred", name, functional.cosine_similarity(grid - mean, future - mean, dim=-1))
            observed = as_images(pairs.future_views[rows])
            drawn = {name: readouts.decoder.images(future if name == "ceiling" else grids[name]) for name in DRAWN}
            drawn["current view"] = as_images(pairs.now_views[rows])
            for name, image in drawn.items():
                apart = image - fitted(observed, image)
                note("psnr", name, -10.0 * apart.square().mean((1, 2, 3)).clamp_min(1e-10).log10())
                note("absolute", name, apart.abs().mean((1, 2, 3)))
            progress.advance(len(future))
    joined = {kind: {name: np.concatenate(parts) for name, parts in names.items()} for kind, names in found.items()}
    return Fidelity(**joined)


def _grids(
    readouts: Readouts, pairs: Pairs, executed_KE: Tensor, selected_KE: Tensor, rows: slice
) -> dict[str, Tensor]:
    now, observed = pairs.now[rows].float(), pairs.vectors[rows]
    grids = {"copy": now, "null": readouts.condgrid.without_vector(now)}
    conditions = {
        "executed": readouts.scaled(executed_KE[rows]),
        "selected": readouts.scaled(selected_KE[rows]),
        "observed": observed,
    }
    for name, vector in conditions.items():
        grids[f"{name}_g1"] = readouts.condgrid.predict(now, vector, 1.0)
        grids[f"{name}_g2"] = grids["null"] + 2.0 * (grids[f"{name}_g1"] - grids["null"])
    grids["diffusion"] = readouts.diffusion.sample(now, conditions["executed"])
    grids["diffusion_observed"] = readouts.diffusion.sample(now, observed)
    return grids


def query_grids(readouts: Readouts, now_KPV: Tensor, asked_KQE: Tensor, guidance: float = 2.0) -> Tensor:
    """Readouts (K, Q, P, V) of queries."""
    parts = []
    for start in range(0, len(now_KPV), BATCH):
        now, asked = now_KPV[start : start + BATCH].float(), readouts.scaled(asked_KQE[start : start + BATCH])
        queries = asked.shape[1]
        grids = readouts.condgrid.predict(now.repeat_interleave(queries, 0), asked.flatten(0, 1), guidance)
        parts.append(grids.unflatten(0, (-1, queries)))
    return torch.cat(parts)


def consistency(grids_KQPV: Tensor, mean_V: Tensor | None = None) -> Floats:
    """(K, P) cosine of patches between queries, over all pairs of them; less a mean where one is given."""
    grids = grids_KQPV if mean_V is None else grids_KQPV - mean_V
    pairs = combinations(range(grids.shape[1]), 2)
    found = torch.stack([functional.cosine_similarity(grids[:, a], grids[:, b], dim=-1) for a, b in pairs])
    return found.mean(0).double().numpy()


def view_shift(image_3HW: Tensor, other_3HW: Tensor, reach: int = MOST_SHIFT) -> int:
    """By how many pixels what an image shows lies to the right of where another shows it, as far as they overlap.

    The shift with the least mean absolute difference; of equals the smallest.
    """
    width = image_3HW.shape[-1]
    reach = min(reach, width // 3)
    found = {}
    for shift in range(-reach, reach + 1):
        a = image_3HW[..., max(0, shift) : width + min(0, shift)]
        b = other_3HW[..., max(0, -shift) : width + min(0, -shift)]
        found[shift] = float((a - b).abs().mean())
    return min(found, key=lambda shift: (found[shift], abs(shift)))


def fitted(seen_B3HW: Tensor, like_B3HW: Tensor) -> Tensor:
    """Images in the size of others."""
    if seen_B3HW.shape == like_B3HW.shape:
        return seen_B3HW
    size = (like_B3HW.shape[2], like_B3HW.shape[3])
    return functional.interpolate(seen_B3HW, size=size, mode="bilinear", antialias=True)
