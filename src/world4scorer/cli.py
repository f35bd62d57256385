"""The `w4s` command: which verb, and what becomes of errors. The verbs are in `commands`.

w4s city make --preset quick --out city
w4s bank make --store scenes --out bank
w4s train --preset city --data city --out run
w4s evaluate run
w4s study interventions run
w4s score scenes/ --metric all --out scores
w4s rerank scenes/ --weight 1.0 --out choices
w4s import epoch23.ckpt --out planner
w4s profile --preset paper
w4s report runs/city
w4s doctor
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final

import tyro

from world4scorer.commands import data, demonstrating, evaluating, learning, reporting, scoring
from world4scorer.commands.exit_codes import INPUT_FAILED, INTERRUPTED


def city() -> int:
    """Make, describe and film the embedded world: `w4s city make`, `w4s city info`, `w4s city film`."""
    raise AssertionError("`main` hands the words after `city` to the verbs of the city")


def bank() -> int:
    """Make, describe and import candidate banks: `w4s bank make`, `info`, `import`, `histogram`."""
    raise AssertionError("`main` hands the words after `bank` to the verbs of the bank")


def study() -> int:
    """Repeat a study of the paper on a run or its pools: `w4s study reranking`, `interventions`, `taxonomy`, ..."""
    raise AssertionError("`main` hands the words after `study` to the verbs of the studies")


def train() -> int:
    """Train a planner: generator, shared predictor, score heads, visual readout. May be killed and run again."""
    raise AssertionError("`main` hands the words after `train` to `training.command`, which reads the preset first")


VERBS: Final[dict[str, Callable[..., int]]] = {
    "demo": demonstrating.demo,
    "city": city,
    "check-data": data.check_data,
    "prepare": data.prepare,
    "bank": bank,
    "pretrain": learning.pretrain,
    "probe": learning.probe,
    "targets": learning.targets,
    "train": train,
    "compare": learning.compare,
    "pools": evaluating.pools,
    "evaluate": evaluating.evaluate,
    "study": study,
    "report": reporting.report,
    "show": scoring.show,
    "score": scoring.score,
    "rerank": scoring.rerank,
    "import": learning.import_planner,
    "export": learning.export_planner,
    "profile": learning.profile,
    "doctor": data.doctor,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a verb and return the exit code: 0, 1 where an input could not be used, 2 for a wrong command line."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except (ValueError, OSError) as error:  # what a user can cause; anything else is ours and keeps its traceback
        print(f"w4s: {error}", file=sys.stderr)
        return INPUT_FAILED
    except KeyboardInterrupt:
        print("w4s: interrupted; what is finished is kept", file=sys.stderr)
        return INTERRUPTED


def _run(words: Sequence[str]) -> int:
    first, rest = words[:1], words[1:]
    if first == ["train"]:
        learning.needs_torch("w4s train")
        from world4scorer.training.command import run

        return run(rest)
    if first == ["city"]:
        from world4scorer.city.verbs import VERBS as CITY_VERBS

        return _choose(CITY_VERBS, rest, "w4s city", "The embedded world: real streets, simulated traffic, cameras.")
    if first == ["bank"]:
        from world4scorer.bank.verbs import VERBS as BANK_VERBS

        return _choose(BANK_VERBS, rest, "w4s bank", "Candidate banks: perturbed plans with their outcomes.")
    if first == ["study"]:
        from world4scorer.studies.verbs import VERBS as STUDIES

        return _choose(STUDIES, rest, "w4s study", "The paper's studies: numbers, tables, a figure.")
    return _choose(VERBS, words, "w4s", "Score driving plans that nobody executed.")


def _choose(verbs: dict[str, Callable[..., int]], words: Sequence[str], prog: str, description: str) -> int:
    return int(
        tyro.extras.subcommand_cli_from_dict(
            verbs, prog=prog, description=description, args=words, sort_subcommands=False
        )
    )


if __name__ == "__main__":
    sys.exit(main())
