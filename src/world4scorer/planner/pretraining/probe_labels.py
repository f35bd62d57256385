"""Labels of linear probes, for scenes and for patches of the front view, from logs and prepared scenes.

Shapes: S scenes, P patches of the front view, n boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from world4scorer.datasets.navsim.annotations import Annotations
from world4scorer.datasets.navsim.cameras import FRONT, VIEWS, Camera
from world4scorer.datasets.navsim.frames import LogFrame
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.store import SceneStore
from world4scorer.engine.scene.geometry import relative_points, relative_poses, rotate, to_global_axes
from world4scorer.engine.scene.indices import DRIVABLE_LAYERS, Light, State, TrackType
from world4scorer.engine.scene.scene import Scene
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.model.images import fit_intrinsics, read_view
from world4scorer.planner.pretrained.image_encoder import ImageEncoder
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.planner.pretraining.views import split_logs

CORRIDOR_HALF_WIDTH: Final = 1.8
"""Half width of the corridor around the centreline [m]."""
MAX_LEAD_DISTANCE: Final = 25.0
"""Largest distance of a lead vehicle [m]; for its distance, twice as far."""
MAX_SIGNAL_DISTANCE: Final = 60.0
"""Largest distance of the lane connector that a red signal closes [m]."""
MAX_COUNT_DISTANCE: Final = 60.0
"""Largest distance of counted vehicles [m]."""
MAX_GROUND_DISTANCE: Final = 50.0
"""Largest ground distance of patches labelled for drivable space [m]."""
TURN_POSE: Final = 3
"""Row of the human's plan that lies two seconds ahead."""

SCENE_QUESTIONS: Final = {
    "lead": ("vehicle on the ego's way within 25 m", "AUC"),
    "lead distance": ("log distance to it, up to 50 m", "R2"),
    "red": ("red signal on the ego's route within 60 m", "AUC"),
    "vehicles": ("number of vehicles in the front view within 60 m", "R2"),
    "speed": ("ego speed", "R2"),
    "turn": ("turn rate of the next 2 s", "R2"),
}
SPREAD_QUESTIONS: Final = {
    "between logs": ("variance of the mean over patches that lies between logs", "share"),
    "dimensions": ("directions into which the mean over patches spreads", "count"),
}
"""Of the features alone, on the test split."""
PATCH_QUESTIONS: Final = {
    "drivable": ("ground at the patch's centre is drivable", "AUC"),
    "vehicle": ("patch's centre lies in a vehicle's outline", "AUC"),
}


@dataclass(frozen=True, eq=False)
class ProbeSet:
    """Front views with answers; NaN where a question does not apply."""

    views: NDArray[np.uint8]
    """(S, H, W, 3)"""
    log: NDArray[np.int64]
    """(S,) number of the log"""
    scene: dict[str, NDArray[np.float64]]
    """(S,) by question"""
    patch: dict[str, NDArray[np.float64]]
    """(S, P) by question"""


