"""Stand-ins for the classes in metric caches.

The classes that hold geometry are pickled as a call of their constructor, or by their fields, depending on the release:
the stand-ins give both the same field names, which are also those of the devkits' own objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import shapely

from world4scorer.datasets.navsim.pickles import InertObject, Shim
from world4scorer.datasets.navsim.synthetic import PATHS, NuplanEnum


class _Constructed(Shim):
    """An object whose constructor's arguments are its fields."""

    ARGUMENTS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *arguments: Any) -> None:
        if len(arguments) > len(self.ARGUMENTS):
            raise TypeError(f"{type(self).__name__} with {len(arguments)} arguments")
        self.__dict__.update(zip(self.ARGUMENTS, arguments, strict=False))


class OccupancyMap(_Constructed):
    """Polygons of one step by token."""

    ARGUMENTS = ("_tokens", "_geometries", "_node_capacity")


class DrivableMap(_Constructed):
    """Polygons of the map by token, with their layers."""

    ARGUMENTS = ("_tokens", "_map_types", "_geometries", "_node_capacity")


class PathLine(_Constructed):
    """The centreline."""

    ARGUMENTS = ("_discrete_path",)


class StateTrajectory(_Constructed):
    """Ego states over time."""

    ARGUMENTS = ("_trajectory",)


def _geometry(data: Any, *_: Any) -> Any:
    if not isinstance(data, bytes):
        raise TypeError("a geometry is given as well-known binary")
    return shapely.from_wkb(data)


_PLANNER: Final = "navsim.planning.simulation.planner.pdm_planner"

ALLOWED: Final[Mapping[tuple[str, str], Any]] = {
    (f"{_PLANNER}.observation.pdm_occupancy_map", "PDMOccupancyMap"): OccupancyMap,
    (f"{_PLANNER}.observation.pdm_occupancy_map", "PDMDrivableMap"): DrivableMap,
    (f"{_PLANNER}.utils.pdm_path", "PDMPath"): PathLine,
    ("nuplan.planning.simulation.trajectory.interpolated_trajectory", "InterpolatedTrajectory"): StateTrajectory,
    ("nuplan.common.actor_state.tracked_objects_types", "TrackedObjectType"): NuplanEnum,
    ("nuplan.common.maps.maps_datatypes", "SemanticMapLayer"): NuplanEnum,
    ("nuplan.common.maps.maps_datatypes", "TrafficLightStatusType"): NuplanEnum,
    ("navsim.common.enums", "SceneFrameType"): NuplanEnum,
    ("shapely.io", "from_wkb"): _geometry,
    ("shapely", "from_wkb"): _geometry,
    ("shapely.strtree", "STRtree"): InertObject,
    **PATHS,
}
"""Names that metric caches use, beside those that are only carried along."""

INERT: Final = ("navsim", "nuplan", "scipy")
"""Packages of objects of which only fields are read, or nothing."""
