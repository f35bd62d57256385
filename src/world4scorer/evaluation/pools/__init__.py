"""A planner's whole pools, kept in files: what it proposed and thought, what the simulator says, what is chosen."""

from world4scorer.evaluation.pools.choices import continued, framewise, inertial
from world4scorer.evaluation.pools.pool_files import LogPool, PoolError, PoolFolder
from world4scorer.evaluation.pools.scored import ScoredPools

__all__ = ["LogPool", "PoolError", "PoolFolder", "ScoredPools", "continued", "framewise", "inertial"]
