"""Tables and remarks of the disagreement of objectives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from world4scorer.drawing.finding import Table
from world4scorer.engine.selection.inertial import LOG_FLOOR
from world4scorer.evaluation.scores.bootstrap import Interval, cell
from world4scorer.studies.disagreement.objectives import PARTS

Intervals = Mapping[str, Interval]

ABSENT: Final = "-"
POPULATIONS: Final = {
    "all": "Counted over all frames, those without a frame before being judged without EC, as in the paper; what EC is "
    "needed for is counted over frames with a frame before (pairs).",
    "paired": "Frames without a frame before are left out everywhere; the paper counts them, without EC.",
}


def tables(rule: Intervals, native: Intervals, gap: Intervals, progress: Intervals, reported: Any) -> tuple[Table, ...]:
    """Choices and ranks, the parts of the gap, progress against comfort."""
    theirs = {
        "argmax": f"{100 * reported['argmax']:.0f}",
        "argmax_without_ec": f"{100 * reported['argmax_without_ec']:.0f}",
        "rho": f"{reported['rho']}",
        "rho_without_ec": f"{reported['rho_without_ec']}",
        "v1_choice_fails_ec": f"{100 * reported['v1_choice_fails_ec']:.1f}",
        "v1_cost": f"{reported['v1_cost_points']}",
        "ec_gain": f"{reported['ec_gain_points']}",
        "ep_loss": f"{reported['ep_loss_points']}",
    }
    words = {
        "argmax": "choices differ [%]",
        "argmax_without_ec": "the same without EC [%]",
        "v1_choice_not_best": "the v1 choice is not a best one of v2 [%]",
        "v1_choice_not_best_without_ec": "the same without EC [%]",
        "rho": "rank correlation within scenes",
        "rho_without_ec": "the same without EC",
        "v1_choice_fails_ec": "of differing pairs: the v1 choice fails EC [%]",
        "v1_cost": "PDMS lost with the v2 choice [points]",
        "ec_gain": "EC gained with the v2 choice, all pairs [points]",
        "ec_gain_where_different": "of differing pairs: EC gained [points]",
        "ep_loss": "EP lost with the v2 choice, all pairs [points]",
        "ep_loss_where_different": "of differing pairs: EP lost [points]",
    }

    def shown(found: Intervals, name: str) -> str:
        return cell(found[name], 1, 2) if name.startswith("rho") else cell(found[name])

    choices = tuple((words[name], shown(rule, name), shown(native, name), theirs.get(name, ABSENT)) for name in words)
    shares = {name: f"{100 * value:.1f}" for name, value in reported["gap_share"].items()}
    parts = tuple(
        ("TTC, EP and C" if name == "rest" else name, cell(gap[name]), shares.get(name, ABSENT))
        for name in (*PARTS, "rest")
    )
    joint = reported["joint_infeasible"]
    far = (
        ("no plan is in the upper quarter of progress and passes EC [%]", "infeasible", 100 * joint["all"]),
        (
            "the same in the most dynamic quarter of frames [%]",
            "infeasible_most_dynamic_quarter",
            100 * joint["most_dynamic_quarter"],
        ),
        ("the same above the median of progress [%]", "infeasible_median_threshold", 100 * joint["median_threshold"]),
        ("the same with the quartile of each scene [%]", "infeasible_within_scene", 100 * joint["within_scene"]),
        ("no plan at all passes EC [%]", "no_plan_continues", None),
        ("plans with EP of 1 [%]", "ep_saturated", 100 * reported["ep_saturated"]),
    )
    both = tuple((text, cell(progress[name]), ABSENT if value is None else f"{value:.0f}") for text, name, value in far)
    related = (
        "correlation of EP and EC within scenes",
        cell(progress["ep_ec_correlation"], 1, 2),
        f"{reported['ep_ec_correlation']}",
    )
    return (
        Table("Choices and ranks", ("", "utilities", "PDMS and EPDMS", "paper, NAVSIM (utilities)"), choices),
        Table("What the gap of v2 utility is due to [%]", ("", "share", "paper, NAVSIM"), parts),
        Table("Progress and extended comfort", ("", "ours", "paper, NAVSIM"), (*both, related)),
    )


def remarks(
    rule: Intervals,
    gap: Intervals,
    progress: Intervals,
    thresholds: Mapping[str, float],
    dynamic: bool,
    population: str,
) -> tuple[str, ...]:
    """What the numbers say, and how they were made."""
    said = [
        f"The rules choose different plans in {cell(rule['argmax'])} % of frames, without EC in "
        f"{cell(rule['argmax_without_ec'])} %. EC makes up {cell(gap['EC'])} % of the v2 utility that v1 "
        f"choices lack. In {cell(progress['infeasible'])} % of frames no plan is in the upper quarter of progress "
        "and passes EC.",
        "Both utilities take the sub-scores of v1.1 (NC, DAC, DDC, TTC, EP, C), so that only the rule differs. "
        f"Sub-scores can be 0: multiplied ones enter as log({LOG_FLOOR} + {1 - LOG_FLOOR} p), and so does EC, with "
        "weight 1. The second column takes the metrics themselves: PDMS v1.1 against EPDMS v2.2 with each plan's EC.",
        "Of equally good plans the first is taken; `is not a best one` counts no difference that only ties make.",
        "The share of the gap is exact: differences of logarithms, that of the weighted sum being shared out by the "
        "logarithmic mean of the two sums. Shares are sums over frames by the sum of gaps.",
        f"Thresholds of progress over all plans: upper quarter {thresholds['upper_quarter']:.3f}, median "
        f"{thresholds['median']:.3f}."
        + (" A threshold of 0 asks for no progress: then only EC counts." if thresholds["median"] == 0 else ""),
        POPULATIONS[population],
    ]
    if dynamic:
        said.append("Most dynamic: the quarter of frames whose front view changes most within two seconds.")
    return tuple(said)
