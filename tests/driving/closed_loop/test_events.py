"""What is staged on a route really happens, and the traffic minds it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from world4scorer.city.world.episode import EgoState
from world4scorer.city.world.simulation import CitySimulation
from world4scorer.city.world.trace import Trace
from world4scorer.driving.closed_loop.city_routes import CityRoute, find_routes
from world4scorer.driving.closed_loop.contacts import contacts
from world4scorer.engine.scene.indices import TrackType

SECONDS = 40


@pytest.fixture(scope="module")
def routes(city: Path) -> dict[str, CityRoute]:
    """The first of each scenario."""
    found: dict[str, CityRoute] = {}
    for split, count in (("city_train", 6), ("city_val", 4)):
        for route in find_routes(city, split, count):
            found.setdefault(route.scenario, route)
    return found


def watched(city: Path, route: CityRoute) -> tuple[Trace, list[EgoState], list[bool]]:
    with CitySimulation(city) as running:
        running.start(route.simulation, route.start, images=False)
        seen, frames = running.drive_with_sumo(10 * SECONDS, {})
        return seen, frames, running.events_met()


def test_a_pedestrian_crosses_and_the_driver_brakes(city: Path, routes: dict[str, CityRoute]) -> None:
    route = routes["pedestrian"]
    seen, frames, happened = watched(city, route)
    assert happened == [True]
    place = route.route.points[np.searchsorted(route.route.distance, route.event_distances[0])]
    away = np.where(seen.valid, np.linalg.norm(seen.poses[:, :, :2] - place, axis=-1), np.inf).min(1)
    crossing = np.flatnonzero((away < 1.5) & (seen.types == TrackType.PEDESTRIAN))
    assert len(crossing), "nobody walked across"
    for step in np.flatnonzero(seen.valid[crossing].any(0)):
        there = crossing[seen.valid[crossing, step]]
        assert not contacts(frames[step].pose, seen.poses[there, step], seen.sizes[there]).any(), "ran over somebody"


def test_a_vehicle_stands_in_the_way_and_goes_on(city: Path, routes: dict[str, CityRoute]) -> None:
    route = routes["stopped-vehicle"]
    seen, _, happened = watched(city, route)
    assert happened == [True]
    place = route.route.points[np.searchsorted(route.route.distance, route.event_distances[0])]
    near = (np.linalg.norm(seen.poses[:, :, :2] - place, axis=-1) < 8.0) & seen.valid
    stood = ((seen.speeds < 0.1) & near & (seen.types == TrackType.VEHICLE)[:, None]).sum(1)
    van = int(np.argmax(stood))
    assert stood[van] >= 70  # at least seven of the eight seconds
    assert seen.sizes[van].tolist() == [6.0, 2.05]
    later = seen.speeds[van, np.flatnonzero(near[van])[-1] :][seen.valid[van, np.flatnonzero(near[van])[-1] :]]
    assert later.max() > 2.0


def test_without_events_nothing_is_met(city: Path, routes: dict[str, CityRoute]) -> None:
    route = routes["signal"]
    with CitySimulation(city) as running:
        running.start(route.simulation, route.start, images=False)
        assert running.events_met() == []
