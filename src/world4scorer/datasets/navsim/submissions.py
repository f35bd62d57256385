"""Submission pickles of the NAVSIM leaderboards: read without the devkit, written as the official scripts read them.

>>> submission = read_submission("submission.pkl")
>>> submission.plans["ba1bd196cdf43379"]   # (8, 3)
>>> write_submission("mine.pkl", plans, version="v1.1", team_name="me")
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.navsim.devkit_classes import DEVKIT_NAMES, Trajectory, TrajectorySampling, dump_for_devkit
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.pickles import load_restricted
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.indices import PLAN_INTERVAL, PLAN_POSES
from world4scorer.engine.scene.plan import as_plans
from world4scorer.jobs.files import atomic_write
from world4scorer.jobs.names import safe_name

SubmissionVersion = Literal["v1.1", "v2.2"]
Plans = Mapping[str, NDArray[np.float64]]

MAX_LISTED_TOKENS: Final = 5
"""Missing tokens listed in an error."""
HEADER: Final = ("team_name", "authors", "email", "institution", "country / region")


@dataclass(frozen=True, eq=False)
class Submission:
    """One plan for each token."""

    version: SubmissionVersion
    plans: Plans
    """Token -> (8, 3); for v2.2 those of the first stage."""
    second_stage: Plans = field(default_factory=dict)
    """Synthetic token -> (8, 3)."""
    header: Mapping[str, Any] = field(default_factory=dict)
    """Team name, authors and so on, as in the file."""


def read_submission(path: str | os.PathLike[str]) -> Submission:
    """Read a submission of either version, or a plain pickled dict token -> (8, 3)."""
    path = Path(path)
    content = load_restricted(path, DEVKIT_NAMES)
    if not isinstance(content, dict):
        raise DatasetError(f"{path}: holds a {type(content).__name__}; a submission is a dict")
    header = {name: content[name] for name in HEADER if name in content}
    if "predictions" in content:
        return Submission("v1.1", _only_seed(path, content, "predictions"), header=header)
    if "first_stage_predictions" in content:
        first = _only_seed(path, content, "first_stage_predictions")
        second = _only_seed(path, content, "second_stage_predictions") if "second_stage_predictions" in content else {}
        return Submission("v2.2", first, second, header)
    if content and all(isinstance(value, np.ndarray | Trajectory) for value in content.values()):
        return Submission("v1.1", _plans(path, content))
    raise DatasetError(
        f"{path}: neither 'predictions' (v1.1) nor 'first_stage_predictions' (v2.2) "
        f"among its keys {sorted(map(str, content))}"
    )


def _only_seed(path: Path, content: Mapping[str, Any], key: str) -> dict[str, NDArray[np.float64]]:
    seeds = content[key]
    if not isinstance(seeds, list | tuple) or len(seeds) != 1 or not isinstance(seeds[0], dict):
        found = f"{len(seeds)} entries" if isinstance(seeds, list | tuple) else type(seeds).__name__
        raise DatasetError(
            f"{path}: {key!r} must be a list with one dict, as the official scripts need it; found {found}"
        )
    return _plans(path, seeds[0])


def _plans(path: Path, given: Mapping[Any, Any]) -> dict[str, NDArray[np.float64]]:
    return {
        safe_name(f"{path}: token", str(token), DatasetError): _plan(path, token, value)
        for token, value in given.items()
    }


def _plan(path: Path, token: object, value: Any) -> NDArray[np.float64]:
    poses = value
    if isinstance(value, Trajectory):
        sampling = getattr(value, "trajectory_sampling", None)
        interval = getattr(sampling, "interval_length", PLAN_INTERVAL)
        if not np.isclose(float(interval), PLAN_INTERVAL):
            raise DatasetError(
                f"{path}: the plan of {token!r} has a pose every {interval} s; {PLAN_POSES} poses every "
                f"{PLAN_INTERVAL} s are scored here, write the submission with that sampling"
            )
        poses = getattr(value, "poses", None)
    try:
        return np.asarray(as_plans(np.asarray(poses)[None], str(token))[0])
    except (SceneError, TypeError) as error:
        raise DatasetError(f"{path}: {error}") from error


def tokens_with_plan(wanted: Sequence[str], plans: Mapping[str, Any], allow_missing: bool) -> list[str]:
    """Return the wanted tokens that have a plan; missing ones are an error unless allowed."""
    missing = [token for token in wanted if token not in plans]
    if not wanted:
        raise ValueError("no token to evaluate: the store is empty; fill it with `w4s prepare`")
    if len(missing) == len(wanted):
        raise ValueError(f"none of the {len(wanted)} tokens to evaluate has a plan; are they of the same split?")
    if missing and not allow_missing:
        more = ", ..." if len(missing) > MAX_LISTED_TOKENS else ""
        raise ValueError(
            f"{len(missing)} of {len(wanted)} tokens have no plan: {', '.join(missing[:MAX_LISTED_TOKENS])}{more}; "
            "allow missing tokens (--allow-missing) to leave them out of the averages"
        )
    return [token for token in wanted if token in plans]


def write_submission(
    path: str | os.PathLike[str],
    plans: Mapping[str, Any],
    *,
    version: SubmissionVersion,
    second_stage: Mapping[str, Any] | None = None,
    team_name: str = "",
    authors: str = "",
    email: str = "",
    institution: str = "",
    country: str = "",
) -> None:
    """Write plans, token -> (8, 3), as the official v1.1 or v2.2 script reads them; poses are kept in float32."""
    if version not in ("v1.1", "v2.2"):
        raise ValueError(f"version: unknown version {version!r}; choose 'v1.1' or 'v2.2'")
    if second_stage is not None and version == "v1.1":
        raise ValueError("second_stage: v1.1 has one stage only")
    content: dict[str, Any] = dict(zip(HEADER, (team_name, authors, email, institution, country), strict=True))
    if version == "v1.1":
        content["predictions"] = [_trajectories(plans)]
    else:
        content["first_stage_predictions"] = [_trajectories(plans)]
        content["second_stage_predictions"] = [_trajectories(second_stage or {})]
    with atomic_write(path) as stream:
        dump_for_devkit(content, stream)


def _trajectories(plans: Mapping[str, Any]) -> dict[str, Trajectory]:
    sampling = TrajectorySampling(PLAN_POSES, PLAN_INTERVAL)
    return {
        token: Trajectory(as_plans(np.asarray(plan)[None], token)[0].astype(np.float32), sampling)
        for token, plan in plans.items()
    }
