"""The verbs of `w4s study`, one for each study. Heavy imports happen inside the verb that needs them.

w4s study reranking runs/city
w4s study interventions pools --out findings
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import tyro

from world4scorer.commands.learning import needs_torch
from world4scorer.studies.training_options import AS_IN_THE_PAPER, AS_THE_RUN, TrainingOptions

if TYPE_CHECKING:
    from world4scorer.evaluation.finding import Finding

Source = Annotated[Path, tyro.conf.Positional]
Training = Annotated[TrainingOptions, tyro.conf.arg(name="")]

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
    from world4scorer.studies.reranking import reranking as study
    from world4scorer.studies.sources import open_pools

    return _keep(study(open_pools(source, store), weight, draws), source, out)


def auxiliary_target(
    run: Source, /, training: Training = AS_THE_RUN, out: Path | None = None, draws: int = DRAWS
) -> int:
    """No, current or future view as auxiliary target: trains what is missing of the three (Table 2a).

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        training: How the variants are trained.
        out: Folder of the finding; RUN/studies unless given.
        draws: Of the bootstrap over logs.
    """
    needs_torch("w4s study auxiliary-target")
    from world4scorer.studies.auxiliary_target import auxiliary_target as study

    return _keep_trained(study(run, training, draws), run, out, training.words(AS_THE_RUN))


def label_pairing(
    run: Source, /, training: Training = AS_IN_THE_PAPER, out: Path | None = None, draws: int = DRAWS
) -> int:
    """Outcome labels paired with their plans, or shuffled: trains what is missing of the three (Table 2b).

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        training: How the variants are trained; few scenes and many epochs, as in the paper.
        out: Folder of the finding; RUN/studies unless given.
        draws: Of the bootstrap over logs.
    """
    needs_torch("w4s study label-pairing")
    from world4scorer.studies.label_pairing import label_pairing as study

    return _keep_trained(study(run, training, draws), run, out, training.words(AS_IN_THE_PAPER))


def coverage(run: Source, /, training: Training = AS_THE_RUN, out: Path | None = None, draws: int = DRAWS) -> int:
    """A generator that also covers good bank plans, and re-ranking with several weights on its pools (Appendix E.3).

    Args:
        run: Folder of a finished training run; the variant goes to RUN/variants.
        training: How the variant is trained.
        out: Folder of the finding; RUN/studies unless given.
        draws: Of the bootstrap over logs.
    """
    needs_torch("w4s study coverage")
    from world4scorer.studies.coverage import coverage as study

    return _keep_trained(study(run, training, draws), run, out, training.words(AS_THE_RUN))


def parts(
    run: Source,
    /,
    which: tuple[Literal["bank", "plan-sampling", "images"], ...] = ("bank", "plan-sampling", "images"),
    training: Training = AS_THE_RUN,
    out: Path | None = None,
    draws: int = DRAWS,
) -> int:
    """The method without its bank, without plan sampling, without images: trains what is missing.

    Args:
        run: Folder of a finished training run; variants go to RUN/variants.
        which: Parts to leave out, one at a time.
        training: How the variants are trained.
        out: Folder of the finding; RUN/studies unless given.
        draws: Of the bootstrap over logs.
    """
    needs_torch("w4s study parts")
    from world4scorer.studies.parts import PARTS
    from world4scorer.studies.parts import parts as study

    words = [] if set(which) == set(PARTS) else ["--which", *which]
    return _keep_trained(study(run, which, training, draws), run, out, [*words, *training.words(AS_THE_RUN)])


def _keep_trained(finding: Finding, run: Path, out: Path | None, words: Sequence[str]) -> int:
    """Write the finding of a study that trained with these flags, and print its tables."""
    from world4scorer.studies.sources import STUDIES

    command = " ".join(["w4s study", finding.name, run.name, *words])
    path = finding.save(run / STUDIES if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0


def _keep(finding: Finding, source: Path, out: Path | None) -> int:
    """Write the finding, and print its tables."""
    from world4scorer.studies.sources import STUDIES

    command = f"w4s study {finding.name} {source.name}"
    path = finding.save(source / STUDIES if out is None else out, command)
    print(finding.markdown(command))
    print(f"written: {path}.json, .md, .png")
    return 0


VERBS: Final[dict[str, Callable[..., int]]] = {
    "auxiliary-target": auxiliary_target,
    "label-pairing": label_pairing,
    "reranking": reranking,
    "coverage": coverage,
    "parts": parts,
}
