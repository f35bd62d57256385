"""The words of the geometry of states: tables and remarks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from world4scorer.drawing.finding import Table
from world4scorer.evaluation.scores.bootstrap import Interval, cell
from world4scorer.studies.shared.bank_states import Outcome

if TYPE_CHECKING:
    from world4scorer.studies.state_geometry.study import StateGeometry

ABSENT: Final = "-"
LABELS: Final = {
    "states": "states",
    "untrained": "states before training",
    "random_predictor": "states of a random predictor",
    "trajectories": "trajectories",
    "widened": "trajectories, sideways x 4",
    "chance": "outcomes shuffled",
}
OUTCOMES: Final = {Outcome.SAFE: "safe", Outcome.COLLISION: "collision", Outcome.OFF_ROAD: "off the drivable area"}


def tables(found: StateGeometry, reported: Any) -> tuple[Table, ...]:
    """All tables."""
    return _agreement(found, reported), _spread(found, reported), _groups(found)


def _agreement(found: StateGeometry, reported: Any) -> Table:
    theirs = {"states": "knn_state", "trajectories": "knn_trajectory", "chance": "knn_shuffled"}
    rows = []
    for name in found.agreements:
        gain = ABSENT if name == "trajectories" else cell(found.gain(name, "trajectories"), signed=True)
        value = f"{100 * reported[theirs[name]]:.1f}" if name in theirs else ABSENT
        rows.append(
            (
                LABELS[name],
                cell(found.mean(name)),
                gain,
                ABSENT if name == "trajectories" else _above(found, name, "trajectories"),
                ABSENT if name == "chance" else _above(found, name, "chance"),
                value,
            )
        )
    columns = (
        "nearest by",
        "share the outcome [%]",
        "more than by trajectories",
        "scenes above trajectories",
        "scenes above shuffled",
        "paper, NAVSIM [%]",
    )
    return Table("Five nearest plans of the scene", columns, tuple(rows))


def _above(found: StateGeometry, name: str, over: str) -> str:
    above, equal = found.above(name, over)
    text = f"{above} of {len(found.outcome)}"
    return f"{text} ({equal} equal)" if equal else text


def _spread(found: StateGeometry, reported: Any) -> Table:
    rows = [
        (LABELS[name], f"{one.rank_singular_values:.1f}", f"{one.rank_variances:.1f}", cell(one.within_scenes))
        for name, one in found.spreads.items()
    ]
    rank, share = f"{reported['effective_rank']} (spectrum not said)", f"{100 * reported['within_scene_share']:.1f}"
    rows.append((f"paper, NAVSIM ({reported['dim']} numbers)", rank, ABSENT, share))
    width = found.states["states"].shape[-1]
    columns = ("of", "effective rank, singular values", "variances", "variance within scenes [%]")
    return Table(f"Directions that the {width} numbers of a state fill", columns, tuple(rows))


def _groups(found: StateGeometry) -> Table:
    total = found.groups.sum()
    rows = tuple(
        (
            OUTCOMES[one],
            f"{found.groups[:, one].sum():,}",
            f"{100 * found.groups[:, one].sum() / total:.1f}",
            f"{(found.groups[:, one] > 0).sum()}",
        )
        for one in Outcome
    )
    return Table("Plans by outcome", ("outcome", "plans", "share [%]", "scenes that have some"), rows)


def remarks(found: StateGeometry, reported: Any) -> tuple[str, ...]:
    """What the numbers say."""
    alone = int(((found.groups > 0).sum(1) == 1).sum())
    above, of = reported["above_trajectory"]
    shuffled = 100 * found.shuffled.mean(1)
    by_state, by_plan, before = (cell(found.mean(name)) for name in ("states", "trajectories", "untrained"))
    return (
        f"Of the five plans with the nearest states, {by_state} % share the outcome; of those with the nearest "
        f"trajectories {by_plan} %. The difference is {_verdict(found.gain('states', 'trajectories'))}; states are "
        f"ahead in {_above(found, 'states', 'trajectories')} scenes (paper {above} of {of}). If metres to the side of "
        f"trajectories count fourfold it is {_verdict(found.gain('states', 'widened'))}; over shuffled outcomes "
        f"{_verdict(found.gain('states', 'chance'))}, states ahead in {_above(found, 'states', 'chance')}.",
        f"What training adds: states of the same network before its first step have {before} %, "
        f"{_verdict(found.gain('untrained', 'chance'))} over shuffled outcomes, the part that needs no "
        f"learning. The planner's own have {_verdict(found.gain('states', 'untrained'))} over these, and "
        f"{_verdict(found.gain('states', 'random_predictor'))} over a predictor (with action encoder and plan "
        "sampling) before its first step on the trained encoder.",
        "Outcomes: safe is NC = DAC = 1; off the drivable area is DAC = 0, whether it collides or not, as the paper's "
        "figure has it; collision is NC < 1 on the drivable area. Scenes in which all plans have one outcome, where "
        f"every agreement is 1: {alone}.",
        "Nearest is by Euclidean distance: of states as the heads read them, of trajectories in their x and y at all "
        "poses [m]. A share is averaged over the plans of a scene, then over scenes; intervals draw logs.",
        "Shuffled is the exact expectation, the chance that two plans of a scene have the same outcome; "
        f"{len(shuffled)} shuffles have {shuffled.mean():.1f} % on average, {shuffled.min():.1f} to "
        f"{shuffled.max():.1f}. Effective rank is exp of the entropy of the spectrum of all states less their mean.",
        "These are scenes that the planner was trained on, as in the paper.",
    )


def _verdict(gain: Interval) -> str:
    """A difference in points, and whether its interval excludes none."""
    known = "" if gain.low > 0 or gain.high < 0 else ", not clearly different from none"
    return f"{cell(gain, signed=True)} points{known}"