def read_probe_set(data: Path, split: str, store: Path, encoder: ImageEncoder, most: int) -> ProbeSet:
    """Views and answers of at most so many scenes of a store, evenly taken."""
    scenes, config, grid = SceneStore(store), encoder.config, PatchGrid.of(encoder)
    wanted = set(scenes.tokens[:: max(1, -(-len(scenes) // most))])
    data_split, paths = split_logs(data, split)
    sensors = DataFolder(data).sensors(data_split)
    views, logs, answers, patch_answers = [], [], [], []
    for number, path in enumerate(paths):
        for frame in read_log(path).frames:
            if frame.token not in wanted:
                continue
            camera = frame.cameras[VIEWS[FRONT]]
            image = sensors / camera.path
            views.append(read_view(image, config))
            logs.append(number)
            view = FrontView(camera, *_image_size(image), config, grid)
            scene = scenes[frame.token]
            answers.append(_scene_answers(scene, frame, view))
            patch_answers.append(_patch_answers(scene, frame, view))
    if not views:
        raise ValueError(f"{store}: holds no scene of the logs of {split!r}")
    return ProbeSet(
        np.stack(views),
        np.array(logs),
        {name: np.array([answer[name] for answer in answers]) for name in SCENE_QUESTIONS},
        {name: np.stack([answer[name] for answer in patch_answers]) for name in PATCH_QUESTIONS},
    )


class FrontView:
    """The front camera in pixels of a view of the model."""

    def __init__(self, camera: Camera, width: int, height: int, config: ModelConfig, grid: PatchGrid) -> None:
        self._camera, self._config = camera, config
        self.centres = grid.centres
        self._intrinsics = fit_intrinsics(camera.intrinsics, width, height, config)

    def ground(self) -> NDArray[np.float64]:
        """(P, 2) where the centres of the patches meet the ground, in the ego frame [m]; NaN above the horizon."""
        pixels = np.column_stack([self.centres, np.ones(len(self.centres))])
        rays = pixels @ np.linalg.inv(self._intrinsics).T @ self._camera.rotation.T
        down = rays[:, 2] < -1e-6
        reach = np.where(down, -self._camera.translation[2] / np.where(down, rays[:, 2], -1.0), np.nan)
        return np.asarray(self._camera.translation[:2] + reach[:, None] * rays[:, :2])

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n, 2) pixels of points (n, 3) in the ego frame; NaN behind the camera."""
        seen = (points - self._camera.translation) @ self._camera.rotation @ self._intrinsics.T
        depth = np.where(seen[:, 2:] > 0.1, seen[:, 2:], np.nan)
        return np.asarray(seen[:, :2] / depth)

    def holds(self, pixels: NDArray[np.float64]) -> NDArray[np.bool_]:
        """(n,) which pixels lie in the view."""
        size = (self._config.image_width, self._config.image_height)
        return np.asarray(((pixels >= 0) & (pixels < size)).all(1))


def _scene_answers(scene: Scene, frame: LogFrame, view: FrontView) -> dict[str, float]:
    boxes = _vehicles(frame.annotations or Annotations.none())
    ahead = _distances_on_way(scene, boxes)
    nearest = float(ahead.min()) if len(ahead) else np.inf
    seen = view.holds(view.project(boxes[:, :3])) & (np.hypot(boxes[:, 0], boxes[:, 1]) < MAX_COUNT_DISTANCE)
    turn = np.nan if scene.human_future is None else scene.human_future[TURN_POSE, 2] / 2.0
    return {
        "lead": float(nearest < MAX_LEAD_DISTANCE),
        "lead distance": float(np.log(nearest)) if nearest < 2 * MAX_LEAD_DISTANCE else np.nan,
        "red": float(_is_red_ahead(scene)),
        "vehicles": float(seen.sum()),
        "speed": float(scene.ego_state[State.VELOCITY_X]),
        "turn": float(turn),
    }


def _patch_answers(scene: Scene, frame: LogFrame, view: FrontView) -> dict[str, NDArray[np.float64]]:
    ground = view.ground()
    asked = np.hypot(ground[:, 0], ground[:, 1]) < MAX_GROUND_DISTANCE
    drivable = np.full(len(ground), np.nan)
    drivable[asked] = _is_drivable(scene, ground[asked])
    return {"drivable": drivable, "vehicle": _in_outlines(_vehicles(frame.annotations or Annotations.none()), view)}


def _vehicles(annotations: Annotations) -> NDArray[np.float64]:
    """(n, 7) boxes in the ego frame."""
    vehicles: NDArray[np.float64] = annotations.boxes[annotations.type == TrackType.VEHICLE]
    return vehicles


def _distances_on_way(scene: Scene, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances along the centreline of vehicles on it [m]."""
    way = shapely.LineString(relative_poses(scene.centerline, scene.ego_state[: State.HEADING + 1])[:, :2])
    here = shapely.line_locate_point(way, shapely.Point(0.0, 0.0))
    places = shapely.points(boxes[:, :2])
    along = shapely.line_locate_point(way, places) - here
    return np.asarray(along[(shapely.distance(way, places) < CORRIDOR_HALF_WIDTH) & (along > 0.0)])


def _is_red_ahead(scene: Scene) -> bool:
    """Whether a signal on the ego's route is red whose connector begins ahead."""
    lights = scene.lights
    red = lights.on_route & (lights.polygon >= 0) & (lights.status[:, :1] == Light.RED).any(1)
    for polygon in lights.polygon[red]:
        outline = relative_points(scene.map.rings(int(polygon))[0], scene.ego_state[: State.HEADING + 1])
        if outline[:, 0].mean() > 0 and np.hypot(*outline.T).min() < MAX_SIGNAL_DISTANCE:
            return True
    return False


def _is_drivable(scene: Scene, ground: NDArray[np.float64]) -> NDArray[np.float64]:
    points = to_global_axes(ground, scene.ego_state[: State.HEADING + 1])
    bounds = scene.map.bounds
    near = (bounds[:, :2] <= points.max(0)).all(1) & (bounds[:, 2:] >= points.min(0)).all(1)
    drivable = np.zeros(len(points), np.bool_)
    for polygon in np.flatnonzero(near & np.isin(scene.map.layer, DRIVABLE_LAYERS)):
        shell, *holes = scene.map.rings(int(polygon))
        drivable |= shapely.contains_xy(shapely.Polygon(shell, holes), points[:, 0], points[:, 1])
    return drivable.astype(np.float64)


def _in_outlines(boxes: NDArray[np.float64], view: FrontView) -> NDArray[np.float64]:
    """(P,) whether the centres of patches lie in the outline of a box; what hides it is not looked at."""
    centres = view.centres
    inside = np.zeros(len(centres), np.bool_)
    signs = np.array([(a, b, c) for a in (-0.5, 0.5) for b in (-0.5, 0.5) for c in (-0.5, 0.5)])
    for box in boxes[np.hypot(boxes[:, 0], boxes[:, 1]) < MAX_COUNT_DISTANCE]:
        corners = signs * box[3:6]
        corners[:, :2] = rotate(corners[:, :2], box[6])
        outline = view.project(corners + box[:3])
        if np.isfinite(outline).all():
            hull = shapely.convex_hull(shapely.MultiPoint(outline))
            inside |= shapely.contains_xy(hull, centres[:, 0], centres[:, 1])
    return inside.astype(np.float64)


def _image_size(path: Path) -> tuple[int, int]:
    from PIL import Image

    with Image.open(path) as image:
        return image.size
