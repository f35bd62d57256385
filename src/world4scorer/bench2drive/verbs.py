"""The verbs of `w4s b2d`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from world4scorer.leaderboard.verbs import VERBS as RESULTS
from world4scorer.serving.verbs import agent

VERBS: Final[dict[str, Callable[..., int]]] = {"agent": agent, **RESULTS}
