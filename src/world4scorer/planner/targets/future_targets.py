"""Future targets: for each scene, frozen-encoder features of the front view two seconds later.

>>> targets = FutureTargets.open("targets.arrow")
>>> features, valid = targets.features(["ba1bd196cdf43379"])    # (B, E) float32, (B,)

A file of ours is an Arrow file with a row for each scene, memory-mapped: token, and features as float16 or nothing
where the log has no frame at that time. Its metadata say how it was made. The released cache, `{token: tensor}` saved
by torch, is read as it is.

Shapes: B scenes asked for, N scenes of a file, E features.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from world4scorer.jobs.arrow_files import map_arrow, write_arrow
from world4scorer.jobs.tensor_files import read_tensors
from world4scorer.planner.pretrained.image_encoder import Pooling

FORMAT: Final = "world4scorer-future-targets-1"
NOTES: Final = b"world4scorer.future_targets"
SUFFIX: Final = ".arrow"
MAKE_AGAIN: Final = "delete it and make it again with `w4s targets`"

TargetFrame = Literal["future", "current"]
"""The frame two seconds ahead, or, as a control, the scene's own."""


@dataclass(frozen=True)
class TargetNotes:
    """Settings of a file of targets."""

    split: str = ""
    encoder: str = ""
    """Digest of the encoder (`ImageEncoder.digest`)."""
    frame: TargetFrame = "future"
    pooling: Pooling = "patches"
    height: int = 0
    width: int = 0
    """Of the images that the encoder saw [pixels]."""
    crop_top: int = 0
    """Rows cut off above them [pixels]."""
    centre: bool = False
    """Whether the mean of all targets of the file is taken off when they are read."""
    scenes: str = ""
    """Digest of the scene store whose scenes they are for; empty where there was none, and in files of 0.1.0."""


class TargetError(ValueError):
    """An unusable file of targets."""


class FutureTargets:
    """Targets by token."""

    def __init__(
        self, tokens: Sequence[str], features_NE: NDArray[np.float16], valid_N: NDArray[np.bool_], notes: TargetNotes
    ) -> None:
        self.notes = notes
        self._features, self._valid = features_NE, valid_N
        self._row = {token: row for row, token in enumerate(tokens)}
        self._centre: NDArray[np.float32] | None = self.mean() if notes.centre else None

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> FutureTargets:
        """Map a file of `make_targets`, or read a released cache."""
        path = Path(path)
        if not path.is_file():
            raise TargetError(f"{path}: no such file; `w4s targets` makes it")
        if path.suffix == SUFFIX:
            return cls(*read_file(path))
        return cls(*_read_released(path), TargetNotes(pooling="all"))

    def __len__(self) -> int:
        return len(self._row)

    def __contains__(self, token: object) -> bool:
        return token in self._row

    @property
    def tokens(self) -> tuple[str, ...]:
        """All scenes of the file, with a target or without."""
        return tuple(self._row)

    @property
    def width(self) -> int:
        """E, the features of a target."""
        return int(self._features.shape[1])

    @property
    def valid(self) -> int:
        """Scenes that have a target."""
        return int(self._valid.sum())

    def features(self, tokens: Sequence[str]) -> tuple[Tensor, Tensor]:
        """Targets (B, E) float32, zero where there is none, and which scenes have one (B,)."""
        rows = np.array([self._row.get(token, -1) for token in tokens], np.int64)
        valid = (rows >= 0) & self._valid[rows] if len(self._row) else np.zeros(len(rows), np.bool_)
        found = np.zeros((len(rows), self.width), np.float32)
        found[valid] = self._features[rows[valid]]
        if self._centre is not None:
            found[valid] -= self._centre
        return torch.from_numpy(found), torch.from_numpy(valid)

    def mean(self) -> NDArray[np.float32]:
        """(E,) over all scenes that have a target, before any centring."""
        if not self._valid.any():
            return np.zeros(self.width, np.float32)
        return np.asarray(self._features[self._valid].mean(0, dtype=np.float64), np.float32)

    def centred(self, mean_E: NDArray[np.float32]) -> FutureTargets:
        """The same targets less a mean, for example that of the training split."""
        copy = FutureTargets([], self._features, self._valid, self.notes)
        copy._row, copy._centre = self._row, np.asarray(mean_E, np.float32)
        return copy

    def raw(self) -> FutureTargets:
        """The same targets without centring."""
        return self.centred(np.zeros(self.width, np.float32))

    def mean_cosine(self) -> float:
        """Mean cosine of targets of different scenes; near 1, a cosine loss has little signal."""
        found = self._features[self._valid].astype(np.float64)
        found -= 0.0 if self._centre is None else self._centre
        unit = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        count = len(unit)
        return float((np.square(unit.sum(0)).sum() - count) / (count * (count - 1))) if count > 1 else float("nan")


def write_file(
    path: Path, tokens: Sequence[str], features_NE: NDArray[np.float16], valid_N: NDArray[np.bool_], notes: TargetNotes
) -> None:
    """Write targets, whole or not at all."""
    width = features_NE.shape[1]
    values = pa.array(np.ascontiguousarray(features_NE).reshape(-1), pa.float16())
    columns = [
        pa.array(list(tokens), pa.string()),
        pa.FixedSizeListArray.from_arrays(values, width),
        pa.array(valid_N, pa.bool_()),
    ]
    metadata = {NOTES: json.dumps({"format": FORMAT, **asdict(notes)}).encode()}
    batch = pa.RecordBatch.from_arrays(columns, names=["token", "features", "valid"])
    batch = batch.replace_schema_metadata(metadata)
    with write_arrow(path, batch.schema) as writer:
        writer.write_batch(batch)


def read_file(path: Path) -> tuple[list[str], NDArray[np.float16], NDArray[np.bool_], TargetNotes]:
    """Tokens, features (N, E), valid (N,) and notes; the features stay on disk until they are used."""
    with map_arrow(path, TargetError, "file of targets", MAKE_AGAIN) as reader:
        batch = reader.get_batch(0)
        batch.validate(full=True)
    try:
        notes = json.loads((batch.schema.metadata or {})[NOTES])
        if notes.pop("format") != FORMAT:
            raise TargetError(f"{path}: not targets of the format {FORMAT!r}; make them again")
        features = batch["features"].flatten().to_numpy(zero_copy_only=True)
        width = batch.schema.field("features").type.list_size
        valid = batch["valid"].to_numpy(zero_copy_only=False)
        return batch["token"].to_pylist(), features.reshape(-1, width), valid, TargetNotes(**notes)
    except (pa.ArrowException, KeyError, TypeError, json.JSONDecodeError) as error:
        raise TargetError(f"{path}: not a file of targets ({error}); {MAKE_AGAIN}") from error


def _read_released(path: Path) -> tuple[list[str], NDArray[np.float16], NDArray[np.bool_]]:
    tensors: Mapping[str, Any] = read_tensors(path)
    shapes = {tuple(tensor.shape) for tensor in tensors.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 1:
        raise TargetError(f"{path}: one vector per token is needed, found shapes {sorted(shapes)[:3]}")
    stacked = torch.stack(list(tensors.values())).to(torch.float16).numpy()
    return list(tensors), stacked, np.isfinite(stacked).all(1)
