"""Second-stage scenes of two-stage splits: synthetic scenes, one pickle each.

The pickles hold nuPlan objects, which are read through stand-ins: no class of the devkits is ever imported.

Example::

    scene = read_synthetic_scene("navhard_two_stage/synthetic_scene_pickles/0a1b....pkl")
    print(scene.original_token, len(scene.frames))
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Final

import numpy as np

from world4scorer.datasets.navsim.annotations import TYPE_NAMES, Annotations
from world4scorer.datasets.navsim.errors import DatasetError
from world4scorer.datasets.navsim.frames import LogFrame, rotation_about_z
from world4scorer.datasets.navsim.logs import FRAME_US
from world4scorer.datasets.navsim.pickles import InertObject, load_restricted, pickled_field
from world4scorer.engine.scene.indices import Light
from world4scorer.jobs.names import safe_name

SYNTHETIC_TOKEN_LENGTH: Final = 17
"""Characters of a second-stage token; logged frames have 16."""


class NuplanEnum:
    """A member of a nuPlan enumeration, by value."""

    def __init__(self, *value: Any) -> None:
        self.value = value[0] if value else None

    def __setstate__(self, state: Any) -> None:
        raise TypeError("an enumeration has no state")


_ACTOR: Final = "nuplan.common.actor_state"
_OBJECTS: Final = {
    (f"{_ACTOR}.agent", "Agent"),
    (f"{_ACTOR}.static_object", "StaticObject"),
    (f"{_ACTOR}.scene_object", "SceneObject"),
    (f"{_ACTOR}.scene_object", "SceneObjectMetadata"),
    (f"{_ACTOR}.oriented_box", "OrientedBox"),
    (f"{_ACTOR}.oriented_box", "Dimension"),
    (f"{_ACTOR}.state_representation", "StateSE2"),
    (f"{_ACTOR}.state_representation", "StateVector2D"),
    (f"{_ACTOR}.state_representation", "Point2D"),
    (f"{_ACTOR}.state_representation", "TimePoint"),
    (f"{_ACTOR}.tracked_objects", "TrackedObjects"),
    ("nuplan.planning.simulation.observation.observation_type", "DetectionsTracks"),
    ("nuplan.common.maps.maps_datatypes", "TrafficLightStatuses"),
    ("nuplan.common.maps.maps_datatypes", "TrafficLightStatusData"),
    ("nuplan.planning.simulation.trajectory.predicted_trajectory", "PredictedTrajectory"),
}
_ENUMS: Final = {
    (f"{_ACTOR}.tracked_objects_types", "TrackedObjectType"),
    ("nuplan.common.maps.maps_datatypes", "TrafficLightStatusType"),
    ("navsim.common.enums", "SceneFrameType"),
}


def joined_path(*parts: Any) -> str:
    """A pickled path as text."""
    return str(PurePath(*(str(part) for part in parts)))


PATHS: Final[Mapping[tuple[str, str], Any]] = {
    (module, name): joined_path
    for module in ("pathlib", "pathlib._local")  # the latter: pickled by Python 3.13
    for name in ("PosixPath", "PurePosixPath", "WindowsPath")
}
"""Names of paths in pickles, and their stand-in."""


def _outline(*_: Any) -> None:
    """Cached outlines of boxes are not needed."""


ALLOWED: Final[Mapping[tuple[str, str], Any]] = {
    **dict.fromkeys(_OBJECTS, InertObject),
    **dict.fromkeys(_ENUMS, NuplanEnum),
    **PATHS,
    ("shapely.io", "from_wkb"): _outline,
}
"""Names that second-stage pickles may use, and their stand-ins."""


@dataclass(frozen=True, eq=False)
class SyntheticScene:
    """A second-stage scene."""

    token: str
    log_name: str
    map_location: str
    original_scene: str
    """Token of the logged scene that it continues."""
    original_token: str
    """Token of the first-stage scene from which it was made."""
    frames: tuple[LogFrame, ...]
    """History up to now, and future as far as it is given."""
    extended_lights: tuple[Any, ...] | None
    """Traffic lights beyond the frames, as nuPlan stand-ins, step by step."""
    extended_tracks: tuple[Any, ...] | None
    """Traffic beyond the frames, as nuPlan stand-ins, step by step."""

    def window(self, count: int) -> tuple[LogFrame, ...]:
        """`count` frames: those of the scene, then what the extended lists say, 0.5 s apart.

        Added frames know traffic and lights only. Their ego stands at the origin of the map, since their boxes are
        global already.
        """
        frames = list(self.frames[:count])
        last = self.frames[-1]
        tracks = self.extended_tracks or ()
        while len(frames) < count:
            index = len(frames) - len(self.frames)
            if index >= len(tracks):
                raise DatasetError(
                    f"synthetic scene {self.token}: {len(self.frames)} frames and {len(tracks)} extended ones, "
                    f"{count} are needed"
                )
            lights = self.extended_lights or ()
            frames.append(
                replace(
                    last,
                    time_us=last.time_us + (index + 1) * FRAME_US,
                    ego_pose=np.zeros(3),
                    annotations=tracked_objects(tracks[index]),
                    traffic_lights=_lights(lights[index]) if index < len(lights) else (),
                )
            )
        return tuple(frames)


def read_synthetic_scene(path: str | os.PathLike[str]) -> SyntheticScene:
    """Read a pickle of the folder `synthetic_scene_pickles`."""
    path = Path(path)
    raw = load_restricted(path, ALLOWED)
    if not isinstance(raw, Mapping) or "scene_metadata" not in raw or "frames" not in raw:
        raise DatasetError(f"{path}: expected a dict with 'scene_metadata' and 'frames'; this is no synthetic scene")
    meta = raw["scene_metadata"]
    try:
        where = f"{path}: frame"
        frames = tuple(_frame(frame, meta, f"{where} {index}") for index, frame in enumerate(raw["frames"]))
        return SyntheticScene(
            token=safe_name(f"{path}: initial_token", str(meta.get("initial_token", path.stem)), DatasetError),
            log_name=safe_name(f"{path}: log_name", str(meta["log_name"]), DatasetError),
            map_location=str(meta["map_name"]),
            original_scene=str(meta["corresponding_original_scene"]),
            original_token=str(meta["corresponding_original_initial_token"]),
            frames=frames,
            extended_lights=_listed(raw.get("extended_traffic_light_data")),
            extended_tracks=_listed(raw.get("extended_detections_tracks")),
        )
    except KeyError as error:
        raise DatasetError(f"{path}: field {error} is missing; the pickle is of another version") from error


def _lights(entry: Any) -> tuple[tuple[str, bool], ...]:
    """Lane connectors of an entry of `extended_lights`, an object or a plain list, and whether their lights are red."""
    return tuple(
        (str(pickled_field(light, "lane_connector_id")), pickled_field(light, "status").value == Light.RED)
        for light in getattr(entry, "traffic_lights", entry)
    )


def _listed(value: Any) -> tuple[Any, ...] | None:
    return None if value is None else tuple(value)


def _frame(raw: Mapping[str, Any], meta: Mapping[str, Any], where: str) -> LogFrame:
    """A frame of a synthetic scene, brought to the form of a logged one."""
    status, boxes = raw["ego_status"], raw["annotations"]
    pose = np.asarray(status["ego_pose"], np.float64).reshape(-1)
    if not status.get("in_global_frame", True):
        raise DatasetError(f"{where}: the ego pose is not in the global frame")
    cameras = {
        name.upper(): {
            "data_path": str(camera["camera_path"] if "camera_path" in camera else camera["data_path"]),
            "sensor2lidar_rotation": camera["sensor2lidar_rotation"],
            "sensor2lidar_translation": camera["sensor2lidar_translation"],
            "cam_intrinsic": camera["intrinsics"] if "intrinsics" in camera else camera["cam_intrinsic"],
            "distortion": camera["distortion"],
        }
        for name, camera in (raw.get("camera_dict") or {}).items()
        if camera
    }
    anns = None
    if boxes is not None:
        anns = {
            "gt_boxes": boxes["boxes"],
            "gt_names": boxes["names"],
            "gt_velocity_3d": boxes["velocity_3d"],
            "instance_tokens": boxes["instance_tokens"],
            "track_tokens": boxes["track_tokens"],
        }
    return LogFrame.from_raw(
        {
            "token": raw["token"],
            "timestamp": raw["timestamp"],
            "log_name": meta["log_name"],
            "scene_token": meta["scene_token"],
            "map_location": meta["map_name"],
            "roadblock_ids": raw["roadblock_ids"],
            "ego2global_translation": np.array([pose[0], pose[1], 0.0]),
            "ego2global_rotation": rotation_about_z(float(pose[2])),
            "ego_dynamic_state": [*status["ego_velocity"], *status["ego_acceleration"]],
            "traffic_lights": raw["traffic_lights"],
            "driving_command": status["driving_command"],
            "cams": cameras,
            "anns": anns,
        },
        where,
    )


def tracked_objects(detections: Any) -> Annotations:
    """Boxes of an entry of `extended_tracks`, in the GLOBAL frame; types that NAVSIM does not have are left out."""
    objects = getattr(getattr(detections, "tracked_objects", detections), "tracked_objects", None)
    if objects is None:
        raise DatasetError("extended_detections_tracks: an entry holds no tracked objects")
    rows, kinds, velocities, instances, tracks = [], [], [], [], []
    for thing in objects:
        kind = pickled_field(thing, "tracked_object_type").value
        if kind not in TYPE_NAMES.values():
            continue
        box, meta, velocity = (
            pickled_field(thing, "box"),
            pickled_field(thing, "metadata"),
            pickled_field(thing, "velocity", None),
        )
        centre = pickled_field(box, "center")
        size = [float(pickled_field(box, side)) for side in ("length", "width", "height")]
        rows.append(
            [pickled_field(centre, "x"), pickled_field(centre, "y"), 0.0, *size, pickled_field(centre, "heading")]
        )
        velocities.append(
            [0.0, 0.0, 0.0] if velocity is None else [pickled_field(velocity, "x"), pickled_field(velocity, "y"), 0.0]
        )
        kinds.append(kind)
        instances.append(str(pickled_field(meta, "token")))
        tracks.append(str(pickled_field(meta, "track_token")))
    return Annotations(
        np.array(rows, np.float64).reshape(-1, 7),
        np.array(kinds, np.int8),
        np.array(velocities, np.float64).reshape(-1, 3),
        tuple(instances),
        tuple(tracks),
    )
