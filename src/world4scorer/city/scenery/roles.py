"""Roles of an actor's triangles and their colours."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.scenery.light import to_linear
from world4scorer.city.scenery.surface import Material


class Role(IntEnum):
    """Part of an actor that a triangle belongs to."""

    BODY = 0
    GLASS = 1
    TYRE = 2
    RIM = 3
    TRIM = 4
    HEADLAMP = 5
    TAIL_LAMP = 6
    LEFT_INDICATOR = 7
    RIGHT_INDICATOR = 8
    PLATE = 9
    SKIN = 10
    HAIR = 11
    SHIRT = 12
    TROUSERS = 13
    SHOES = 14
    CARGO = 15
    LIVERY = 16
    FRAME = 17
    ORANGE = 18
    WHITE = 19


class Limb(IntEnum):
    """Limbs that swing when an actor walks or pedals."""

    NONE = 0
    LEFT_LEG = 1
    RIGHT_LEG = 2
    LEFT_ARM = 3
    RIGHT_ARM = 4


COLOURS_PER_ROLE: Final = 16
"""Colours per role; common ones appear several times."""

_COLOURS: Final[dict[Role, list[tuple[int, int, int]]]] = {
    Role.BODY: [
        (232, 233, 235), (225, 226, 228), (28, 29, 32), (34, 35, 38), (120, 124, 130), (150, 154, 158),
        (176, 180, 184), (92, 96, 102), (28, 52, 104), (36, 84, 150), (150, 24, 26), (176, 34, 30),
        (62, 78, 66), (196, 182, 150), (214, 120, 28), (64, 60, 58),
    ],
    Role.GLASS: [(26, 32, 38)],
    Role.TYRE: [(24, 24, 26)],
    Role.RIM: [(150, 152, 156), (118, 120, 124), (176, 178, 180)],
    Role.TRIM: [(36, 37, 40)],
    Role.HEADLAMP: [(232, 236, 240)],
    Role.TAIL_LAMP: [(150, 14, 16)],
    Role.LEFT_INDICATOR: [(176, 104, 30)],
    Role.RIGHT_INDICATOR: [(176, 104, 30)],
    Role.PLATE: [(226, 228, 224)],
    Role.SKIN: [(236, 196, 168), (222, 178, 148), (198, 148, 116), (142, 96, 70), (96, 64, 46)],
    Role.HAIR: [(40, 30, 24), (70, 48, 30), (26, 24, 24), (150, 120, 76), (110, 70, 44), (168, 166, 162)],
    Role.SHIRT: [
        (178, 40, 44), (42, 84, 150), (232, 230, 224), (44, 44, 50), (226, 178, 52), (66, 124, 84),
        (120, 66, 118), (214, 122, 60), (116, 146, 178), (88, 90, 98),
    ],
    Role.TROUSERS: [(38, 46, 70), (44, 42, 44), (88, 82, 74), (66, 82, 110), (150, 136, 112)],
    Role.SHOES: [(34, 32, 32), (196, 196, 196), (92, 60, 40)],
    Role.CARGO: [(228, 230, 232), (214, 218, 222), (60, 96, 150), (196, 60, 46), (66, 120, 84), (222, 196, 96)],
    Role.LIVERY: [(236, 200, 42), (236, 200, 42), (206, 60, 52), (230, 230, 226), (60, 112, 168)],
    Role.FRAME: [(40, 42, 46), (176, 36, 40), (46, 96, 156), (206, 206, 206), (70, 118, 76)],
    Role.ORANGE: [(240, 96, 26)],
    Role.WHITE: [(238, 238, 236)],
}  # fmt: skip

ROLE_MATERIAL: Final = np.array(
    [
        {
            Role.BODY: Material.PAINTWORK,
            Role.CARGO: Material.PAINTWORK,
            Role.LIVERY: Material.PAINTWORK,
            Role.GLASS: Material.GLASS,
        }.get(role, Material.MATT)
        for role in Role
    ],
    np.uint8,
)
"""(roles,)"""


def role_colours() -> NDArray[np.float32]:
    """(roles, COLOURS_PER_ROLE, 3) linear colours."""
    table = np.empty((len(Role), COLOURS_PER_ROLE, 3), np.float32)
    for role, colours in _COLOURS.items():
        table[role] = to_linear([colours[k % len(colours)] for k in range(COLOURS_PER_ROLE)])
    return table
