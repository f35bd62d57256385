"""Goals of speed and scale beside what was measured and what the hardware could do.

    python benchmarks/speed.py

The last step of `make bench`: reads results/*.json, measures nothing of this package, writes results/speed.json and
results/speed.md. What the hardware can do is measured here, on one core: copying memory, products of matrices. A goal
whose result file lacks its number, because it was made before there was one, is shown as not measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import tyro

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCES: Final = ("outcomes", "install_size", "model", "images", "load")
COPIED: Final = 64_000_000
"""Numbers of 4 bytes that are copied."""
SIDE: Final = 1024
"""Rows and columns of the matrices."""
STATE_BYTES: Final = 11 * 41 * 8
"""States of one rollout: columns, steps, float64."""
PASSES: Final = 8
"""States are written once and read by each of seven metrics."""
CITY_STEP: Final = "training step of preset city"
"""Beginning of its name in model.json."""
HOST_CORES: Final = 16
"""Cores of a host with a GPU."""
RUNTIME: Final = ("numba", "llvmlite", "numpy")
"""Packages that kernels need to run."""


@dataclass(frozen=True)
class Hardware:
    """One core."""

    copied_bytes: float
    """Bytes a second, read and written."""
    multiply_adds: dict[str, float]
    """A second, by precision."""


@dataclass(frozen=True)
class Goal:
    """A row of the table."""

    what: str
    unit: str
    goal: float | None
    """None if it is a share of something that was not measured."""
    measured: float | None
    limit: float | None
    """What the hardware could do, in the same unit."""
    limit_of: str
    source: str
    more_is_better: bool = False

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None if nothing was measured."""
        if self.measured is None or self.goal is None:
            return None
        return self.measured >= self.goal if self.more_is_better else self.measured <= self.goal

    @property
    def ratio(self) -> float | None:
        """How many times the limit is better than what was measured."""
        if self.measured is None or self.limit is None:
            return None
        return self.limit / self.measured if self.more_is_better else self.measured / self.limit


