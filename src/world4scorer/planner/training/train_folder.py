"""Training within longer work, on any number of devices.

For every further device Lightning starts the command line again, so it must be one that only trains: this one.

python -m world4scorer.planner.training.train_folder RUN/variants/auxiliary-target/none-3 '{"devices": 2}'
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.config import TrainConfig
from world4scorer.planner.training.run import Machine, TrainData, claim_run_folder, train
from world4scorer.planner.training.run_files import read_run


def train_within(config: TrainConfig, data: TrainData, out: Path, machine: Machine) -> Path:
    """As `train`, for callers that do more than that; returns the folder of the last planner."""
    if machine.devices > 1:
        claim_run_folder(config, data, out)
        command = [sys.executable, "-m", "world4scorer.planner.training.train_folder", str(out)]
        if subprocess.run([*command, json.dumps(asdict(machine))], check=False).returncode:
            raise ValueError(f"{out}: training failed, see above; the same command resumes it")
        return RunFolder(out).planner
    try:
        return train(config, data, out, machine)
    finally:
        torch.set_flush_denormal(False)  # what is computed next must not depend on what was trained before


def train_folder(folder: str, machine: str) -> None:
    """Train in a folder that holds a configuration and the paths of its data; `machine` is JSON."""
    config, data = read_run(Path(folder))
    train(config, data, Path(folder), Machine(**json.loads(machine)))


if __name__ == "__main__":
    train_folder(*sys.argv[1:])
