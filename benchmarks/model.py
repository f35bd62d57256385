"""Size, operations and speed of the models.

    python benchmarks/model.py                    # seconds
    python benchmarks/model.py --paper-passes 1   # also times the paper's model on this processor: minutes

Writes results/model.json and results/model.md. Parameters and operations are exact counts from shapes; times are those
of this machine, on one thread, the median of several passes of one frame.
"""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from pathlib import Path

import torch
import tyro

from world4scorer.model import Planner, baseline, city, paper
from world4scorer.model.profile import latency, peak_memory, profile

ROOT = Path(__file__).resolve().parents[1]
MODELS = {"paper": paper, "baseline": baseline, "city": city}


@dataclass(frozen=True)
class Options:
    """What to measure."""

    repeats: int = 10
    """Passes of the city model per time."""
    paper_passes: int = 0
    """Passes of the paper's model per time; 0 leaves it out."""


def measure(planner: Planner, repeats: int) -> dict[str, float]:
    """Seconds and bytes of a pass by precision, with and without merged adapters."""
    variants = {"fp32": planner, "bf16": planner.merged().bfloat16()}
    if planner.config.lora_rank:
        variants["fp32, merged"] = planner.merged()
    rows = {}
    for name, variant in variants.items():
        rows[f"seconds, {name}"] = latency(variant, repeats=repeats)
        rows[f"bytes, {name}"] = peak_memory(variant)
    return rows


def as_line(entry: tuple[str, float]) -> str:
    """One measurement for people."""
    key, value = entry
    unit, variant = key.split(", ", 1)
    shown = f"{value * 1e3:,.1f} ms" if unit == "seconds" else f"{value / 2**20:,.0f} MiB at most"
    return f"one pass, {variant}: {shown}"


def main(options: Options) -> None:
    """Measure, print, write."""
    torch.set_num_threads(1)
    passes = {"city": options.repeats, "paper": options.paper_passes}
    results: dict[str, object] = {"processor": platform.machine(), "torch": torch.__version__, "models": {}}
    text = [
        "# Models",
        "",
        f"Made by `python benchmarks/model.py --paper-passes {options.paper_passes}`; what is measured is said there.",
        "",
    ]
    for name, preset in MODELS.items():
        report = profile(preset())
        times = measure(Planner(preset()), passes[name]) if passes.get(name) else {}
        results["models"][name] = {
            "parameters": report.parameters,
            "all parameters": report.total_parameters,
            "operations": report.operations(),
            "operations with attention": report.operations(attention=True),
            **times,
        }
        text += [f"## {name}", "", "```", report.text(), *map(as_line, times.items()), "```", ""]
    (ROOT / "results" / "model.json").write_text(json.dumps(results, indent=1) + "\n")
    (ROOT / "results" / "model.md").write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main(tyro.cli(Options))
