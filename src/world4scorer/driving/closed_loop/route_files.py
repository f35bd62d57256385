"""Closed-loop routes as JSON, and their digests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import numpy as np

from world4scorer.city.world.episode import EgoState, EpisodeStart
from world4scorer.city.world.events import Event, EventKind
from world4scorer.driving.closed_loop.city_routes import CityRoute

DIGEST_DECIMALS: Final = 3
"""Decimals of metres, radians and seconds that a digest sees: the last bits may differ between processors."""


def route_to_json(route: CityRoute) -> dict[str, Any]:
    """A route as JSON values, exactly."""
    start = route.start
    return {
        "name": route.name,
        "simulation": route.simulation,
        "place": route.place,
        "scenario": route.scenario,
        "vehicle": start.vehicle,
        "edges": list(start.route),
        "weather_seed": start.weather_seed,
        "past": [{name: _plain(value) for name, value in vars(state).items()} for state in start.past],
        "events": [{**asdict(event), "edges": list(event.edges)} for event in start.events],
        "points": route.points.tolist(),
        "options": list(route.options),
        "seconds": route.seconds,
        "event_distances": list(route.event_distances),
    }


def route_from_json(values: Mapping[str, Any]) -> CityRoute:
    """Read what `route_to_json` returned."""
    past = tuple(
        EgoState(
            step=state["step"],
            pose=np.array(state["pose"]),
            velocity=np.array(state["velocity"]),
            acceleration=np.array(state["acceleration"]),
            command=state["command"],
        )
        for state in values["past"]
    )
    events = tuple(
        Event(**{**event, "kind": EventKind(event["kind"]), "edges": tuple(event["edges"])})
        for event in values["events"]
    )
    start = EpisodeStart(
        values["name"], values["vehicle"], tuple(values["edges"]), values["weather_seed"], past, events
    )
    return CityRoute(
        name=values["name"],
        simulation=values["simulation"],
        place=values["place"],
        scenario=values["scenario"],
        start=start,
        points=np.array(values["points"], np.float64),
        options=tuple(values["options"]),
        seconds=values["seconds"],
        event_distances=tuple(values["event_distances"]),
    )


def route_digest(route: CityRoute) -> str:
    """SHA-256 of a route, with floats rounded."""
    return hashlib.sha256(json.dumps(_rounded(route_to_json(route)), sort_keys=True).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return round(value, DIGEST_DECIMALS) + 0.0 if isinstance(value, float) else value
