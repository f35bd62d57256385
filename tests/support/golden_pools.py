"""Pools of the golden logs, whose choices at five weights the official implementation gave."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.support.golden import outcome_files
from tests.support.stored_pools import write_pools
from world4scorer import read_exchange
from world4scorer.datasets.store import write_shard
from world4scorer.evaluation.pools import LogPool

GOLDEN_LOGS = [path for path in outcome_files() if "_log" in path.name]


def golden_pools(path: Path, root: Path) -> tuple[Path, Any]:
    """Write ROOT/store and ROOT/pools of a golden log; returns the latter, and what is expected."""
    frames = read_exchange(path)
    name = frames[0].scene.log_name
    write_shard(root / "store", name, [frame.scene for frame in frames])
    plans = np.stack([frame.plans for frame in frames]).astype(np.float32)
    worth = np.stack([frame.utilities for frame in frames])
    times = np.array([frame.scene.time_us for frame in frames])
    log = LogPool(name, tuple(frame.scene.token for frame in frames), times, plans, worth, worth)
    return write_pools(root / "pools", root / "store", [log]), np.load(path)
