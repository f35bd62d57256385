"""Places of SUMO's networks and of generated towns, and the areas used for each split.

Training, validation and test streets are disjoint. The real networks come from OpenStreetMap (c) OpenStreetMap
contributors, ODbL, except the surveyed crossing in Braunschweig (German Aerospace Center). SUMO's network of
Braunschweig's centre (`bs3d`) is not used: the test place lies in its middle.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from world4scorer.city.streets.town_plan import TownPlan
from world4scorer.city.streets.towns import TOWN_PLANS


@dataclass(frozen=True)
class Network:
    """A street network, built from a file in SUMO's wheel or generated."""

    name: str
    source: str | TownPlan
    """Path below SUMO's `tools/game` folder, or the plan of a generated town."""
    location: str
    """Name of its map in the dataset."""
    devkit_location: str = ""
    """The NAVSIM devkit map name used with `devkit_maps`; empty if it has none, for the devkit knows four."""
    guess_sidewalks: bool = False
    """Let netconvert add sidewalks and crossings."""
    credit: str = "© OpenStreetMap contributors"
    """Attribution of the streets, shown in films."""
    origin: tuple[float, float] | None = None
    """Where a network that is no real place lies on the globe: easting, northing [m] in UTM zone 31N."""


@dataclass(frozen=True)
class Place:
    """A part of a network whose streets belong to one split."""

    name: str
    network: Network
    area: tuple[float, float, float, float]
    """x_min, y_min, x_max, y_max [m] in the network's frame. Logs stay inside."""
    vehicles: int
    """Motor vehicles on the road at a time."""
    bicycles: int
    pedestrians: int
    stay: float
    """Typical duration of a trip; sets the arrival rate [s]."""


BERLIN: Final = Network("berlin", "DRT/osm.net.xml", "de-berlin", "us-nv-las-vegas-strip")
WUSTERHAUSEN: Final = Network("wusterhausen", "A10KW/osm.net.xml", "de-wusterhausen", "us-ma-boston", True)
INGOLSTADT: Final = Network("ingolstadt", "fkk_in/ingolstadt.net.xml.gz", "de-ingolstadt", "us-pa-pittsburgh-hazelwood")
BRAUNSCHWEIG: Final = Network(
    "braunschweig",
    "fokr_bs_demo/fokr_bs.net.xml.gz",
    "de-braunschweig",
    "sg-one-north",
    credit="© German Aerospace Center",
)

FICTIONAL_SPACING: Final = 10_000.0
"""Distance between networks that are no real place, along the equator [m]."""


def _fictional(name: str, source: str | TownPlan, location: str, number: int, credit: str = "Eclipse SUMO") -> Network:
    easting = 200_000.0 + FICTIONAL_SPACING * number
    return Network(name, source, location, guess_sidewalks=True, credit=credit, origin=(easting, 0.0))


CORRIDOR: Final = _fictional("corridor", "corridor/corridor.net.xml", "sumo-corridor", 0)
GRID6: Final = _fictional("grid6", "grid6/grid6.net.xml", "sumo-grid6", 1)
SQUARE: Final = _fictional("square", "square/square.net.xml", "sumo-square", 2)
TOWNS: Final = {
    name: _fictional(name, plan, f"town-{name}", 10 + number, credit="generated")
    for number, (name, plan) in enumerate(TOWN_PLANS.items())
}
"""Networks of the generated towns."""


def _town(name: str, vehicles: int, bicycles: int, pedestrians: int, stay: float) -> Place:
    return Place(name, TOWNS[name], (0.0, 0.0, *TOWN_PLANS[name].size), vehicles, bicycles, pedestrians, stay)


PLACES: Final = {
    place.name: place
    for place in (
        Place(
            "berlin-east", BERLIN, (1320.0, 60.0, 2420.0, 1520.0), vehicles=110, bicycles=16, pedestrians=75, stay=200.0
        ),
        Place(
            "berlin-west", BERLIN, (460.0, 60.0, 1220.0, 1500.0), vehicles=80, bicycles=14, pedestrians=55, stay=170.0
        ),
        Place(
            "wusterhausen",
            WUSTERHAUSEN,
            (1280.0, 1340.0, 1790.0, 2230.0),
            vehicles=60,
            bicycles=8,
            pedestrians=40,
            stay=110.0,
        ),
        Place(
            "ingolstadt",
            INGOLSTADT,
            (5530.0, 5515.0, 5935.0, 5830.0),
            vehicles=34,
            bicycles=8,
            pedestrians=36,
            stay=75.0,
        ),
        Place(
            "braunschweig", BRAUNSCHWEIG, (0.0, 0.0, 446.0, 400.0), vehicles=44, bicycles=12, pedestrians=36, stay=75.0
        ),
        Place(
            "wusterhausen-north",
            WUSTERHAUSEN,
            (1560.0, 2545.0, 2120.0, 2970.0),
            vehicles=40,
            bicycles=8,
            pedestrians=30,
            stay=75.0,
        ),
        Place("corridor", CORRIDOR, (-400.0, -160.0, 400.0, 160.0), vehicles=40, bicycles=8, pedestrians=40, stay=75.0),
        Place("grid6", GRID6, (0.0, 0.0, 660.0, 570.0), vehicles=50, bicycles=8, pedestrians=40, stay=90.0),
        Place("square", SQUARE, (0.0, 0.0, 500.0, 500.0), vehicles=40, bicycles=8, pedestrians=40, stay=75.0),
        _town("old-town", vehicles=45, bicycles=12, pedestrians=60, stay=100.0),
        _town("new-town", vehicles=70, bicycles=14, pedestrians=60, stay=100.0),
        _town("avenues", vehicles=80, bicycles=12, pedestrians=60, stay=90.0),
        _town("circles", vehicles=55, bicycles=12, pedestrians=50, stay=100.0),
        _town("star", vehicles=55, bicycles=12, pedestrians=50, stay=100.0),
        _town("web", vehicles=50, bicycles=12, pedestrians=50, stay=100.0),
        _town("village", vehicles=45, bicycles=12, pedestrians=45, stay=100.0),
        _town("suburb", vehicles=55, bicycles=12, pedestrians=50, stay=100.0),
        _town("market-town", vehicles=55, bicycles=12, pedestrians=60, stay=100.0),
    )
}
