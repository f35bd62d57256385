"""Training samples: views, ego status, trajectories, bank candidates, future target.

A sample depends only on seed, epoch and index, so that runs resume at any batch and do not depend on the number of
processes.

Shapes: B scenes, C views, H x W pixels, T poses, K bank plans, E features of the future.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from world4scorer.datasets.prepare.samples import Samples
from world4scorer.planner.bank import CandidateBank
from world4scorer.planner.bank.candidate_bank import BankSample
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.dense_encoder import Perception
from world4scorer.planner.model.images import Frames, ImageError, fit_intrinsics, normalise, read_view
from world4scorer.planner.model.plan_sampling import Cameras
from world4scorer.planner.training.time_warp import imitation_targets

Key = tuple[int, int]
"""Index and epoch of a sample."""


class Batch(NamedTuple):
    """A batch of samples; bank and future are None if unused."""

    tokens: tuple[str, ...]
    views: Tensor | None
    """(B, C, H, W, 3) bytes; None with cached features"""
    perception: Perception | None
    """Cached features of a frozen encoder"""
    ego_status: Tensor
    """(B, 11), or 13 with a route point, or 21 with four more"""
    cameras: Cameras
    trajectory: Tensor
    """(B, T, 3) logged"""
    trajectory_warped: Tensor
    """(B, T, 3) its time-warped copy"""
    bank: Tensor | None
    """(B, K, T, 3)"""
    bank_labels: Tensor | None
    """(B, K, 7)"""
    bank_valid: Tensor | None
    """(B,) which scenes have a bank"""
    future: Tensor | None
    """(B, E)"""
    future_valid: Tensor | None
    """(B,) which scenes have a future"""
    imitation: Tensor | None = None
    """(B, T, 3) what to imitate, where it is not the logged trajectory for all"""
    taught: Tensor | None = None
    """(B,) in which scenes anything is imitated; None for all"""
    views_before: Tensor | None = None
    """(B, C, H, W, 3) half a second before, for models with a forecast; zeros where there is none"""
    pose_before: Tensor | None = None
    """(B, 3) ego pose then, in the current ego frame; NaN where there is none"""

    @property
    def image(self) -> Tensor | Frames | Perception:
        """What a network encodes: cached features, or normalised images (B, C, 3, H, W) of one or two frames."""
        if self.perception is not None:
            return self.perception
        assert self.views is not None
        if self.views_before is None or self.pose_before is None:
            return normalise(self.views)
        return Frames(normalise(self.views), normalise(self.views_before), self.pose_before)


@dataclass(frozen=True)
class BankDraw:
    """Number of bank candidates per scene and step."""

    count: int = 16
    unsafe: int = 8
    """Unsafe candidates among them, at most."""


class Negatives(Protocol):
    """Source of labelled plans beside the generated ones. Must be picklable for loader processes."""

    def draw(self, token: str, rng: np.random.Generator) -> BankSample:
        """Plans for one step with a scene, and their labels."""
        ...


class TargetSource(Protocol):
    """Future targets by token."""

    def __contains__(self, token: object) -> bool: ...

    def features(self, tokens: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Targets (B, E) and which scenes have one (B,)."""
        ...


class FeatureSource(Protocol):
    """Cached features by token."""

    def __contains__(self, token: object) -> bool: ...

    def read(self, token: str) -> tuple[np.ndarray[Any, Any], ...]:
        """Patches (C, V, h, w), map features (F, X, Y) and forecast (4T, X, Y), if there is one, of a scene."""
        ...


@dataclass(frozen=True, eq=False)
class BankNegatives:
    """Plans of a bank."""

    pack: CandidateBank
    sizes: BankDraw

    def draw(self, token: str, rng: np.random.Generator) -> BankSample:
        """Plans for one step with a scene, and their labels."""
        return self.pack.draw(token, rng, self.sizes.count, self.sizes.unsafe)


class PlanningDataset(Dataset[dict[str, Any]]):
    """Samples by index and epoch."""

    def __init__(
        self,
        samples: Samples,
        model: ModelConfig,
        *,
        bank: Negatives | None = None,
        targets: TargetSource | None = None,
        seed: int = 0,
        images: bool = True,
        features: FeatureSource | None = None,
    ) -> None:
        self.samples, self.model, self.seed, self.images = samples, model, seed, images
        self.bank, self.targets, self.features = bank, targets, features

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, key: Key) -> dict[str, Any]:
        index, epoch = key
        samples, token = self.samples, self.samples.tokens[index]
        logged, warped = imitation_targets(samples.future[index, : samples.future_poses[index]])
        width, height = samples.image_size[index]
        views = self.model.cameras
        sample: dict[str, Any] = {
            "tokens": token,
            "ego_status": samples.ego_status[index],
            "intrinsics": fit_intrinsics(samples.intrinsics[index, :views], width, height, self.model),
            "rotation": samples.rotation[index, :views],
            "translation": samples.translation[index, :views],
            "trajectory": logged,
            "trajectory_warped": warped,
        }
        if samples.taught is not None:
            sample["taught"] = samples.taught[index]
        if samples.teacher_plans is not None:
            teacher = samples.teacher_plans[index]
            given = np.isfinite(teacher).all()
            sample["imitation"] = teacher if given else logged
            sample["trajectory_warped"] = teacher if given else warped
        if self.features is not None:
            sample |= zip(Perception._fields, self.features.read(token), strict=False)
        else:
            sample["views"] = self._views(index, samples.images[index])
            if self.model.forecast:
                images_before, poses_before = samples.frames_before()
                sample["views_before"] = self._views(index, images_before[index])
                sample["pose_before"] = np.array(poses_before[index], np.float32)
        if self.bank is not None:
            rng = np.random.default_rng((self.seed, epoch, index))
            drawn = self.bank.draw(token, rng)
            sample |= {"bank": drawn.candidates, "bank_labels": drawn.labels, "bank_valid": drawn.has_bank}
        if self.targets is not None:
            features, valid = self.targets.features([token])
            sample |= {"future": features[0].numpy(), "future_valid": bool(valid[0])}
        return sample

    def _views(self, index: int, images: Sequence[str]) -> np.ndarray[Any, np.dtype[np.uint8]]:
        model = self.model
        if not self.images or not images:
            return np.zeros((model.cameras, model.image_height, model.image_width, 3), np.uint8)
        try:
            return np.stack([read_view(self.samples.sensors / path, model) for path in images[: model.cameras]])
        except ImageError as error:
            raise ImageError(f"scene {self.samples.tokens[index]!r}: {error}") from error


def collate(samples: Sequence[dict[str, Any]]) -> Batch:
    """Put samples together."""

    def stacked(name: str) -> Tensor | None:
        if name not in samples[0]:
            return None
        array = np.stack([sample[name] for sample in samples])
        return torch.from_numpy(array.astype(np.float32) if array.dtype == np.float64 else array)

    tensors = {field: stacked(field) for field in Batch._fields if field not in ("tokens", "cameras", "perception")}
    cameras = Cameras(*(stacked(name) for name in Cameras._fields))  # type: ignore[arg-type]
    perceived = [part for name in Perception._fields if (part := stacked(name)) is not None]
    perception = Perception(*perceived).float() if perceived else None
    tokens = tuple(sample["tokens"] for sample in samples)
    return Batch(tokens=tokens, cameras=cameras, perception=perception, **tensors)  # type: ignore[arg-type]
