"""What a page must know before it loads a log: runs with their logs and frames, rules of choosing, names, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from world4scorer.datasets.navsim.cameras import CAMERA_LABELS
from world4scorer.drawing import style
from world4scorer.drawing.faults import FAULT_TEXTS
from world4scorer.engine.outcomes.comfort import CHECKS
from world4scorer.engine.outcomes.ego import CORNERS
from world4scorer.engine.outcomes.results import EC_WEIGHT, V1_COLUMNS, V2_WEIGHTS
from world4scorer.engine.scene.indices import Layer, Light, TrackType
from world4scorer.engine.scene.vehicle import FRONT_OVERHANG, HALF_WIDTH, REAR_OVERHANG
from world4scorer.engine.selection.inertial import LOG_FLOOR
from world4scorer.engine.selection.route import MIN_SPREAD, ROUTE_WEIGHT
from world4scorer.engine.selection.utility import ADDED, MULTIPLIED, OUTCOMES, UTILITY_WEIGHTS
from world4scorer.reporting.explorer.explored_run import ExploredRun
from world4scorer.reporting.explorer.log_scenes import CAUSES
from world4scorer.reporting.explorer.log_table import V2_KEPT
from world4scorer.reporting.explorer.rounding import UNITS
from world4scorer.reporting.explorer.situations import SITUATIONS

FORMAT: Final = "world4scorer-explorer-1"


def catalogue(
    runs: Sequence[ExploredRun], taken: Sequence[Sequence[int]] | None = None, note: str = ""
) -> dict[str, Any]:
    """The catalogue of runs; `taken` lists for each the logs that are there, all unless given, `note` says why.

    Predicted views are found when they are asked for, so only a server, which has all logs, offers them.
    """
    chosen = [range(len(run.logs)) for run in runs] if taken is None else taken
    return {
        "format": FORMAT,
        "units": UNITS,
        "rules": _rules(),
        "names": _names(),
        "style": _style(),
        "ego_box": [FRONT_OVERHANG, REAR_OVERHANG, HALF_WIDTH],
        "note": note,
        "runs": [_describe_run(run, logs, taken is None) for run, logs in zip(runs, chosen, strict=True)],
    }


def _describe_run(run: ExploredRun, logs: Sequence[int], with_views: bool) -> dict[str, Any]:
    pools = run.pools
    return {
        "name": run.name,
        "about": pools.describe(),
        "plans": pools.plans.shape[1],
        "has_logits": pools.logits is not None,
        "has_views": with_views and run.has_views,
        "cameras": [[name, CAMERA_LABELS[name]] for name in run.cameras],
        "logs": [
            {
                "number": log,
                "name": run.logs[log].name,
                "place": run.logs[log].place,
                "tokens": pools.tokens[run.logs[log].rows],
            }
            for log in logs
        ],
    }


def _rules() -> dict[str, Any]:
    """Numbers of the engine that the page computes with."""
    return {
        "log_floor": float(np.log(LOG_FLOOR)),  # as the engine rounds it: near ties must fall the same way
        "v2_weights": V2_WEIGHTS,
        "ec_weight": EC_WEIGHT,
        "utility_weights": UTILITY_WEIGHTS,
        "multiplied": MULTIPLIED,
        "added": ADDED,
        "route_weight": ROUTE_WEIGHT,
        "route_min_spread": MIN_SPREAD,
    }


def _names() -> dict[str, Any]:
    return {
        "outcomes": OUTCOMES,
        "v1": V1_COLUMNS,
        "v2": V2_KEPT,
        "causes": CAUSES,
        "cause_texts": FAULT_TEXTS,
        "corners": CORNERS,
        "checks": [name.replace("_", " ") for name in CHECKS],
        "situations": SITUATIONS,
        "layers": {int(layer): layer.name.lower() for layer in Layer},
        "lights": [light.name.lower() for light in Light],
    }


def _style() -> dict[str, Any]:
    return {
        "utility": style.UTILITY,
        "layers": {layer.name.lower(): colour for layer, colour in style.LAYER_FILL.items()},
        "tracks": [style.TRACK_FILL[kind] for kind in TrackType],
        "ground": style.GROUND,
        "lane_edge": style.LANE_EDGE,
        "route": style.ROUTE,
        "red_light": style.RED_LIGHT,
        "ink": style.INK,
        "faint": style.FAINT,
        "paper": style.PAPER,
        "ego": style.EGO,
        "reference": style.REFERENCE,
        "human": style.HUMAN,
        "fault": style.FAULT,
        "centerline": style.CENTERLINE,
        "box_steps": style.BOX_STEPS,
    }
