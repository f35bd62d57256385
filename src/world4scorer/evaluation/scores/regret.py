"""Where the regret of choices lies: by what is wrong with the chosen plan, and by what the planner does not know.

Regret is the PDMS v1.1 of the best plan of a pool less that of the chosen one.

Shapes: S frames, N plans.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Table
from world4scorer.engine.outcomes.results import V1_COLUMNS
from world4scorer.engine.selection.utility import OUTCOMES, utility_of_logits
from world4scorer.evaluation.pools.choices import framewise
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, plain

REST: Final = "none of these: progress, comfort"
KNOWN: Final = (("NC",), ("DAC",), ("TTC",), ("EP",), ("C",), ("NC", "DAC", "TTC"))
"""Outcomes that are replaced by the truth together."""
CERTAIN: Final = 20.0
"""Logit of what is known."""


def faults(v1_S7: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    """Which plans (S,) have which fault, the first that applies."""
    outcome = dict(zip(V1_COLUMNS, v1_S7.T, strict=True))
    found: dict[str, NDArray[np.bool_]] = {}
    left = np.ones(len(v1_S7), bool)
    for name, wrong in (
        ("leaves the drivable area", outcome["DAC"] < 1),
        ("collides, at fault", outcome["NC"] < 1),
        ("would collide soon", outcome["TTC"] < 1),
    ):
        found[name] = left & wrong
        left = left & ~wrong
    return {**found, REST: left}


def choices_knowing(pools: ScoredPools, known: tuple[str, ...]) -> NDArray[np.int64]:
    """Framewise choices (S,) by v1 utility if some outcomes were known instead of predicted."""
    assert pools.logits is not None
    logits = np.array(pools.logits, np.float64)
    for name in known:
        truth = pools.v1[..., V1_COLUMNS.index(name)].clip(0.0, 1.0)
        with np.errstate(divide="ignore"):
            logits[..., OUTCOMES.index(name)] = (np.log(truth) - np.log1p(-truth)).clip(-CERTAIN, CERTAIN)
    return framewise(utility_of_logits(logits, "v1"))


def regret_tables(pools: ScoredPools, bootstrap: LogBootstrap) -> tuple[tuple[Table, ...], dict[str, Any]]:
    """Tables and plain numbers; what knowing outcomes would bring only for pools with logits."""
    chosen = pools.at(pools.v1, framewise(pools.utility_v1))
    score = chosen[:, V1_COLUMNS.index("PDMS")]
    regret = pools.pdms.max(1) - score
    rows: dict[str, tuple[Interval, Interval]] = {
        name: (bootstrap.mean(there.astype(np.float64)), bootstrap.mean(np.where(there, regret, 0.0)))
        for name, there in faults(chosen).items()
    }
    everything = bootstrap.mean(np.ones(len(pools))), bootstrap.mean(regret)
    lines = [
        (name, share.times(100).text(), lost.times(100).text(2))
        for name, (share, lost) in {**rows, "all": everything}.items()
    ]
    title = "Regret of framewise choices by PDMS v1.1: the best plan of the pool less the chosen one (points)"
    tables = [Table(title, ("the chosen plan", "frames [%]", "regret"), tuple(lines))]
    numbers: dict[str, Any] = {
        "by_fault": {name: {"frames": plain(share), "regret": plain(lost)} for name, (share, lost) in rows.items()}
    }
    if pools.logits is not None:
        knowing = {" + ".join(known): pools.at(pools.pdms, choices_knowing(pools, known)) for known in KNOWN}
        gains = {name: bootstrap.mean(scores - score) for name, scores in knowing.items()}
        tables.append(
            Table(
                "Points gained if an outcome were known instead of predicted",
                ("known", "PDMS"),
                tuple((name, gain.times(100).text(2, signed=True)) for name, gain in gains.items()),
            )
        )
        numbers["if_known"] = {name: plain(gain) for name, gain in gains.items()}
    return tuple(tables), numbers
