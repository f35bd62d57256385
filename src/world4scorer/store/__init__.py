"""Prepared scenes on disk: one Arrow file per log, memory-mapped, scenes by token."""

from world4scorer.store.scene_store import SceneStore, UnknownTokenError
from world4scorer.store.schema import StoreError
from world4scorer.store.shard_writer import PreparedScene, ShardInfo, write_shard

__all__ = ["PreparedScene", "SceneStore", "ShardInfo", "StoreError", "UnknownTokenError", "write_shard"]
