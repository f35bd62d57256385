"""The subcommands of `w4s study`.

w4s study reranking runs/city
w4s study interventions pools --out findings
w4s study label-pairing runs/city --seeds 3 4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from world4scorer.cli.study import planners, pools, variants
from world4scorer.studies.registry import STUDIES

_COMMANDS: Final = vars(planners) | vars(pools) | vars(variants)

SUBCOMMANDS: Final[dict[str, Callable[..., int]]] = {
    study.name: _COMMANDS[study.target.partition(":")[2]] for study in STUDIES.values()
}
"""In the registry's order; each command is called as the study's function."""
