"""How alike are a scene's view and its view two seconds later, as the frozen encoder sees them? (appendix C.1)

Each current view is compared by cosine with its own future, with one of the same log at another time, with the future
of another scene, and with one of another log; as the features are, and with the mean of all scenes taken off.

Shapes: N frames of the training split that have a future, E features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Finding
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, one_minus, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.studies.shared.pair_statistics import QUANTILE_DRAWS, auc, cohen_d, quantile
from world4scorer.studies.shared.reassignment import derangement
from world4scorer.studies.shared.spectrum import effective_rank, rank_of_singular_values, variances, within_share
from world4scorer.studies.target_geometry import pairings
from world4scorer.studies.target_geometry.figure import draw
from world4scorer.studies.target_geometry.tables import RANK_DRAWS, remarks, tables
from world4scorer.studies.target_geometry.views import Form, Views, open_views

Floats = NDArray[np.float64]

NAME: Final = "target-geometry"
FORMS: Final[tuple[Form, ...]] = ("raw", "centred")
KINDS: Final = ("true", "same_log", "shuffled", "other_log")
CONTRASTS: Final = ("shuffled", "other_log", "same_log")
"""What true pairs are compared with."""
PERCENTILES: Final = (1, 5, 25, 50, 75, 95, 99)
RANKS: Final[dict[str, Callable[[Floats], float]]] = {
    "singular_values": rank_of_singular_values,
    "variances": effective_rank,
}


@dataclass(frozen=True, eq=False)
class Geometry:
    """What is measured of views."""

    views: Views
    draws: int
    seed: int

    @cached_property
    def bootstrap(self) -> LogBootstrap:
        """Draws of the logs of the current views."""
        return LogBootstrap(self.views.log_names, self.draws)

    @cached_property
    def pairings(self) -> dict[str, NDArray[np.int64]]:
        """By kind of pair, (N,) whose future each frame is given."""
        views = self.views
        return {
            "true": np.arange(len(views)),
            "same_log": pairings.of_same_log(views.log_names, views.time_s, self.seed),
            "shuffled": derangement(len(views), self.seed),
            "other_log": pairings.of_other_groups(views.log_names, self.seed),
        }

    @cached_property
    def cosines(self) -> dict[Form, dict[str, Floats]]:
        """By form and kind of pair, (N,) with NaN where a frame has no such pair."""
        found: dict[Form, dict[str, Floats]] = {}
        for form in FORMS:
            current, future = self.views.pair(form)
            found[form] = {kind: pairings.cosines(current, future, given) for kind, given in self.pairings.items()}
        return found

    @cached_property
    def means(self) -> dict[Form, dict[str, Interval]]:
        """Mean cosine by form and kind; `floor` is that of all pairs of different frames, so nothing is drawn."""
        return {
            form: {
                **{kind: self.bootstrap.mean(values) for kind, values in kinds.items()},
                "floor": Interval(pairings.mean_cosine_of_all(*self.views.pair(form)), np.nan, np.nan),
            }
            for form, kinds in self.cosines.items()
        }

    @cached_property
    def percentiles(self) -> dict[Form, dict[str, dict[int, float]]]:
        """By form and kind; none for a kind without pairs."""
        return {
            form: {kind: _percentiles(values) for kind, values in kinds.items()} for form, kinds in self.cosines.items()
        }

    @cached_property
    def fifth(self) -> dict[Form, Interval]:
        """The fifth percentile of true pairs."""
        return {form: quantile(self.bootstrap, kinds["true"], 0.05) for form, kinds in self.cosines.items()}

    @cached_property
    def told_apart(self) -> dict[Form, dict[str, tuple[Interval, Interval]]]:
        """By form and other kind: AUC and Cohen's d of true pairs against it."""
        return {
            form: {
                kind: tuple(of(self.bootstrap, kinds["true"], kinds[kind]) for of in (auc, cohen_d))  # type: ignore[misc]
                for kind in CONTRASTS
            }
            for form, kinds in self.cosines.items()
        }

    @cached_property
    def features(self) -> dict[str, Floats]:
        """Both sets of features by name."""
        return {"current": self.views.current, "future": self.views.future}

    @cached_property
    def spectra(self) -> dict[str, Floats]:
        """By set of features, (E,) shares of variance, largest first."""
        found = {name: variances(vectors) for name, vectors in self.features.items()}
        return {name: values / max(values.sum(), 1e-300) for name, values in found.items()}

    @cached_property
    def ranks(self) -> dict[str, dict[Form, dict[str, Interval]]]:
        """Effective rank by set of features, form, and kind of spectrum."""
        return {
            name: {form: self._ranks(vectors, form == "centred") for form in FORMS}
            for name, vectors in self.features.items()
        }

    def _ranks(self, vectors: Floats, centred: bool) -> dict[str, Interval]:
        def ranks(often: Floats) -> list[float]:
            squared = variances(vectors, centred, often[self.bootstrap.log])
            return [of(squared) for of in RANKS.values()]

        found = self.bootstrap.each_of_logs(lambda drawn: np.array([ranks(often) for often in drawn]), RANK_DRAWS)
        return dict(zip(RANKS, found, strict=True))

    @cached_property
    def between_logs(self) -> dict[str, Interval]:
        """Share of each set's variance that lies between logs."""
        logs = self.views.log_names
        return {name: one_minus(within_share(self.bootstrap, some, logs)) for name, some in self.features.items()}


