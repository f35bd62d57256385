"""Which patches of a view show road, dynamic objects or other static things, by true labels.

Shapes: N views, H x W pixels, P patches.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from world4scorer.city.scenery.surface import SurfaceClass
from world4scorer.city.world.frame_labels import FrameLabels
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.datasets.navsim.splits import find_split
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.jobs.progress import ProgressBar
from world4scorer.planner.model.config import ModelConfig
from world4scorer.planner.pretraining.patch_grid import PatchGrid

REGIONS: Final = ("road", "dynamic", "static")
ROAD, DYNAMIC, STATIC = range(3)
REGION_OF: Final = np.full(len(SurfaceClass), STATIC, np.int8)
"""(classes,) indices in `REGIONS`."""
REGION_OF[[SurfaceClass.ROAD, SurfaceClass.MARKING, SurfaceClass.BIKE_LANE]] = ROAD
REGION_OF[[SurfaceClass.VEHICLE, SurfaceClass.BICYCLE, SurfaceClass.PEDESTRIAN]] = DYNAMIC


def has_labels(data: Path, masks: Path | None = None) -> bool:
    """Whether the classes of pixels can be known: of a city they are drawn, of other data they must be given."""
    return masks is not None or DataFolder(data).is_city


def read_regions(
    scenes: Sequence[tuple[str, str]],
    data: Path,
    split: str,
    config: ModelConfig,
    masks: Path | None = None,
    grid: PatchGrid | None = None,
    show: bool = False,
) -> NDArray[np.int8]:
    """(N, P) regions of the patches of scenes, given as token and name of the log; of a ViT unless `grid` is given.

    `masks` is a folder with a PNG for each token, of one channel, whose pixels are indices in `REGIONS`.
    """
    if masks is not None:
        return np.stack([patch_regions(_read_mask(masks / f"{token}.png"), config, grid) for token, _ in scenes])
    index = {token: number for number, (token, _) in enumerate(scenes)}
    regions = np.empty((len(scenes), len(grid or _vit_grid(config))), np.int8)
    labels = FrameLabels(data)
    layout, data_split = DataFolder(data), find_split(split, data).data_split
    names = sorted({name for _, name in scenes})
    with ProgressBar("regions", "logs", len(names), show) as progress:
        for name in names:
            for frame in read_log(layout.log(data_split, name)).frames:
                if frame.token in index:
                    regions[index[frame.token]] = patch_regions(REGION_OF[labels.classes(frame)], config, grid)
            progress.advance()
    return regions


def patch_regions(regions_HW: NDArray[np.int8], config: ModelConfig, grid: PatchGrid | None = None) -> NDArray[np.int8]:
    """(P,) the region that most pixels of each patch show; of equals, the first."""
    size = (config.image_width, config.image_height + config.crop_top)
    fitted = Image.fromarray(regions_HW.astype(np.uint8))
    if fitted.size != size:
        fitted = fitted.resize(size, Image.Resampling.NEAREST)
    seen = np.asarray(fitted)[config.crop_top :]
    shown = np.stack([seen == region for region in range(len(REGIONS))]).astype(np.float32)
    return np.asarray((grid or _vit_grid(config)).sums(shown).argmax(0), np.int8)


def _vit_grid(config: ModelConfig) -> PatchGrid:
    return PatchGrid(*config.grid, config.image_height, config.image_width)


def _read_mask(path: Path) -> NDArray[np.int8]:
    try:
        with Image.open(path) as image:
            mask = np.asarray(image)
    except (OSError, SyntaxError) as error:
        raise ValueError(f"{path}: not a readable mask ({error}); one PNG for each token is needed") from error
    if mask.ndim != 2 or mask.max() >= len(REGIONS):
        raise ValueError(f"{path}: one channel is needed with 0 for road, 1 for dynamic, 2 for static")
    return mask.astype(np.int8)
