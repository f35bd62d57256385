"""All studies in the paper's order. Light: nothing of a study is imported until its function is asked for.

>>> STUDIES["reranking"].function()(open_pools(Path("runs/city")))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from world4scorer.drawing.finding import Finding


@dataclass(frozen=True)
class Study:
    """One question of the paper."""

    name: str
    """As in `w4s study NAME`."""
    paper: str
    """Table, figure or section of the paper; empty for a study that the paper lacks."""
    target: str
    """Import path of its function, below `world4scorer.studies`."""
    source: Literal["run", "run or pools"]
    """What it is made of."""
    trains: bool = False
    """Whether it trains planners or networks that are missing."""

    def function(self) -> Callable[..., Finding]:
        """Import the function that makes the finding."""
        module, name = self.target.split(":")
        found: Callable[..., Finding] = getattr(import_module(f"world4scorer.studies.{module}"), name)
        return found


STUDIES: Final = MappingProxyType(
    {
        study.name: study
        for study in (
            Study("auxiliary-target", "Table 2a", "auxiliary_target.study:auxiliary_target", "run", trains=True),
            Study("label-pairing", "Table 2b", "label_pairing.study:label_pairing", "run", trains=True),
            Study("parts", "", "parts.study:parts", "run", trains=True),
            Study("reranking", "Table 2c", "reranking.study:reranking", "run or pools"),
            Study("interventions", "Table 4, D.1", "interventions.study:interventions", "run or pools"),
            Study("disagreement", "B.2", "disagreement.study:disagreement", "run or pools"),
            Study("calibration", "", "calibration.study:calibration", "run or pools"),
            Study("target-geometry", "C.1", "target_geometry.study:target_geometry", "run"),
            Study("state-geometry", "C.3", "state_geometry.study:state_geometry", "run"),
            Study("stability", "Proposition 1, C.4", "stability.study:stability", "run"),
            Study("readouts", "Fig. 4, C", "readouts.study:readouts", "run", trains=True),
            Study("counterfactual", "4.4, C.2", "counterfactual.study:counterfactual", "run", trains=True),
            Study("taxonomy", "E.1", "taxonomy.study:taxonomy", "run or pools"),
            Study("consecutive", "E.2", "consecutive.study:consecutive", "run or pools"),
            Study("lambda", "E.3", "lambda_weight.study:lambda_weight", "run or pools"),
            Study("history", "E.4", "history.study:history", "run or pools"),
            Study("coverage", "E.3", "coverage.study:coverage", "run", trains=True),
        )
    }
)
