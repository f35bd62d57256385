"""A Ray cluster of two nodes on this machine, each with one processor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import pytest

STORE_BYTES = 100_000_000
"""Shared memory of a node."""


@dataclass
class RayCluster:
    cluster: Any
    address: str
    second: Any

    def lose_a_node(self) -> None:
        """Kill the processes of the second node."""
        self.cluster.remove_node(self.second, allow_graceful=False)


@contextmanager
def ray_cluster() -> Iterator[RayCluster]:
    """Both nodes, until the block ends. Skips, by name, where Ray is not installed."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'world4scorer[cluster]'")
    from ray.cluster_utils import Cluster

    # One thread a task, as Ray does by itself; nothing is reported to anybody.
    quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "OMP_NUM_THREADS": "1"}
    with patch.dict(os.environ, quiet):
        node = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
        cluster = Cluster(True, head_node_args=node)
        try:
            second = cluster.add_node(**node)
            cluster.wait_for_nodes()
            yield RayCluster(cluster, cluster.address, second)
        finally:
            ray.shutdown()
            cluster.shutdown()
