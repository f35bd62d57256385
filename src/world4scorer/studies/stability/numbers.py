"""The numbers of the study of stability.

Shapes: S scenes, K pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.engine.selection.pool_metrics import ORDERING_MARGIN
from world4scorer.evaluation.scores.bootstrap import LogBootstrap, plain
from world4scorer.studies.shared.pair_statistics import auc
from world4scorer.studies.shared.row_correlation import rank_correlation
from world4scorer.studies.stability.scenes import KINDS, PUSHES, RivalRadii, SceneRadii

Floats = NDArray[np.float64]

BUDGETS: Final = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
"""Values of epsilon that tables show."""
CONDITION: Final = 1e-6
"""Change of the futures along the worst step of a unit budget from which on it counts as one; less is rounding."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured, and in what."""

    scenes: tuple[SceneRadii, ...]
    log_names: tuple[str, ...]
    """(S,)"""
    regret: Floats
    """(S,) PDMS of the best plan of the pool less that of the choice"""
    other: NDArray[np.int64] | None
    """(S,) choices of another planner among the same plans"""
    supervised: int
    rows: int
    """Numbers that supervise."""
    parameters: int
    theta: float
    """|theta|"""
    mu: float
    draws: int

    @property
    def pairs(self) -> list[RivalRadii]:
        """All of them."""
        return [pair for scene in self.scenes for pair in scene.pairs]

    @property
    def critical(self) -> Floats:
        """(S,) least budget at which a rival that was solved for can take over, held by outcomes and futures."""
        return np.array([min(pair.critical for pair in scene.pairs) for scene in self.scenes])

    @property
    def critical_out(self) -> Floats:
        """(S,) the same, held by outcomes alone."""
        return np.array([min(pair.critical_out for pair in scene.pairs) for scene in self.scenes])

    @property
    def others(self) -> Floats:
        """(S,) budget below which no other rival can take over."""
        return np.array([scene.others for scene in self.scenes])

    def certified(self, epsilon: float, future: bool) -> NDArray[np.bool_]:
        """(S,) which choices are proven to hold throughout a budget."""
        critical = self.critical if future else self.critical_out
        return np.asarray((critical > epsilon) & (self.others > epsilon))

    @property
    def bootstrap(self) -> LogBootstrap:
        """Of logs."""
        return LogBootstrap(self.log_names, self.draws)


def numbers_of(measured: Measured) -> dict[str, Any]:
    """Everything, as plain values."""
    bootstrap, scenes = measured.bootstrap, measured.scenes
    ratios = [np.array([pair.both / pair.out for pair in scene.pairs if pair.out]) for scene in scenes]
    every = np.concatenate(ratios)
    pairs = measured.pairs
    known = [pair for pair in pairs if pair.out]
    wrong = measured.regret > ORDERING_MARGIN
    complete = measured.others >= measured.critical
    labels = {
        kind: bootstrap.mean([1 - scene.labels[kind] if kind in scene.labels else np.nan for scene in scenes])
        for kind in KINDS
    }
    scales = {
        mu: bootstrap.mean(
            [scene.scales[mu][1] / scene.scales[mu][0] if mu in scene.scales else np.nan for scene in scenes]
        )
        for mu in sorted({mu for scene in scenes for mu in scene.scales}, key=float)
    }
    detailed = np.array([bool(scene.scales) for scene in scenes])
    own = [
        scene.nearest.both / scene.nearest.out if is_detailed else np.nan
        for scene, is_detailed in zip(scenes, detailed, strict=True)
    ]
    result: dict[str, Any] = {
        "scenes": len(scenes),
        "logs": len(set(measured.log_names)),
        "supervised_scenes": measured.supervised,
        "supervising_numbers": measured.rows,
        "parameters": measured.parameters,
        "theta_norm": measured.theta,
        "mu": measured.mu,
        "pairs": len(pairs),
        "ratio": plain(bootstrap.mean([part.mean() if len(part) else np.nan for part in ratios])),
        "ratio_quantiles": {f"{q:g}": float(np.quantile(every, q)) for q in (0.0, 0.1, 0.5, 0.9, 1.0)},
        "not_larger": sum(pair.both <= pair.out * (1 + pair.gap) for pair in pairs),
        "proven_smaller": sum(pair.smaller for pair in pairs),
        "condition_holds": sum(pair.foreseen > CONDITION * pair.out for pair in pairs),
        "least_condition": min((pair.foreseen / pair.out for pair in known), default=None),
        "widest_bracket": max(pair.gap for pair in pairs),
        "iterations": float(np.mean([pair.iterations for pair in pairs])),
        "woodbury_error": max((s.woodbury for s in scenes if s.woodbury is not None), default=None),
        "woodbury_pairs": sum(scene.woodbury is not None for scene in scenes),
        "critical_quantiles": {f"{q:g}": float(np.quantile(measured.critical, q)) for q in (0.1, 0.5, 0.9)},
        "critical_out_quantiles": {f"{q:g}": float(np.quantile(measured.critical_out, q)) for q in (0.1, 0.5, 0.9)},
        "critical_gain": plain(bootstrap.mean(_gain(measured))),
        "complete": plain(bootstrap.mean(complete)),
        "certified": {
            f"{epsilon:g}": {
                "out": plain(bootstrap.mean(measured.certified(epsilon, False))),
                "out_future": plain(bootstrap.mean(measured.certified(epsilon, True))),
                "only_with_future": int(
                    (measured.certified(epsilon, True) & ~measured.certified(epsilon, False)).sum()
                ),
            }
            for epsilon in BUDGETS
        },
        "flipped": {
            f"{share:g}": plain(bootstrap.mean([scene.flipped[index] for scene in scenes]))
            for index, share in enumerate(PUSHES)
        },
        "taken_off_by_labels": {kind: plain(one) for kind, one in labels.items()},
        "ratio_nearest_by_mu": {
            **{mu: plain(one) for mu, one in scales.items()},
            f"{measured.mu:g}": plain(bootstrap.mean(own)),
        },
        "wrong": int(wrong.sum()),
        "wrong_auc": _auc(measured, -measured.critical, wrong),
        "wrong_auc_lead": _auc(measured, -np.array([min(p.lead for p in s.pairs) for s in scenes]), wrong),
        "regret_rank_correlation": _rank_correlation(measured.critical, measured.regret),
    }
    if measured.other is not None:
        flipped = measured.other != np.array([scene.choice for scene in scenes])
        result["other_choice_differs"] = plain(bootstrap.mean(flipped))
        result["other_auc"] = _auc(measured, -measured.critical, flipped)
    return result


def _auc(measured: Measured, values: Floats, positive: NDArray[np.bool_]) -> dict[str, float | None] | None:
    """The chance that a positive scene (S,) has the larger value (S,) of a pair of scenes, with its interval."""
    higher, lower = (np.where(which, values, np.nan) for which in (positive, ~positive))
    return plain(auc(measured.bootstrap, higher, lower))


def _gain(measured: Measured) -> Floats:
    """(S,) how many times the critical budget grows by futures; NaN where there is no such budget."""
    known = np.isfinite(measured.critical_out) & (measured.critical_out > 0)
    gain = np.full(len(known), np.nan)
    np.divide(measured.critical, measured.critical_out, out=gain, where=known)
    return gain


def _rank_correlation(a: Floats, b: Floats) -> float | None:
    """Spearman's, None where one of the two is constant."""
    found = float(rank_correlation(a[None], b[None])[0])
    return None if np.isnan(found) else found
