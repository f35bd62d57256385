"""Finding of an evaluation: success by player, gain by outcome scores, ordering of candidates.

Intervals are bootstrap intervals over seeds for success, over episodes for the quality of scores.

Example::

    scores = {Player.OURS: OutcomeScore(read_head_report(study.head), study.tuned(), 0.3)}
    finding = compare(results, scores, study.stages.seconds)
    finding.save(folder, "w4s cube evaluate study")
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from world4scorer.cube.evaluate import Player, Results
from world4scorer.cube.figure import players_figure
from world4scorer.cube.head_readout import HeadReadout
from world4scorer.cube.simulator.cube_env import SUCCESS_METRES
from world4scorer.cube.success import (
    LABELS,
    Starts,
    SuccessCount,
    SuccessGain,
    count_successes,
    gains_by_seed,
    measure_gain,
    median_miss,
)
from world4scorer.cube.tune import TunedWeight
from world4scorer.cube.windows import BUDGET_STEPS
from world4scorer.drawing.finding import Finding, Table
from world4scorer.evaluation.scores.bootstrap import Interval, cell, plain
from world4scorer.evaluation.scores.paper import paper

NAME: Final = "cube"
RELEASED_SEED: Final = 42
"""LeWM's own evaluation seed, which the paper reports by itself."""
OUTCOME_GAIN: Final = (Player.OURS, Player.ANCHOR)
PATH_GAIN: Final = (Player.PATH, Player.ANCHOR)
MODEL_GAIN: Final = (Player.ANCHOR, Player.RANDOM)
GAINS: Final = (
    OUTCOME_GAIN,
    PATH_GAIN,
    MODEL_GAIN,
    (Player.ICEM, Player.ANCHOR),
    (Player.INVERSE, Player.ANCHOR),
    (Player.SIMULATOR, Player.ANCHOR),
)
"""Paired comparisons by window: gain by outcome scores, by their extension, by the world model, by other ways to plan
with it, and by a perfect scorer."""


@dataclass(frozen=True)
class OutcomeScore:
    """The outcome head of a player, and its weight."""

    head_report: Mapping[str, Any]
    """From `read_head_report`."""
    tuned: TunedWeight | None
    """The weights tried, if they were."""
    weight: float
    """That of the evaluation."""

    def readout(self) -> HeadReadout:
        """How it orders held-out candidates."""
        return HeadReadout.of(self.head_report, self.weight)


def compare(
    results: Results,
    scores: Mapping[Player, OutcomeScore],
    stages: Mapping[str, float],
    protocols: Mapping[str, Mapping[str, Any]] | None = None,
) -> Finding:
    """The finding, with its figure; comparisons with missing players are left out.

    `stages` are the seconds of each stage, `protocols` what the manifest says of the windows.
    """
    solved = {player: {starts: count_successes(results, player, starts) for starts in Starts} for player in results}
    gains = {
        pair: {starts: measure_gain(results, *pair, starts) for starts in Starts}
        for pair in GAINS
        if set(pair) <= {*results}
    }
    by_seed = gains_by_seed(results, *OUTCOME_GAIN) if OUTCOME_GAIN in gains else {}
    heads = {player: score.readout() for player, score in scores.items()}
    seeds = {seed for some in results.values() for seed in some}
    windows = max((found[Starts.PUBLISHED].windows for found in solved.values()), default=0)
    return Finding(
        name=NAME,
        title="Outcome scores inside a world model's planner",
        question="Does a learned outcome score, added to the latent cost, let a frozen world model's search succeed "
        "more often?",
        data=f"OGBench-Cube: {windows} windows of {_counted(len(seeds), 'seed')}; success is a cube within "
        f"{100 * SUCCESS_METRES:g} cm of its goal after a step, in at most {BUDGET_STEPS} steps.",
        weights="",
        numbers={
            "players": {
                str(player): {
                    "seeds": list(results[player]),
                    "median_miss_metres": _known(median_miss(results, player)),
                    "success": {str(starts): _plain(one) for starts, one in found.items()},
                }
                for player, found in solved.items()
            },
            "gains": {
                f"{after} - {before}": {str(starts): _plain(one) for starts, one in found.items()}
                for (after, before), found in gains.items()
            },
            "seeds": {str(seed): _plain(one) for seed, one in by_seed.items()},
            "scores": {
                str(player): {
                    "head": heads[player].numbers(),
                    "tuned": None if score.tuned is None else _tuned_numbers(score.tuned),
                    "weight": score.weight,
                }
                for player, score in scores.items()
            },
            "protocols": dict(protocols or {}),
            "seconds": dict(stages),
        },
        tables=tuple(_tables(results, solved, gains, by_seed, heads, scores, stages, protocols or {})),
        remarks=tuple(_remarks(solved, gains, by_seed, heads, scores)),
        paper=paper("cube"),
        figure=players_figure(results),
    )


