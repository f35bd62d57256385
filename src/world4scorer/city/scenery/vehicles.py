"""Shapes of cars, vans, trucks and buses [m]: x forward, y left, z up, origin below the centre of the box."""

from __future__ import annotations

from collections.abc import Sequence

from world4scorer.city.scenery.mesh_builder import MeshBuilder
from world4scorer.city.scenery.roles import Role

Section = tuple[float, float, float, float, float]
"""x, half width below, half width above, z below, z above."""


def car() -> MeshBuilder:
    """A hatchback, 4.4 x 1.8 x 1.5."""
    mesh = MeshBuilder()
    _hull(
        mesh,
        [
            (-2.20, 0.70, 0.73, 0.36, 0.88),
            (-2.08, 0.84, 0.83, 0.24, 0.97),
            (-1.10, 0.90, 0.87, 0.19, 1.00),
            (0.35, 0.90, 0.87, 0.18, 0.97),
            (1.00, 0.90, 0.85, 0.18, 0.93),
            (1.80, 0.87, 0.79, 0.20, 0.80),
            (2.10, 0.78, 0.72, 0.24, 0.68),
            (2.20, 0.64, 0.62, 0.30, 0.60),
        ],
        Role.BODY,
    )
    _cabin(mesh, (-2.02, 1.02), 0.82, 0.93, (-1.55, 0.10), 0.64, 1.50, panes=((0.05, 0.40), (0.44, 0.93)))
    for x in (-1.35, 1.36):
        _wheel(mesh, x, 0.90, 0.33)
    _lights(mesh, front=2.20, rear=-2.21, front_half=0.74, rear_half=0.80, front_z=0.60, rear_z=0.76)
    mesh.face(
        [(2.205, -0.45, 0.34), (2.205, 0.45, 0.34), (2.205, 0.45, 0.52), (2.205, -0.45, 0.52)], Role.TRIM, (0, 0, 0)
    )
    mesh.face(
        [(-2.205, -0.26, 0.50), (-2.205, 0.26, 0.50), (-2.205, 0.26, 0.62), (-2.205, -0.26, 0.62)],
        Role.PLATE,
        (0, 0, 0.5),
    )
    for side in (-1, 1):
        mesh.box((0.62, side * 0.97 - 0.09, 0.96), (0.74, side * 0.97 + 0.09, 1.08), Role.BODY)
    return mesh


def van() -> MeshBuilder:
    """A delivery van, 5.6 x 2.0 x 2.3."""
    mesh = MeshBuilder()
    _hull(
        mesh,
        [
            (-2.80, 0.95, 0.86, 0.38, 2.24),
            (-2.70, 1.00, 0.92, 0.28, 2.30),
            (1.15, 1.00, 0.90, 0.24, 2.30),
            (1.60, 1.00, 0.86, 0.24, 2.10),
            (2.20, 1.00, 0.92, 0.24, 1.20),
            (2.65, 0.95, 0.84, 0.26, 1.02),
            (2.80, 0.80, 0.72, 0.34, 0.80),
        ],
        Role.CARGO,
    )
    centre = (0.5, 0.0, 1.0)
    mesh.pane(
        ((1.60, -0.86, 2.10), (1.60, 0.86, 2.10), (2.20, 0.92, 1.20), (2.20, -0.92, 1.20)),
        Role.GLASS,
        centre,
        (0.06, 0.94),
        (0.06, 0.94),
    )
    for side in (-1, 1):
        y_low, y_high = side * 0.955, side * 0.895
        window = ((0.75, y_high, 2.02), (1.52, y_high - side * 0.01, 2.0), (2.02, y_low, 1.25), (0.75, y_low, 1.25))
        mesh.face(window, Role.GLASS, centre, lift=0.02)
        mesh.box((1.75, side * 1.08 - 0.1, 1.25), (1.88, side * 1.08 + 0.1, 1.55), Role.TRIM)
    for x in (-1.75, 1.80):
        _wheel(mesh, x, 1.0, 0.36)
    _lights(mesh, front=2.80, rear=-2.81, front_half=0.92, rear_half=0.92, front_z=0.78, rear_z=1.0, tall=0.42)
    mesh.face(
        [(-2.805, -0.75, 1.3), (-2.805, -0.05, 1.3), (-2.8, -0.05, 2.05), (-2.8, -0.72, 2.05)],
        Role.GLASS,
        (0, 0, 1),
        lift=0.01,
    )
    mesh.face(
        [(-2.805, 0.75, 1.3), (-2.805, 0.05, 1.3), (-2.8, 0.05, 2.05), (-2.8, 0.72, 2.05)],
        Role.GLASS,
        (0, 0, 1),
        lift=0.01,
    )
    mesh.face([(2.81, -0.6, 0.4), (2.81, 0.6, 0.4), (2.81, 0.6, 0.62), (2.81, -0.6, 0.62)], Role.TRIM, (0, 0, 0))
    return mesh


