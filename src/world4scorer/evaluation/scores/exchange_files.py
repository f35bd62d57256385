"""Score and re-rank exchange files: one result file for each, under the field names that docs/exchange-format.md lists.

Shapes: F frames, N plans, W weights of the re-ranker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from world4scorer import __version__
from world4scorer.engine.outcomes import V1Outcome, V2Outcome, epdms, label, pdms
from world4scorer.engine.outcomes.batch import map_threads
from world4scorer.engine.outcomes.extended_comfort import extended_comfort, overlap_shift
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.exchange import Frame, read_exchange
from world4scorer.engine.selection.inertial import InertialReranker, pair_interval
from world4scorer.jobs.files import atomic_write

MetricChoice = Literal["labels-v1", "pdms-v1.1", "epdms-v2.2", "epdms-pre151", "all"]

RERANK_WEIGHTS: Final = (0.0, 0.25, 0.5, 1.0, 2.0)
NO_PAIR: Final = 255
"""Stands in unsigned fields for a frame without a predecessor."""

Fields = dict[str, NDArray[Any]]

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class FileResult(Generic[_Result]):
    """One exchange file and what came of it."""

    source: Path
    result: _Result | None = None
    error: str | None = None
    """Why the file could not be used; the other files are not affected."""


def exchange_files(paths: Iterable[Path]) -> list[Path]:
    """List the `.npz` files among `paths` and in the folders among them; two of one name are an error."""
    found: dict[str, Path] = {}
    for path in paths:
        if path.is_dir():
            files = sorted(path.glob("*.npz"))
            if not files:
                raise SceneError(f"{path}: the folder holds no .npz file")
        elif path.exists():
            files = [path]
        else:
            raise FileNotFoundError(f"{path}: no such file or folder")
        for file in files:
            other = found.setdefault(file.stem, file)
            if other != file:
                raise SceneError(f"{file} and {other} would be written to the same result; score them into two folders")
    if not found:
        raise SceneError("no exchange files given; name .npz files, or folders of them")
    return list(found.values())


def score_files(
    paths: Sequence[Path], metric: MetricChoice, out: Path, lqr: LqrProfile = "navsim"
) -> Iterator[FileResult[Fields]]:
    """Score files in threads and write `out/<stem>.npz` for each, in order."""

    def score(frames: list[Frame]) -> tuple[Fields, Fields]:
        fields = score_frames(frames, metric, lqr)
        return fields, fields

    return work_through(paths, out, score)


def work_through(
    paths: Sequence[Path], out: Path, work: Callable[[list[Frame]], tuple[_Result, Fields]]
) -> Iterator[FileResult[_Result]]:
    """Read each file, do the work on its frames, and write the fields it gives to `out/<stem>.npz`; in order.

    `work` returns what the caller wants to know and what is to be written. A file that cannot be used becomes a
    result with an error; the others go on.
    """
    for path in paths:
        if path.resolve() == (out / f"{path.stem}.npz").resolve():
            raise SceneError(f"{path}: the result would overwrite its own input; choose another --out")

    def one(path: Path) -> FileResult[_Result]:
        try:
            result, fields = work(read_exchange(path))
        except (ValueError, OSError, ArithmeticError) as error:
            message = str(error)
            return FileResult(path, error=message if str(path) in message else f"{path}: {message}")
        with atomic_write(out / f"{path.stem}.npz") as stream:
            np.savez_compressed(stream, **fields)  # type: ignore[arg-type]
        return FileResult(path, result)

    return map_threads(one, paths)


def score_frames(frames: Sequence[Frame], metric: MetricChoice, lqr: LqrProfile = "navsim") -> Fields:
    """Compute the result fields of one exchange file."""
    wanted: set[str] = {"labels-v1", "pdms-v1.1", "epdms-v2.2", "epdms-pre151"} if metric == "all" else {metric}
    fields: Fields = {"meta_json": _meta(frames, lqr, metrics=sorted(wanted))}
    for name, field, judge in (("labels-v1", "v1_train", label), ("pdms-v1.1", "v1_eval", pdms)):
        if name in wanted:
            scored = [judge(frame.scene, frame.plans, lqr=lqr) for frame in frames]
            fields |= {field: np.stack([outcome.table for outcome in scored]), **_rollout_fields(scored)}
    if wanted & {"epdms-v2.2", "epdms-pre151"}:
        outcomes = [epdms(frame.scene, frame.plans, lqr=lqr) for frame in frames]
        fields |= _v2_fields(outcomes, wanted) | _rollout_fields(outcomes)
        if len(frames) > 1:
            fields |= _log_fields(frames, outcomes, wanted)
            if "epdms-v2.2" in wanted and all(frame.utilities is not None for frame in frames):
                fields |= _rerank_fields(frames, outcomes, lqr)
    return fields


def _meta(frames: Sequence[Frame], lqr: LqrProfile, **about: Any) -> NDArray[Any]:
    """How a result file was made, as JSON."""
    tokens = [frame.scene.token for frame in frames]
    return np.array(json.dumps({"made_by": f"world4scorer {__version__}", **about, "lqr": lqr, "tokens": tokens}))


def _rollout_fields(outcomes: Sequence[V1Outcome] | Sequence[V2Outcome]) -> Fields:
    rollouts, progress = ([getattr(outcome, name) for outcome in outcomes] for name in ("rollouts", "progress"))
    return {"sim_states": np.stack(rollouts), "progress_raw": np.stack(progress)}


def _v2_fields(outcomes: Sequence[V2Outcome], wanted: set[str]) -> Fields:
    fields: Fields = {"v2_raw": np.stack([outcome.raw for outcome in outcomes])}
    fields["v2_epdms_noec_raw"] = np.stack([outcome.unfiltered().score for outcome in outcomes])
    if all(outcome.human is not None for outcome in outcomes):
        fields["v2_human"] = np.stack([outcome.human for outcome in outcomes if outcome.human is not None])
    if "epdms-v2.2" in wanted:
        fields["v2_filtered"] = np.stack([outcome.table for outcome in outcomes])
        fields["v2_epdms_noec_filtered"] = np.stack([outcome.score for outcome in outcomes])
    if "epdms-pre151" in wanted:
        before = [outcome.before_fix() for outcome in outcomes]
        fields["v2_pre151"] = np.stack([outcome.table for outcome in before])
        fields["v2_epdms_noec_pre151"] = np.stack([outcome.score for outcome in before])
    return fields


def _log_fields(frames: Sequence[Frame], outcomes: Sequence[V2Outcome], wanted: set[str]) -> Fields:
    """Extended comfort where one plan index is taken in every frame, and against the plan given as the previous one."""
    count, plans = len(frames), len(frames[0].plans)
    shift = np.zeros(count, np.int32)
    given = np.full((count, plans), NO_PAIR, np.uint8)
    constant = np.full((count, plans), np.nan)
    for f in range(1, count):
        interval = _interval(frames, f)
        if interval is None:
            continue
        shift[f] = overlap_shift(interval)
        now, before = outcomes[f].rollouts, outcomes[f - 1].rollouts
        for n in range(plans):
            constant[f, n] = extended_comfort(now[n : n + 1], before[n], interval)[0]
        previous = frames[f].previous_plan
        if previous is not None:
            if not 0 <= previous < plans:
                raise SceneError(f"prev_plan_index of {frames[f].scene.token}: {previous} is not one of {plans} plans")
            given[f] = extended_comfort(now, before[previous], interval)
    fields: Fields = {"ec_shift": shift, "ec_const": constant}
    if all(frame.previous_plan is not None for frame in frames):
        fields["ec_given_prev"] = given
    pairs = list(zip(outcomes, constant, strict=True))
    fields["epdms_const_raw"] = np.stack([outcome.unfiltered().score_with(ec) for outcome, ec in pairs])
    if "epdms-v2.2" in wanted:
        fields["epdms_const_filtered"] = np.stack([outcome.score_with(ec) for outcome, ec in pairs])
    if "epdms-pre151" in wanted:
        fields["epdms_const_pre151"] = np.stack([outcome.before_fix().score_with(ec) for outcome, ec in pairs])
    return fields


def _interval(frames: Sequence[Frame], f: int) -> float | None:
    now, before = frames[f].scene, frames[f - 1].scene
    if now.time_us <= before.time_us:
        raise SceneError(f"time_us: {now.token!r} is not later than {before.token!r}; frames must be in time order")
    return pair_interval(now.time_us, before.time_us)


def _rerank_fields(frames: Sequence[Frame], outcomes: Sequence[V2Outcome], lqr: LqrProfile) -> Fields:
    results = [rerank_frames(frames, outcomes, weight, lqr) for weight in RERANK_WEIGHTS]
    return {
        "rerank_lambdas": np.array(RERANK_WEIGHTS),
        "rerank_sel": np.stack([result.chosen for result in results]),
        "rerank_ec": np.stack([result.continued for result in results]),
        "rerank_epdms_filtered": np.stack([result.score for result in results]),
    }


@dataclass(frozen=True)
class Reranked:
    """Choices along a log."""

    chosen: NDArray[np.int32]
    """(F,) index of the plan taken."""
    continued: NDArray[np.uint8]
    """(F,) whether it continues the one before: 1, 0, or 255 where there is none."""
    score: NDArray[np.float64]
    """(F,) EPDMS v2.2 of the plan taken."""


def rerank_frames(
    frames: Sequence[Frame], outcomes: Sequence[V2Outcome], weight: float, lqr: LqrProfile = "navsim"
) -> Reranked:
    """Choose along a log with inertial re-ranking and score what was chosen."""
    reranker = InertialReranker(weight, lqr=lqr)
    chosen = np.empty(len(frames), np.int32)
    continued = np.full(len(frames), NO_PAIR, np.uint8)
    score = np.empty(len(frames))
    for f, (frame, outcome) in enumerate(zip(frames, outcomes, strict=True)):
        if frame.utilities is None:
            raise SceneError(f"utilities of {frame.scene.token}: missing; re-ranking needs a utility for each plan")
        chosen[f] = reranker.choose(frame.scene, frame.plans, frame.utilities)
        if reranker.continued is None:
            score[f] = outcome.score[chosen[f]]
        else:
            continued[f] = reranker.continued[chosen[f]]
            score[f] = outcome.score_with(reranker.continued)[chosen[f]]
    return Reranked(chosen, continued, score)


@dataclass(frozen=True)
class RerankedLog:
    """Choices along one file, framewise and with inertia."""

    framewise: Reranked
    inertial: Reranked


def rerank_files(
    paths: Sequence[Path], weight: float, out: Path, lqr: LqrProfile = "navsim"
) -> Iterator[FileResult[RerankedLog]]:
    """Re-rank files in threads and write `out/<stem>.npz` for each, in order."""

    def rerank(frames: list[Frame]) -> tuple[RerankedLog, Fields]:
        outcomes = [epdms(frame.scene, frame.plans, lqr=lqr) for frame in frames]
        log = RerankedLog(rerank_frames(frames, outcomes, 0.0, lqr), rerank_frames(frames, outcomes, weight, lqr))
        return log, {
            "meta_json": _meta(frames, lqr, weight=weight),
            "framewise_sel": log.framewise.chosen,
            "framewise_ec": log.framewise.continued,
            "framewise_epdms_filtered": log.framewise.score,
            "rerank_sel": log.inertial.chosen,
            "rerank_ec": log.inertial.continued,
            "rerank_epdms_filtered": log.inertial.score,
        }

    return work_through(paths, out, rerank)


def pass_rate(reranked: Sequence[Reranked]) -> float:
    """Share of pairs whose later plan continues the earlier; NaN without pairs."""
    flags = np.concatenate([result.continued for result in reranked])
    flags = flags[flags != NO_PAIR]
    return float(flags.mean()) if len(flags) else float("nan")
