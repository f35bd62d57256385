"""Shapes of pedestrians, riders, cones and barriers [m]: x forward, y left, z up."""

from __future__ import annotations

from world4scorer.city.scenery.mesh_builder import MeshBuilder
from world4scorer.city.scenery.roles import Limb, Role


def pedestrian() -> MeshBuilder:
    """A walking person, 0.6 x 0.6 x 1.75; the limbs swing with the stride."""
    mesh = MeshBuilder()
    for side, leg in ((1, Limb.LEFT_LEG), (-1, Limb.RIGHT_LEG)):
        mesh.group = leg
        y = 0.10 * side
        mesh.box((-0.075, y - 0.075, 0.07), (0.075, y + 0.075, 0.90), Role.TROUSERS, top=(1.35, 1.25))
        mesh.box((-0.08, y - 0.055, 0.0), (0.17, y + 0.055, 0.09), Role.SHOES)
    for side, arm in ((1, Limb.LEFT_ARM), (-1, Limb.RIGHT_ARM)):
        mesh.group = arm
        y = 0.255 * side
        mesh.box((-0.05, y - 0.045, 0.85), (0.05, y + 0.045, 1.42), Role.SHIRT, top=(1.3, 1.2))
        mesh.box((-0.045, y - 0.04, 0.75), (0.045, y + 0.04, 0.86), Role.SKIN)
    mesh.group = Limb.NONE
    mesh.box((-0.12, -0.17, 0.84), (0.12, 0.17, 1.46), Role.SHIRT, top=(0.95, 1.25))
    mesh.box((-0.05, -0.05, 1.44), (0.05, 0.05, 1.53), Role.SKIN)
    mesh.ball((0.01, 0.0, 1.62), (0.11, 0.095, 0.13), Role.SKIN, sides=6, rows=3)
    mesh.ball((-0.02, 0.0, 1.655), (0.118, 0.108, 0.118), Role.HAIR, sides=6, rows=3)
    return mesh


def bicycle() -> MeshBuilder:
    """A rider on a bicycle, 1.75 x 0.6 x 1.7."""
    mesh = MeshBuilder()
    for x in (-0.53, 0.53):
        mesh.hoop((x, 0.0, 0.34), 0.34, 0.06, Role.TYRE)
    crank, saddle, head = (-0.08, 0, 0.30), (-0.25, 0, 0.92), (0.40, 0, 0.90)
    for start, end in (
        (crank, saddle),
        (crank, head),
        (saddle, head),
        (crank, (-0.53, 0, 0.34)),
        (head, (0.53, 0, 0.34)),
    ):
        mesh.bar(start, end, 0.045, Role.FRAME)
    mesh.bar((0.38, -0.26, 1.02), (0.38, 0.26, 1.02), 0.04, Role.TRIM)
    mesh.box((-0.38, -0.07, 0.92), (-0.14, 0.07, 0.97), Role.TRIM)
    mesh.box((-0.90, -0.04, 0.55), (-0.86, 0.04, 0.62), Role.TAIL_LAMP)
    mesh.box((0.46, -0.04, 0.88), (0.52, 0.04, 0.96), Role.HEADLAMP)
    _rider(mesh, hip=(-0.24, 0.98), knee=(0.16, 0.72), foot=(-0.02, 0.30), shoulder=(0.10, 1.45), hand=(0.38, 1.06))
    return mesh