def quickest(work: Callable[[], object], rounds: int = 5) -> float:
    """Processor seconds of the quickest of several calls."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def measure_hardware() -> Hardware:
    """What one core copies and multiplies."""
    torch.set_num_threads(1)
    numbers = np.ones(COPIED, np.float32)
    target = np.empty_like(numbers)
    copying = quickest(lambda: np.copyto(target, numbers))
    rates = {}
    for name, kind in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        left, right = (torch.ones(SIDE, SIDE, dtype=kind) for _ in range(2))
        rates[name] = SIDE**3 / quickest(lambda a=left, b=right: a @ b)
    return Hardware(2 * numbers.nbytes / copying, rates)


def goals(results: dict[str, Any], hardware: Hardware) -> list[Goal]:
    """All rows."""
    return [*_outcomes(results, hardware), *_install(results), *_model(results, hardware), *_scale(results, hardware)]


def _outcomes(results: dict[str, Any], hardware: Hardware) -> list[Goal]:
    outcomes = results["outcomes"]
    ahead = next((row for row in outcomes["cold"] if row["kernel_cache"] == "compiled ahead"), None)
    loaded = next((row for row in outcomes["cold"] if row["kernel_cache"] == "full"), None)
    again = {row["plans"]: row for row in outcomes.get("again", ())}
    rows = [
        Goal(
            "first label in a new environment, kernels from the wheel",
            "s",
            5.0,
            None if ahead is None else ahead["import_s"] + ahead["first_label_s"],
            None if loaded is None else loaded["import_s"] + loaded["first_label_s"],
            "the same with kernels that were compiled here before",
            "outcomes.json",
        )
    ]
    for name, plans, goal in (("epdms", 1, 0.06), ("label", 1, 0.06), ("epdms", 64, 0.40), ("label", 64, 0.40)):
        each = again.get(plans, {}).get(f"{name}_us_per_plan")
        rows.append(
            Goal(
                f"`{name}` of {plans} plan{'s' if plans > 1 else ''}, scene judged before",
                "ms",
                goal,
                None if each is None else each * plans / 1e3,
                1e3 * plans * PASSES * STATE_BYTES / hardware.copied_bytes,
                f"{PASSES} passes over the rollouts' states, as fast as memory is copied",
                "outcomes.json",
            )
        )
    for name in ("label", "epdms"):
        many, few = (again.get(4096, {}).get(f"{name}_us_per_plan{of}") for of in ("", "_64_of_them"))
        rows.append(
            Goal(
                f"`{name}` of 4,096 plans, a plan, beside 64 of them alone",
                "times",
                1.0,
                None if few is None or many is None else many / few,
                None,
                "",
                "outcomes.json",
            )
        )
    return rows


def _install(results: dict[str, Any]) -> list[Goal]:
    base = {row["package"]: row["mb"] for row in results["install_size"]["rows"] if row["brought_by"] == "base"}
    runtime = sum(base[name] for name in RUNTIME)
    whole = sum(base.values())
    return [Goal("base install", "MB", 250.0, whole, runtime, "Numba, LLVM and NumPy alone", "install_size.json")]


def _model(results: dict[str, Any], hardware: Hardware) -> list[Goal]:
    known = results["model"]["models"]["paper"]
    parts = known.get("times", {}).get("parts")
    passes = None if parts is None else next(iter(parts.values()))
    operations = known["operations with attention"]
    images = results.get("images")
    by_way = {} if images is None else {row["way"]: row for row in images["rows"]}
    used = by_way.get("as training reads them (Pillow)")
    decoded = by_way.get("Pillow, without resizing")
    processor = "milliseconds of processor"
    of_city = results["model"]["models"].get("city", {}).get("times", {}).get("parts", {})
    step = next((rows for name, rows in of_city.items() if name.startswith(CITY_STEP)), None)
    return [
        Goal(
            "a training step of preset city with products in bf16, one core; goal: half of its fp32",
            "ms",
            None if step is None else step["fp32"][processor] / 2,
            None if step is None else step["bf16 products"][processor],
            None,
            "",
            "model.json",
        ),
        Goal(
            "a pass of the paper's model in bf16, one core; goal: half of its fp32",
            "s",
            None if passes is None else passes["fp32, merged"][processor] / 2e3,
            None if passes is None else passes["bf16, merged"][processor] / 1e3,
            operations / hardware.multiply_adds["bf16"],
            "its multiply-adds, as fast as products of matrices of 1,024 rows",
            "model.json",
        ),
        Goal(
            f"reading four views of 1148 x 672, one of the {HOST_CORES} cores of a host that needs 60 scenes a second",
            "scenes/s",
            60.0 / HOST_CORES,
            None if used is None else used["scenes_a_second"],
            None if decoded is None else decoded["scenes_a_second"],
            "decoding the JPEGs alone",
            "images.json",
            more_is_better=True,
        ),
    ]


def _scale(results: dict[str, Any], hardware: Hardware) -> list[Goal]:
    rows = [row for row in results["load"]["rows"] if row.get("step") and row["scale"] >= 1.0]
    last = {(row["part"], row["step"]): row for row in rows}
    stored, evaluated = last.get(("scenes", "write")), last.get(("frames", "evaluate"))
    half_an_hour = 1800.0
    return [
        Goal(
            f"{what} [s of a processor]",
            "s",
            half_an_hour,
            None if row is None else row["processor_seconds"],
            None if row is None else 2 * row["bytes"] / hardware.copied_bytes,
            "its bytes, as fast as memory is copied",
            "load.json",
        )
        for what, row in (
            ("a store of 103,288 scenes written", stored),
            ("12,146 frames of 64 plans stored, judged and evaluated by all versions", evaluated),
        )
    ]


def markdown(rows: list[Goal], hardware: Hardware) -> str:
    """The table as a page."""
    rates = ", ".join(
        f"{rate / 1e9:.0f} G multiply-adds a second in {name}" for name, rate in hardware.multiply_adds.items()
    )
    lines = [
        "# Goals of speed",
        "",
        "Made by `python benchmarks/speed.py` from the files named, at the end of `make bench`. The limit is what the "
        f"hardware could do, as said beside it: one core copies {hardware.copied_bytes / 1e9:.1f} GB a second (read "
        f"and written) and does {rates}. The ratio says how many times the limit is better.",
        "",
        "| | goal | measured | met | limit | ratio | what limits | from |",
        "|---|--:|--:|---|--:|--:|---|---|",
    ]
    for row in rows:
        met = {None: "", True: "yes", False: "no"}[row.met]
        ratio = "" if row.ratio is None else f"{row.ratio:.1f}"
        sign = "≥" if row.more_is_better else "≤"
        goal = "" if row.goal is None else f"{sign} {_number(row.goal)} {row.unit}"
        lines.append(
            f"| {row.what} | {goal} | {_number(row.measured, 'not measured')} | {met} | "
            f"{_number(row.limit, '')} | {ratio} | {row.limit_of} | {row.source} |"
        )
    return "\n".join(lines) + "\n"


def _number(value: float | None, missing: str = "") -> str:
    if value is None:
        return missing
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main(results: Path = ROOT / "results") -> None:
    """Read, measure the hardware, write."""
    read = {name: json.loads(path.read_text()) for name in SOURCES if (path := results / f"{name}.json").is_file()}
    hardware = measure_hardware()
    rows = goals(read, hardware)
    content = {
        "command": "python benchmarks/speed.py",
        "hardware": asdict(hardware),
        "goals": [{**asdict(row), "met": row.met, "ratio": row.ratio} for row in rows],
    }
    (results / "speed.json").write_text(json.dumps(content, indent=1) + "\n")
    (results / "speed.md").write_text(markdown(rows, hardware))
    print((results / "speed.md").read_text())


if __name__ == "__main__":
    tyro.cli(main)
