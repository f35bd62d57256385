"""The subcommands of `w4s b2d`.

w4s b2d map Town05.xodr --out maps/Town05.npz
w4s b2d prepare Bench2Drive --maps maps --out prepared
w4s b2d vocab prepared --out vocabulary.npz
w4s b2d train prepared --vocab vocabulary.npz --vit-weights dinov2-with-registers-small --out runs/b2d
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from world4scorer.cli.b2d.clips import city_clips, map_, prepare, scan, train, vocab
from world4scorer.cli.b2d.judge import agent, results, routes, sheets

SUBCOMMANDS: Final[dict[str, Callable[..., int]]] = {
    "map": map_,
    "prepare": prepare,
    "vocab": vocab,
    "scan": scan,
    "train": train,
    "city-clips": city_clips,
    "agent": agent,
    "results": results,
    "routes": routes,
    "sheets": sheets,
}
