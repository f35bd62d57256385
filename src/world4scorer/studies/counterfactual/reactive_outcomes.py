"""Non-reactive labels against reactive ones: how often they agree, and what the difference is worth.

Shapes: S scenes, K branched plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.drawing.finding import Table
from world4scorer.engine.outcomes.results import V1_COLUMNS, V2_COLUMNS, epdms_of_table
from world4scorer.evaluation.scores.bootstrap import Interval, LogBootstrap, cell, plain, verdict
from world4scorer.studies.branches.outcomes import BranchOutcomes

Floats = NDArray[np.float64]

COMPONENTS: Final = {
    **{f"{name} v1.1": ("v1", name) for name in ("NC", "DAC", "TTC", "C", "DDC", "EP")},
    **{f"{name} v2.2": ("v2", name) for name in ("NC", "DAC", "DDC", "TLC", "TTC", "LK", "HC", "EP")},
}
UNTOUCHED: Final = ("DAC v1.1", "C v1.1", "DDC v1.1", "DAC v2.2", "DDC v2.2", "LK v2.2", "HC v2.2")
"""They look at the ego and the map alone."""
SAME_TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class Agreement:
    """One component, over all branched plans."""

    same: Interval
    """Share of plans with the same value both ways."""
    missed: Interval
    """Of plans that fail (value below 1) in reactive traffic, the share that replay lets pass."""
    false_alarms: Interval
    """Of plans that pass in reactive traffic, the share that fails in replay."""
    shift: Interval
    """Reactive minus replayed mean."""
    failing: int
    """Plans that fail in reactive traffic."""


@dataclass(frozen=True)
class Reactive:
    """All of it."""

    components: dict[str, Agreement]
    seen: dict[str, Agreement]
    """The same of plans in whose branches the traffic sees the ego all the time, where traffic can matter."""
    pdms: Interval
    """Shift of the mean over plans, reactive minus replayed."""
    epdms: Interval
    """Without human filter and extended comfort."""
    best_kept: Interval
    """Scenes in which a plan that replay holds for best among the K is best in reactive traffic too."""
    regret: Interval
    """Reactive PDMS lost by taking the plan that replay holds for best, against the reactive best."""
    sampling: Interval
    """Plans whose v1.1 labels change when traffic is read at every 0.1 s."""
    control: Interval
    """Scenes whose logged plan has the same labels, v1.1 and v2.2, while the ego passes through the logged poses."""
    control_plan: Interval
    """The same while the ego follows the rollout of the logged plan."""


def compare(
    outcomes: Sequence[BranchOutcomes], log_names: Sequence[str], draws: int, seen: NDArray[np.bool_]
) -> Reactive:
    """Compare both kinds of labels; the components that traffic cannot touch must be the same.

    `seen` (S, K) are plans in whose branches the traffic sees the ego all the time.
    """
    bootstrap = LogBootstrap(log_names, draws)
    tables = {
        name: np.stack([getattr(one, name) for one in outcomes])
        for name in ("replayed_v1", "reactive_v1", "replayed_v2", "reactive_v2", "every_step_v1")
    }
    found, among_seen = {}, {}
    for label, (version, name) in COMPONENTS.items():
        column = (V1_COLUMNS if version == "v1" else V2_COLUMNS).index(name)
        before, after = (tables[f"{kind}_{version}"][:, 1:, column] for kind in ("replayed", "reactive"))
        if label in UNTOUCHED:
            assert np.array_equal(before, after), f"{label} differs, though no traffic enters it"
        found[label] = _agreement(bootstrap, before, after, np.ones_like(seen))
        if label not in UNTOUCHED:
            among_seen[label] = _agreement(bootstrap, before, after, seen)
    last = V1_COLUMNS.index("PDMS")
    before, after = tables["replayed_v1"][:, 1:, last], tables["reactive_v1"][:, 1:, last]
    taken = np.take_along_axis(after, before.argmax(1)[:, None], 1)[:, 0]
    extended = [epdms_of_table(tables[f"{kind}_v2"][:, 1:]).mean(1) for kind in ("reactive", "replayed")]
    fine = (np.abs(tables["every_step_v1"] - tables["reactive_v1"]) > SAME_TOLERANCE).any(2)[:, 1:]
    control = [
        _alike(one.control_v1, one.replayed_v1[0]) and _alike(one.control_v2, one.replayed_v2[0]) for one in outcomes
    ]
    rolled = [
        _alike(one.reactive_v1[0], one.replayed_v1[0]) and _alike(one.reactive_v2[0], one.replayed_v2[0])
        for one in outcomes
    ]
    return Reactive(
        components=found,
        seen=among_seen,
        pdms=bootstrap.mean((after - before).mean(1)),
        epdms=bootstrap.mean(extended[0] - extended[1]),
        best_kept=bootstrap.mean(taken >= after.max(1) - SAME_TOLERANCE),
        regret=bootstrap.mean(after.max(1) - taken),
        sampling=bootstrap.mean(fine.mean(1)),
        control=bootstrap.mean(control),
        control_plan=bootstrap.mean(rolled),
    )


def _alike(one: Floats, other: Floats) -> bool:
    return bool((np.abs(one - other) <= SAME_TOLERANCE).all())


def _agreement(bootstrap: LogBootstrap, before: Floats, after: Floats, there: NDArray[np.bool_]) -> Agreement:
    """Of values (S, K) where they are asked for."""
    same, alarm, fails = (
        there & (np.abs(before - after) <= SAME_TOLERANCE),
        there & (before < 1 - SAME_TOLERANCE),
        there & (after < 1 - SAME_TOLERANCE),
    )
    passes = there & ~fails
    return Agreement(
        same=bootstrap.ratio(same.sum(1), there.sum(1)),
        missed=bootstrap.ratio((fails & ~alarm).sum(1), fails.sum(1)),
        false_alarms=bootstrap.ratio((alarm & passes).sum(1), passes.sum(1)),
        shift=bootstrap.ratio(np.where(there, after - before, 0.0).sum(1), there.sum(1)),
        failing=int(fails.sum()),
    )


def table(found: Reactive) -> Table:
    """Component by component, in percent."""
    rows = [
        (
            name,
            cell(one.same),
            str(one.failing),
            cell(one.missed),
            cell(one.false_alarms),
            cell(one.shift, 100, 2, True),
        )
        for name, one in [*found.components.items(), *((f"{name}, seen", one) for name, one in found.seen.items())]
    ]
    columns = ("non-reactive against reactive labels [%]", "same", "failing plans", "missed", "false alarms", "shift")
    return Table("What replay says of plans that nobody drove, and what happens", columns, tuple(rows))


def remark(found: Reactive) -> str:
    """What the numbers say."""
    return (
        f"Traffic that answers {verdict(found.pdms)} the mean PDMS of these plans ({cell(found.pdms, 100, 2, True)} "
        f"points; EPDMS {cell(found.epdms, 100, 2, True)}). A plan that replay holds for the best of a scene is best "
        f"in reactive traffic, too, in {cell(found.best_kept)} % of scenes; taking it costs "
        f"{cell(found.regret, 100, 2)} points. Components that look at ego and map alone agree "
        f"everywhere, as they must. Reading traffic ten times a second in place of twice changes some v1.1 label of "
        f"{cell(found.sampling)} % of plans."
    )


def numbers(found: Reactive) -> dict[str, Any]:
    """As plain values."""
    parts = ("same", "missed", "false_alarms", "shift")
    groups = {
        group: {
            name: {**{part: plain(getattr(one, part)) for part in parts}, "failing": one.failing}
            for name, one in getattr(found, group).items()
        }
        for group in ("components", "seen")
    }
    whole = ("pdms", "epdms", "best_kept", "regret", "sampling", "control", "control_plan")
    return {**groups, **{name: plain(getattr(found, name)) for name in whole}}
