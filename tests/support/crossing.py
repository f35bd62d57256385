"""A hand-made street map: a signalised crossing, two lanes for each direction; in the east a street goes on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from world4scorer.city.streets.street_map import Connection, Junction, Lane, LaneUse, SignalLink, StreetMap, Turn

WIDTH = 3.2
NEAR, FAR, END = 16.0, 70.0, 110.0
"""m from the centre: stop lines, where the arms end, where the eastern street ends."""
ARMS = {"east": (1.0, 0.0), "north": (0.0, 1.0), "west": (-1.0, 0.0), "south": (0.0, -1.0)}
OFFSET = np.array([390_000.0, 5_800_000.0])
Points = NDArray[np.float64]


def point(heading: Points, along: float, aside: float) -> Points:
    """So far ahead of the centre, so far to the right."""
    return heading * along + np.array([heading[1], -heading[0]]) * aside


def street(edge: str, heading: Points, first: float, last: float) -> list[Lane]:
    """A pavement (0), a bicycle lane (1), and two lanes for cars (2, 3)."""
    kinds = [
        (LaneUse.WALK, 2.0, 9.0),
        (LaneUse.BICYCLE, 1.6, 7.2),
        (LaneUse.DRIVE, WIDTH, 4.8),
        (LaneUse.DRIVE, WIDTH, 1.6),
    ]
    return [
        Lane(
            f"{edge}_{index}",
            edge,
            index,
            np.stack([point(heading, first, aside), point(heading, last, aside)]),
            width,
            13.9,
            use,
            False,
        )
        for index, (use, width, aside) in enumerate(kinds)
    ]


def bend(before: Lane, after: Lane) -> Points:
    """From the end of a lane to the start of another: straight, or a curve that is tangent to both."""
    start, end = before.shape[-1], after.shape[0]
    ahead = np.sign(np.round(before.shape[-1] - before.shape[-2], 6))
    share = np.linspace(0.0, 1.0, 21)[:, None]
    if abs(ahead[0] * (end - start)[1] - ahead[1] * (end - start)[0]) < 1e-6:
        return np.stack([start, end])
    corner = start + ahead * (ahead @ (end - start))
    angle = share * np.pi / 2
    return corner + (start - corner) * (1 - np.sin(angle)) + (end - corner) * (1 - np.cos(angle))


def crossing() -> StreetMap:
    """Build the map."""
    lanes: dict[str, Lane] = {}
    for arm, axis in ARMS.items():
        out = np.array(axis)
        for lane in (*street(f"{arm}_in", -out, -FAR, -NEAR), *street(f"{arm}_out", out, NEAR, FAR)):
            lanes[lane.id] = lane
    east = np.array(ARMS["east"])
    for lane in (*street("far_out", east, FAR + 0.2, END), *street("far_in", -east, -END, -FAR - 0.2)):
        lanes[lane.id] = lane
    connections: list[Connection] = []

    def connect(before: str, after: str, turn: Turn, junction: str, signal: bool = False) -> None:
        shape = bend(lanes[before], lanes[after])
        if turn is Turn.AROUND:
            shape = np.stack([lanes[before].shape[-1], lanes[before].shape[-1] + 2.0 * east, lanes[after].shape[0]])
        via = f":{junction}_{len(connections)}_0"
        speed = 13.9 if turn is Turn.STRAIGHT else 5.0
        lanes[via] = Lane(via, via[:-2], 0, shape, WIDTH, speed, LaneUse.DRIVE, True)
        link = SignalLink("signal", len(connections)) if signal else None
        connections.append(Connection(before, after, (via,), shape, turn, junction, link, LaneUse.DRIVE))

    arms = list(ARMS)
    for number, arm in enumerate(arms):
        left, ahead, right = (arms[(number + k) % 4] for k in (3, 2, 1))
        connect(f"{arm}_in_2", f"{right}_out_2", Turn.RIGHT, "centre", True)
        connect(f"{arm}_in_2", f"{ahead}_out_2", Turn.STRAIGHT, "centre", True)
        connect(f"{arm}_in_3", f"{ahead}_out_3", Turn.STRAIGHT, "centre", True)
        connect(f"{arm}_in_3", f"{left}_out_3", Turn.LEFT, "centre", True)
    for index in (2, 3):
        connect(f"east_out_{index}", f"far_out_{index}", Turn.STRAIGHT, "seam")
        connect(f"far_in_{index}", f"east_in_{index}", Turn.STRAIGHT, "seam")
    connect("far_out_3", "far_in_3", Turn.AROUND, "end")
    lanes[":centre_c0_0"] = Lane(
        ":centre_c0_0",
        ":centre_c0",
        0,
        np.array([[13.0, -8.0], [13.0, 8.0]]),
        4.0,
        1.0,
        LaneUse.CROSSING,
        False,
    )
    corner = np.array([[8.0, 16.0], [10.0, 16.0], [10.0, 10.0], [16.0, 10.0], [16.0, 8.0], [8.0, 8.0]])
    lanes[":centre_w0_0"] = Lane(":centre_w0_0", ":centre_w0", 0, corner, 2.0, 1.0, LaneUse.WALKING_AREA, False)
    ring = np.array([point(np.array(axis), NEAR, side) for axis in ARMS.values() for side in (10.0, -10.0)])
    gap = np.array([[FAR, -10.0], [FAR + 0.2, -10.0], [FAR + 0.2, 10.0], [FAR, 10.0]])
    junctions = {
        "centre": Junction("centre", ring, np.zeros(2), True),
        "seam": Junction("seam", gap, np.array([FAR, 0.0]), False),
        "end": Junction("end", np.array([[END, -5.0], [END, 5.0]]), np.array([END, 0.0]), False),
    }
    return StreetMap("crossing", "epsg:32633", OFFSET, lanes, junctions, tuple(connections), {})
