"""What predicted features look like, and what of it comes from them (appendix C, figures of visual readouts).

Networks of their own, trained on logged pairs with the driving model frozen, turn the current grid of patches and a
predicted pooled vector into a future grid; a decoder draws it. Only executed plans have an observed future.

Shapes: S frames of pools, K scenes, J junctions, P patches.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from matplotlib.figure import Figure
from numpy.typing import NDArray

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.evaluation.pools.planner_source import PlannerSource
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import LogBootstrap, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.jobs.run_folder import Weights
from world4scorer.planner.planner import Planner
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.planner.targets.future_targets import FutureTargets
from world4scorer.planner.training.run_files import read_run
from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.make import Readouts, make_readouts
from world4scorer.studies.readout_networks.pairs import Pairs, as_images, pairs_of
from world4scorer.studies.readout_networks.regions import has_labels, read_regions
from world4scorer.studies.readouts.figure import draw
from world4scorer.studies.readouts.measures import Fidelity, consistency, fidelity, fitted, query_grids, view_shift
from world4scorer.studies.readouts.pictures import gallery, query_picture
from world4scorer.studies.readouts.pipeline import QueryStages, pipeline_picture
from world4scorer.studies.readouts.scenes import QUERIES, Junctions, drawn_scenes, junctions
from world4scorer.studies.readouts.tables import Found, remarks, tables
from world4scorer.studies.readouts.vectors import Predicted, observed, predicted
from world4scorer.studies.shared.view_features import own_encoder

GALLERY_SCENES: Final = 30
SCENES_PER_PICTURE: Final = 15
"""Scenes of the gallery, and of each of its pictures."""
JUNCTIONS_PER_PICTURE: Final = 6
"""Junctions in each of the two pictures."""
SHOWN_GUIDANCE: Final = 2.0
"""Guidance of the readouts that are shown."""


@dataclass(frozen=True, eq=False)
class Scenes:
    """Scenes with their pairs and predicted vectors."""

    indices: NDArray[np.int64]
    """(K,) in the pools"""
    pairs: Pairs
    predicted: Predicted
    regions: NDArray[np.int8] | None
    """(K, P)"""


@dataclass(frozen=True, eq=False)
class _Run:
    """What all parts of the study share."""

    pools: ScoredPools
    readouts: Readouts
    source: PlannerSource
    planner: Planner
    observed: FutureTargets
    """Vectors of the validation split."""
    masks: Path | None

    def scenes(self, indices: NDArray[np.int64], plans: NDArray[np.int64]) -> Scenes:
        named = [(self.pools.tokens[index], self.pools.log_names[index]) for index in indices]
        data, split, encoder = self.source.data, self.source.split, self.readouts.encoder
        pairs = pairs_of(named, data, split, encoder, self.observed, show=True)
        there = predicted(self.planner, self.source.samples(), self.pools, indices, plans)
        known = has_labels(data, self.masks)
        grid = PatchGrid.of(encoder)
        regions = read_regions(named, data, split, encoder.config, self.masks, grid, show=True) if known else None
        return Scenes(indices, pairs, there, regions)


def readouts(
    run: Path,
    config: ReadoutConfig,
    scenes: int = 300,
    encoder: str | None = None,
    decoder: Path | None = None,
    masks: Path | None = None,
    draws: int = 10_000,
    threads: int = 0,
    split: str | None = None,
    weights: Weights = "best",
) -> Finding:
    """Train what is missing, and look at the run's validation split, or another; `threads` of torch, 0 for its own."""
    if threads:
        torch.set_num_threads(threads)
    if scenes < 1:
        raise ValueError(f"scenes: {scenes}; at least 1")
    about, data = read_run(run, split)
    if not about.model.readout or not about.loss_weights.future or about.auxiliary_target != "future":
        raise ValueError(
            f"{run}: predicts no future features, so there is nothing to show; use a run with future targets"
        )
    seen_by = encoder or own_encoder(about, data)[0]
    if seen_by is None:
        raise ValueError(f"{data.targets}: does not tell which encoder it was made with; say which with --encoder")
    trained = make_readouts(run, config, seen_by, decoder, show=True)
    pools = open_pools(run, split=split, weights=weights)
    source = PlannerSource.find(run, split=split, weights=weights)
    whole = _Run(pools, trained, source, source.load(), observed(run, seen_by, split), masks)
    has_future = whole.observed.features(pools.tokens)[1].numpy() & ~np.isnan(pools.human_plan[:, 0, 0])
    if not has_future.any():
        raise ValueError(f"{source.store}: no scene has a view two seconds later; a longer validation log is needed")
    indices = drawn_scenes(pools, has_future, scenes)
    many = whole.scenes(indices, framewise(pools.utility_v1)[indices][:, None])
    crossing = junctions(pools, has_future, scenes)
    turned = whole.scenes(crossing.indices, crossing.plans) if len(crossing.indices) else None
    measured = fidelity(trained, many.pairs, many.predicted.executed, many.predicted.asked[:, 0], show=True)
    found = _found(trained, pools, many, measured, turned, draws)
    reported = paper("readouts")
    pictures = _gallery(trained, many, measured)
    if turned is not None:
        pictures |= _queries(trained, pools, source, turned, crossing)
        pictures["pipeline"] = _pipeline(trained, pools, source, turned, crossing)
    return Finding(
        name="readouts",
        title="What the planner foresees, as images",
        question="What do predicted features look like, and how much of the picture comes from them?",
        data=pools.describe(),
        weights=pools.weights,
        numbers={
            "pairs": config.pairs,
            "scenes": len(many.pairs),
            "junctions": len(crossing.indices),
            "vector_length": trained.length,
            **{name: {key: plain(one) for key, one in part.items()} for name, part in vars(found).items()},
        },
        tables=tables(found, reported),
        remarks=remarks(found, config, len(many.pairs), len(crossing.indices), decoder is not None),
        paper=reported,
        figure=draw(found.cosine, found.centred, found.psnr, found.agreement or None, reported),
        pictures=pictures,
    )


