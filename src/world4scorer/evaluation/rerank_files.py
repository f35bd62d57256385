"""Inertial re-ranking along exchange files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from world4scorer import __version__
from world4scorer.evaluation.exchange_files import NO_PAIR, Reranked, rerank_frames
from world4scorer.outcomes import epdms
from world4scorer.outcomes.batch import map_threads
from world4scorer.rollout.plans import LqrProfile
from world4scorer.scene.exchange import read_exchange
from world4scorer.scene.files import atomic_write


@dataclass(frozen=True)
class RerankedFile:
    """One exchange file, chosen along framewise and with inertia."""

    source: Path
    framewise: Reranked | None = None
    inertial: Reranked | None = None
    error: str | None = None


def rerank_files(paths: Sequence[Path], weight: float, out: Path, lqr: LqrProfile = "navsim") -> Iterator[RerankedFile]:
    """Re-rank files in threads and write `out/<stem>.npz` for each, in order."""

    def rerank(path: Path) -> RerankedFile:
        try:
            frames = read_exchange(path)
            outcomes = [epdms(frame.scene, frame.plans, lqr=lqr) for frame in frames]
            framewise = rerank_frames(frames, outcomes, 0.0, lqr)
            inertial = rerank_frames(frames, outcomes, weight, lqr)
        except (ValueError, OSError, ArithmeticError) as error:
            message = str(error)
            return RerankedFile(path, error=message if str(path) in message else f"{path}: {message}")
        meta = {
            "made_by": f"world4scorer {__version__}",
            "weight": weight,
            "lqr": lqr,
            "tokens": [frame.scene.token for frame in frames],
        }
        with atomic_write(out / f"{path.stem}.npz") as stream:
            np.savez_compressed(
                stream,
                meta_json=np.array(json.dumps(meta)),
                framewise_sel=framewise.chosen,
                framewise_ec=framewise.continued,
                framewise_epdms_filtered=framewise.score,
                rerank_sel=inertial.chosen,
                rerank_ec=inertial.continued,
                rerank_epdms_filtered=inertial.score,
            )
        return RerankedFile(path, framewise, inertial)

    return map_threads(rerank, paths)


def pass_rate(reranked: Sequence[Reranked]) -> float:
    """Share of pairs whose later plan continues the earlier; NaN without pairs."""
    flags = np.concatenate([result.continued for result in reranked])
    flags = flags[flags != NO_PAIR]
    return float(flags.mean()) if len(flags) else float("nan")
