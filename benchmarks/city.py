"""How fast is a city made, and how does its expert drive? Making, preparing and judging, everything included.

    python benchmarks/city.py [--preset quick] [--data FOLDER] [--out results/city]

Makes the city in an empty folder (a temporary one unless given; compiled kernels are used if they are there), prepares
its splits, and lets the human, constant velocity and standing still be judged. Writes results/city.json and .md.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

import world4scorer as w4s
from world4scorer.city.world.config import preset
from world4scorer.city.world.make import make_city
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.scores.agent_scores import evaluate_agents
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.executors import choose_executor

ROOT = Path(__file__).resolve().parents[1]
AGENTS = ("human", "constant-velocity", "stationary")
SHOWN = {
    "PDMS": ("pdms-v1.1", "score"),
    "EP": ("pdms-v1.1", "ego_progress"),
    "EPDMS": ("epdms-v2.2", "score"),
    "EC": ("epdms-v2.2", "two_frame_extended_comfort"),
}


@dataclass(frozen=True)
class Options:
    """What to make and where to write."""

    preset: Literal["tiny", "quick", "standard"] = "quick"
    data: Path | None = None
    """Empty folder for the city, kept; a temporary one unless given."""
    out: Path = ROOT / "results" / "city"
    """Result files without suffix."""


def measure(options: Options, root: Path) -> dict[str, Any]:
    """Make, prepare and judge; returns the result."""
    start = time.perf_counter()
    manifest = make_city(preset(options.preset), root, show_progress=True)
    took = time.perf_counter() - start
    frames = sum(split["frames"] for split in manifest["splits"].values())
    result: dict[str, Any] = {
        "command": f"python benchmarks/city.py --preset {options.preset}",
        "world4scorer": w4s.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "config": manifest["config"],
        "made": {"seconds": round(took, 1), "frames": frames, "frames_per_second": round(frames / took, 1)},
        "splits": {},
    }
    for name, split in manifest["splits"].items():
        source = NavsimSource(root, find_split(name, root))
        prepare(source, DataFolder(root).store(name), choose_executor())
        scores = evaluate_agents(SceneStore(DataFolder(root).store(name)), AGENTS)
        situations = split["situations"]
        result["splits"][name] = {
            "places": split["places"],
            "logs": split["logs"],
            "scenes": situations["frames"],
            "situations": {key: count for key, count in situations.items() if key != "frames"},
            "scores": {
                agent: {short: float(scores.means[metric][column][row]) for short, (metric, column) in SHOWN.items()}
                for row, agent in enumerate(scores.agents)
            },
        }
    return result


def report(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    made = result["made"]
    lines = [
        "# The city: speed and realism",
        "",
        f"Made by `{result['command']}` with world4scorer {result['world4scorer']}, Python {result['python']}, "
        f"{result['cores']} cores.",
        "",
        f"{made['frames']:,} frames (four cameras of {result['config']['width']} x {result['config']['height']}, "
        f"2 x 2 supersampled) in {made['seconds']:.0f} s: {made['frames_per_second']:.0f} frames a second, from the "
        "wheels of SUMO to the written dataset.",
        "",
        "| split | places | logs | scenes | agent | " + " | ".join(SHOWN) + " |",
        "|---" * (5 + len(SHOWN)) + "|",
    ]
    for name, split in result["splits"].items():
        for agent, scores in split["scores"].items():
            values = " | ".join(f"{100 * scores[short]:.1f}" for short in SHOWN)
            places = ", ".join(split["places"])
            lines.append(f"| {name} | {places} | {split['logs']} | {split['scenes']:,} | {agent} | {values} |")
    lines += ["", "Share of scenes:", "", "| situation | " + " | ".join(result["splits"]) + " |"]
    lines.append("|---" * (1 + len(result["splits"])) + "|")
    for situation in next(iter(result["splits"].values()))["situations"]:
        shares = " | ".join(
            f"{100 * split['situations'][situation] / split['scenes']:.1f} %" for split in result["splits"].values()
        )
        lines.append(f"| {situation.replace('_', ' ')} | {shares} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the benchmark."""
    options = tyro.cli(Options)
    if options.data is not None:
        result = measure(options, options.data)
    else:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(options, Path(folder) / "city")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    options.out.with_suffix(".md").write_text(report(result), encoding="utf-8")
    print(report(result))


if __name__ == "__main__":
    main()