def _found(
    trained: Readouts, pools: ScoredPools, many: Scenes, measured: Fidelity, turned: Scenes | None, draws: int
) -> Found:
    """All numbers with their intervals."""
    bootstrap = LogBootstrap(many.pairs.log_names, draws)
    mean = trained.condgrid.statistics.vector_mean
    vectors = {}
    for name, vector in (("executed", many.predicted.executed), ("selected", many.predicted.asked[:, 0])):
        guess, true = trained.scaled(vector), many.pairs.vectors
        vectors[name] = bootstrap.mean(torch.cosine_similarity(guess, true, dim=-1).numpy())
        vectors[f"{name}_centred"] = bootstrap.mean(torch.cosine_similarity(guess - mean, true - mean, dim=-1).numpy())
    found = Found(
        cosine={name: bootstrap.mean(values.mean(1)) for name, values in measured.cosine.items()},
        centred={name: bootstrap.mean(values.mean(1)) for name, values in measured.centred.items()},
        over_null={
            name: bootstrap.mean((values - measured.centred["null"]).mean(1))
            for name, values in measured.centred.items()
        },
        psnr={name: bootstrap.mean(values) for name, values in measured.psnr.items()},
        absolute={name: bootstrap.mean(values) for name, values in measured.absolute.items()},
        vectors=vectors,
    )
    if many.regions is not None:
        found.gain_by_region(bootstrap, measured.cosine, many.regions)
    if turned is not None:
        grids = query_grids(trained, turned.pairs.now, turned.predicted.asked, SHOWN_GUIDANCE)
        apart = LogBootstrap(turned.pairs.log_names, draws)
        raw, centred = consistency(grids), consistency(grids, trained.condgrid.statistics.grid_mean)
        found.agreement_between(apart, raw, centred, turned.regions)
        shifts = [[view_shift(one[side], one[1]) for side in (0, 2)] for one in _drawn_queries(trained, grids)]
        left, right = np.array(shifts, np.float64).T
        sides = {"left": left, "right": right, "left_less_right": left - right}
        found.shift.update({name: apart.mean(pixels) for name, pixels in sides.items()})
    return found


