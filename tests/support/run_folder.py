"""The folder of a training run, as far as studies read it, without training."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from tests.support.small_training import TrainingSet
from world4scorer.jobs.run_folder import RunFolder
from world4scorer.planner.training.run import TrainData


def write_run(folder: Path, training_set: TrainingSet, data: TrainData) -> Path:
    """Write configuration and data."""
    folder.mkdir()
    RunFolder(folder).config_file.write_text(training_set.config.to_json())
    known = {name: None if value is None else str(value) for name, value in asdict(data).items() if name != "rollouts"}
    RunFolder(folder).data_file.write_text(json.dumps(known))
    return folder
