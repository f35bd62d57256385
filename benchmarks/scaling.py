"""What the paper's training costs at rates measured on one machine: 103,288 scenes, 64 plans, 25 epochs.

    python benchmarks/scaling.py

Reads results/*.json and measures nothing itself; writes results/scaling.json and results/scaling.md. A store of that
many scenes and an evaluation of navtest's size were really made, by benchmarks/load.py. Other processor times and sizes
are extrapolated linearly: scenes are prepared, labelled and stored independently of each other. GPU hours are an
estimate from operation counts, its assumptions stated with it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import tyro

from world4scorer.evaluation.scores.paper import paper

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCES: Final = ("prepare", "store", "outcomes", "bank", "pools", "model", "city", "city_quick", "load")
PASSES_PER_STEP: Final = 3.0
"""Forward is one pass; backward at most two, less where the ViT is frozen and needs no gradients of its weights."""
PAPER_DEVICES: Final = 4
PAPER_HOURS: Final = 40.0
"""What the paper reports for its training on four A100 or A800."""
BUSY_STREET: Final = 1
"""Place in results/store.json of scenes with 60 tracks and 250 polygons, nearer to NAVSIM's than empty streets."""


@dataclass(frozen=True)
class Task:
    """What is to be done."""

    scenes: int = 103_288
    """Of navtrain."""
    test_frames: int = 12_146
    """Of navtest."""
    epochs: int = 25
    plans: int = 64
    """Of each scene; times per scene were measured with as many."""
    cores: int = 16
    """Of one node."""


@dataclass(frozen=True)
class Work:
    """Processor work, scene by scene."""

    what: str
    milliseconds: float
    """Of one core, a scene."""
    scenes: int
    """How many are worked on, counted again in every epoch."""
    source: str
    official_ms: tuple[float, float] | None = None
    """Of the official code, lowest and highest."""

    @property
    def core_hours(self) -> float:
        """Of one core."""
        return hours(self.milliseconds, self.scenes)

    @property
    def official_core_hours(self) -> tuple[float, float] | None:
        """The same for the official code."""
        if self.official_ms is None:
            return None
        low, high = self.official_ms
        return hours(low, self.scenes), hours(high, self.scenes)


@dataclass(frozen=True)
class Files:
    """Room on the disk."""

    what: str
    bytes_each: float
    scenes: int
    source: str

    @property
    def gigabytes(self) -> float:
        """Of 10^9 bytes."""
        return self.bytes_each * self.scenes / 1e9


@dataclass(frozen=True)
class GpuEstimate:
    """A training on A100s, from the time of one pass."""

    precision: str
    pass_ms: float
    """The paper's, of one frame."""
    teraflops: float
    """Operations a second that this time stands for; a multiply-add is two."""
    device_hours: float
    hours_on_four: float
    scenes_per_second_on_four: float
    label_cores: float
    """Cores that labels keep busy at that pace."""
    official_label_cores: float


def hours(milliseconds: float, count: float) -> float:
    """Hours that `count` things take at so many milliseconds each."""
    return milliseconds * count / 3.6e6


def processor_work(results: dict[str, Any], task: Task) -> list[Work]:
    """What processors do before and during a training."""
    label_ms, official_label_ms = label_times(results)
    low, high = results["prepare"]["official_ms_per_token"]
    load = results["prepare"]["official_load_ms"]
    seen = task.scenes * task.epochs
    bank_ms = results["bank"]["make [ms per scene]"]["whole bank, further rounds included"]
    # A first round labels twice as many proposals as a bank keeps; what else the official code would need is unknown.
    round_ms = 2 * official_label_ms
    return [
        Work(
            "prepare scenes, both versions",
            results["prepare"]["whole"]["ms_per_token"],
            task.scenes,
            "prepare.json",
            (low, high),
        ),
        Work("make the bank", bank_ms, task.scenes, "bank.json", (round_ms, round_ms)),
        Work("labels of all epochs", label_ms, seen, "outcomes.json", (official_label_ms, official_label_ms)),
        Work("load scenes, all epochs", results["store"][BUSY_STREET]["load_random"], seen, "store.json", (load, load)),
        Work(
            "draw from the bank, all epochs",
            results["bank"]["draw [us per scene]"]["batch of 16"] / 1e3,
            seen,
            "bank.json",
        ),
        Work("judge the pools of navtest", 1e3 * results["pools"]["seconds"]["judge"], task.test_frames, "pools.json"),
    ]


