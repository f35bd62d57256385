"""Does selection depend on which predicted state belongs to which plan? (Table 4, appendix D.1)

Planner, scenes and plans stay; only the assignment of states to plans changes. Asked of a planner's own pools, of
another planner's plans scored by it, and of a planner that predicts no future.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from world4scorer.datasets.store import SceneStore
from world4scorer.drawing.finding import Finding, Table
from world4scorer.engine.selection.pool_metrics import ORDERING_MARGIN
from world4scorer.evaluation.pools.open import open_pools
from world4scorer.evaluation.pools.pool_files import is_pools
from world4scorer.evaluation.pools.scored import ScoredPools
from world4scorer.evaluation.scores.bootstrap import Interval, cell, plain
from world4scorer.evaluation.scores.paper import paper
from world4scorer.jobs.run_folder import Weights
from world4scorer.studies.interventions.figure import draw
from world4scorer.studies.interventions.scenes import draw_scenes
from world4scorer.studies.shared.reassignment import (
    FIRST_SEED,
    REPEATS,
    SINGLE_SEED,
    Assignment,
    Reassigned,
    reassigned,
)

ABSENT: Final = "-"

Kind = Literal["own", "foreign", "baseline"]

ASSIGNMENTS: Final = {
    "own": "own",
    "scene_mean": "mean of the scene",
    "single": "deranged once",
    "repeated": "deranged, repeated",
}


@dataclass(frozen=True)
class Block:
    """Pools to intervene in."""

    label: str
    kind: Kind
    """The planner's own plans, another's plans scored by it, or another planner altogether."""
    pools: ScoredPools


def labelled(text: str) -> tuple[str, Path]:
    """Split `LABEL=FOLDER`; a folder alone is its own label."""
    label, found, folder = text.partition("=")
    if Path(text).exists() or not found:
        return Path(text).name, Path(text)
    return label, Path(folder)


def open_blocks(
    source: Path,
    foreign: Sequence[str] = (),
    baseline: Sequence[str] = (),
    store: Path | None = None,
    split: str | None = None,
    weights: Weights = "best",
) -> list[Block]:
    """Blocks of a run or folder of pools, and of further ones given as `LABEL=FOLDER` or `FOLDER`.

    Of runs, those of a split and of the best or the last planner.
    """
    blocks = [Block("own pools", "own", open_pools(source, store, split=split, weights=weights))]
    further: tuple[tuple[Kind, Sequence[str]], ...] = (("foreign", foreign), ("baseline", baseline))
    for kind, texts in further:
        for label, folder in map(labelled, texts):
            wanted = None if is_pools(folder) else split
            blocks.append(Block(label, kind, open_pools(folder, store, split=wanted, weights=weights)))
    return blocks


def interventions(
    blocks: Sequence[Block],
    draws: int = 100_000,
    repeats: int = REPEATS,
    first_seed: int = FIRST_SEED,
    store: SceneStore | None = None,
    min_gap: float = 0.0,
) -> Finding:
    """Compare assignments of states; the first block is what is asked about, a store adds pictures of its scenes."""
    labels = [block.label for block in blocks]
    if len(set(labels)) < len(labels):
        raise ValueError(f"labels: {', '.join(labels)}; each may be used once (write LABEL=FOLDER)")
    found = {block.label: reassigned(block.pools, draws, repeats, first_seed, min_gap) for block in blocks}
    kinds = {block.label: block.kind for block in blocks}
    reported = paper("interventions")
    scenes = None if store is None else draw_scenes(blocks[0].pools, store)
    return Finding(
        name="interventions",
        title="Whose state is it?",
        question="How much does the choice depend on each plan being judged by its own predicted state?",
        data=" ".join(f"{block.label}: {block.pools.describe()}" for block in blocks),
        weights=blocks[0].pools.weights,
        numbers={
            "seeds": {"first": first_seed, "repeats": repeats, "single": SINGLE_SEED},
            "draws": draws,
            "min_gap": min_gap,
            "ordering_margin": ORDERING_MARGIN,
            "pools": {label: {"kind": kinds[label], **_numbers(one)} for label, one in found.items()},
        },
        tables=(_assignments(found, kinds, reported), _variation(found, reported)),
        remarks=_remarks(blocks[0].label, found[blocks[0].label], repeats, min_gap),
        paper=reported,
        figure=draw(found, kinds, reported),
        pictures={} if scenes is None else {"scenes": scenes},
    )


def _numbers(one: Reassigned) -> dict[str, Any]:
    assignments: dict[str, Assignment] = {name: getattr(one, name) for name in ASSIGNMENTS}
    return {
        "oracle": plain(one.oracle),
        "random": plain(one.random),
        **{
            name: {part: None if value is None else plain(value) for part, value in a._asdict().items()}
            for name, a in assignments.items()
        },
        "repeats": list(one.means),
        "repeats_lowering_pdms": one.lower,
    }


def _assignments(found: dict[str, Reassigned], kinds: dict[str, Kind], reported: Any) -> Table:
    rows: list[tuple[str, ...]] = []
    for label, one in found.items():
        for name, words in ASSIGNMENTS.items():
            a: Assignment = getattr(one, name)
            rows.append(
                (
                    f"{label}: {words}",
                    cell(a.selected, digits=2),
                    cell(a.regret, digits=2),
                    _cell(a.drop, 2),
                    _cell(a.ordering),
                    _cell(a.ordering_wide),
                    _cell(a.flips),
                    _paper_regret(name, kinds[label], reported),
                )
            )
        rows.append((f"{label}: best of each pool", cell(one.oracle, digits=2), "0", *[ABSENT] * 5))
        rows.append((f"{label}: random pick", cell(one.random, digits=2), *[ABSENT] * 6))
    columns = (
        "states",
        "PDMS",
        "regret",
        "lost against own",
        "pairs in order [%]",
        f"gap > {ORDERING_MARGIN} [%]",
        "choices changed [%]",
    )
    return Table("States and choices", (*columns, "regret in the paper, NAVSIM"), tuple(rows))


def _cell(interval: Interval | None, digits: int = 1) -> str:
    return ABSENT if interval is None else cell(interval, digits=digits)


def _paper_regret(name: str, kind: Kind, reported: Any) -> str:
    if kind == "baseline":
        own = reported["drivor_regret_own"]
        single = own + reported["drivor_delta_deranged"][0]
        return {"own": f"{own:.2f} (DrivoR)", "single": f"{single:.2f} (DrivoR)"}.get(name, ABSENT)
    value = {
        "own": reported["regret_own"][0],
        "scene_mean": reported["regret_scene_mean"][0],
        "single": reported["regret_deranged"][0],
        "repeated": reported["oracle"] - reported["shuffled_mean"],
    }[name]
    return f"{value:.2f}"


def _variation(found: dict[str, Reassigned], reported: Any) -> Table:
    rows = tuple(
        (
            label,
            cell(one.repeated.selected, digits=2),
            f"{100 * min(one.means):.2f}",
            f"{100 * max(one.means):.2f}",
            f"{one.lower} of {len(one.means)}",
        )
        for label, one in found.items()
    )
    low, high = reported["shuffled_ci"]
    theirs = (
        "paper, NAVSIM",
        f"{reported['shuffled_mean']} [{low}, {high}]",
        f"{reported['shuffled_min']}",
        f"{reported['shuffled_max']}",
        "100 of 100",
    )
    return Table("Derangements", ("pools", "mean PDMS", "lowest", "highest", "lower PDMS"), (*rows, theirs))


def _remarks(label: str, one: Reassigned, repeats: int, min_gap: float) -> tuple[str, ...]:
    assert one.repeated.drop is not None and one.repeated.flips is not None
    lost = one.repeated.drop
    verdict = "depends" if lost.low > 0 else "does not clearly depend"
    return (
        f"Selection ({label}) {verdict} on which state belongs to which plan: with the states of "
        f"other plans it loses {cell(lost, digits=2)} points, {one.lower} of {repeats} derangements lower PDMS, and "
        f"{_cell(one.repeated.ordering)} % of pairs are in order (own states: {_cell(one.own.ordering)} %).",
        f"A pair is compared where true PDMS differs by more than {min_gap:g}; beside it, by more than "
        f"{ORDERING_MARGIN}. Equal utilities order nothing.",
        "A derangement leaves no state in its place, so it changes every choice unless utilities tie: the share of "
        f"changed choices ({cell(one.repeated.flips)} %) says nothing about the planner.",
        "With the mean state all plans are worth the same and the first is taken, one fixed query of the generator; "
        f"a random pick ({cell(one.random, digits=2)}) is the fairer picture of a choice without signal.",
        "In the paper the plans are DrivoR's; the derangement in the table of its appendix is a single one, its lowest "
        "and highest are those of the repeats. Intervals draw logs with replacement; repeats are averaged within each "
        "frame first.",
    )