def truck() -> MeshBuilder:
    """A rigid truck with a box body, 8 x 2.5 x 3.4."""
    mesh = MeshBuilder()
    mesh.box((-4.0, -1.25, 1.05), (1.85, 1.25, 3.40), Role.CARGO)
    mesh.box((-3.9, -1.05, 0.55), (2.1, 1.05, 1.05), Role.TRIM)
    mesh.box((-4.0, -1.2, 0.45), (-3.9, 1.2, 0.62), Role.TRIM)
    low, high = (2.05, -1.2, 0.42), (4.0, 1.2, 2.85)
    mesh.box(low, high, Role.BODY)
    centre = (3.0, 0.0, 1.6)
    front = ((4.0, -1.2, 0.42), (4.0, 1.2, 0.42), (4.0, 1.2, 2.85), (4.0, -1.2, 2.85))
    mesh.pane(front, Role.GLASS, centre, (0.05, 0.95), (0.50, 0.90))
    mesh.pane(front, Role.TRIM, centre, (0.15, 0.85), (0.12, 0.34))
    for side in (-1, 1):
        flank = ((2.05, side * 1.2, 0.42), (4.0, side * 1.2, 0.42), (4.0, side * 1.2, 2.85), (2.05, side * 1.2, 2.85))
        mesh.pane(flank, Role.GLASS, centre, (0.35, 0.92), (0.52, 0.90))
        mesh.box((3.7, side * 1.32 - 0.1, 1.7), (3.85, side * 1.32 + 0.1, 2.3), Role.TRIM)
    for x in (-2.6, 3.0):
        _wheel(mesh, x, 1.22, 0.5)
    _lights(mesh, front=4.0, rear=-4.0, front_half=1.1, rear_half=1.15, front_z=0.72, rear_z=0.62)
    return mesh


def bus() -> MeshBuilder:
    """A city bus, 12 x 2.5 x 3.1."""
    mesh = MeshBuilder()
    low, high = (-6.0, -1.25, 0.30), (6.0, 1.25, 3.10)
    mesh.box(low, high, Role.LIVERY)
    centre = (0.0, 0.0, 1.5)
    for side in (-1, 1):
        y = side * 1.25
        flank = ((-6.0, y, 0.3), (6.0, y, 0.3), (6.0, y, 3.1), (-6.0, y, 3.1))
        for k in range(7):
            mesh.pane(flank, Role.GLASS, centre, (0.03 + 0.136 * k, 0.155 + 0.136 * k), (0.38, 0.82))
        if side < 0:
            for start in (0.34, 0.60, 0.90):
                mesh.pane(flank, Role.GLASS, centre, (start, start + 0.075), (0.05, 0.8))
        mesh.pane(flank, Role.TRIM, centre, (0.0, 1.0), (0.0, 0.05))
    for x, bottom in ((6.0, 0.36), (-6.0, 0.55)):
        end = ((x, -1.25, 0.3), (x, 1.25, 0.3), (x, 1.25, 3.1), (x, -1.25, 3.1))
        mesh.pane(end, Role.GLASS, centre, (0.06, 0.94), (bottom, 0.84))
        mesh.pane(end, Role.TRIM, centre, (0.15, 0.85), (0.86, 0.97))
        mesh.pane(end, Role.TRIM, centre, (0.02, 0.98), (0.0, 0.07))
    for x in (-3.3, 3.4):
        _wheel(mesh, x, 1.255, 0.48)
    _lights(mesh, front=6.0, rear=-6.0, front_half=1.15, rear_half=1.18, front_z=0.72, rear_z=1.0, tall=0.3)
    return mesh


