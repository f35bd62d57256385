"""Mesh builder for the models of actors and street furniture.

Faces may be given in any winding: each is turned so that it looks away from the centre of its part.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Point = Sequence[float] | NDArray[np.float64]


class MeshBuilder:
    """Collects triangles, each with a role that selects its colour."""

    def __init__(self) -> None:
        self.corners: list[NDArray[np.float64]] = []
        self.roles: list[int] = []
        self.groups: list[int] = []
        self.group = 0
        """Limb of the triangles added next."""

    def face(self, points: Sequence[Point], role: int, centre: Point, lift: float = 0.0) -> NDArray[np.float64]:
        """A flat convex face, raised by `lift` [m] above its plane; returns its corners (n, 3)."""
        ring = np.asarray(points, np.float64)
        normal = np.cross(ring[1] - ring[0], ring[-1] - ring[0])
        if normal @ (ring.mean(0) - np.asarray(centre, np.float64)) < 0:
            ring, normal = ring[::-1], -normal
        ring = ring + lift * normal / max(float(np.linalg.norm(normal)), 1e-12)
        for k in range(1, len(ring) - 1):
            self.corners.append(ring[[0, k, k + 1]])
            self.roles.append(role)
            self.groups.append(self.group)
        return ring

    def pane(
        self, quad: Sequence[Point], role: int, centre: Point, u: tuple[float, float], v: tuple[float, float]
    ) -> None:
        """A part of a four-cornered face, given by shares along its first (u) and last (v) edge, just above it."""
        a, b, c, d = np.asarray(quad, np.float64)

        def at(s: float, t: float) -> NDArray[np.float64]:
            point: NDArray[np.float64] = (a * (1 - s) + b * s) * (1 - t) + (d * (1 - s) + c * s) * t
            return point

        self.face([at(u[0], v[0]), at(u[1], v[0]), at(u[1], v[1]), at(u[0], v[1])], role, centre, lift=0.008)

    def box(self, low: Point, high: Point, role: int, skip: str = "", top: tuple[float, float] = (1.0, 1.0)) -> None:
        """An upright box, possibly tapered towards the top; `skip` names faces to leave out (+x, -z ...)."""
        (x0, y0, z0), (x1, y1, z1) = np.asarray(low, np.float64), np.asarray(high, np.float64)
        cx, cy = (x0 + x1) / 2, (y0 + y1) / 2
        p = [(x, y, z0) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
        q = [(cx + (x - cx) * top[0], cy + (y - cy) * top[1], z1) for x, y, _ in p]
        sides = {"-y": (0, 1), "+x": (1, 2), "+y": (2, 3), "-x": (3, 0)}
        centre = (cx, cy, (z0 + z1) / 2)
        for name, (i, j) in sides.items():
            if name not in skip:
                self.face([p[i], p[j], q[j], q[i]], role, centre)
        if "+z" not in skip:
            self.face(q, role, centre)
        if "-z" not in skip:
            self.face(p, role, centre)

    def loft(self, rings: Sequence[Sequence[Point]], role: int) -> None:
        """A skin over rings of equally many points, closed at both ends."""
        points = np.asarray(rings, np.float64)
        n = points.shape[1]
        for lower, upper in itertools.pairwise(points):
            centre = (lower.mean(0) + upper.mean(0)) / 2
            for k in range(n):
                j = (k + 1) % n
                self.face([lower[k], lower[j], upper[j], upper[k]], role, centre)
        middle = points.mean((0, 1))
        self.face(points[0], role, middle)
        self.face(points[-1], role, middle)

    def disc(self, centre: Point, radius: float, role: int, sides: int) -> None:
        """An upright disc that looks to the side it lies on (y)."""
        x, y, z = (float(c) for c in centre)
        angle = 2 * np.pi * (np.arange(sides) + 0.5) / sides
        ring = [(x + radius * np.cos(a), y, z + radius * np.sin(a)) for a in angle]
        self.face(ring, role, (x, y - np.sign(y) if y else y - 1, z))

    def hoop(self, centre: Point, radius: float, width: float, role: int, sides: int = 10) -> None:
        """An upright ring seen from both sides (y): the wheel of a bicycle."""
        x, y, z = (float(c) for c in centre)
        angle = 2 * np.pi * np.arange(sides + 1) / sides
        outer = [(x + radius * np.cos(a), y, z + radius * np.sin(a)) for a in angle]
        inner = [(x + (radius - width) * np.cos(a), y, z + (radius - width) * np.sin(a)) for a in angle]
        for k in range(sides):
            for side in (-1, 1):
                self.face([outer[k], outer[k + 1], inner[k + 1], inner[k]], role, (x, y + side, z))

    def bar(self, start: Point, end: Point, thickness: float, role: int) -> None:
        """A square bar between two points."""
        a, b = np.asarray(start, np.float64), np.asarray(end, np.float64)
        along = (b - a) / np.linalg.norm(b - a)
        side = np.cross(along, (0, 0, 1.0) if abs(along[2]) < 0.9 else (1.0, 0, 0))
        side /= np.linalg.norm(side)
        up = np.cross(side, along)
        offsets = [thickness / 2 * (i * side + j * up) for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        self.loft([[a + o for o in offsets], [b + o for o in offsets]], role)

    def ball(self, centre: Point, radii: Point, role: int, sides: int = 6, rows: int = 3) -> None:
        """A faceted ellipsoid."""
        middle, size = np.asarray(centre, np.float64), np.asarray(radii, np.float64)
        rings = []
        for row in range(rows + 1):
            tilt = np.pi * (max(min(row / rows, 0.995), 0.005) - 0.5)
            turn = 2 * np.pi * (np.arange(sides) + 0.5 * (row % 2)) / sides
            flat = np.stack([np.cos(turn) * np.cos(tilt), np.sin(turn) * np.cos(tilt), np.full(sides, np.sin(tilt))], 1)
            rings.append(middle + flat * size)
        for lower, upper in itertools.pairwise(rings):
            for k in range(sides):
                j = (k + 1) % sides
                self.face([lower[k], lower[j], upper[j]], role, middle)
                self.face([lower[k], upper[j], upper[k]], role, middle)

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint8]]:
        """Corners (n, 3, 3), roles (n,) and groups (n,), without triangles that have no area."""
        corners = np.array(self.corners)
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        keep = area > 1e-7
        return corners[keep], np.array(self.roles, np.uint8)[keep], np.array(self.groups, np.uint8)[keep]
