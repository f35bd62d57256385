"""What limits selection: planners that are given the truth instead of what the encoder sees.

    python benchmarks/perception_limit.py quick --out limits

`quick` is a city (`w4s city make --preset quick --out quick`) whose splits are prepared (`w4s prepare`). Trains preset
`city` four times on it, with the same seed and recipe, and lets each select on validation streets:

- with what the bundled encoder sees,
- with the true map: drivable area, lanes, crosswalks, road users that a camera sees, red signals, lane directions,
- with the true map, and where all road users would be in the next four seconds if they kept their present velocities,
- with the true map, and where all road users will be in the next four seconds.

Tokens of patches, plans, labels, bank and targets are the same in all of them. The truth takes the place of the
features of a map that a planner reads from its cache: an encoder whose heads spread these features has a digest, and so
a cache, of its own. Can be interrupted and run again. Writes results/perception_limit.json and .md, where rows of other
`--variants` are kept.

Shapes: F features of a map cell, X x Y cells of the feature map (2 m), 4X x 4Y cells of labels (0.5 m).
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import torch
import tyro
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from world4scorer.city.dense.make import DenseConfig, make_dense_views
from world4scorer.city.world.manifest import read_config, read_manifest
from world4scorer.datasets.dense.labels import DenseLabels, MapBit
from world4scorer.datasets.dense.views_file import DenseViews
from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding, Table
from world4scorer.engine.scene import Scene
from world4scorer.engine.scene.indices import DT, Box
from world4scorer.jobs.array_files import write_array
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import write_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.features.feature_cache import ABOUT, BLOCK, FORMAT, IMAGES, FeatureCache, cache_features
from world4scorer.planner.forecasting.occupancy import occupancy
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import LIFT_SCALE, MAP_CLASSES, SCALE
from world4scorer.planner.model.dense_encoder_files import CITY, load_dense_encoder, save_dense_encoder
from world4scorer.planner.model.forecast import FORECAST_SCALE, FORECAST_WIDTH
from world4scorer.planner.pretraining.dense_losses import decode_direction
from world4scorer.planner.training.split_samples import split_samples

ROOT: Final = Path(__file__).resolve().parents[1]
RESULTS: Final = ROOT / "results" / "perception_limit.json"
SPLITS: Final = ("city_train", "city_val")
LOGIT: Final = 4.0
"""Of what is true; its negative of what is not."""
FINENESS: Final = {"drivable": 4, "vehicle": 4, "person": 2, "red": 2, "boundary": 2, "lane": 1, "crosswalk": 1}
"""Cells of a class along each side of a cell of the feature map: all classes at 0.5 m would not fit its features."""
DIRECTION: Final = sum(fineness**2 for fineness in FINENESS.values())
"""First of the two features that hold lane directions."""
MEASURES: Final = {
    "v1_PDMS": "selected",
    "best_PDMS": "pool oracle",
    "random_PDMS": "random pick",
    "v1_NC": "NC",
    "v1_DAC": "DAC",
    "v1_TTC": "TTC",
    "v1_EP": "EP",
}


@dataclass(frozen=True)
class Variant:
    """A planner and what it is given."""

    name: str
    label: str
    truth: bool = True
    occupied: Callable[[Scene], NDArray[np.uint8]] | None = None
    """Cells (T, 2X, 2Y) that road users are said to occupy at the times of poses."""


def continued_occupancy(scene: Scene) -> NDArray[np.uint8]:
    """Occupied cells if all who are there now keep their velocities and headings."""
    tracks = scene.tracks
    boxes = np.repeat(tracks.boxes[:, :1], tracks.steps, axis=1)
    seconds = DT * np.arange(tracks.steps)[:, None]
    boxes[..., [Box.X, Box.Y]] += seconds * boxes[..., [Box.VELOCITY_X, Box.VELOCITY_Y]]
    there = np.repeat(tracks.valid[:, :1], tracks.steps, axis=1)
    boxes[~there] = 0.0
    return occupancy(replace(scene, tracks=replace(tracks, boxes=boxes, valid=there)))


VARIANTS: Final = (
    Variant("seen", "what the encoder sees", truth=False),
    Variant("map", "the true map"),
    Variant("motion", "the true map and present velocities", occupied=continued_occupancy),
    Variant("future", "the true map and future occupancy", occupied=occupancy),
)


@dataclass(frozen=True)
class Arguments:
    """Options of the command."""

    data: tyro.conf.Positional[Path]
    """Folder of the city."""
    out: Path
    """Folder of views, encoders and runs."""
    seed: int = 3
    """Seed of the trainings."""
    devices: int = 2
    """Processes that train."""
    variants: tuple[str, ...] = tuple(variant.name for variant in VARIANTS)
    """Which planners to train."""


def true_encoder(variant: Variant) -> DenseEncoder:
    """The bundled encoder with heads that spread the features of `true_features` again."""
    bundled = load_dense_encoder(CITY)
    encoder = DenseEncoder(replace(bundled.config, forecast=FORECAST_WIDTH if variant.occupied else 0))
    encoder.load_state_dict(bundled.state_dict(), strict=False)
    classes = torch.zeros(len(MAP_CLASSES), SCALE, SCALE, bundled.config.map_width)
    first = 0
    for name, fineness in FINENESS.items():
        for i in range(SCALE):
            for j in range(SCALE):
                place = (i * fineness // SCALE) * fineness + j * fineness // SCALE
                classes[MAP_CLASSES.index(name), i, j, first + place] = 2 * LOGIT
        first += fineness**2
    directions = torch.zeros(2, LIFT_SCALE**2, bundled.config.map_width)
    directions[0, :, DIRECTION] = directions[1, :, DIRECTION + 1] = 1.0
    heads = encoder.heads
    with torch.no_grad():
        heads.classes.weight.copy_(classes.flatten(0, 2)[..., None, None])
        heads.classes.bias.fill_(-LOGIT)
        heads.direction.weight.copy_(directions.flatten(0, 1)[..., None, None])
        heads.direction.bias.zero_()
        if encoder.forecast is not None:
            for parameter in encoder.forecast.parameters():
                parameter.fill_(VARIANTS.index(variant))  # never asked: maps come from the cache; tells digests apart
    return encoder.requires_grad_(False).eval()


def true_features(labels: DenseLabels, width: int) -> Tensor:
    """Features (F, X, Y) that stand for the labels of a frame."""
    parts = []
    for name, fineness in FINENESS.items():
        there = torch.from_numpy((labels.bits & MapBit[name.upper()]) > 0).float()
        parts.append(_as_features(there, SCALE // fineness, fineness))
    heading, there = decode_direction(torch.tensor(labels.direction))
    for part in (heading.cos(), heading.sin()):
        parts.append(_as_features(part * there, LIFT_SCALE, 1))
    found = torch.cat(parts)
    return torch.cat([found, found.new_zeros(width - len(found), *found.shape[1:])])


def _as_features(map_xy: Tensor, cells: int, fineness: int) -> Tensor:
    """Means of `cells` x `cells` cells of a map as features (fineness ** 2, X, Y)."""
    pooled = functional.avg_pool2d(map_xy[None, None], cells)
    return functional.pixel_unshuffle(pooled, fineness)[0]


@dataclass(frozen=True, eq=False)
class Truth:
    """What the cache of an encoder of `true_encoder` holds of the scenes of a split."""

    variant: Variant
    encoder: DenseEncoder
    seen: FeatureCache
    """Of the bundled encoder, whose patches are kept."""
    dense: DenseViews
    store: SceneStore

    @cached_property
    def _frame(self) -> dict[str, int]:
        return {token: index for index, token in enumerate(self.dense.tokens)}

    def row(self, token: str) -> NDArray[np.float16]:
        """Patches, features and forecast of a scene, if there is one, end to end."""
        patches, *_ = self.seen.read(token)
        parts = [true_features(self.dense.labels(self._frame[token]), self.encoder.config.map_width)]
        if self.variant.occupied is not None:
            logits = LOGIT * (2.0 * torch.from_numpy(self.variant.occupied(self.store[token])).float() - 1.0)
            parts.append(functional.pixel_unshuffle(logits[None], FORECAST_SCALE)[0])
        return np.concatenate([patches.ravel(), *(part.numpy().astype(np.float16).ravel() for part in parts)])


def write_truth(variant: Variant, encoder: DenseEncoder, data: Path, split: str, views: Path) -> None:
    """Fill the cache of the encoder of a variant for a split; complete blocks are kept."""
    layout = DataFolder(data)
    samples = split_samples(data, split, layout.store(split))
    seen = cache_features(load_dense_encoder(CITY), samples, data, split, show_progress=True)
    dense = DenseViews.open(sorted((DataFolder(views).dense / split).glob("*.arrow")))
    truth = Truth(variant, encoder, seen, dense, SceneStore(layout.store(split)))
    folder = layout.features(encoder.digest(), split)
    folder.mkdir(parents=True, exist_ok=True)
    size = sum(map(math.prod, encoder.shapes))
    for block, start in enumerate(range(0, len(samples), BLOCK)):
        tokens, path = samples.tokens[start : start + BLOCK], folder / f"{block:05d}.npy"
        if not path.is_file():
            with write_array(path, "<f2", (len(tokens), size)) as append:
                for token in tokens:
                    append(truth.row(token)[None])
    about = {"tokens": list(samples.tokens), "shapes": [list(shape) for shape in encoder.shapes]}
    write_json(folder / ABOUT, {"format": FORMAT, **about, IMAGES: samples.images_digest()})


def train(variant: Variant, arguments: Arguments, weights: str) -> Path:
    """Train and evaluate a variant by the commands; returns its run."""
    run = arguments.out / variant.name
    command = ["w4s", "train", "--preset", "city", "--data", str(arguments.data), "--out", str(run)]
    command += ["--seed", str(arguments.seed), "--devices", str(arguments.devices), "--vit-weights", weights]
    command += ["--model.forecast"] if variant.occupied else []
    subprocess.run(command, check=True)
    subprocess.run(["w4s", "evaluate", str(run), "--weights", "last"], check=True)
    return run


def main(arguments: Arguments) -> None:
    """Make the views, fill the caches, train, write the table."""
    config = read_config(read_manifest(arguments.data))
    views = arguments.out / "views"
    chosen = [variant for variant in VARIANTS if variant.name in arguments.variants]
    if any(variant.truth for variant in chosen):
        make_dense_views(config, views, DenseConfig(perturbed=0.0, twins=0.0), show_progress=True)
    runs = {}
    for variant in chosen:
        weights = CITY
        if variant.truth:
            encoder = true_encoder(variant)
            folder = ModelFolder(arguments.out / f"encoder-{variant.name}")
            folder.root.mkdir(parents=True, exist_ok=True)
            save_dense_encoder(encoder, folder.weights_file, folder.config_file, dtype=torch.float32)
            for split in SPLITS:
                write_truth(variant, encoder, arguments.data, split, views)
            weights = str(folder.root)
        runs[variant] = train(variant, arguments, weights)
    report(runs, arguments)


def report(runs: dict[Variant, Path], arguments: Arguments) -> None:
    """Write the table of all runs."""
    evaluations = {variant: Finding.load(_evaluation(run)) for variant, run in runs.items()}
    numbers = {variant.name: found.numbers for variant, found in evaluations.items()}
    first = next(iter(numbers.values()))
    if RESULTS.is_file():
        numbers = {**Finding.load(RESULTS).numbers, **numbers}
    rows = [variant for variant in VARIANTS if variant.name in numbers]
    shown = [(variant.label, numbers[variant.name]) for variant in rows]
    faults = tuple(first["regret"]["by_fault"])
    command = f"python benchmarks/perception_limit.py {arguments.data.name} --out {arguments.out.name}"
    Finding(
        name="perception_limit",
        title="What limits selection: the truth in place of what the encoder sees",
        question="How well would planners select if they saw perfectly, and if they knew where others will be?",
        data=f"{first['frames']:,} frames of {first['logs']} logs of validation streets of the quick city; planners of "
        f"preset city, seed {arguments.seed}, last weights. Intervals: 95 %, 10,000 draws of logs with replacement.",
        weights="",
        numbers=numbers,
        tables=(
            Table(
                "PDMS v1.1 (%)",
                ("given", *MEASURES.values()),
                tuple((label, *(_percent(found["means"][measure]) for measure in MEASURES)) for label, found in shown),
            ),
            Table(
                "Regret of choices: the best plan of the pool less the chosen one (points)",
                ("given", *faults),
                tuple(
                    (label, *(_percent(found["regret"]["by_fault"][fault]["regret"]) for fault in faults))
                    for label, found in shown
                ),
            ),
        ),
    ).save(RESULTS.parent, f"{command} --variants {' '.join(variant.name for variant in rows)}")


def _evaluation(run: Path) -> Path:
    folder = RunFolder(run)
    return folder.results(folder.evaluation, weights="last") / folder.evaluation_file.name


def _percent(number: dict[str, float]) -> str:
    return "{value:.1f} [{low:.1f}, {high:.1f}]".format(**{name: 100 * part for name, part in number.items()})


if __name__ == "__main__":
    main(tyro.cli(Arguments))
