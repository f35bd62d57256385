"""Entry kernels: render and label all cameras of a frame."""

from __future__ import annotations

import numpy as np

from world4scorer.city.render.kernel_types import CameraView
from world4scorer.city.render.rasteriser import cast_shadows, rasterise
from world4scorer.city.render.shading import label_picture, shade_picture
from world4scorer.engine.kernels import kernel


@kernel
def draw_views(frame, chunks, footprints, facades, ground, light, views, tables, supersample, images):
    """Fill `images` (c, H, W, 3); `footprints` (n, 4, 2) get contact shadows."""
    height, width = images.shape[1], images.shape[2]
    inverse_depth = np.empty((height * supersample, width * supersample), np.float32)
    ids = np.empty(inverse_depth.shape, np.int32)
    shadow = np.empty(inverse_depth.shape, np.uint8)
    row = np.empty(width, np.int32), np.empty(width, np.float32), np.empty(width, np.uint8)
    total = np.empty(3 * width, np.float32)
    q, p = np.empty((3, 3), np.float32), np.empty((4, 4), np.float32)
    for k in range(len(images)):
        view = CameraView(views.axes[k], views.eye[k], views.focal, views.ahead, views.anchor)
        rasterise(frame, chunks, view, q, p, inverse_depth, ids, shadow)
        cast_shadows(frame, chunks, footprints, light, view, q, p, inverse_depth, ids, shadow)
        shade_picture(
            frame, facades, ground, light, view, tables, inverse_depth, ids, shadow, supersample, row, total, images[k]
        )


@kernel
def label_views(frame, chunks, ground, views, classes, depths, instances):
    """Fill classes, depths and instances (c, H, W), sampled at pixel centres."""
    height, width = classes.shape[1], classes.shape[2]
    inverse_depth = np.empty((height, width), np.float32)
    ids = np.empty(inverse_depth.shape, np.int32)
    shadow = np.empty((1, 1), np.uint8)
    q, p = np.empty((3, 3), np.float32), np.empty((4, 4), np.float32)
    for k in range(len(classes)):
        view = CameraView(views.axes[k], views.eye[k], views.focal, views.ahead, views.anchor)
        rasterise(frame, chunks, view, q, p, inverse_depth, ids, shadow)
        label_picture(frame, ground, view, inverse_depth, ids, classes[k], depths[k], instances[k])
