"""The verbs of `w4s study`, one for each study. Heavy imports happen inside the verb that needs them.

w4s study reranking runs/city
w4s study interventions pools --out findings
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import tyro

if TYPE_CHECKING:
    from world4scorer.evaluation.finding import Finding

Source = Annotated[Path, tyro.conf.Positional]

DRAWS: Final = 10_000


def reranking(
    source: Source, /, weight: float = 1.0, out: Path | None = None, store: Path | None = None, draws: int = DRAWS
) -> int:
    """Inertial re-ranking off and on: extended comfort, progress, EPDMS (Table 2c).

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts.
        out: Folder of the finding; SOURCE/studies unless given.
        store: Scene store of the pools, if it is not where they say.
        draws: Of the bootstrap over logs.
    """
    from world4scorer.pools.open import open_pools
    from world4scorer.studies.reranking import reranking as study

    return _keep(study(open_pools(source, store), weight, draws), source, out)


def interventions(
    source: Source,
    /,
    foreign: tuple[str, ...] = (),
    baseline: tuple[str, ...] = (),
    out: Path | None = None,
    store: Path | None = None,
    draws: int = 100_000,
    repeats: int = 100,
    first_seed: int = 20260909,
) -> int:
    """Own, deranged and mean states: what each leads to in choosing plans (Table 4, appendix D.1).

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        foreign: More pools, of other planners' plans scored by this one (`w4s pools RUN --plans`); LABEL=FOLDER or
            FOLDER.
        baseline: Runs or pools of other planners, for example of one that predicts no future; LABEL=FOLDER or FOLDER.
        out: Folder of the finding; SOURCE/studies unless given.
        store: Scene store of the pools, if it is not where they say.
        draws: Of the bootstrap over logs.
        repeats: Derangements.
        first_seed: Of the first derangement; each takes the next.
    """
    from world4scorer.pools.open import open_pools
    from world4scorer.store import SceneStore
    from world4scorer.studies.interventions import Block, labelled
    from world4scorer.studies.interventions import interventions as study

    own = open_pools(source, store)
    blocks = [Block("own pools", "own", own)]
    for text in foreign:
        label, folder = labelled(text)
        blocks.append(Block(label, "foreign", open_pools(folder, store)))
    for text in baseline:
        label, folder = labelled(text)
        blocks.append(Block(label, "baseline", open_pools(folder, store)))
    return _keep(study(blocks, draws, repeats, first_seed, SceneStore(own.about["store"])), source, out)


def disagreement(source: Source, /, out: Path | None = None, store: Path | None = None, draws: int = DRAWS) -> int:
    """NAVSIM v1 and v2 as objectives: where they choose different plans, and because of what (appendix B.2).

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        out: Folder of the finding; SOURCE/studies unless given.
        store: Scene store of the pools, if it is not where they say.
        draws: Of the bootstrap over logs.
    """
    from world4scorer.pools.open import open_pools
    from world4scorer.studies.disagreement import disagreement as study
    from world4scorer.studies.dynamics import scene_change

    pools = open_pools(source, store)
    return _keep(study(pools, scene_change(source, pools), draws), source, out)


def taxonomy(
    source: Source,
    /,
    near_tie: float = 4.1e-5,
    weight: float = 1.0,
    out: Path | None = None,
    store: Path | None = None,
    draws: int = DRAWS,
) -> int:
    """Why consecutive choices fail extended comfort, and which failures re-ranking repairs (Appendix E.1).

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        near_tie: Utilities this near count as equal.
        weight: How much consistency with the last choice counts.
        out: Folder of the finding; SOURCE/studies unless given.
        store: Scene store of the pools, if it is not where they say.
        draws: Of the bootstrap over logs.
    """
    from world4scorer.pools.open import open_pools
    from world4scorer.studies.dynamics import scene_change
    from world4scorer.studies.taxonomy import taxonomy as study

    pools = open_pools(source, store)
    return _keep(study(pools, near_tie, weight, draws, scene_change(source, pools)), source, out)


def consecutive(
    source: Source, /, weight: float = 1.0, out: Path | None = None, store: Path | None = None, draws: int = DRAWS
) -> int:
    """How much less consecutive plans differ with re-ranking (Appendix E.2).

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts.
        out: Folder of the finding; SOURCE/studies unless given.
        store: Scene store of the pools, if it is not where they say.
        draws: Of the bootstrap over logs.
    """
    from world4scorer.pools.open import open_pools
    from world4scorer.studies.consecutive import consecutive as study

    return _keep(study(open_pools(source, store), weight, draws), source, out)


def lambda_weight(
    source: Source,
    /,
    weights: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0),
    out: Path | None = None,
    store: Path | None = None,
    draws: int = DRAWS,
) -> int:
    """How much the weight of re-ranking matters (Appendix E.3).

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weights: Weights to re-rank with; framewise choices are always there.
        out: Folder of the finding; SOURCE/studies unless given.
        store: Scene store of the pools, if it is not where they say.
        draws: Of the bootstrap over logs.
    """
    from world4scorer.pools.open import open_pools
    from world4scorer.studies.lambda_weight import lambda_weight as study

    return _keep(study(open_pools(source, store), weights, draws), source, out)


def history(
    source: Source,
    /,
    weight: float = 1.0,
    seed: int = 0,
    out: Path | None = None,
    store: Path | None = None,
    draws: int = DRAWS,
) -> int:
    """Whether re-ranking needs the plan really taken before: wrong, old, copied history (Appendix E.4).

    Args:
        source: Folder of a training run, whose pools are made if they are missing, or a folder of pools.
        weight: How much consistency with the last choice counts.
        seed: Draws the plans of other logs.
        out: Folder of the finding; SOURCE/studies unless given.
        store: Scene store of the pools, if it is not where they say.
        draws: Of the bootstrap over logs.
    """
    from world4scorer.pools.open import open_pools
    from world4scorer.studies.history import history as study

    return _keep(study(open_pools(source, store), weight, seed, draws), source, out)


def _keep(finding: Finding, source: Path, out: Path | None) -> int:
    """Write the finding, and print its tables."""
    from world4scorer.evaluation.finding import STUDIES

    command = f"w4s study {finding.name} {source.name}"
    path = finding.save(source / STUDIES if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0


VERBS: Final[dict[str, Callable[..., int]]] = {
    "reranking": reranking,
    "interventions": interventions,
    "disagreement": disagreement,
    "taxonomy": taxonomy,
    "consecutive": consecutive,
    "lambda": lambda_weight,
    "history": history,
}
