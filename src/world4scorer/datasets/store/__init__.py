"""Prepared scenes on disk: one Arrow file per log, memory-mapped, scenes by token."""

from world4scorer.datasets.store.scene_store import SceneStore, UnknownTokenError
from world4scorer.datasets.store.schema import StoreError
from world4scorer.datasets.store.shard_writer import PreparedScene, ShardInfo, write_shard

__all__ = ["PreparedScene", "SceneStore", "ShardInfo", "StoreError", "UnknownTokenError", "write_shard"]
