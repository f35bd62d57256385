"""`w4s doctor`: checks the installation and its numbers."""

from __future__ import annotations

import platform
import tempfile
from dataclasses import dataclass
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from time import perf_counter
from typing import Final

import numpy as np

PACKAGES: Final = ("numpy", "numba", "llvmlite", "tyro", "rich")
REFERENCE: Final = "doctor_reference.npz"
TOLERANCE: Final = 1e-9
CITY_SCENES: Final = 4
"""Few enough for one log."""


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    topic: str
    text: str
    sound: bool = True


def examine() -> list[Finding]:
    """Look at versions, threads and kernel cache, and run the numerical self-test."""
    from world4scorer import __version__
    from world4scorer.engine.outcomes.batch import get_threads

    findings = [
        Finding("world4scorer", __version__),
        Finding("python", f"{platform.python_version()} on {platform.machine()}"),
    ]
    findings += [Finding(name, metadata.version(name)) for name in PACKAGES]
    findings.append(Finding("threads", f"{get_threads()} for batches"))
    findings.append(_kernel_cache())
    findings.append(_city())
    findings += self_test()
    return findings


def examine_store(folder: Path) -> Finding:
    """Read every shard of a scene store and compare its checksum."""
    from world4scorer.datasets.store import SceneStore, StoreError

    try:
        store = SceneStore(folder)
        store.verify()
    except StoreError as error:
        return Finding("store", str(error), sound=False)
    return Finding("store", f"{len(store):,} scenes of {len(store.logs):,} logs, {store.bytes / 1e6:.1f} MB")


def examine_city() -> list[Finding]:
    """Make a city of one log in a temporary folder and prepare its scenes; compiles the kernels of both."""
    installed = _city()
    if not installed.sound or not installed.text.startswith("SUMO"):
        return [Finding(installed.topic, installed.text, sound=False)]
    from world4scorer.city.streets.errors import CityError
    from world4scorer.city.world.config import Share, preset
    from world4scorer.city.world.make import make_city
    from world4scorer.datasets.navsim.splits import find_split
    from world4scorer.datasets.prepare.fill_store import prepare
    from world4scorer.datasets.prepare.source import NavsimSource
    from world4scorer.datasets.store import SceneStore, StoreError
    from world4scorer.jobs.executors import SerialExecutor

    share = Share("city_val", "trainval", "braunschweig", 1, CITY_SCENES)
    started = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        data, store = Path(folder, "dataset"), Path(folder, "scenes")
        try:
            made = make_city(preset("tiny", shares=(share,)), data, workers=1)
            source = NavsimSource(data, find_split(share.split, data))
            prepare(source, store, SerialExecutor(), show_progress=False)
            scenes = len(SceneStore(store))
        except (CityError, StoreError) as error:
            return [installed, Finding("city made", str(error), sound=False)]
    frames = made["splits"][share.split]["frames"]
    seconds = perf_counter() - started
    return [
        installed,
        Finding("city made", f"{frames} frames, {scenes} scenes prepared", sound=scenes > 0),
        Finding("city time", f"{seconds:.2f} s, kernels loaded or compiled included"),
    ]


def _city() -> Finding:
    """Whether the embedded world can be made here: an extra, so its absence is no fault."""
    from world4scorer.city.streets.sumo import missing_libraries

    try:
        version = metadata.version("libsumo")
    except metadata.PackageNotFoundError:
        return Finding("city", "not installed (pip install 'world4scorer[city]')")
    missing = missing_libraries()
    if missing:
        needed = f"apt-get install {' '.join(missing.values())}"
        return Finding("city", f"SUMO {version}, but {', '.join(missing)} is missing ({needed})", sound=False)
    return Finding("city", f"SUMO {version}")


def _kernel_cache() -> Finding:
    from world4scorer.engine.kernels import baseline
    from world4scorer.engine.outcomes.judge import judge_boxes

    ahead = f"; scoring was compiled ahead for {baseline()}" if baseline() else ""
    path = judge_boxes.stats.cache_path  # type: ignore[attr-defined]
    if path is None:
        return Finding("kernel cache", f"none: no folder can be written; set NUMBA_CACHE_DIR{ahead}")
    size = sum(file.stat().st_size for file in Path(path).glob("*.nb?"))
    filled = f"{size / 1e6:.1f} MB" if size else "empty; filled on first use"
    return Finding("kernel cache", f"{path} ({filled}{ahead})")


def self_test() -> list[Finding]:
    """Compute rollouts and scores of a stored scene and compare them with stored values."""
    from world4scorer.engine.scene.exchange import read_exchange
    from world4scorer.evaluation.scores.exchange_files import score_frames

    path = files("world4scorer.cli") / REFERENCE
    started = perf_counter()
    computed = score_frames(read_exchange(str(path)), "all")
    seconds = perf_counter() - started
    findings = [Finding("self-test", f"{seconds:.2f} s, kernels loaded or compiled included")]
    with np.load(str(path), allow_pickle=False) as archive:
        for name in ("sim_states", "v1_train", "v1_eval", "v2_raw", "v2_filtered", "epdms_const_filtered"):
            off = float(np.abs(computed[name] - archive[name]).max())
            findings.append(Finding(name, f"largest difference {off:.1e}", sound=off <= TOLERANCE))
    return findings
