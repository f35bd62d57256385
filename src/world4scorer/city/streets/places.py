"""Places of SUMO's networks and the areas used for each split.

Training, validation and test streets are disjoint. The networks come from OpenStreetMap (c) OpenStreetMap
contributors, ODbL, except the surveyed crossing in Braunschweig (German Aerospace Center).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Network:
    """A street network, built from a file in SUMO's wheel."""

    name: str
    source: str
    """Path below SUMO's `tools/game` folder."""
    location: str
    """Name of its map in the dataset."""
    devkit_location: str
    """The NAVSIM devkit map name used with `devkit_maps`."""
    guess_sidewalks: bool = False
    """Let netconvert add sidewalks and crossings."""
    credit: str = "© OpenStreetMap contributors"
    """Attribution of the streets, shown in films."""


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
    )
}
