"""The places that the wheels of SUMO bring along, and which part of them is for what.

Training, validation and test streets are disjoint. The networks come from OpenStreetMap (c) OpenStreetMap
contributors, ODbL, except the surveyed crossing in Braunschweig (German Aerospace Center).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Network:
    """A street network, made from a file in SUMO's wheel."""

    name: str
    source: str
    """Below the folder of SUMO's games."""
    location: str
    """Name of its map in the dataset."""
    devkit_location: str
    """Of the four names that the NAVSIM devkit knows, the one that it gets on request."""
    guess_sidewalks: bool = False
    """For networks without sidewalks and crossings of their own."""
    credit: str = "© OpenStreetMap contributors"
    """Who made the streets; shown in films."""


@dataclass(frozen=True)
class Place:
    """A part of a network whose streets belong to one split."""

    name: str
    network: Network
    area: tuple[float, float, float, float]
    """Smallest x and y, largest x and y [m] in the network's frame. Logs stay inside."""
    vehicles: int
    """Cars, vans and lorries on the road at a time."""
    bicycles: int
    pedestrians: int
    stay: float
    """A typical trip; sets the rate of newcomers [s]."""


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

PLACES: Final = {
    place.name: place
    for place in (
        Place(
            "berlin-east",
            BERLIN,
            (1320.0, 60.0, 2420.0, 1520.0),
            vehicles=110,
            bicycles=16,
            pedestrians=75,
            stay=200.0,
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
    )
}
