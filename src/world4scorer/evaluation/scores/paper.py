"""What the paper reports, to be put beside our own numbers; never presented as ours."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def _all() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((files("world4scorer.evaluation.scores") / "paper_numbers.json").read_text())
    return content


def paper(part: str) -> Any:
    """The numbers of one part: `reranking`, `interventions`, ..."""
    return _all()[part]
