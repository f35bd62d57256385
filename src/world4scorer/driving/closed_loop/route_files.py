"""Closed-loop routes as JSON, and their digests."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np

from world4scorer.city.world.episode import EgoState, EpisodeStart
from world4scorer.city.world.events import Event, EventKind
from world4scorer.driving.closed_loop.city_routes import CityRoute

DIGEST_DECIMALS: Final = 3
"""Decimals of metres, radians and seconds that a digest sees."""
FROZEN_DECIMALS: Final = 4
"""Decimals of frozen routes."""


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
    text = json.dumps(_rounded(route_to_json(route), DIGEST_DECIMALS), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def frozen_content(routes: Sequence[CityRoute]) -> bytes:
    """Routes as the compressed JSON that `read_routes` reads, with floats rounded."""
    values = [_rounded(route_to_json(route), FROZEN_DECIMALS) for route in routes]
    return gzip.compress(json.dumps({"routes": values}, separators=(",", ":")).encode(), mtime=0)


def read_routes(path: Path) -> list[CityRoute]:
    """Routes that come with the package."""
    return [route_from_json(values) for values in json.loads(gzip.decompress(path.read_bytes()))["routes"]]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _rounded(value: Any, decimals: int) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one, decimals) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one, decimals) for one in value]
    return round(value, decimals) + 0.0 if isinstance(value, float) else value
