"""What do labels cost in another code base? Milliseconds a scene of `BatchLabels`, by project, loading included.

    python benchmarks/drop_in.py [--out results/drop_in]

Writes results/drop_in.json and results/drop_in.md. CPU time of one thread, kernels warm: a store, and metric caches in
the official form, made from the golden dataset of the tests. Beside them stand the times of the official code.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.outcomes import OFFICIAL_MS  # noqa: E402
from benchmarks.prepare import OFFICIAL_LOAD_MS  # noqa: E402
from tests.support.metric_caches import write_caches  # noqa: E402
from tests.support.navsim_golden import unpack_compact  # noqa: E402
from world4scorer import __version__, set_threads  # noqa: E402
from world4scorer.compat import BatchLabels  # noqa: E402
from world4scorer.datasets.navsim.filters import read_split  # noqa: E402
from world4scorer.datasets.prepare.fill_store import prepare  # noqa: E402
from world4scorer.datasets.prepare.source import NavsimSource  # noqa: E402
from world4scorer.jobs.executors import SerialExecutor  # noqa: E402

PROPOSALS = 64
VOCABULARY = 8192
EVERY = 9
"""The compact golden set has all arrays of every ninth token."""
ROUNDS = 5


def main(out: Path) -> None:
    """Time and write."""
    set_threads(1)
    official = OFFICIAL_MS["label 64 plans"] + OFFICIAL_LOAD_MS
    with tempfile.TemporaryDirectory() as folder:
        store, caches, tokens, plans = make_scenes(Path(folder))
        kinds: list[tuple[str, str, Callable[[], BatchLabels], int, float | None]] = [
            (
                "DrivoR",
                "labels-v1, metric caches, published reference",
                lambda: BatchLabels.from_metric_caches(caches["v1"], reference="published", replace_nonfinite=True),
                PROPOSALS,
                official,
            ),
            (
                "iPad",
                "labels-v1, metric caches",
                lambda: BatchLabels.from_metric_caches(caches["v1"]),
                PROPOSALS,
                official,
            ),
            ("DiffusionDriveV2", "labels-v1, store", lambda: BatchLabels.from_store(store), PROPOSALS, official),
            ("RAP", "EPDMS v2.2, store", lambda: BatchLabels.from_store(store, "epdms-v2.2"), PROPOSALS, None),
            ("GTRS", "EPDMS v2.2, store", lambda: BatchLabels.from_store(store, "epdms-v2.2"), VOCABULARY, None),
        ]
        rows = []
        for project, what, make, count, before in kinds:
            first, again = time_labels(make, tokens, plans(count))
            rows.append(
                {"project": project, "labels": what, "proposals": count, "official_ms": before}
                | {"first_ms": first, "again_ms": again}
            )
            print(rows[-1], flush=True)
    content = {"world4scorer": __version__, "scenes": len(tokens), "rows": rows}
    out.with_suffix(".json").write_text(json.dumps(content, indent=1) + "\n")
    out.with_suffix(".md").write_text("\n".join(page(rows, len(tokens))))


def make_scenes(folder: Path) -> tuple[Path, dict[str, Path], list[str], Callable[[int], np.ndarray]]:
    """A store, folders of metric caches, tokens, and a function that makes so many proposals of each scene."""
    golden = unpack_compact(folder / "data")
    source = NavsimSource(golden.dataset, read_split(golden.split_file))
    prepare(source, folder / "store", SerialExecutor(), show_progress=False)
    tokens = golden.tokens[::EVERY]
    caches = {"v1": write_caches(golden, "v1", tokens, folder / "v1")}
    stored = golden.trajectories
    rows = [list(map(str, stored["tokens"])).index(token) for token in tokens]

    def plans(count: int) -> np.ndarray:
        rng = np.random.default_rng(0)
        base = stored["poses"][rows]
        chosen = base[:, rng.integers(base.shape[1], size=count)]
        return chosen * rng.uniform(0.6, 1.2, (len(tokens), count, 1, 1))

    return folder / "store", caches, tokens, plans


def time_labels(make: Callable[[], BatchLabels], tokens: list[str], plans: np.ndarray) -> tuple[float, float]:
    """CPU milliseconds a scene: when it is loaded, and when it was labelled before; the best of several rounds."""
    first, again = [], []
    for spent in passes(make, tokens, plans):
        (first if len(first) == len(again) else again).append(spent)
    return min(first[1:]), min(again[1:])


def passes(make: Callable[[], BatchLabels], tokens: list[str], plans: np.ndarray) -> Iterator[float]:
    """Milliseconds a scene of passes over all: a new object, then the same one; the first round compiles."""
    for _ in range(1 + ROUNDS):
        labels = make()
        for _ in range(2):
            begun = process_time()
            for token, own in zip(tokens, plans, strict=True):
                labels(own[None], [token])
            yield 1e3 * (process_time() - begun) / len(tokens)


def page(rows: list[dict], scenes: int) -> list[str]:
    """The results as Markdown."""
    return [
        "# Labels for existing code",
        "",
        f"Made by `python benchmarks/drop_in.py` with world4scorer {__version__}, Python {platform.python_version()}, "
        f"{scenes} scenes of the golden dataset, CPU time of one thread, ms a scene. Before: the official code loads a "
        "metric cache and labels 64 proposals by v1.1, timed once, on other scenes and another machine; EPDMS was not "
        "timed. "
        "After, first: the scene is loaded; again: the same object labels it once more.",
        "",
        "| project | labels | proposals | before | after, first | after, again |",
        "|---|---|--:|--:|--:|--:|",
        *(
            f"| {row['project']} | {row['labels']} | {row['proposals']:,} "
            f"| {'' if row['official_ms'] is None else format(row['official_ms'], '.0f')} "
            f"| {row['first_ms']:.3g} | {row['again_ms']:.3g} |"
            for row in rows
        ),
        "",
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "drop_in", help="results without suffix")
    main(parser.parse_args().out)
