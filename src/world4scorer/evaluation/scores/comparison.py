"""A trained planner beside the controls it must beat, on the validation split of its run.

>>> comparison = compare(Path("runs/city"))
>>> comparison.save(Path("results/city_quick"), "w4s compare quick --out city_quick")

Rows are mean PDMS v1.1 of one plan per scene. Intervals: 95 %, by drawing logs with replacement.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.datasets.prepare.samples import Samples
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.curves import Curves, draw_curves
from world4scorer.drawing.finding import Table, save_result
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.pool_metrics import pool_metrics
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.evaluation.pools.scored import weights_words
from world4scorer.evaluation.scores.agents import AGENTS
from world4scorer.evaluation.scores.bootstrap import LogBootstrap
from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.controls import blind_utility, train_blind_scorer, train_ego_status_planner
from world4scorer.planner.training.labels import LabelThreads, SceneLabeller
from world4scorer.planner.training.pools import pool_batches
from world4scorer.planner.training.run import subsample
from world4scorer.planner.training.run_files import read_history, read_losses, read_run
from world4scorer.planner.training.split_samples import split_samples

DRAWS: Final = 2000
"""Bootstrap draws over logs."""
PDMS: Final = V1_COLUMNS.index("PDMS")
PARTS: Final = ("NC", "DAC", "EP", "TTC", "C")
"""Sub-scores in the table."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    pdms: float
    low: float
    """Lower end of the interval."""
    high: float
    parts: dict[str, float]
    """Mean sub-scores by column name; empty for an oracle and for a random pick."""


@dataclass(frozen=True)
class Comparison:
    """The table of a run, with its training history."""

    run: dict[str, Any]
    """Configuration and data of the run."""
    weights: dict[str, str]
    """Which planner of the run, and the digest of its weights."""
    scenes: int
    logs: int
    rows: tuple[Row, ...]
    ordering: dict[str, float]
    """Share of pairs of plans in the true order, by scorer."""
    history: tuple[dict[str, float], ...]
    losses: dict[str, Any]
    """Steps and values of the training losses, by name."""
    train_scenes: int
    blind_scenes: int
    """Training scenes of the scorer without images."""
    blind_epochs: int

    def table(self) -> Table:
        """Scores in percent."""
        rows = []
        for row in self.rows:
            parts = [f"{100 * row.parts[name]:.1f}" if row.parts else "" for name in PARTS]
            order = f"{100 * self.ordering[row.name]:.1f}" if row.name in self.ordering else ""
            interval = f"{100 * row.low:.1f} to {100 * row.high:.1f}"
            rows.append((row.name, f"{100 * row.pdms:.1f}", interval, *parts, order))
        return Table("PDMS v1.1", ("", "PDMS", "95 %", *PARTS, "ordering"), tuple(rows))

    def markdown(self, command: str) -> str:
        """The table as a page."""
        last = self.history[-1]
        return (
            f"# A planner trained on {self.run['data']['split']}\n\n"
            f"Made by `{command}`. {self.scenes:,} scenes of {self.logs} logs of {self.run['data']['val_split']}"
            f"{weights_words(self.weights)}; "
            f"intervals by drawing logs with replacement, {DRAWS:,} times. {int(last['step']):,} steps of "
            f"{self.run['config']['batch']} of {self.train_scenes:,} scenes in {last['seconds']:.0f} s, validations "
            f"included. The scorer without images learned {self.blind_epochs} epochs on the planner's pools in "
            f"{self.blind_scenes:,} of these scenes, the MLP on all.\n\n"
            f"{self.table().markdown()}"
        )

    def save(self, path: Path, command: str) -> None:
        """Write PATH.json, PATH.md and PATH.png (learning curves)."""
        content = {
            "world4scorer": __version__,
            "command": command,
            **self.weights,
            "scenes": self.scenes,
            "logs": self.logs,
            "rows": [vars(row) for row in self.rows],
            "ordering": self.ordering,
            "train_scenes": self.train_scenes,
            "blind_scenes": self.blind_scenes,
            "blind_epochs": self.blind_epochs,
            "history": list(self.history),
            **self.run,
        }
        curves = draw_curves({path.name: Curves(self.history, self.losses)})
        # A single log gives no interval, so its ends are NaN
        save_result(path, content, self.markdown(command), {path.with_name(f"{path.name}.png"): curves}, allow_nan=True)


