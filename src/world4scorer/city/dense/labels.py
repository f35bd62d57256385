"""Dense labels of a frame of the city."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.dense.kernels import fill_boxes, fill_polygon, read_raster
from world4scorer.city.dense.street_raster import RESOLUTION, SignalZone, StreetRaster
from world4scorer.city.render.renderer import RenderedViews
from world4scorer.city.scenery.actors import ActorKind, Actors
from world4scorer.city.streets.map_index import RED_STATES
from world4scorer.datasets.dense.labels import (
    CELL,
    CELLS,
    COARSE_CELLS,
    PIXEL_STRIDE,
    VELOCITY_STEP,
    X_RANGE,
    Y_RANGE,
    DenseLabels,
    MapBit,
    encode_depth,
)
from world4scorer.engine.scene.geometry import direction, relative_points, wrap

MIN_VISIBLE_PIXELS: Final = 5
"""Pixels of all cameras below which a road user counts as hidden."""
MAX_SIGNAL_ANGLE: Final = np.pi / 3
"""Largest angle between the ego and a lane whose signal it can see [rad]."""
PERSONS: Final = (ActorKind.BICYCLE, ActorKind.PEDESTRIAN)


def dense_labels(
    raster: StreetRaster,
    pose: NDArray[np.float64],
    actors: Actors,
    speeds: NDArray[np.float64],
    signals: Mapping[str, str],
    views: RenderedViews,
    crop_top: int,
) -> DenseLabels:
    """Labels of views that were rendered from a pose (3,) with classes and depth.

    `crop_top` rows of the images are left out: the encoder does not see them.
    """
    assert views.classes is not None and views.depth is not None and views.instances is not None
    half = PIXEL_STRIDE // 2
    pixels = (slice(None), slice(crop_top + half, None, PIXEL_STRIDE), slice(half, None, PIXEL_STRIDE))
    bits, lanes = np.zeros(CELLS, np.uint8), np.zeros(COARSE_CELLS, np.uint8)
    velocity = np.zeros((*COARSE_CELLS, 2), np.int8)
    corner = X_RANGE[0], Y_RANGE[0], CELL
    read_raster(raster.bits, raster.direction, *raster.origin, RESOLUTION, pose, *corner, bits, lanes)
    for zone in raster.zones:
        if _is_red_ahead(zone, pose, signals):
            fill_polygon(relative_points(zone.outline, pose), np.uint8(MapBit.RED), *corner, bits)
    near = actors.near(float(pose[0]), float(pose[1]), np.hypot(X_RANGE[1], Y_RANGE[1]) + 5.0)
    seen = np.bincount(views.instances[views.instances >= 0], minlength=len(actors))[near] >= MIN_VISIBLE_PIXELS
    boxes = np.column_stack(
        [relative_points(actors.pose[near, :2], pose), wrap(actors.pose[near, 2] - pose[2]), actors.size[near, :2]]
    )
    person = np.isin(actors.kind[near], PERSONS)
    bit = np.where(seen, np.where(person, MapBit.PERSON, MapBit.VEHICLE), MapBit.HIDDEN).astype(np.uint8)
    moving = np.rint(speeds[near, None] * direction(boxes[:, 2]) / VELOCITY_STEP)
    fill_boxes(boxes, bit, np.clip(moving, -127, 127).astype(np.int8), *corner, bits, velocity)
    return DenseLabels(views.classes[pixels], encode_depth(views.depth[pixels]), bits, lanes, velocity)


def _is_red_ahead(zone: SignalZone, pose: NDArray[np.float64], signals: Mapping[str, str]) -> bool:
    offset = zone.outline[0] - pose[:2]
    if np.abs(offset).max() > X_RANGE[1] or abs(wrap(zone.heading - pose[2])) > MAX_SIGNAL_ANGLE:
        return False
    return all(signals[link.signal][link.index] in RED_STATES for link in zone.links)
