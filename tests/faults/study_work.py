"""Studies of a run that take seconds, and a round of aggregation."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.small_aggregation import SMALL_ROUND
from tests.support.small_training import MACHINE
from world4scorer.driving.aggregation.aggregate import aggregate
from world4scorer.driving.aggregation.rounds import Aggregation
from world4scorer.evaluation.pools.open import open_pools, pool_folder
from world4scorer.jobs.executors import SerialExecutor
from world4scorer.jobs.files import json_content, read_json
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.run import claim_run_folder
from world4scorer.planner.training.run_files import read_run
from world4scorer.reporting.explorer.write import write_frames
from world4scorer.studies.branches.make import make_branches
from world4scorer.studies.readout_networks.config import ReadoutConfig
from world4scorer.studies.readout_networks.make import make_readouts
from world4scorer.studies.shared.options import StabilityOptions
from world4scorer.studies.stability.study import stability

READOUTS = ReadoutConfig(
    pairs=6,
    condgrid_steps=2,
    diffusion_steps=2,
    decoder_steps=2,
    batch=2,
    decoder_batch=2,
    width=16,
    layers=1,
    heads=2,
    decoder_width=16,
    decoder_layers=1,
    decoder_maps=2,
    checkpoint_every=1,
)
RADII = StabilityOptions(supervised=3, scenes=3, rivals=2, detailed=1, mu=1.0, scales=(5.0,), draws=50)
ROUND = replace(SMALL_ROUND, scenes=16)


def make_study_inputs(folder: Path) -> None:
    """Pools of the run with their outcomes, which studies make first."""
    open_pools(folder / "run")


def fill_branches(inputs: Path, out: Path) -> None:
    """The branches of `w4s study counterfactual`."""
    make_branches(open_pools(inputs / "run"), inputs / "city", out, 2, 1, SerialExecutor())


def fill_readouts(inputs: Path, out: Path) -> None:
    """The networks of `w4s study readouts`, with a checkpoint at each step."""
    config, data = read_run(inputs / "run")
    claim_run_folder(config, data, out)
    make_readouts(out, READOUTS, "city")


def fill_radii(inputs: Path, out: Path) -> None:
    """`w4s study stability`."""
    stability(inputs / "run", RADII, out)


def fill_frames(inputs: Path, out: Path) -> None:
    """`w4s frames`."""
    write_frames(pool_folder(inputs / "run"), out)


def fill_round(inputs: Path, out: Path) -> None:
    """`w4s aggregate`, on copies of the run and of the city, which drives are written into."""
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "run").is_dir():
        for part in ("city", "run"):  # by other processes, which are not attacked
            subprocess.run(["cp", "-aT", inputs / part, out / part], check=True)
        named = RunFolder(out / "run").data_file
        content = json_content({**read_json(named), "data": str(out / "city")})
        subprocess.run(["tee", named], input=content, stdout=subprocess.DEVNULL, check=True)
    aggregate(Aggregation(out / "run", out / "own", ROUND, SerialExecutor(), MACHINE))


STUDIES: dict[str, Any] = {
    "branches": fill_branches,
    "readouts": fill_readouts,
    "stability": fill_radii,
    "frames": fill_frames,
    "aggregation": fill_round,
}
