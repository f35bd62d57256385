"""Kernels that fill the map of a frame. Poses are x, y [m] and heading [rad]; maps are those of `DenseLabels`."""

from __future__ import annotations

import numpy as np

from world4scorer.engine.kernels import kernel


@kernel
def read_raster(bits, direction, origin_x, origin_y, resolution, pose, x_min, y_min, cell, out_bits, out_direction):
    """Static bits (X, Y) at cell centres and lane directions (x, y), relative to the ego, at coarse cell centres."""
    rows, columns = bits.shape
    c, s = np.cos(pose[2]), np.sin(pose[2])
    for i in range(out_bits.shape[0]):
        for j in range(out_bits.shape[1]):
            x, y = x_min + cell * (i + 0.5), y_min + cell * (j + 0.5)
            u = int(np.floor((pose[0] + c * x - s * y - origin_x) / resolution))
            v = int(np.floor((pose[1] + s * x + c * y - origin_y) / resolution))
            if 0 <= u < columns and 0 <= v < rows:
                out_bits[i, j] = bits[v, u]
    turn = pose[2] / (2 * np.pi) * 255
    for i in range(out_direction.shape[0]):
        for j in range(out_direction.shape[1]):
            x, y = x_min + 2 * cell * (i + 0.5), y_min + 2 * cell * (j + 0.5)
            u = int(np.floor((pose[0] + c * x - s * y - origin_x) / resolution))
            v = int(np.floor((pose[1] + s * x + c * y - origin_y) / resolution))
            if 0 <= u < columns and 0 <= v < rows and direction[v, u]:
                out_direction[i, j] = 1 + int(np.floor(direction[v, u] - 1 - turn)) % 255


@kernel
def fill_polygon(outline, bit, x_min, y_min, cell, bits):
    """Set a bit in the cells (X, Y) whose centres lie in an outline (n, 2) of the ego frame."""
    i0 = max(0, int(np.floor((outline[:, 0].min() - x_min) / cell)))
    i1 = min(bits.shape[0], int(np.ceil((outline[:, 0].max() - x_min) / cell)) + 1)
    j0 = max(0, int(np.floor((outline[:, 1].min() - y_min) / cell)))
    j1 = min(bits.shape[1], int(np.ceil((outline[:, 1].max() - y_min) / cell)) + 1)
    n = len(outline)
    for i in range(i0, i1):
        x = x_min + cell * (i + 0.5)
        for j in range(j0, j1):
            y = y_min + cell * (j + 0.5)
            inside = False
            for k in range(n):
                ax, ay = outline[k, 0], outline[k, 1]
                bx, by = outline[(k + 1) % n, 0], outline[(k + 1) % n, 1]
                if (ay > y) != (by > y) and x < (bx - ax) * (y - ay) / (by - ay) + ax:
                    inside = not inside
            if inside:
                bits[i, j] |= bit


@kernel
def fill_boxes(boxes, bit, velocity, x_min, y_min, cell, bits, out_velocity):
    """Set bits (n,) and velocities (n, 2) where boxes (n, 5) stand: x, y, heading, length, width in the ego frame.

    A velocity is written into the coarse cells that a box touches with half a cell to spare.
    """
    for b in range(len(boxes)):
        x, y, heading, length, width = boxes[b]
        reach = 0.5 * np.hypot(length, width) + 2 * cell
        c, s = np.cos(heading), np.sin(heading)
        for level in range(2):
            side = cell if level == 0 else 2 * cell
            rows, columns = bits.shape if level == 0 else out_velocity.shape[:2]
            slack = 0.0 if level == 0 else cell
            i0, i1 = max(0, int((x - reach - x_min) / side)), min(rows, int((x + reach - x_min) / side) + 1)
            j0, j1 = max(0, int((y - reach - y_min) / side)), min(columns, int((y + reach - y_min) / side) + 1)
            for i in range(i0, i1):
                dx = x_min + side * (i + 0.5) - x
                for j in range(j0, j1):
                    dy = y_min + side * (j + 0.5) - y
                    along, across = c * dx + s * dy, -s * dx + c * dy
                    if abs(along) <= 0.5 * length + slack and abs(across) <= 0.5 * width + slack:
                        if level == 0:
                            bits[i, j] |= bit[b]
                        else:
                            out_velocity[i, j, 0] = velocity[b, 0]
                            out_velocity[i, j, 1] = velocity[b, 1]


@kernel
def fill_rings(points, ends, pixels):
    """Set pixels (rows, columns) whose centres lie in closed rings (n, 2) of x, y [pixels] that end at `ends`."""
    rows, columns = pixels.shape
    v0, v1 = max(0, int(points[:, 1].min()) - 1), min(rows, int(points[:, 1].max()) + 2)
    crossings = np.empty(len(points))
    for v in range(v0, v1):
        y = v + 0.5
        count = 0
        first = 0
        for ring in range(len(ends)):
            for k in range(first, ends[ring] - 1):
                ax, ay, bx, by = points[k, 0], points[k, 1], points[k + 1, 0], points[k + 1, 1]
                if (ay > y) != (by > y):
                    crossings[count] = ax + (bx - ax) * (y - ay) / (by - ay)
                    count += 1
            first = ends[ring]
        row = np.sort(crossings[:count])
        for pair in range(0, count - 1, 2):
            u0, u1 = int(np.ceil(row[pair] - 0.5)), int(np.ceil(row[pair + 1] - 0.5))
            for u in range(max(0, u0), min(columns, u1)):
                pixels[v, u] = 1
