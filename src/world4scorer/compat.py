"""Labels for existing code bases, under the calling conventions that they use (docs/drop-in.md).

>>> from world4scorer.compat import BatchLabels
>>> labels = BatchLabels.from_store("scenes")           # or from_metric_caches("metric_cache")
>>> labels(proposals, tokens)["score"]                  # (B, N) of proposals (B, N, 8, 3), NumPy or PyTorch

>>> from world4scorer.compat import MetricCacheFolder, PDMScorer, PDMSimulator, proposal_states
>>> cache = MetricCacheFolder("metric_cache")[token]    # official metric caches, read without running code
>>> simulated = PDMSimulator().simulate_proposals(proposal_states(cache.scene, plans), cache.ego_state)
>>> scorer = PDMScorer()
>>> scorer.score_proposals(
...     simulated, cache.observation, cache.centerline, cache.route_lane_ids, cache.drivable_area_map
... )
"""

from world4scorer.datasets.metric_cache.folder import MetricCacheFolder
from world4scorer.datasets.metric_cache.read import MetricCache, read_metric_cache
from world4scorer.evaluation.drop_in.batch_labels import BatchLabels
from world4scorer.evaluation.drop_in.pdm_score import pdm_score
from world4scorer.evaluation.drop_in.scorer import PDMScorer
from world4scorer.evaluation.drop_in.simulator import PDMSimulator, proposal_states

__all__ = [
    "BatchLabels",
    "MetricCache",
    "MetricCacheFolder",
    "PDMScorer",
    "PDMSimulator",
    "pdm_score",
    "proposal_states",
    "read_metric_cache",
]
