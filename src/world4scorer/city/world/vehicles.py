"""Vehicle types: sizes, car-following parameters, shares of the traffic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from world4scorer.city.scenery.actors import ActorKind
from world4scorer.engine.scene.vehicle import LENGTH, REAR_OVERHANG, WHEEL_BASE, WIDTH

EGO_TYPE: Final = "ego"
EGO_HEIGHT: Final = 1.777
"""m"""


@dataclass(frozen=True)
class VehicleType:
    """A SUMO vehicle type. Lengths in m, accelerations in m/s^2."""

    name: str
    kind: ActorKind
    vehicle_class: str
    """SUMO vClass, which decides the allowed lanes."""
    length: float
    width: float
    height: float
    wheelbase: float
    rear_overhang: float
    """Rear axle to rear bumper."""
    share: float
    """Share of a place's motor vehicles."""
    accel: float = 1.6
    decel: float = 2.8
    headway: float = 1.3
    """Time gap kept to the vehicle in front [s]."""
    gap: float = 2.3
    """Gap at standstill."""
    speed_factor: str = "normc(0.95,0.08,0.75,1.12)"
    """Distribution of desired speed / speed limit."""


VEHICLE_TYPES: Final = {
    kind.name: kind
    for kind in (
        # NAVSIM's ego, a Chrysler Pacifica: traffic must react to the box that the metrics use.
        VehicleType(
            EGO_TYPE,
            ActorKind.CAR,
            "passenger",
            LENGTH,
            WIDTH,
            EGO_HEIGHT,
            WHEEL_BASE,
            REAR_OVERHANG,
            share=0.36,
            accel=1.8,
            decel=2.6,
            headway=1.2,
            gap=2.3,
            speed_factor="normc(1.0,0.06,0.85,1.12)",
        ),
        VehicleType("hatchback", ActorKind.CAR, "passenger", 4.1, 1.78, 1.48, 2.55, 0.7, 0.22),
        VehicleType("saloon", ActorKind.CAR, "passenger", 4.7, 1.85, 1.46, 2.8, 0.95, 0.18),
        VehicleType("suv", ActorKind.CAR, "passenger", 4.8, 1.95, 1.75, 2.85, 0.95, 0.12, 1.5, 2.7, 1.4),
        VehicleType("van", ActorKind.VAN, "delivery", 6.0, 2.05, 2.6, 3.6, 1.3, 0.06, 1.2, 2.5, 1.5),
        VehicleType("lorry", ActorKind.TRUCK, "truck", 8.6, 2.45, 3.4, 5.0, 2.2, 0.025, 1.0, 2.4, 1.6, 2.6),
        VehicleType("bus", ActorKind.BUS, "bus", 12.0, 2.55, 3.1, 5.9, 3.3, 0.02, 1.0, 2.2, 1.6, 2.6),
        VehicleType("motorcycle", ActorKind.MOTORCYCLE, "motorcycle", 2.2, 0.9, 1.5, 1.45, 0.4, 0.015, 1.8, 3.0, 1.2),
        VehicleType(
            "bicycle", ActorKind.BICYCLE, "bicycle", 1.8, 0.65, 1.75, 1.1, 0.35, 0.0, 1.0, 2.2, 1.2, 1.0, "1.0"
        ),
    )
}
BICYCLE_SPEED: Final = 5.2
"""Maximum speed [m/s]."""
PEDESTRIAN_SIZE: Final = (0.55, 0.6, 1.74)
"""Box of a pedestrian: length, width, height [m]."""
WALKER_TYPE: Final = "walker"
"""Type of pedestrians on the road, which SUMO treats as vehicles."""
WALKER_SIZE: Final = PEDESTRIAN_SIZE
WALKER: Final = VehicleType(WALKER_TYPE, ActorKind.PEDESTRIAN, "passenger", *WALKER_SIZE, 0.0, WALKER_SIZE[0] / 2, 0.0)


def vehicle_type(name: str) -> VehicleType:
    """The vehicle type with a SUMO name."""
    return WALKER if name == WALKER_TYPE else VEHICLE_TYPES[name]