_Solved = dict[Player, dict[Starts, SuccessCount]]
_Gains = dict[tuple[Player, Player], dict[Starts, SuccessGain]]


def _tables(
    results: Results,
    solved: _Solved,
    gains: _Gains,
    by_seed: Mapping[int, SuccessGain],
    heads: Mapping[Player, HeadReadout],
    scores: Mapping[Player, OutcomeScore],
    stages: Mapping[str, float],
    protocols: Mapping[str, Mapping[str, Any]],
) -> Iterator[Table]:
    if protocols:
        rows = tuple(
            (name, found["rule"], str(found["windows"]), found["digest"][:16]) for name, found in protocols.items()
        )
        yield Table("Protocols", ("protocol", "windows that count", "number", "SHA-256 of the list"), rows)
    yield _success_table(results, solved)
    yield _count_table(solved)
    for (after, before), found in gains.items():
        yield _gain_table(LABELS[after], LABELS[before], found)
    if by_seed:
        yield _seed_table(by_seed)
        yield _paper_table(gains[OUTCOME_GAIN][Starts.PUBLISHED], by_seed, heads.get(Player.OURS))
    for player, head in heads.items():
        yield head.quality_table(LABELS[player])
        yield head.change_table(LABELS[player])
    for player, score in scores.items():
        if score.tuned is not None:
            yield _tuned_table(LABELS[player], score.tuned)
    if stages:
        minutes = tuple((name, f"{seconds / 60:.1f}") for name, seconds in stages.items())
        yield Table("Time", ("stage", "minutes"), minutes)


def _success_table(results: Results, solved: _Solved) -> Table:
    rows = tuple(
        (
            LABELS[player],
            str(len(results[player])),
            *(cell(one.share) for one in found.values()),
            Interval(median_miss(results, player), math.nan, math.nan).times(100).text(),
        )
        for player, found in solved.items()
    )
    columns = ("player", "seeds", *(f"{starts} [%]" for starts in Starts), "median miss [cm]")
    return Table("Success", columns, rows)


def _count_table(solved: _Solved) -> Table:
    rows = tuple(
        (LABELS[player], *(f"{one.solved} of {one.windows}" for one in found.values()))
        for player, found in solved.items()
    )
    return Table("Windows solved", ("player", *map(str, Starts)), rows)


def _gain_table(after: str, before: str, found: Mapping[Starts, SuccessGain]) -> Table:
    rows = tuple(
        (
            str(starts),
            str(one.windows),
            str(one.before),
            str(one.after),
            str(one.rescued),
            str(one.lost),
            cell(one.share, signed=True),
        )
        for starts, one in found.items()
    )
    title = f"{after[0].upper()}{after[1:]} against {before}, paired by window"
    return Table(title, ("starts", "windows", before, after, "rescued", "lost", "gain [points]"), rows)


def _seed_table(by_seed: Mapping[int, SuccessGain]) -> Table:
    rows = tuple(
        (
            str(seed),
            f"{100 * one.before / one.windows:.1f}",
            f"{100 * one.after / one.windows:.1f}",
            f"{100 * one.share.value:+.1f}",
            str(one.rescued),
            str(one.lost),
        )
        for seed, one in by_seed.items()
    )
    columns = ("seed", "LeWM [%]", "with outcome score [%]", "difference [points]", "rescued", "lost")
    return Table("Seeds", columns, rows)


def _paper_table(found: SuccessGain, by_seed: Mapping[int, SuccessGain], head: HeadReadout | None) -> Table:
    reported = paper("cube")
    rows = [
        ("LeWM [%]", f"{100 * found.before / found.windows:.1f}", f"{reported['lewm']:.1f}"),
        ("with outcome score [%]", f"{100 * found.after / found.windows:.1f}", f"{reported['ours']:.1f}"),
        ("gain [points]", cell(found.share, signed=True), Interval(*reported["delta"]).text(signed=True)),
        ("rescued, lost", f"{found.rescued}, {found.lost}", f"{reported['rescued']}, {reported['lost']}"),
        ("windows, seeds", f"{found.windows}, {len(by_seed)}", f"{reported['episodes']}, {reported['seeds']}"),
    ]
    if RELEASED_SEED in by_seed:
        one = by_seed[RELEASED_SEED]
        here = f"{100 * one.before / one.windows:.0f}, {100 * one.after / one.windows:.0f}"
        rows.append((f"seed {RELEASED_SEED}: LeWM, with outcome score [%]", here, "{}, {}".format(*reported["seed42"])))
    if head is not None:
        here = f"{head.report['train_groups']}, {head.groups}"
        there = f"{reported['groups_train']}, {reported['groups_val']}"
        rows.append(("groups that trained, that validated", here, there))
    return Table("Beside the paper", ("", "here", "paper, released LeWM"), tuple(rows))


