"""Plans of the generated towns that the city trains on, by name.

They vary what the real networks have little of: tight corners, roundabouts, wide avenues, streets that bend, junctions
without signs.
"""

from __future__ import annotations

from typing import Final

from world4scorer.city.streets.town_plan import StreetClass, TownPlan

AVENUE: Final = StreetClass(speed=60, lanes=3, lane_width=3.5, sidewalk=3.0)
MAIN: Final = StreetClass(speed=50, lanes=2, lane_width=3.4, bicycle_lane=1.6)
STREET: Final = StreetClass(speed=50, lane_width=3.6, bicycle_lane=1.5)
PLAIN: Final = StreetClass(speed=50, lane_width=3.5)
NARROW: Final = StreetClass(speed=30, lane_width=3.3, sidewalk=2.0)
QUIET: Final = StreetClass(speed=30, lane_width=3.5)

TOWN_PLANS: Final = {
    "old-town": TownPlan(
        layout=("--grid", "--grid.number", "5", "--grid.length", "85", "--grid.attach-length", "60"),
        size=(470.0, 450.0),
        seed=11,
        main=QUIET,
        side=NARROW,
        jitter=13.0,
        bend=0.06,
        removed=0.15,
    ),
    "new-town": TownPlan(
        layout=("--grid", "--grid.number", "4", "--grid.length", "140", "--grid.attach-length", "80"),
        size=(580.0, 580.0),
        seed=12,
        main=MAIN,
        side=STREET,
        signals=0.7,
        minor_junctions="priority",
        jitter=8.0,
    ),
    "avenues": TownPlan(
        layout=("--grid", "--grid.number", "3", "--grid.length", "190", "--grid.attach-length", "110"),
        size=(620.0, 600.0),
        seed=13,
        main=AVENUE,
        side=MAIN,
        signals=1.0,
        corner_radius=13.0,
        jitter=6.0,
    ),
    "circles": TownPlan(
        layout=("--grid", "--grid.number", "4", "--grid.length", "140", "--grid.attach-length", "80"),
        size=(580.0, 560.0),
        seed=14,
        main=PLAIN,
        side=QUIET,
        signals=0.2,
        roundabouts=5,
        jitter=15.0,
        bend=0.08,
    ),
    "star": TownPlan(
        layout=("--spider", "--spider.arm-number", "6", "--spider.circle-number", "3", "--spider.space-radius", "90"),
        size=(640.0, 600.0),
        seed=15,
        main=PLAIN,
        side=QUIET,
        main_streets=3,
        signals=0.3,
        roundabouts=1,
        jitter=6.0,
        gateways=6,
    ),
    "web": TownPlan(
        layout=(
            *("--spider", "--spider.arm-number", "5", "--spider.circle-number", "3"),
            *("--spider.space-radius", "95", "--spider.omit-center"),
        ),
        size=(620.0, 620.0),
        seed=16,
        main=STREET,
        side=PLAIN,
        signals=0.5,
        minor_junctions="allway_stop",
        jitter=8.0,
        gateways=5,
    ),
    "village": TownPlan(
        layout=(
            *("--rand", "--rand.iterations", "34", "--rand.min-angle", "55"),
            *("--rand.min-distance", "90", "--rand.max-distance", "170"),
        ),
        size=(620.0, 560.0),
        seed=17,
        main=PLAIN,
        side=QUIET,
        roundabouts=1,
        bend=0.14,
    ),
    "suburb": TownPlan(
        layout=(
            *("--rand", "--rand.iterations", "44", "--rand.min-angle", "55"),
            *("--rand.min-distance", "80", "--rand.max-distance", "150"),
        ),
        size=(620.0, 620.0),
        seed=18,
        main=STREET,
        side=QUIET,
        main_streets=3,
        signals=0.4,
        bend=0.12,
    ),
    "market-town": TownPlan(
        layout=(
            *("--grid", "--grid.x-number", "5", "--grid.y-number", "4"),
            *("--grid.x-length", "100", "--grid.y-length", "120", "--grid.attach-length", "70"),
        ),
        size=(540.0, 500.0),
        seed=19,
        main=MAIN,
        side=QUIET,
        signals=0.5,
        roundabouts=2,
        minor_junctions="allway_stop",
        jitter=18.0,
        bend=0.1,
        removed=0.15,
    ),
}
