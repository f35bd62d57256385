"""A town small enough to know every corner of it: one street with a signalled junction."""

from __future__ import annotations

import numpy as np

from world4scorer.city.render.ground import Ground
from world4scorer.city.render.renderer import StaticWorld
from world4scorer.city.scenery.actors import ActorKind, Actors
from world4scorer.city.scenery.facade import Facade
from world4scorer.city.scenery.ground_plan import GroundPlan
from world4scorer.city.scenery.scenery import Scenery
from world4scorer.city.scenery.scenery_builder import SceneryBuilder
from world4scorer.city.streets.street_map import (
    Connection,
    Junction,
    Lane,
    LaneUse,
    SignalLink,
    StreetMap,
    Turn,
)


def lane(name, points, use=LaneUse.DRIVE, width=3.2, index=0, internal=False):
    shape = np.array(points, np.float64)
    return Lane(name, name.rsplit("_", 1)[0], index, shape, width, 13.9, use, internal)


def tiny_town() -> StreetMap:
    """East along y = 0: two lanes and a sidewalk, a junction at x = 60..72, a crossing at its far side."""
    lanes = [
        lane("in_0", [(0, -3.2), (60, -3.2)], LaneUse.WALK, width=2.0, index=0),
        lane("in_1", [(0, -0.6), (60, -0.6)], index=1),
        lane("in_2", [(0, 2.6), (60, 2.6)], index=2),
        lane("out_0", [(72, -3.2), (140, -3.2)], LaneUse.WALK, width=2.0, index=0),
        lane("out_1", [(72, -0.6), (140, -0.6)], index=1),
        lane("bike_0", [(0, 20), (140, 20)], LaneUse.BICYCLE, width=1.6),
        lane(":j_0_0", [(60, -0.6), (72, -0.6)], internal=True),
        lane(":j_c0_0", [(70, 4.2), (70, -2.2)], LaneUse.CROSSING, width=3.0),
    ]
    junction = Junction("j", np.array([(60, -4.2), (72, -4.2), (72, 4.2), (60, 4.2)]), np.array([66.0, 0]), True)
    way = Connection(
        "in_1",
        "out_1",
        (":j_0_0",),
        np.array([(60, -0.6), (72, -0.6)]),
        Turn.STRAIGHT,
        "j",
        SignalLink("j", 0),
        LaneUse.DRIVE,
    )
    return StreetMap(
        name="tiny",
        crs="epsg:32633",
        offset=np.zeros(2),
        lanes={each.id: each for each in lanes},
        junctions={"j": junction},
        connections=(way,),
        crossing_links={":j_c0_0": SignalLink("j", 1)},
    )


def some_actors(*rows, brake=False, left=False, stride=0.0) -> Actors:
    """Actors from rows (x, y, heading, length, width, height, kind)."""
    table = np.array(rows, np.float64).reshape(-1, 7)
    n = len(table)
    return Actors(
        pose=table[:, :3].copy(),
        size=table[:, 3:6].copy(),
        kind=table[:, 6].astype(np.int8),
        look=np.arange(n, dtype=np.uint32) * 7919,
        brake=np.full(n, brake),
        left=np.full(n, left),
        right=np.zeros(n, bool),
        stride=np.full(n, stride),
    )


CAR = (4.4, 1.8, 1.5, ActorKind.CAR)
PERSON = (0.6, 0.6, 1.8, ActorKind.PEDESTRIAN)


def bare_world(streets: StreetMap) -> StaticWorld:
    """Streets without anything beside them."""
    nothing = Scenery(SceneryBuilder().pack(), np.zeros((0, len(Facade)), np.float32), [], [])
    return StaticWorld(streets, Ground(GroundPlan.of(streets, [], seed=0)), nothing)
