"""Inertial re-ranking along exchange files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from world4scorer import __version__
from world4scorer.engine.outcomes import epdms
from world4scorer.engine.rollout.plans import LqrProfile
from world4scorer.engine.scene.exchange import Frame
from world4scorer.evaluation.scores.exchange_files import (
    NO_PAIR,
    Fields,
    FileResult,
    Reranked,
    rerank_frames,
    work_through,
)


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
        meta = {
            "made_by": f"world4scorer {__version__}",
            "weight": weight,
            "lqr": lqr,
            "tokens": [frame.scene.token for frame in frames],
        }
        return log, {
            "meta_json": np.array(json.dumps(meta)),
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
