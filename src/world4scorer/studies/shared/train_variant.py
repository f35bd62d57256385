"""Train, or resume training, what a folder's configuration says: the command that is started for several devices.

python -m world4scorer.studies.shared.train_variant RUN/variants/auxiliary-target/none-3 '{"devices": 2}'
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from world4scorer.planner.training.run import Machine, train
from world4scorer.planner.training.run_files import read_run


def train_variant(folder: str, machine: str) -> None:
    """Train in a folder that holds a configuration and the paths of its data; `machine` is JSON."""
    config, data = read_run(Path(folder))
    train(config, data, Path(folder), Machine(**json.loads(machine)))


if __name__ == "__main__":
    train_variant(*sys.argv[1:])