def _tuned_table(label: str, tuned: TunedWeight) -> Table:
    rows = tuple(
        (
            f"{weight:g}" + (" (chosen)" if weight == tuned.weight else " (latent cost alone)" if not weight else ""),
            f"{count} of {tuned.windows}",
            f"{100 * count / tuned.windows:.1f}",
        )
        for weight, count in tuned.successes.items()
    )
    return Table(f"{label}: weights tried on the tuning seeds", ("weight", "solved", "success [%]"), rows)


def _remarks(
    solved: _Solved,
    gains: _Gains,
    by_seed: Mapping[int, SuccessGain],
    heads: Mapping[Player, HeadReadout],
    scores: Mapping[Player, OutcomeScore],
) -> Iterator[str]:
    for pair in (OUTCOME_GAIN, PATH_GAIN):
        if pair not in gains:
            continue
        weight = f" with weight {scores[pair[0]].weight:g}" if pair[0] in scores else ""
        for starts in (Starts.PUBLISHED, Starts.MODERATE, Starts.STRICT):
            one = gains[pair][starts]
            yield (
                f"{LABELS[pair[0]]}{weight}, {starts} protocol: {_from_to(one)}; {_sentence(one.share)} "
                f"{one.rescued} windows are rescued, {one.lost} lost."
            )
    if by_seed:
        differences = [seed.after - seed.before for seed in by_seed.values()]
        yield (
            f"With outcome scores success rises on {_counted(sum(d > 0 for d in differences), 'seed')}, is equal on "
            f"{differences.count(0)} and falls on {sum(d < 0 for d in differences)}."
        )
    if MODEL_GAIN in gains:
        one = gains[MODEL_GAIN][Starts.MODERATE]
        times = f", {one.after / one.before:.1f} times as many" if one.before else ""
        yield (
            f"The world model against random actions, moderate protocol: random actions solve {one.before} and LeWM's "
            f"search {one.after} of {one.windows} windows{times}; {_sentence(one.share)}"
        )
    for player, score in scores.items():
        if score.tuned is not None:
            alone, best = (score.tuned.successes[weight] for weight in (0.0, score.tuned.weight))
            yield (
                f"{LABELS[player]}: on {score.tuned.windows} windows of the tuning seeds, weight "
                f"{score.tuned.weight:g} solves {best}, which no other weight tried exceeds, and the latent cost alone "
                f"{alone}."
            )
        yield from heads[player].remarks(LABELS[player])
    most = max((found[Starts.PUBLISHED].windows for found in solved.values()), default=0)
    fewer = [
        f"{LABELS[player]} {found[Starts.PUBLISHED].windows}"
        for player, found in solved.items()
        if found[Starts.PUBLISHED].windows < most
    ]
    if fewer:
        yield f"Not all players played all {most} windows: {', '.join(fewer)}."
    yield (
        "The paper's numbers are those of the released LeWM on OGBench's own episodes; they stand here for orientation."
    )


def _from_to(one: SuccessGain) -> str:
    if not one.windows:
        return "no windows"
    shares = (100 * count / one.windows for count in (one.before, one.after))
    return "from {:.1f} to {:.1f} %".format(*shares) + f" ({one.before} to {one.after} of {one.windows} windows)"


def _sentence(change: Interval) -> str:
    """A difference with its interval in words."""
    if math.isnan(change.value):
        return "there is nothing to compare."
    text = f"difference {cell(change, signed=True)} points"
    if math.isnan(change.low):
        return f"{text}; one seed gives no interval."
    if change.low > 0 or change.high < 0:
        return f"{text}, an interval without zero."
    return f"{text}, an interval with zero in it: these windows do not tell the two apart."


def _plain(found: SuccessCount | SuccessGain) -> dict[str, Any]:
    return {**asdict(found), "share": plain(found.share)}


def _tuned_numbers(tuned: TunedWeight) -> dict[str, Any]:
    successes = {f"{weight:g}": count for weight, count in tuned.successes.items()}
    return {"weight": tuned.weight, "windows": tuned.windows, "successes": successes}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")
