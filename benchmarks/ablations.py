"""The paper's ablations of training on a city: auxiliary target, label pairing, plan sampling, bank.

    python benchmarks/ablations.py --data city --runs runs/standard --epochs 2

Each variant is a run of `w4s train` in a folder of its own; runs that are there are not repeated, and one that was
stopped goes on. Writes results/ablations.{json,md,png}: the last planner of each variant on the validation split.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import tyro

from world4scorer.training.run_files import read_history, read_losses, read_run
from world4scorer.view.curves import Curves, draw_curves

RESULTS = Path(__file__).parents[1] / "results"

TARGETS = {
    "future": [],
    "none": ["--auxiliary-target", "none"],
    "current": ["--auxiliary-target", "current"],
    "no bank": ["--losses.bank", "0"],
    "no plan sampling": ["--model.no-plan-sampling", "--model.sampling-fine", "0"],
    "no images": ["--model.no-images", "--auxiliary-target", "none"],
}
"""What is left out of the whole method, which comes first; words after `w4s train`."""
PAIRING = {
    "paired": [],
    "permuted bank": ["--permuted-labels", "bank"],
    "permuted all": ["--permuted-labels", "all"],
}
"""Whose labels are shuffled within a scene. As in the paper, on fewer scenes."""
VARIANTS = TARGETS | PAIRING


@dataclass(frozen=True)
class Options:
    """What to run."""

    data: Path
    """Folder of a city with prepared stores."""
    runs: Path
    """Folder of the runs."""
    epochs: int
    """Of every run."""
    scenes: int = 0
    """Training scenes of the runs that leave something out; 0 for all."""
    pairing_scenes: int = 8192
    """Training scenes of the runs with and without shuffled labels."""
    variants: tuple[str, ...] = tuple(VARIANTS)
    devices: int = 2
    out: Path = RESULTS / "ablations"


def train(name: str, options: Options) -> Path:
    """Run a variant, if it is not finished."""
    out = options.runs / name.replace(" ", "-")
    if (out / "planner" / "config.json").is_file():
        return out
    command = [sys.executable, "-m", "world4scorer.cli", "train", "--preset", "city", "--data", str(options.data)]
    command += ["--out", str(out), "--epochs", str(options.epochs), "--devices", str(options.devices)]
    command += ["--scenes", str(options.pairing_scenes if name in PAIRING else options.scenes)]
    subprocess.run([*command, *VARIANTS[name]], check=True)
    return out


def beside(path: Path, suffix: str) -> Path:
    """The path with something after its name, whatever dots that has."""
    return path.with_name(path.name + suffix)


def main(options: Options) -> None:
    """Train all variants and write the table."""
    curves = {}
    for name in options.variants:
        run = train(name, options)
        curves[name] = Curves(read_history(run), read_losses(run))
        write(options, curves)


def write(options: Options, curves: dict[str, Curves]) -> None:
    """The table of the runs that are finished."""
    first = next(iter(curves))
    config, data = read_run(options.runs / first.replace(" ", "-"))
    lines = [
        "# Ablations",
        "",
        f"Made by `python benchmarks/ablations.py --data {options.data.name} --runs {options.runs.name} --epochs "
        f"{options.epochs} --scenes {options.scenes} --pairing-scenes {options.pairing_scenes}`. Trained on scenes of "
        f"{data.split}, {config.batch} a step, {options.epochs} epoch(s), one seed ({config.seed}); last "
        f"epoch, on {data.val_split}. `future` and `paired` are the whole method; the others differ in what their name "
        "says.",
        "",
        "| | selected PDMS | random pick | best of the pool | ordering | scenes | steps | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, (history, _) in curves.items():
        last, scenes = history[-1], read_run(options.runs / name.replace(" ", "-"))[0].scenes
        numbers = [f"{100 * last[f'val/{key}']:.1f}" for key in ("score", "random", "oracle", "ordering")]
        more = [f"{scenes:,}" if scenes else "all", str(int(last["step"])), f"{last['seconds']:.0f}"]
        lines.append(f"| {name} | {' | '.join([*numbers, *more])} |")
    beside(options.out, ".md").write_text("\n".join(lines) + "\n")
    histories = {name: history for name, (history, _) in curves.items()}
    content = {"config": json.loads(config.to_json()), "histories": histories}
    beside(options.out, ".json").write_text(json.dumps(content, indent=1) + "\n")
    draw_curves(curves, beside(options.out, ".png"))


if __name__ == "__main__":
    main(tyro.cli(Options))
