"""Read one metric cache.

>>> cache = read_metric_cache("metric_cache/2021.05.12/unknown/ba1bd196cdf43379/metric_cache.pkl")
>>> pdms(cache.scene, plans).score
"""

from __future__ import annotations

import lzma
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from world4scorer.datasets.metric_cache.classes import ALLOWED, INERT
from world4scorer.datasets.metric_cache.drivable_map import read_map
from world4scorer.datasets.metric_cache.ego_states import ego_row, ego_time, poses_of, trajectory_rows
from world4scorer.datasets.metric_cache.observation import Observation, read_observation
from world4scorer.datasets.navsim.devkit_classes import DEVKIT_NAMES
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.pickles import load_restricted, pickled_field
from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.scene import Scene

FILE_NAME: Final = "metric_cache.pkl"
MAX_BYTES: Final = 1 << 30
"""Unpacked size beyond which a file is refused: caches have some megabytes."""

CacheVersion = Literal["v1.1", "v2.2"]


@dataclass(frozen=True, eq=False)
class MetricCache:
    """What the devkits keep of one frame, under their names, as arrays."""

    token: str
    log_name: str
    version: CacheVersion
    """v1.1 has 5 s of traffic without lights; v2.2 has 4 s with red lights, the human's past and future."""
    time_us: int
    ego_state: NDArray[np.float64]
    """(11,) columns of `State`."""
    trajectory: NDArray[np.float64]
    """(R, 3) rear-axle poses of PDM-Closed every 0.1 s."""
    observation: Observation
    centerline: NDArray[np.float64]
    """(C, 3)"""
    route_lane_ids: tuple[str, ...]
    drivable_area_map: PolygonMap
    """Its last polygons are the areas that red lights close."""
    human_trajectory: NDArray[np.float64] | None = None
    """(8, 3) in the ego frame."""
    past_states: NDArray[np.float64] | None = None
    """(H, 11)"""
    past_time_us: NDArray[np.int64] | None = None

    @cached_property
    def scene(self) -> Scene:
        """The frame as a scene. It has no lanes, so that traffic can be replayed only."""
        areas = len(self.observation.red_ids)
        return Scene(
            token=self.token,
            log_name=self.log_name,
            time_us=self.time_us,
            ego_state=self.ego_state,
            centerline=self.centerline,
            map=self.drivable_area_map,
            route_lane_ids=self.route_lane_ids,
            tracks=self.observation.tracks,
            reference=self.trajectory,
            lights=self.observation.lights(len(self.drivable_area_map.ids) - areas),
            past_states=self.past_states,
            past_time_us=self.past_time_us,
            human_future=self.human_trajectory,
        )


def read_metric_cache(path: str | os.PathLike[str]) -> MetricCache:
    """Read a `metric_cache.pkl` of either devkit; its folder has the name of the token.

    No class of the devkits is imported and nothing of the pickle is run.
    """
    path = Path(path)
    try:
        return _cache(load_restricted(_unpack(path), {**ALLOWED, **DEVKIT_NAMES}, INERT), path)
    except (SceneError, DatasetError) as error:
        raise DatasetError(f"{path}: {error}") from error
    except (AttributeError, TypeError, KeyError, IndexError) as error:
        raise DatasetError(f"{path}: no metric cache of NAVSIM v1.1 or v2.2 ({error})") from error
    except ValueError as error:
        raise type(error)(f"{path}: {str(error).removeprefix('pickle: ')}") from error


def _unpack(path: Path) -> bytes:
    unpacker = lzma.LZMADecompressor()
    try:
        data = unpacker.decompress(path.read_bytes(), MAX_BYTES)
    except lzma.LZMAError as error:
        raise DatasetError(f"not an xz file ({error}); is it a metric cache?") from error
    if not unpacker.eof:
        raise DatasetError(f"cut short, or more than {MAX_BYTES >> 20} MB unpacked; make or fetch it again")
    return data


def _cache(raw: Any, path: Path) -> MetricCache:
    ego = pickled_field(raw, "ego_state")
    observation = read_observation(pickled_field(raw, "observation"))
    reference, _ = trajectory_rows(pickled_field(raw, "trajectory"))
    human, past = pickled_field(raw, "human_trajectory", None), pickled_field(raw, "past_human_trajectory", None)
    states, times = (None, None) if past is None else trajectory_rows(past)
    # v2.2 saves the log's name; in v1.1 it is that of the folder: LOG/unknown/TOKEN/metric_cache.pkl
    new = pickled_field(raw, "log_name", None) is not None
    return MetricCache(
        token=path.parent.name,
        log_name=str(raw.log_name) if new else path.parents[2].name,
        version="v2.2" if new else "v1.1",
        time_us=ego_time(ego),
        ego_state=ego_row(ego),
        trajectory=np.ascontiguousarray(reference[:, :3]),
        observation=observation,
        centerline=poses_of(pickled_field(pickled_field(raw, "centerline"), "discrete_path")),
        route_lane_ids=tuple(str(name) for name in pickled_field(raw, "route_lane_ids")),
        drivable_area_map=read_map(pickled_field(raw, "drivable_area_map"), observation),
        human_trajectory=None if human is None else np.asarray(pickled_field(human, "poses"), np.float64),
        past_states=states,
        past_time_us=times,
    )
