"""A model's counts and times as rows of text and as JSON: the results of `w4s profile`."""

from __future__ import annotations

import copy
import json
import platform
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import torch

from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.planner import Planner
from world4scorer.planner.profiling.operations import FVCORE_NORM, PAPER_NORM
from world4scorer.planner.profiling.profile import GIGA, MEBI, Profile, encoder_latency, latency, peak_memory

Precision = Literal["fp32", "tf32", "bf16", "fp16"]
"""fp32 without TF32, whatever the process allows; tf32 with it, which changes something on CUDA alone."""
DTYPES: Final = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
RERANKING: Final = "re-ranking of 64 plans, processor"

REPORTED: Final = {
    "all parameters": "35,520,926",
    "shared by scoring and prediction": "4,504,320",
    "  not reached by the future loss": "524,288",
    "operations": "349.9 G",
    "  encoder": "349.1 G",
    "  rest": "0.74 G",
    "  with attention": "927.1 G",
    "one pass, fp32": "106.5 ms (A100)",
    "  encoder, fp32": "105.1 ms (A100)",
    "  generation and scoring, fp32": "1.4 ms (A100)",
    "one pass, tf32": "75.6 ms (A100)",
    "one pass, fp16": "23.0 ms (A100)",
    "  encoder, fp16": "20.2 ms (A100)",
    "32 frames at once, fp32": "2.6 frames/s (A30)",
    "memory at most, 32 frames, fp32": "14 GiB (A30)",
    RERANKING: "125.4 ms",
}
"""The paper's values, by row."""


@dataclass(frozen=True)
class Measured:
    """One precision on this machine."""

    precision: Precision
    milliseconds: float
    """Median of a pass of one frame."""
    bytes: int
    """In use at most during a pass, weights included: measured on CUDA, tensors counted elsewhere."""
    encoder_milliseconds: float
    """Median of the image encoder alone."""
    batch: int = 0
    """Frames of a batch; 0 where none was timed."""
    frames_per_second: float = 0.0
    """In such batches."""
    batch_bytes: int = 0
    """In use at most during such a pass."""

    @property
    def head_milliseconds(self) -> float:
        """Generation and scoring: what the encoder leaves of a pass."""
        return max(0.0, self.milliseconds - self.encoder_milliseconds)


@contextmanager
def tensor_cores(allowed: bool) -> Iterator[None]:
    """Within it, float32 products on CUDA use TF32 or not."""
    places: tuple[Any, ...] = (torch.backends.cuda.matmul, torch.backends.cudnn)
    before = [place.allow_tf32 for place in places]
    for place in places:
        place.allow_tf32 = allowed
    try:
        yield
    finally:
        for place, was in zip(places, before, strict=True):
            place.allow_tf32 = was


def measure(
    planner: Planner, precisions: Sequence[Precision], passes: int, compiled: bool = False, batch: int = 0
) -> list[Measured]:
    """Time passes of one frame, and of a batch if asked for, precision by precision; adapters as they are."""
    if passes < 1:
        raise ValueError(f"--passes {passes}: one or more are needed to measure")
    rows = []
    for precision in dict.fromkeys(precisions):
        variant = copy.deepcopy(planner).to(DTYPES[precision])
        most, most_of_batch = peak_memory(variant), peak_memory(variant, batch) if batch else 0
        if compiled:
            variant.compile()
        with tensor_cores(precision == "tf32"):
            whole, encoder = latency(variant, repeats=passes), encoder_latency(variant, repeats=passes)
            many = batch / latency(variant, batch, passes) if batch else 0.0
        rows.append(Measured(precision, 1e3 * whole, most, 1e3 * encoder, batch, many, most_of_batch))
    return rows


def as_rows(
    profile: Profile, measured: Sequence[Measured] = (), reranking: float | None = None
) -> list[tuple[str, str]]:
    """Names and values, in the order in which they are shown; `reranking` in seconds."""
    return [
        *((name, f"{count:,}") for name, count in profile.parameters.items()),
        ("all parameters", f"{profile.total_parameters:,}"),
        ("shared by scoring and prediction", f"{profile.shared_parameters:,}"),
        ("  not reached by the future loss", f"{profile.unreached_parameters:,}"),
        ("operations", f"{profile.operations() / GIGA:.1f} G"),
        ("  encoder", f"{profile.encoder.total(PAPER_NORM) / GIGA:.1f} G"),
        ("  rest", f"{profile.rest.total(PAPER_NORM) / GIGA:.2f} G"),
        ("  with attention", f"{profile.operations(attention=True) / GIGA:.1f} G"),
        ("  with attention, as run here", f"{_run(profile) / GIGA:.1f} G"),
        ("  fvcore's count", f"{profile.operations(per_normalised=FVCORE_NORM) / GIGA:.1f} G"),
        ("weights", f"{profile.weight_bytes / MEBI:.0f} MiB"),
        ("activations at most", f"{profile.activation_bytes / MEBI:.0f} MiB"),
        *(cell for row in measured for cell in _measured_rows(row)),
        *([] if reranking is None else [(RERANKING, f"{1e3 * reranking:.3f} ms")]),
    ]


def _measured_rows(row: Measured) -> list[tuple[str, str]]:
    name = row.precision
    rows = [
        (f"one pass, {name}", f"{row.milliseconds:,.1f} ms"),
        (f"  encoder, {name}", f"{row.encoder_milliseconds:,.1f} ms"),
        (f"  generation and scoring, {name}", f"{row.head_milliseconds:,.1f} ms"),
        (f"memory at most, {name}", f"{row.bytes / MEBI:,.0f} MiB"),
    ]
    if row.batch:
        rows += [
            (f"{row.batch} frames at once, {name}", f"{row.frames_per_second:,.1f} frames/s"),
            (f"memory at most, {row.batch} frames, {name}", f"{row.batch_bytes / MEBI:,.0f} MiB"),
        ]
    return rows


def as_json(
    config: ModelConfig, profile: Profile, measured: Sequence[Measured] = (), reranking: float | None = None
) -> str:
    """All of it, with the configuration and what it was measured on."""
    content = {
        "config": asdict(config),
        "parameters": profile.parameters,
        "all parameters": profile.total_parameters,
        "shared parameters": profile.shared_parameters,
        "parameters not reached by the future loss": profile.unreached_parameters,
        "operations": profile.operations(),
        "operations of the encoder": profile.encoder.total(PAPER_NORM),
        "operations of the rest": profile.rest.total(PAPER_NORM),
        "operations with attention": profile.operations(attention=True),
        "operations with attention, as run": _run(profile),
        "operations by fvcore's count": profile.operations(per_normalised=FVCORE_NORM),
        "weight bytes": profile.weight_bytes,
        "activation bytes": profile.activation_bytes,
        "measured": [asdict(row) for row in measured],
        "re-ranking seconds": reranking,
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    return json.dumps(content, indent=1) + "\n"


def _run(profile: Profile) -> int:
    return profile.operations(attention=True) - profile.spared.total(PAPER_NORM, attention=True)
