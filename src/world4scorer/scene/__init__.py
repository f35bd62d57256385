"""`Scene`: all that is known about one decision, as plain arrays, and the file that carries it."""

from world4scorer.scene.checks import SceneError
from world4scorer.scene.exchange import Frame, read_exchange, write_exchange
from world4scorer.scene.indices import Box, Layer, Light, State, TrackType
from world4scorer.scene.map import PolygonMap
from world4scorer.scene.plan import as_plans, published_cleanup
from world4scorer.scene.scene import Scene
from world4scorer.scene.tracks import Lights, Tracks

__all__ = [
    "Box",
    "Frame",
    "Layer",
    "Light",
    "Lights",
    "PolygonMap",
    "Scene",
    "SceneError",
    "State",
    "TrackType",
    "Tracks",
    "as_plans",
    "published_cleanup",
    "read_exchange",
    "write_exchange",
]
