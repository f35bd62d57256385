"""Configuration of drives: routes, planner, rules, disturbances."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from world4scorer.city.world.manifest import read_manifest
from world4scorer.driving.closed_loop.disturbance import DisturbanceConfig
from world4scorer.driving.closed_loop.infraction_monitor import TerminationRules
from world4scorer.evaluation.pools.pool_files import describe_planner
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.run_folder import RunFolder


class DriveError(ValueError):
    """Drives that cannot be made or read."""


@dataclass(frozen=True)
class DriveConfig:
    """Which routes are driven, with which planner and rules."""

    data: Path
    """Folder of the city."""
    split: str
    """Split of the city's simulations."""
    routes: int
    seed: int = 0
    """Seed of the choice of routes."""
    planner: Path | None = None
    """Planner folder or released checkpoint; required by drivers with a planner."""
    run: Path | None = None
    """Training run whose data train the ego-status MLP."""
    benchmark: str = "v1"
    """Benchmark whose utility ranks plans."""
    rules: TerminationRules = field(default_factory=TerminationRules)
    disturbance: DisturbanceConfig | None = None
    """Disturbances of every drive; None for none."""
    simulations: int = 0
    """Number of simulations that routes come from, drawn by seed; 0 for all of the split."""
    suite: str = ""
    """Suite of fixed routes, instead of routes of a split; its traffic lies below the folder of the city."""

    @property
    def world(self) -> Path:
        """Dataset folder of the traffic that is driven in."""
        return DataFolder(self.data).suite(self.suite) if self.suite else self.data

    def describe(self) -> dict[str, Any]:
        """Everything that the drives depend on."""
        manifest = read_manifest(self.world)
        return {
            "city": manifest["config"],
            "split": self.split,
            "routes": self.routes,
            "seed": self.seed,
            **({"weights": None} if self.planner is None else describe_planner(self.planner)),
            "training": None if self.run is None else _digest_of_run(self.run),
            "benchmark": self.benchmark,
            "rules": asdict(self.rules),
            "disturbance": None if self.disturbance is None else asdict(self.disturbance),
            "simulations": self.simulations or None,
            "suite": self.suite or None,
        }


def _digest_of_run(run: Path) -> str:
    """SHA-256 of a run's configuration and data."""
    files = RunFolder(run).config_file, RunFolder(run).data_file
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