def _drawn_queries(trained: Readouts, grids_JQPV: torch.Tensor) -> list[torch.Tensor]:
    return [trained.decoder.images(grids) for grids in grids_JQPV]


def _gallery(trained: Readouts, many: Scenes, measured: Fidelity) -> dict[str, Any]:
    """The first scenes of the draw, those that change most first."""
    pairs, count = many.pairs, min(GALLERY_SCENES, len(many.pairs))
    pooled = [torch.nn.functional.normalize(grid[:count].float().mean(1), dim=-1) for grid in (pairs.now, pairs.future)]
    change = 1.0 - (pooled[0] * pooled[1]).sum(1).numpy()
    order = np.argsort(-change, kind="stable")
    now, future = pairs.now[order].float(), pairs.future[order].float()
    vector = trained.scaled(many.predicted.executed[order])
    drawn = {
        "CondGrid": trained.decoder.images(trained.condgrid.predict(now, vector, SHOWN_GUIDANCE)),
        "diffusion": trained.decoder.images(trained.diffusion.sample(now, vector)),
        "full grid": trained.decoder.images(future),
    }
    views = {"now": as_images(pairs.now_views[order]), "observed +2 s": as_images(pairs.future_views[order])}
    drawn |= {name: fitted(image, drawn["full grid"]) for name, image in views.items()}
    titles = [
        f"{number}: change {change[index]:.3f}; cosine CondGrid {measured.centred['executed_g2'][index].mean():.2f}, "
        f"diffusion {measured.centred['diffusion'][index].mean():.2f}, now {measured.centred['copy'][index].mean():.2f}"
        for number, index in enumerate(order, 1)
    ]
    pictures = {}
    for number, first in enumerate(range(0, count, SCENES_PER_PICTURE), 1):
        rows = slice(first, first + SCENES_PER_PICTURE)
        pictures[f"gallery_{number}"] = gallery({name: image[rows] for name, image in drawn.items()}, titles[rows])
    return pictures


def _queries(
    trained: Readouts, pools: ScoredPools, source: PlannerSource, turned: Scenes, crossing: Junctions
) -> dict[str, Any]:
    store, pairs = SceneStore(source.store), turned.pairs
    pictures = {}
    for number, key in enumerate(("queries_1", "queries_2")):
        rows = slice(number * JUNCTIONS_PER_PICTURE, (number + 1) * JUNCTIONS_PER_PICTURE)
        if not len(crossing.indices[rows]):
            continue
        grids = query_grids(trained, pairs.now[rows], turned.predicted.asked[rows], SHOWN_GUIDANCE)
        images = {name: trained.decoder.images(grids[:, index]) for index, name in enumerate(QUERIES)}
        like = images["left"]
        images["now"] = fitted(as_images(pairs.now_views[rows]), like)
        images["observed"] = fitted(as_images(pairs.future_views[rows]), like)
        pictures[key] = query_picture(pools, store, crossing.indices[rows], crossing.plans[rows], images)
    return pictures


def _pipeline(
    trained: Readouts, pools: ScoredPools, source: PlannerSource, turned: Scenes, crossing: Junctions
) -> Figure:
    """All stages of the first junction of the first picture of queries."""
    pairs, asked = turned.pairs, turned.predicted.asked[:1]
    seen = trained.condgrid.predict(pairs.now[:1].float(), pairs.vectors[:1], SHOWN_GUIDANCE)
    grids = torch.cat([query_grids(trained, pairs.now[:1], asked, SHOWN_GUIDANCE)[0], seen])
    images = trained.decoder.images(grids)
    stages = QueryStages(
        turned.predicted.states[0],
        torch.cat([trained.scaled(asked[0]), pairs.vectors[:1]]),
        pairs.now[0].float(),
        grids,
        fitted(as_images(pairs.now_views[:1]), images)[0],
        images,
    )
    grid, store = PatchGrid.of(trained.encoder), SceneStore(source.store)
    return pipeline_picture(stages, grid, pools, store, int(crossing.indices[0]), crossing.plans[0]).figure