def disk(results: dict[str, Any], task: Task) -> list[Files]:
    """What lies on the disk, images and logs apart. Sizes of arrays follow from their shapes."""
    token, number, kept, poses, states = 16, 4, 64, 8 * 3, 256
    pack = kept * (poses * number + 7 * number + 1 + 1) + token  # plans, labels, mask, family
    target = 384 * 2 + token
    pool = task.plans * (poses + 6 + 2 + states) * number + token + 8
    outcomes = task.plans * (7 + 10 + 10) * 8 + task.plans**2 // 8 + (3 + 24 + 2) * 8
    return [
        Files("scene store", results["prepare"]["loading"]["bytes_per_scene"], task.scenes, "prepare.json"),
        Files("scene store, busy streets", results["store"][BUSY_STREET]["bytes_per_scene"], task.scenes, "store.json"),
        Files("bank", pack, task.scenes, "shapes in docs/bank.md"),
        Files("future targets, 384 x float16", target, task.scenes, "docs/formats.md"),
        Files("pools of navtest, states as float32", pool, task.test_frames, "shapes in docs/pools.md"),
        Files("their outcomes", outcomes, task.test_frames, "shapes in docs/pools.md"),
    ]


def gpu(results: dict[str, Any], task: Task) -> list[GpuEstimate]:
    """Hours of A100s, for each precision that the paper gives the time of a pass in."""
    operations = results["model"]["models"]["paper"]["operations with attention"]
    label_ms, official_label_ms = label_times(results)
    estimates = []
    for precision, pass_ms in (
        ("fp32", paper("compute")["latency_a100_fp32_ms"]),
        ("fp16", paper("compute")["fp16_ms"]),
    ):
        device_hours = hours(PASSES_PER_STEP * pass_ms, task.scenes * task.epochs)
        pace = PAPER_DEVICES * 1e3 / (PASSES_PER_STEP * pass_ms)
        estimates.append(
            GpuEstimate(
                precision=precision,
                pass_ms=pass_ms,
                teraflops=2 * operations / pass_ms / 1e9,
                device_hours=device_hours,
                hours_on_four=device_hours / PAPER_DEVICES,
                scenes_per_second_on_four=pace,
                label_cores=pace * label_ms / 1e3,
                official_label_cores=pace * official_label_ms / 1e3,
            )
        )
    return estimates


def city(results: dict[str, Any], task: Task) -> dict[str, float]:
    """The same number of scenes of the embedded city on two cores, and its small planner trained on them."""
    made = results["city"]["made"]
    scenes = sum(split["scenes"] for split in results["city"]["splits"].values())
    last = results["city_quick"]["history"][-1]
    rate = results["city_quick"]["train_scenes"] * last["epoch"] / last["seconds"]
    return {
        "frames per scene": made["frames"] / scenes,
        "frames per second": made["frames_per_second"],
        "hours to make": task.scenes * made["frames"] / scenes / made["frames_per_second"] / 3600,
        "training, scenes per second": rate,
        "hours of training": task.scenes * task.epochs / rate / 3600,
    }


def label_times(results: dict[str, Any]) -> tuple[float, float]:
    """Milliseconds in which 64 plans are labelled: here, by the official code."""
    (row,) = (row for row in results["outcomes"]["headline"] if row["what"] == "label 64 plans")
    return row["ms"], row["official_ms"]


def markdown(results: dict[str, Any], task: Task) -> str:
    """The tables as a page."""
    lines = [
        "# Scaling",
        "",
        "Made by `python benchmarks/scaling.py` from the files named: rates of one machine times "
        f"{task.scenes:,} scenes (navtrain), {task.plans} plans, {task.epochs} epochs. "
        + ("Only the first table was measured." if measured(results) else "Nothing was run at that size."),
        *_measured_lines(results),
        *_processor_lines(results, task),
        *_disk_lines(results, task),
        *_gpu_lines(results, task),
        *_city_lines(results, task),
    ]
    return "\n".join(lines) + "\n"


def measured(results: dict[str, Any]) -> list[dict[str, Any]]:
    """What was run at full size: the steps of the store and of the evaluation, by benchmarks/load.py."""
    steps = []
    for part in ("scenes", "frames"):
        before = {"seconds": 0.0, "processor_seconds": 0.0}
        # Files of earlier versions name no steps, and were of made-up scenes.
        rows = [row for row in results["load"]["rows"] if row["part"] == part and row.get("step")]
        for row in {row["step"]: row for row in rows}.values():  # the last of each step
            steps.append({**row, **{name: row[name] - before[name] for name in before}})
            before = {name: row[name] for name in before}
    return steps


