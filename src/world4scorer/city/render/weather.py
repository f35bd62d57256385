"""Weather and lighting of a log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

RGB = tuple[float, float, float]


@dataclass(frozen=True)
class Weather:
    """Lighting parameters. Light is linear; 1 is a white wall in the noon sun."""

    name: str
    azimuth: float
    """Azimuth of the sun from the map's x axis, counter-clockwise [rad]."""
    elevation: float
    """Elevation of the sun [rad]."""
    sun: RGB
    """Direct light on a surface that faces the sun."""
    ambient: RGB
    """Light of the sky on a surface that faces up."""
    bounce: RGB
    """Light of the ground on a surface that faces down."""
    zenith: RGB
    horizon: RGB
    """Colours of the sky; the horizon's is also the fog's."""
    clouds: float
    """Cloud cover, 0..1."""
    fog: float
    """Extinction coefficient [1/m]."""
    wetness: float = 0.0
    """Reflectance of the road for the sky, 0..1."""
    lamps: float = 0.0
    """Intensity of lamps, windows and headlights, 0..1."""
    contact: float = 0.5
    """Share of ambient light below a vehicle."""
    exposure: float = 1.0
    seed: int = 0
    """Seed of clouds and lit windows."""

    @property
    def to_sun(self) -> NDArray[np.float64]:
        """(3,) unit vector towards the sun."""
        flat = np.cos(self.elevation)
        return np.array([flat * np.cos(self.azimuth), flat * np.sin(self.azimuth), np.sin(self.elevation)])

    @classmethod
    def draw(cls, seed: int) -> Weather:
        """Random weather of a seed."""
        rng = np.random.default_rng([seed, 0x5EA])
        base = PRESETS[str(rng.choice(list(PRESETS), p=PRESET_SHARES))]
        spread = 0.25 if base.name == "evening" else 0.15
        return replace(
            base,
            azimuth=float(rng.uniform(-np.pi, np.pi)),
            elevation=float(base.elevation * rng.uniform(1 - spread, 1 + spread)),
            clouds=float(np.clip(base.clouds * rng.uniform(0.6, 1.4), 0, 1)),
            fog=float(base.fog * rng.uniform(0.7, 1.6)),
            exposure=float(base.exposure * rng.uniform(0.93, 1.07)),
            seed=int(rng.integers(1 << 31)),
        )


def clear_noon() -> Weather:
    """High sun, blue sky, fair-weather clouds."""
    return Weather(
        "clear_noon",
        azimuth=-0.9,
        elevation=np.deg2rad(46),
        sun=(0.98, 0.93, 0.83),
        ambient=(0.30, 0.36, 0.46),
        bounce=(0.17, 0.16, 0.14),
        zenith=(0.10, 0.22, 0.50),
        horizon=(0.58, 0.70, 0.86),
        clouds=0.35,
        fog=0.0011,
    )


def evening() -> Weather:
    """Low warm sun, long shadows."""
    return Weather(
        "evening",
        azimuth=2.6,
        elevation=np.deg2rad(15),
        sun=(1.05, 0.68, 0.38),
        ambient=(0.27, 0.29, 0.38),
        bounce=(0.16, 0.13, 0.11),
        zenith=(0.13, 0.22, 0.44),
        horizon=(0.92, 0.70, 0.50),
        clouds=0.4,
        fog=0.0016,
        lamps=0.1,
    )


def overcast() -> Weather:
    """A bright grey sky without shadows."""
    return Weather(
        "overcast",
        azimuth=0.4,
        elevation=np.deg2rad(40),
        sun=(0.10, 0.10, 0.10),
        ambient=(0.62, 0.65, 0.70),
        bounce=(0.23, 0.23, 0.22),
        zenith=(0.48, 0.53, 0.60),
        horizon=(0.72, 0.75, 0.78),
        clouds=0.95,
        fog=0.0020,
    )


def rain() -> Weather:
    """Light rain: a wet road, mist, headlights on."""
    return Weather(
        "rain",
        azimuth=1.4,
        elevation=np.deg2rad(35),
        sun=(0.03, 0.03, 0.03),
        ambient=(0.42, 0.45, 0.49),
        bounce=(0.15, 0.15, 0.15),
        zenith=(0.33, 0.37, 0.42),
        horizon=(0.50, 0.53, 0.56),
        clouds=1.0,
        fog=0.0062,
        wetness=0.8,
        lamps=0.5,
    )


def dusk() -> Weather:
    """After sunset: lit windows, street lamps, headlights."""
    return Weather(
        "dusk",
        azimuth=-2.9,
        elevation=np.deg2rad(9),
        sun=(0.03, 0.02, 0.02),
        ambient=(0.125, 0.135, 0.20),
        bounce=(0.06, 0.055, 0.06),
        zenith=(0.035, 0.05, 0.13),
        horizon=(0.42, 0.25, 0.20),
        clouds=0.45,
        fog=0.0020,
        lamps=1.0,
        exposure=1.25,
    )


PRESETS: Final = {weather.name: weather for weather in (clear_noon(), evening(), overcast(), rain(), dusk())}
PRESET_SHARES: Final = (0.34, 0.2, 0.22, 0.12, 0.12)
"""Probability of each preset in `Weather.draw`."""
