"""`Scene`: the inputs of one planning decision as arrays, and the exchange file format."""

from world4scorer.engine.scene.checks import SceneError
from world4scorer.engine.scene.exchange import Frame, read_exchange, write_exchange
from world4scorer.engine.scene.indices import Box, Layer, Light, State, TrackType
from world4scorer.engine.scene.lanes import Lanes
from world4scorer.engine.scene.map import PolygonMap
from world4scorer.engine.scene.plan import as_plans, published_cleanup
from world4scorer.engine.scene.scene import Scene
from world4scorer.engine.scene.tracks import Lights, Tracks

__all__ = [
    "Box",
    "Frame",
    "Lanes",
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
