"""Outcomes of plans: the metrics of NAVSIM v1.1 and v2.2, one file each, and their combination."""

from world4scorer.engine.outcomes.batch import get_threads, label_batch, set_threads
from world4scorer.engine.outcomes.causes import Cause
from world4scorer.engine.outcomes.extended_comfort import extended_comfort
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, V1Outcome, V2Outcome
from world4scorer.engine.outcomes.scene_judge import Judge
from world4scorer.engine.outcomes.v1 import label, pdms
from world4scorer.engine.outcomes.v2 import epdms

__all__ = [
    "V1_COLUMNS",
    "V2_COLUMNS",
    "Cause",
    "Judge",
    "V1Outcome",
    "V2Outcome",
    "epdms",
    "extended_comfort",
    "get_threads",
    "label",
    "label_batch",
    "pdms",
    "set_threads",
]