def _measured_lines(results: dict[str, Any]) -> list[str]:
    if not measured(results):
        return []
    lines = [
        "",
        "Measured, with golden scenes and plans that were copied to other places, 64 plans a frame, by all versions "
        "(load.json); memory of the process itself, and the most since it began, with pages of mapped files:",
        "",
        "| | done | s | s of a processor | own memory [MB] | most [MB] | files | GB |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for step in measured(results):
        lines.append(
            f"| {step['part']}: {step['step']} | {step['done']:,} | {step['seconds']:,.1f} | "
            f"{step['processor_seconds']:,.1f} | {step['own_MB']:,} | {step['peak_MB']:,} | {step['files']:,} | "
            f"{step['bytes'] / 1e9:.2f} |"
        )
    return lines


def _processor_lines(results: dict[str, Any], task: Task) -> list[str]:
    lines = [
        "",
        "Processors:",
        "",
        f"| | ms a scene | scenes | core-hours | on {task.cores} cores | official code, core-hours | from |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for work in processor_work(results, task):
        lines.append(
            f"| {work.what} | {work.milliseconds:.3g} | {work.scenes:,} | {work.core_hours:.2f} | "
            f"{_duration(work.core_hours / task.cores)} | {_range(work.official_core_hours)} | {work.source} |"
        )
    outcomes = results["outcomes"]
    (cold,) = (row for row in outcomes["cold"] if row["kernel_cache"] == "empty")
    compiling = cold["first_label_s"] + cold["all_else_s"]
    return [
        *lines,
        "",
        f"On {task.cores} cores: core-hours divided by cores; two threads are {outcomes['threads'][1]['speed_up']:.2f} "
        f"times as fast as one, and a machine compiles kernels once, for {compiling:.0f} s (outcomes.json). Official "
        "times were measured once: metric caching of one version, 64 labels, loading one metric cache (prepare.json, "
        "outcomes.json); its bank is 128 labels a scene and nothing else.",
    ]


def _disk_lines(results: dict[str, Any], task: Task) -> list[str]:
    lines = ["", "Disk, without the dataset itself:", ""]
    lines += ["| | bytes a scene | scenes | GB | from |", "|---|--:|--:|--:|---|"]
    for files in disk(results, task):
        row = f"| {files.what} | {files.bytes_each:,.0f} | {files.scenes:,} | {files.gigabytes:.2f} | {files.source} |"
        lines.append(row)
    return lines


def _gpu_lines(results: dict[str, Any], task: Task) -> list[str]:
    operations = results["model"]["models"]["paper"]["operations with attention"]
    total = 2 * PASSES_PER_STEP * operations * task.scenes * task.epochs
    lines = [
        "",
        f"Training the paper's model, an estimate: {operations / 1e9:.1f} G multiply-adds a pass (model.json), a step "
        f"as long as {PASSES_PER_STEP:.0f} passes, so {total:.3g} operations in all; a pass as long as the paper says "
        "for one frame on an A100 (src/world4scorer/evaluation/paper_numbers.json). Images to read and gradients to "
        "exchange are not counted.",
        "",
        "| precision | ms a pass | Tera-operations a second | A100-hours | hours on four | scenes a second | "
        "cores busy with labels | with the official code |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in gpu(results, task):
        lines.append(
            f"| {one.precision} | {one.pass_ms:.1f} | {one.teraflops:.1f} | {one.device_hours:.0f} | "
            f"{one.hours_on_four:.0f} | {one.scenes_per_second_on_four:.1f} | {one.label_cores:.3f} | "
            f"{one.official_label_cores:.1f} |"
        )
    return [*lines, "", f"The paper reports about {PAPER_HOURS:.0f} hours on four."]


def _city_lines(results: dict[str, Any], task: Task) -> list[str]:
    known = city(results, task)
    return [
        "",
        f"The city instead, on two cores: {known['frames per second']:.0f} frames a second (city.json) make as many "
        f"scenes in {known['hours to make']:.2f} hours; its small planner learns from "
        f"{known['training, scenes per second']:.0f} scenes a second (city_quick.json), {task.epochs} epochs of them "
        f"in {known['hours of training']:.1f} hours.",
    ]


def _duration(hours_: float) -> str:
    seconds = 3600 * hours_
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _range(both: tuple[float, float] | None) -> str:
    if both is None:
        return ""
    low, high = both
    return f"{low:,.1f}" if low == high else f"{low:,.1f} to {high:,.1f}"


def main(results: Path = ROOT / "results") -> None:
    """Read the results and write the tables beside them."""
    task = Task()
    read = {name: json.loads((results / f"{name}.json").read_text()) for name in SOURCES}
    numbers = {
        "command": "python benchmarks/scaling.py",
        "task": asdict(task),
        "measured": measured(read),
        "processors": [
            {**asdict(work), "core_hours": work.core_hours, "official_core_hours": work.official_core_hours}
            for work in processor_work(read, task)
        ],
        "disk": [{**asdict(files), "gigabytes": files.gigabytes} for files in disk(read, task)],
        "gpu": [asdict(estimate) for estimate in gpu(read, task)],
        "city": city(read, task),
    }
    (results / "scaling.json").write_text(json.dumps(numbers, indent=1) + "\n")
    (results / "scaling.md").write_text(markdown(read, task))
    print((results / "scaling.md").read_text())


if __name__ == "__main__":
    tyro.cli(main)
