"""Check a submission before it is uploaded: one verdict, with every reason against it.

>>> report = check_submission(Path("submission.pkl"), wanted, SceneStore("scenes"))
>>> print("\\n".join(report.lines()))
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer.datasets.navsim.devkit_classes import DEVKIT_NAMES, Trajectory
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.datasets.navsim.submissions import HEADER, Submission, read_submission
from world4scorer.datasets.navsim.synthetic import SYNTHETIC_TOKEN_LENGTH
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.indices import PLAN_INTERVAL, PLAN_POSES
from world4scorer.evaluation.scores.score_table import ScoreTable
from world4scorer.evaluation.scores.submission import Metric, evaluate_plans

METRICS: Final[Mapping[str, Metric]] = {"v1.1": "pdms-v1.1", "v2.2": "epdms-v2.2"}
"""Metric of the benchmark that a form of submission belongs to."""
PLANS_OF: Final = {"v1.1": ("predictions",), "v2.2": ("first_stage_predictions", "second_stage_predictions")}
"""Keys of the plans in a file, by form."""
MAX_SPEED: Final = 60.0
"""m/s; a plan that is faster between two poses was hardly meant."""
MAX_EXAMPLES: Final = 3
"""Tokens named in a line."""


@dataclass(frozen=True)
class SubmissionReport:
    """What a submission holds, and what is wrong with it."""

    path: Path
    facts: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    """Reasons not to upload it."""
    warnings: tuple[str, ...] = ()
    scores: ScoreTable | None = field(default=None, compare=False)
    """Its scores on a store."""

    @property
    def is_ready(self) -> bool:
        """Whether nothing speaks against an upload."""
        return not self.errors

    def plus(
        self, facts: Sequence[str] = (), errors: Sequence[str] = (), warnings: Sequence[str] = ()
    ) -> SubmissionReport:
        """This report with more lines."""
        return replace(
            self,
            facts=(*self.facts, *facts),
            errors=(*self.errors, *errors),
            warnings=(*self.warnings, *warnings),
        )

    def lines(self) -> list[str]:
        """Facts, warnings, errors, and the verdict in the last line."""
        count = f"{len(self.errors)} error{'' if len(self.errors) == 1 else 's'}"
        verdict = "ready to upload" if self.is_ready else f"DO NOT upload: {count}"
        marked = [("", self.facts), ("warning: ", self.warnings), ("error: ", self.errors)]
        return [f"  {mark}{line}" for mark, lines in marked for line in lines] + [f"{self.path}: {verdict}"]


def check_submission(
    path: Path, wanted: Collection[str] | None = None, store: SceneStore | None = None
) -> SubmissionReport:
    """Check a file: form, metadata, tokens (those of a split, else of the store), shapes, numbers, sampling, score."""
    submission, report = examine(path)
    if submission is None:
        return report
    if wanted is None and store is not None:
        wanted = [token for token in store if len(token) != SYNTHETIC_TOKEN_LENGTH]
    if wanted is None:
        report = report.plus(errors=["tokens were not compared; give --split with --data, or --store"])
    else:
        report = report.plus(errors=_token_errors(submission, wanted))
    if store is None or report.errors:
        return report
    tokens = [token for token in (wanted or submission.plans) if token in store]
    scores = evaluate_plans(store, submission.plans, metric=METRICS[submission.version], tokens=tokens)
    report = report.plus([f"expected {scores.metric} on {len(tokens):,} scenes: {scores.score:.4f}"])
    if wanted is not None and len(tokens) < len(wanted):
        line = f"the store has {len(tokens):,} of {len(wanted):,} tokens; the score is of these alone"
        report = report.plus(warnings=[line])
    return replace(report, scores=scores)


def examine(path: Path) -> tuple[Submission | None, SubmissionReport]:
    """What a file says of itself: form, metadata, shapes, numbers, sampling; None where it cannot be read."""
    try:
        submission = read_submission(path)
    except ValueError as error:
        return None, SubmissionReport(path, errors=(str(error).removeprefix(f"{path}: "),))
    errors = _form_errors(load_restricted(path, DEVKIT_NAMES), submission)
    warnings = [*_header_warnings(submission.header), *_speed_warnings(submission)]
    counts = f"{len(submission.plans):,} plans, {len(submission.second_stage):,} of stage 2"
    return submission, SubmissionReport(path).plus([f"form {submission.version}, {counts}"], errors, warnings)


def _form_errors(content: Any, submission: Submission) -> Sequence[str]:
    """What the official scripts would stumble over: keys, classes, sampling, number types."""
    missing = [key for key in (*HEADER, *PLANS_OF[submission.version]) if key not in content]
    if missing:
        return [f"keys missing: {', '.join(map(repr, missing))}"]
    found: dict[str, list[str]] = {}
    for key in PLANS_OF[submission.version]:
        for token, plan in content[key][0].items():
            for fault in _plan_faults(token, plan):
                found.setdefault(fault, []).append(str(token))
    return [f"{fault}: {_examples(tokens)}" for fault, tokens in found.items()]


def _plan_faults(token: Any, plan: Any) -> Sequence[str]:
    if not isinstance(token, str):
        return ["tokens must be texts"]
    if not isinstance(plan, Trajectory):
        return [f"plans must be the devkit's Trajectory, not {type(plan).__name__}"]
    sampling = getattr(plan, "trajectory_sampling", None)
    poses, interval = getattr(sampling, "num_poses", None), getattr(sampling, "interval_length", None)
    faults = []
    if poses != PLAN_POSES or interval is None or not np.isclose(interval, PLAN_INTERVAL):
        faults.append(f"sampling must be {PLAN_POSES} poses every {PLAN_INTERVAL} s, not {poses} every {interval}")
    if plan.poses.dtype != np.float32:
        faults.append(f"poses must be float32, not {plan.poses.dtype}")
    return faults


def _header_warnings(header: Mapping[str, Any]) -> Sequence[str]:
    empty = [name for name in HEADER if not str(header.get(name, "")).strip()]
    return [f"metadata is empty: {', '.join(empty)}; leaderboards ask for it"] if empty else []


def _token_errors(submission: Submission, wanted: Collection[str]) -> Sequence[str]:
    names = set(wanted)
    missing = [token for token in wanted if token not in submission.plans]
    other = [token for token in submission.plans if token not in names]
    errors = [f"{len(missing):,} of {len(names):,} tokens have no plan: {_examples(missing)}"] if missing else []
    return errors + ([f"{len(other):,} plans are of other tokens: {_examples(other)}"] if other else [])


def _speed_warnings(submission: Submission) -> Sequence[str]:
    fast = []
    for token, plan in {**submission.plans, **submission.second_stage}.items():
        points = np.concatenate([np.zeros((1, 2)), plan[:, :2]])
        if np.linalg.norm(np.diff(points, axis=0), axis=1).max() > MAX_SPEED * PLAN_INTERVAL:
            fast.append(token)
    return [f"{len(fast):,} plans are faster than {MAX_SPEED:.0f} m/s: {_examples(fast)}"] if fast else []


def _examples(tokens: Sequence[str]) -> str:
    return ", ".join(tokens[:MAX_EXAMPLES]) + (", ..." if len(tokens) > MAX_EXAMPLES else "")