def target_geometry(
    run: Path, encoder: str | None = None, seed: int = 0, draws: int = 10_000, split: str | None = None
) -> Finding:
    """Compare views of the run's training split, or another; `encoder` sees them, if not that of the run's targets."""
    return describe(Geometry(open_views(run, encoder, split), draws, seed))


def _percentiles(values: Floats) -> dict[int, float]:
    """By the definition of `quantile`: the least value that so many percent do not exceed."""
    known = values[~np.isnan(values)]
    if not len(known):
        return {}
    return {percent: float(np.percentile(known, percent, method="inverted_cdf")) for percent in PERCENTILES}


def describe(found: Geometry) -> Finding:
    """The finding on views."""
    reported = paper("target_geometry")
    return Finding(
        name=NAME,
        title="What the target keeps of the present",
        question="How alike are a scene's view and its view two seconds later, beside futures of other scenes?",
        data=found.views.described,
        weights="",
        numbers=_numbers(found),
        tables=tables(found, reported),
        remarks=remarks(found),
        paper=reported,
        figure=draw(found, reported),
    )


def _numbers(found: Geometry) -> dict[str, Any]:
    forms: dict[str, Any] = {
        form: {
            "cosine": {kind: plain(one) for kind, one in found.means[form].items()},
            "cosine_p5_true": plain(found.fifth[form]),
            "percentiles": {
                kind: {str(percent): value for percent, value in some.items()}
                for kind, some in found.percentiles[form].items()
            },
            "true_against": {
                kind: {"auc": plain(one), "cohen_d": plain(other)}
                for kind, (one, other) in found.told_apart[form].items()
            },
        }
        for form in FORMS
    }
    return {
        "frames": len(found.views),
        "logs": found.bootstrap.logs,
        "features": int(found.views.current.shape[1]),
        "frames_without": {kind: int((given < 0).sum()) for kind, given in found.pairings.items()},
        "seed": found.seed,
        "draws": found.draws,
        "rank_draws": min(RANK_DRAWS, found.draws),
        "quantile_draws": min(QUANTILE_DRAWS, found.draws),
        **forms,
        "effective_rank": {
            name: {form: {kind: plain(one) for kind, one in kinds.items()} for form, kinds in some.items()}
            for name, some in found.ranks.items()
        },
        "between_logs": {name: plain(one) for name, one in found.between_logs.items()},
        "variance_shares": {name: shares.tolist() for name, shares in found.spectra.items()},
    }
