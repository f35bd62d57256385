"""Load a planner for serving and warm it up."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer.driving.closed_loop.planner_agent import AgentOptions
from world4scorer.driving.serving.protocol import Message, MessageKind
from world4scorer.driving.serving.session import CAMERAS, ServedPlanner, Session
from world4scorer.engine.routes.commands import RoadOption
from world4scorer.evaluation.pools.pool_files import digest_of_planner
from world4scorer.jobs.run_folder import RunFolder, Weights
from world4scorer.planner.bundled import planner_folder
from world4scorer.planner.planner import Planner
from world4scorer.planner.training.run_files import has_direction_labels

WARM_UP_DECISIONS: Final = 3
"""Warm-up decisions: kernels are loaded, torch allocates memory."""


def load_served_planner(
    checkpoint: Path, options: AgentOptions, fixed: bool = False, device: str = "cpu", weights: Weights = "best"
) -> ServedPlanner:
    """Load a planner from its folder or from its training run."""
    checkpoint = planner_folder(checkpoint)
    if not checkpoint.exists():
        raise ValueError(f"{checkpoint}: no such folder; `w4s train` makes one, `w4s import` another")
    run = RunFolder(checkpoint)
    folder = run.finished_planner(weights) if run.is_finished else checkpoint
    planner = Planner.from_pretrained(folder).to(device)
    if planner.config.cameras > len(CAMERAS):
        raise ValueError(f"{folder}: looks through {planner.config.cameras} cameras; {len(CAMERAS)} can be served")
    known = has_direction_labels(folder, planner.config)
    return ServedPlanner(planner, str(checkpoint), digest_of_planner(folder), options, fixed, known)


def warm_up(served: ServedPlanner) -> None:
    """Run decisions on black images with all options enabled."""
    session = Session(served)
    session.answer(Message(MessageKind.HELLO, {"client": "practice"}))
    line = np.column_stack([np.arange(100.0), np.zeros(100)])
    nodes = {"nodes": line[::50], "node_options": np.full(2, 4, np.int32)}
    options = {} if served.fixed else {"options": {"inertial": 1.0, "route": 4.0, "keep_commands": True}}
    session.answer(Message(MessageKind.BEGIN, {"name": "practice", **options}, {"route": line, **nodes}))
    about = served.describe()
    black = np.zeros((about["image_height"], about["image_width"], 4), np.uint8)
    still: dict[str, Any] = {"pose": [0.0, 0.0, 0.0], "velocity": [5.0, 0.0], "acceleration": [0.0, 0.0]}
    still |= {"channels": "BGRA", "command": RoadOption.LANE_FOLLOW.value}
    for number in range(WARM_UP_DECISIONS):
        session.answer(Message(MessageKind.DECIDE, {"time": number / 2, **still}, dict.fromkeys(served.cameras, black)))
