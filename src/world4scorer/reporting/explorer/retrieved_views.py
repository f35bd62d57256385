"""What a planner predicts to be seen two seconds on, as the nearest view of its training: by cosine of features.

A planner's readout maps the state of a plan to features of the front view two seconds later; the targets that it was
trained on hold the same features of what was really seen.

Shapes: V views, E features, D width of a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.log_samples import TARGET_FRAMES_AHEAD, stored_front_images
from world4scorer.evaluation.pools.pool_files import digest_of_planner
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.files import read_json
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder

Floats = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class RetrievedViews:
    """A planner's readout, and the views that it was trained to predict."""

    weight: Floats
    """(E, D)"""
    bias: Floats
    """(E,)"""
    features: Floats
    """(V, E) of length 1"""
    images: tuple[Path, ...]
    """V images of the front camera."""

    @classmethod
    def of_run(cls, run: RunFolder, weights: str) -> RetrievedViews | None:
        """Views of a run, for the planner of a digest; None where `can_retrieve` says so, or no image is known."""
        planner = _planner(run, weights)
        if planner is None or not can_retrieve(run, weights):
            return None
        from world4scorer.jobs.tensor_files import read_tensors
        from world4scorer.planner.targets.future_targets import FutureTargets

        tensors = read_tensors(ModelFolder(planner).weights_file)
        weight, bias = (tensors[f"readout.{name}"].float().numpy() for name in ("weight", "bias"))
        known = read_json(run.data_file)
        targets = FutureTargets.open(known["targets"])
        images = _images(Path(known["data"]), str(known["split"]), Path(known["store"]))
        tokens = [token for token in targets.tokens if token in images]
        found, valid = (part.numpy() for part in targets.features(tokens))
        if not valid.any() or found.shape[1] != len(weight):
            return None
        paths = tuple(images[token] for token, has_target in zip(tokens, valid, strict=True) if has_target)
        return cls(weight, bias, _unit(found[valid]), paths)

    def nearest(self, state: NDArray[np.floating]) -> Path:
        """Image of the view whose features are nearest to the prediction of a state (D,)."""
        predicted = _unit((self.weight @ state.astype(np.float32) + self.bias)[None])[0]
        return self.images[int(np.argmax(self.features @ predicted))]


def can_retrieve(run: RunFolder, weights: str) -> bool:
    """Whether the planner of a digest has a readout, its training's targets are there, and PyTorch, which reads them.

    Nothing large is read.
    """
    planner = _planner(run, weights)
    if planner is None or not run.exists or find_spec("torch") is None:
        return False
    config, known = (read_json(file) for file in (ModelFolder(planner).config_file, run.data_file))
    targets = known.get("targets")
    return bool(config.get("readout", True) and known.get("data") and targets and Path(targets).is_file())


def _planner(run: RunFolder, weights: str) -> Path | None:
    """The planner of a run that has this digest."""
    folders = (folder for folder in (run.best_planner, run.planner) if ModelFolder(folder).exists)
    return next((folder for folder in folders if digest_of_planner(folder) == weights), None)


def _images(data: Path, split: str, store: Path) -> dict[str, Path]:
    """Front views two seconds after each scene of a store, as far as they are known."""
    if not data.is_dir():
        return {}
    part = find_split(split, data).data_split
    sensors = DataFolder(data).sensors(part)
    stored = stored_front_images(store, part, TARGET_FRAMES_AHEAD)
    return {token: sensors / path for token, path in stored.items() if path}


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.float32)
