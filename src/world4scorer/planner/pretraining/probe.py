"""Linear probes of an encoder on unseen streets, with three controls.

>>> result = probe_encoder(load_encoder("city"), train_set, test_set)
>>> result["drivable"]["encoder"], result["drivable"]["random"]

Controls: the same encoder with random weights; the mean colour of each patch; for questions about patches also their
place alone. Probes of patches have the position in every case (one feature for each), so that what an encoder adds is
what it sees. Scenes are read twice: from the mean over patches, which is what future targets hold, and from a grid of
averages, which keeps where things are.

Shapes: S scenes, P patches, V features.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.images import normalise
from world4scorer.planner.pretrained.image_encoder import DenseImageEncoder, ImageEncoder
from world4scorer.planner.pretraining.linear_probe import between_logs, dimensions, probe
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.planner.pretraining.probe_labels import PATCH_QUESTIONS, SCENE_QUESTIONS, ProbeSet

BATCH: Final = 64
"""Views at a time."""
CELL_PATCHES: Final = 2
"""Side of a cell of the grid, in patches."""
RANDOM_SEED: Final = 1
SHARED_ROW_QUESTIONS: Final = (("lead", "red", "vehicles", "speed", "turn"), ("lead distance",))
"""Groups of scene questions with the same rows, solved together."""

Array = NDArray[np.float32]
Result = dict[str, dict[str, float]]
"""Value by question and features."""


def probe_encoder(encoder: ImageEncoder, train: ProbeSet, test: ProbeSet) -> Result:
    """Every question, from the encoder's features and from the controls'."""
    sources: dict[str, Callable[[ProbeSet], Array]] = {
        "encoder": lambda found: patch_features(encoder, found.views),
        "random": lambda found: patch_features(random_encoder(encoder), found.views),
        "pixels": lambda found: patch_colours(found.views, PatchGrid.of(encoder)),
        "place": lambda found: np.zeros((len(found.views), len(PatchGrid.of(encoder)), 0), np.float32),
    }
    result: Result = {}
    for name, features_of in sources.items():
        for question, value in _probe_source(features_of(train), features_of(test), train, test, encoder, name):
            result.setdefault(question, {})[name] = round(value, 4)
    return result


def random_encoder(encoder: ImageEncoder) -> ImageEncoder:
    """The same encoder with random weights."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RANDOM_SEED)
        if isinstance(encoder, DenseImageEncoder):
            return DenseImageEncoder(DenseEncoder(encoder.encoder.config))
        return ImageEncoder(encoder.config)


def patch_features(encoder: ImageEncoder, views: NDArray[np.uint8]) -> Array:
    """(S, P, V) of views (S, H, W, 3)."""
    parts = [
        encoder.patches(normalise(torch.from_numpy(views[start : start + BATCH]))).numpy()
        for start in range(0, len(views), BATCH)
    ]
    return np.concatenate(parts)


def patch_colours(views: NDArray[np.uint8], grid: PatchGrid) -> Array:
    """(S, P, 3) mean colour of each patch."""
    parts = [
        np.stack([grid.means(views[start : start + BATCH, ..., colour].astype(np.float32)) for colour in range(3)], -1)
        for start in range(0, len(views), BATCH)
    ]
    return np.concatenate(parts) / np.float32(255.0)


def probe_patches(train_features: Array, test_features: Array, train: ProbeSet, test: ProbeSet) -> dict[str, float]:
    """The questions about patches, from features (S, P, V) and the place of a patch."""
    groups = np.repeat(train.log, train_features.shape[1])
    both = _with_place(train_features), _with_place(test_features)
    found = {}
    for question, (_, measure) in PATCH_QUESTIONS.items():
        answers, asked = (part.patch[question].reshape(-1, 1).astype(np.float32) for part in (train, test))
        found[question] = probe(both[0], answers, groups, both[1], asked, [measure])[0]
    return found


def _probe_source(
    train_features: Array, test_features: Array, train: ProbeSet, test: ProbeSet, encoder: ImageEncoder, name: str
) -> list[tuple[str, float]]:
    found = list(probe_patches(train_features, test_features, train, test).items())
    if not train_features.shape[2]:
        return found
    # Colours are few: all of them are given at once, which no linear reading of their averages can beat.
    grid = (lambda features: features.reshape(len(features), -1)) if name == "pixels" else _grid_of(encoder)
    readings: dict[str, Callable[[Array], Array]] = {"mean": lambda features: features.mean(1), "grid": grid}
    for reading, read in readings.items():
        both = read(train_features), read(test_features)
        for questions in SHARED_ROW_QUESTIONS:
            answers, asked = (
                np.stack([part.scene[question] for question in questions], 1).astype(np.float32)
                for part in (train, test)
            )
            measures = [SCENE_QUESTIONS[question][1] for question in questions]
            values = probe(both[0], answers, train.log, both[1], asked, measures)
            found += [(f"{question} ({reading})", value) for question, value in zip(questions, values, strict=True)]
    pooled = test_features.mean(1)
    found += [("between logs", between_logs(pooled, test.log)), ("dimensions", dimensions(pooled))]
    return found


def _with_place(features: Array) -> Array:
    """(S * P, V + P) with one feature for each place."""
    scenes, patches, _ = features.shape
    place = np.broadcast_to(np.eye(patches, dtype=np.float32), (scenes, patches, patches))
    return np.concatenate([features, place], 2).reshape(scenes * patches, -1)


def _grid_of(encoder: ImageEncoder) -> Callable[[Array], Array]:
    rows, columns = encoder.grid

    def grid(features: Array) -> Array:
        down, across = max(1, rows // CELL_PATCHES), max(1, columns // CELL_PATCHES)
        used = features.reshape(len(features), rows, columns, -1)[
            :, : down * (rows // down), : across * (columns // across)
        ]
        cells = used.reshape(len(features), down, rows // down, across, columns // across, -1)
        return np.asarray(cells.mean((2, 4)).reshape(len(features), -1))

    return grid