def _hull(mesh: MeshBuilder, sections: Sequence[Section], role: Role) -> None:
    rings = [[(x, -low, z0), (x, -high, z1), (x, high, z1), (x, low, z0)] for x, low, high, z0, z1 in sections]
    mesh.loft(rings, role)


def _cabin(
    mesh: MeshBuilder,
    base: tuple[float, float],
    base_half: float,
    base_z: float,
    roof: tuple[float, float],
    roof_half: float,
    roof_z: float,
    panes: Sequence[tuple[float, float]],
) -> None:
    """Roof and pillars in the body's colour with glass between them."""
    b, r, w, t = base, roof, base_half, roof_half
    centre = ((b[0] + b[1]) / 2, 0.0, base_z)
    top = [(r[0], -t, roof_z), (r[1], -t, roof_z), (r[1], t, roof_z), (r[0], t, roof_z)]
    mesh.face(top, Role.BODY, centre)
    front = [(b[1], -w, base_z), (b[1], w, base_z), top[2], top[1]]
    back = [(b[0], -w, base_z), (b[0], w, base_z), top[3], top[0]]
    for quad in (front, back):
        mesh.face(quad, Role.BODY, centre)
        mesh.pane(quad, Role.GLASS, centre, (0.07, 0.93), (0.06, 0.92))
    for side, near, far in ((-1, top[0], top[1]), (1, top[3], top[2])):
        quad = [(b[0], side * w, base_z), (b[1], side * w, base_z), far, near]
        mesh.face(quad, Role.BODY, centre)
        for start, end in panes:
            mesh.pane(quad, Role.GLASS, centre, (start, end), (0.12, 0.88))


def _wheel(mesh: MeshBuilder, x: float, half: float, radius: float) -> None:
    """Both wheels of an axle: a dark arch, the tyre, its rim, and the treads seen from ahead and behind."""
    for side in (-1, 1):
        mesh.disc((x, side * (half + 0.004), radius * 1.05), radius * 1.16, Role.TRIM, sides=10)
        mesh.disc((x, side * (half + 0.010), radius), radius, Role.TYRE, sides=10)
        mesh.disc((x, side * (half + 0.016), radius), radius * 0.6, Role.RIM, sides=8)
        inner, outer = sorted((side * (half - 0.2), side * (half + 0.01)))
        mesh.box(
            (x - radius * 0.9, inner, 0.0), (x + radius * 0.9, outer, radius), Role.TYRE, skip="+y-y+z-z", top=(1.1, 1)
        )


def _lights(
    mesh: MeshBuilder,
    front: float,
    rear: float,
    front_half: float,
    rear_half: float,
    front_z: float,
    rear_z: float,
    tall: float = 0.16,
) -> None:
    for side, indicator in ((-1, Role.RIGHT_INDICATOR), (1, Role.LEFT_INDICATOR)):

        def block(x: float, y0: float, y1: float, z: float, height: float, role: Role, s: int = side) -> None:
            inner, outer = sorted((s * y0, s * y1))
            depth = 0.12 if x > 0 else -0.12
            x0, x1 = sorted((x - depth, x + depth * 0.1))
            mesh.box((x0, inner, z), (x1, outer, z + height), role, skip="-z")

        block(front, front_half - 0.34, front_half - 0.10, front_z, 0.14, Role.HEADLAMP)
        block(front - 0.03, front_half - 0.10, front_half + 0.01, front_z, 0.12, indicator)
        block(rear, rear_half - 0.30, rear_half, rear_z, tall, Role.TAIL_LAMP)
        block(rear, rear_half - 0.28, rear_half, rear_z - 0.11, 0.10, indicator)
