"""Pickles of nuPlan objects as the devkit writes them, without the devkit: classes that carry its names."""

from __future__ import annotations

import pickle
import sys
import types
from typing import Any

ACTOR = "nuplan.common.actor_state"
MAPS = "nuplan.common.maps.maps_datatypes"


class Devkit:
    """Makes classes that pickle under given names, until `forget`."""

    def __init__(self) -> None:
        self.modules: list[str] = []

    def define(self, module: str, name: str, enum: bool = False, arguments: tuple[str, ...] = ()) -> type:
        """A class of that name; an enumeration by its value, one with `arguments` by a call of its constructor."""

        def __init__(self: Any, *value: Any, **fields: Any) -> None:
            self.__dict__.update(fields, **({"value": value[0]} if value else {}))

        def __reduce__(self: Any) -> Any:
            return type(self), (self.value,)

        def reduce_to_call(self: Any) -> Any:
            return type(self), tuple(getattr(self, argument) for argument in arguments)

        parts = module.split(".")
        for depth in range(1, len(parts) + 1):
            parent = ".".join(parts[:depth])
            if parent not in sys.modules:
                sys.modules[parent] = types.ModuleType(parent)
                self.modules.append(parent)
        if hasattr(sys.modules[module], name):
            return getattr(sys.modules[module], name)  # type: ignore[no-any-return]
        body: dict[str, Any] = {"__init__": __init__, "__module__": module}
        if enum:
            body["__reduce__"] = __reduce__
        elif arguments:
            body["__reduce__"] = reduce_to_call
        kind = type(name, (), body)
        setattr(sys.modules[module], name, kind)
        return kind

    def forget(self) -> None:
        for module in self.modules:
            del sys.modules[module]
        self.modules.clear()

    def tracked(self, kind: int, row: dict[str, Any]) -> Any:
        """A tracked object: x, y, heading, length, width, height, vx, vy (global), token, track_token."""
        enum = self.define(f"{ACTOR}.tracked_objects_types", "TrackedObjectType", enum=True)
        box = self.define(f"{ACTOR}.oriented_box", "OrientedBox")
        pose = self.define(f"{ACTOR}.state_representation", "StateSE2")
        vector = self.define(f"{ACTOR}.state_representation", "StateVector2D")
        meta = self.define(f"{ACTOR}.scene_object", "SceneObjectMetadata")
        thing = self.define(f"{ACTOR}.agent", "Agent")
        size = {f"_{side}": row[side] for side in ("length", "width", "height")}
        return thing(
            _tracked_object_type=enum(kind),
            _box=box(_center=pose(x=row["x"], y=row["y"], heading=row["heading"]), **size),
            _velocity=vector(_x=row["vx"], _y=row["vy"]),
            _metadata=meta(token=row["token"], track_token=row["track_token"]),
        )

    def detections(self, objects: list[Any]) -> Any:
        """An entry of `extended_detections_tracks`."""
        outer = self.define("nuplan.planning.simulation.observation.observation_type", "DetectionsTracks")
        inner = self.define(f"{ACTOR}.tracked_objects", "TrackedObjects")
        return outer(tracked_objects=inner(tracked_objects=objects))

    def lights(self, states: list[tuple[int, bool]]) -> Any:
        """An entry of `extended_traffic_light_data`: connectors and whether they are red."""
        outer, light = self.define(MAPS, "TrafficLightStatuses"), self.define(MAPS, "TrafficLightStatusData")
        status = self.define(MAPS, "TrafficLightStatusType", enum=True)
        return outer(
            traffic_lights=[
                light(status=status(2 if red else 0), lane_connector_id=connector, timestamp=0)
                for connector, red in states
            ]
        )

    def dumps(self, content: Any) -> bytes:
        return pickle.dumps(content)
