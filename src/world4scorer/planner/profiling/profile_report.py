"""A model's counts and times as rows of text and as JSON: the results of `w4s profile`."""

from __future__ import annotations

import copy
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal

import torch

from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.planner import Planner
from world4scorer.planner.profiling.operations import FVCORE_NORM, PAPER_NORM
from world4scorer.planner.profiling.profile import GIGA, MEBI, Profile, latency, peak_memory

Precision = Literal["fp32", "bf16", "fp16"]
DTYPES: Final = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}

REPORTED: Final = {
    "all parameters": "35,520,926",
    "shared by scoring and prediction": "4,504,320",
    "  not reached by the future loss": "524,288",
    "operations": "349.9 G",
    "  encoder": "349.1 G",
    "  rest": "0.74 G",
    "  with attention": "927.1 G",
    "one pass, fp32": "106.5 ms (A100)",
    "one pass, fp16": "23.0 ms (A100)",
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


def measure(planner: Planner, precisions: Sequence[Precision], passes: int, compiled: bool = False) -> list[Measured]:
    """Time passes of one frame, precision by precision; adapters as they are."""
    if passes < 1:
        raise ValueError(f"--passes {passes}: one or more are needed to measure")
    rows = []
    for precision in dict.fromkeys(precisions):
        variant = copy.deepcopy(planner).to(DTYPES[precision])
        most = peak_memory(variant)
        if compiled:
            variant.compile()
        rows.append(Measured(precision, 1e3 * latency(variant, repeats=passes), most))
    return rows


def as_rows(profile: Profile, measured: Sequence[Measured] = ()) -> list[tuple[str, str]]:
    """Names and values, in the order in which they are shown."""
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
        *((f"one pass, {row.precision}", f"{row.milliseconds:,.1f} ms") for row in measured),
        *((f"memory at most, {row.precision}", f"{row.bytes / MEBI:,.0f} MiB") for row in measured),
    ]


def as_json(config: ModelConfig, profile: Profile, measured: Sequence[Measured] = ()) -> str:
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
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    return json.dumps(content, indent=1) + "\n"


def _run(profile: Profile) -> int:
    return profile.operations(attention=True) - profile.spared.total(PAPER_NORM, attention=True)