def motorcycle() -> MeshBuilder:
    """A rider on a motorcycle, 2.1 x 0.8 x 1.6."""
    mesh = MeshBuilder()
    for x in (-0.72, 0.72):
        mesh.hoop((x, 0.05, 0.32), 0.32, 0.13, Role.TYRE)
        mesh.hoop((x, -0.05, 0.32), 0.32, 0.13, Role.TYRE)
        mesh.box((x - 0.29, -0.06, 0.05), (x + 0.29, 0.06, 0.6), Role.TYRE, skip="+y-y-z")
    mesh.box((-0.45, -0.16, 0.25), (0.42, 0.16, 0.66), Role.TRIM)
    mesh.box((-0.15, -0.17, 0.64), (0.45, 0.17, 0.95), Role.BODY, top=(0.8, 0.8))
    mesh.box((-0.85, -0.14, 0.66), (-0.12, 0.14, 0.80), Role.TRIM)
    mesh.box((-1.0, -0.12, 0.72), (-0.8, 0.12, 0.88), Role.BODY)
    mesh.box((-1.04, -0.09, 0.74), (-0.99, 0.09, 0.84), Role.TAIL_LAMP)
    mesh.box((0.50, -0.10, 0.82), (0.60, 0.10, 1.0), Role.HEADLAMP)
    mesh.bar((0.45, 0.0, 0.95), (0.72, 0.0, 0.32), 0.09, Role.RIM)
    mesh.bar((0.38, -0.36, 1.02), (0.38, 0.36, 1.02), 0.05, Role.TRIM)
    mesh.box((-1.04, 0.12, 0.74), (-0.98, 0.20, 0.80), Role.LEFT_INDICATOR)
    mesh.box((-1.04, -0.20, 0.74), (-0.98, -0.12, 0.80), Role.RIGHT_INDICATOR)
    _rider(mesh, hip=(-0.30, 0.86), knee=(0.16, 0.74), foot=(-0.08, 0.34), shoulder=(-0.06, 1.36), hand=(0.36, 1.05))
    mesh.ball((-0.02, 0.0, 1.50), (0.15, 0.13, 0.14), Role.BODY, sides=6, rows=3)
    return mesh


def cone() -> MeshBuilder:
    """A traffic cone, 0.4 x 0.4 x 0.75."""
    mesh = MeshBuilder()
    mesh.box((-0.2, -0.2, 0.0), (0.2, 0.2, 0.05), Role.ORANGE, skip="-z")
    for low, high, role in ((0.05, 0.3, Role.ORANGE), (0.3, 0.5, Role.WHITE), (0.5, 0.75, Role.ORANGE)):
        a, b = 0.15 - 0.16 * low, 0.15 - 0.16 * high
        mesh.box((-a, -a, low), (a, a, high), role, skip="-z", top=(b / a, b / a))
    return mesh


def barrier() -> MeshBuilder:
    """A red and white barrier board across its width, 0.5 x 2 x 1."""
    mesh = MeshBuilder()
    for k in range(5):
        role = Role.ORANGE if k % 2 == 0 else Role.WHITE
        mesh.box((-0.04, -1 + 0.4 * k, 0.72), (0.04, -0.6 + 0.4 * k, 1.0), role)
    for y in (-0.85, 0.85):
        mesh.bar((0.0, y, 0.05), (0.0, y, 0.72), 0.07, Role.RIM)
        mesh.box((-0.25, y - 0.12, 0.0), (0.25, y + 0.12, 0.08), Role.TRIM)
    return mesh


def _rider(
    mesh: MeshBuilder,
    hip: tuple[float, float],
    knee: tuple[float, float],
    foot: tuple[float, float],
    shoulder: tuple[float, float],
    hand: tuple[float, float],
) -> None:
    """A seated person; each argument is (x, z)."""
    for side, leg in ((1, Limb.LEFT_LEG), (-1, Limb.RIGHT_LEG)):
        mesh.group = leg
        mesh.bar((hip[0], 0.10 * side, hip[1]), (knee[0], 0.13 * side, knee[1]), 0.15, Role.TROUSERS)
        mesh.bar((knee[0], 0.13 * side, knee[1]), (foot[0], 0.11 * side, foot[1]), 0.11, Role.TROUSERS)
        mesh.box(
            (foot[0] - 0.08, 0.11 * side - 0.05, foot[1] - 0.07),
            (foot[0] + 0.16, 0.11 * side + 0.05, foot[1] + 0.02),
            Role.SHOES,
        )
        mesh.group = Limb.NONE
        mesh.bar((shoulder[0], 0.2 * side, shoulder[1] - 0.05), (hand[0], 0.22 * side, hand[1]), 0.09, Role.SHIRT)
    ring = ((-0.11, -0.17), (0.11, -0.17), (0.11, 0.17), (-0.11, 0.17))
    mesh.loft(
        [
            [(hip[0] + x, y, hip[1] - 0.04) for x, y in ring],
            [(shoulder[0] + x, y * 1.25, shoulder[1]) for x, y in ring],
        ],
        Role.SHIRT,
    )
    top = shoulder[1] + 0.14
    mesh.ball((shoulder[0] + 0.06, 0.0, top), (0.11, 0.095, 0.13), Role.SKIN, sides=6, rows=3)
    mesh.ball((shoulder[0] + 0.03, 0.0, top + 0.04), (0.125, 0.115, 0.11), Role.HAIR, sides=6, rows=3)
