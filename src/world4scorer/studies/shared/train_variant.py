"""Train, or go on training, what a folder's configuration says: the command that is started on several devices.

python -m world4scorer.studies.shared.train_variant RUN/variants/auxiliary-target/none-3 --devices 2
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from world4scorer.planner.training.run import Machine, train
from world4scorer.planner.training.run_files import read_run


def train_variant(
    folder: Annotated[Path, tyro.conf.Positional], machine: Annotated[Machine, tyro.conf.arg(name="")]
) -> None:
    """Train in a folder that holds a configuration and the places of the data."""
    config, data = read_run(folder)
    train(config, data, folder, machine)


if __name__ == "__main__":
    tyro.cli(train_variant)