def compare(
    run: Path,
    blind_scenes: int = 8192,
    blind_epochs: int = 6,
    threads: int = 2,
    pools_file: Path | None = None,
    weights: Weights = "best",
    min_gap: float = 0.0,
) -> Comparison:
    """Compare a planner of a run with controls that are trained on its data.

    The run's pools on its validation split are made if they are missing. `pools_file` (.npz) keeps the planner's plans
    in the training scenes of the scorer without images. Pairs of plans count for the ordering if their PDMS differ by
    more than `min_gap`.
    """
    config, data = read_run(run)
    numbers = config.model.ego_numbers
    every = subsample(split_samples(data.data, data.split, data.store, numbers), config)
    train = every.at(np.sort(np.random.default_rng(config.seed).permutation(len(every))[:blind_scenes]).tolist())

    pools = open_pools(run, weights=weights)
    val = split_samples(data.val_data or data.data, data.val_split, data.val_store, numbers)
    val = val.at([val.index_of[token] for token in pools.tokens])
    val_store = SceneStore(data.val_store)
    labels = pools.v1.astype(np.float32)
    chosen = pool_metrics(pools.utility_v1, labels[..., PDMS], min_gap)

    planner = Planner.from_pretrained(RunFolder(run).finished_planner(weights))
    asked = (planner(one.image, one.ego_status, one.cameras) for one in pool_batches(train, planner))
    train_plans = np.concatenate([scored.plans.numpy() for scored in asked])
    if pools_file is not None:
        with atomic_write(pools_file) as stream:
            np.savez(stream, tokens=np.array(train.tokens), plans=train_plans)
    train_labels = _label(SceneStore(data.store), train, train_plans, threads)
    bank = CandidateBank.open(data.bank) if data.bank is not None and config.losses.bank else None
    blind = train_blind_scorer(config, train, train_plans, train_labels, bank, blind_epochs)
    without_images = blind_utility(blind, val, pools.plans)
    by_blind = pool_metrics(without_images, labels[..., PDMS], min_gap)

    mlp = train_ego_status_planner(every, config)
    with torch.no_grad():
        plans = {"ego-status MLP": mlp(torch.tensor(val.ego_status)).numpy()}
    for name, agent in AGENTS.items():
        plans[name] = np.stack([agent(val_store[token]) for token in val.tokens])
    single = {name: _label(val_store, val, one[:, None], threads)[:, 0] for name, one in plans.items()}
    scenes = np.arange(len(val))
    rows = [
        _row("best of the pool", chosen.oracle, val),
        _row("expert", single["human"][:, PDMS], val, single["human"]),
        _row("selected", chosen.selected, val, labels[scenes, pools.utility_v1.argmax(1)]),
        _row("selected without images", by_blind.selected, val, labels[scenes, without_images.argmax(1)]),
        _row("ego-status MLP", single["ego-status MLP"][:, PDMS], val, single["ego-status MLP"]),
        _row("constant velocity", single["constant-velocity"][:, PDMS], val, single["constant-velocity"]),
        _row("random pick", chosen.random, val),
        _row("standing still", single["stationary"][:, PDMS], val, single["stationary"]),
    ]
    return Comparison(
        run={"config": json.loads(config.to_json()), "data": {"split": data.split, "val_split": data.val_split}},
        weights={name: pools.about[name] for name in ("checkpoint", "weights") if name in pools.about},
        scenes=len(val),
        logs=len(set(val.log_names)),
        rows=tuple(rows),
        ordering={"selected": chosen.means["ordering"], "selected without images": by_blind.means["ordering"]},
        history=read_history(run),
        losses=read_losses(run),
        train_scenes=len(every),
        blind_scenes=len(train),
        blind_epochs=blind_epochs,
    )


def _label(store: SceneStore, samples: Samples, plans: NDArray[Any], threads: int) -> NDArray[np.float32]:
    """Outcome labels (S, N, 7) of plans (S, N, T, 3)."""
    maker = LabelThreads(SceneLabeller(store), threads)
    labels: NDArray[np.float32] = maker.submit(samples.tokens, torch.from_numpy(plans)).result().numpy()
    return labels


def _row(name: str, score: NDArray[np.floating], val: Samples, table: NDArray[np.floating] | None = None) -> Row:
    parts = {} if table is None else dict(zip(V1_COLUMNS, map(float, table.mean(0)), strict=True))
    mean = LogBootstrap(val.log_names, DRAWS).mean(score)
    return Row(name, mean.value, mean.low, mean.high, parts)
