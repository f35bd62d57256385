from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from world4scorer.city.scenery.surface import SurfaceClass
from world4scorer.city.world.frame_labels import FrameLabels
from world4scorer.city.world.manifest import read_manifest, read_simulation
from world4scorer.datasets.navsim.cameras import FRONT, VIEWS
from world4scorer.datasets.navsim.logs import read_log
from world4scorer.jobs.data_folder import DataFolder
from world4scorer.planner.model.config import pretrained_city
from world4scorer.planner.pretraining.patch_grid import PatchGrid
from world4scorer.studies.readout_networks.regions import (
    DYNAMIC,
    REGION_OF,
    ROAD,
    STATIC,
    has_labels,
    patch_regions,
    read_regions,
)

CONFIG = replace(pretrained_city(), image_height=4, image_width=6, crop_top=2, patch=2, sampling_fine=0)


def test_most_pixels_of_a_patch_decide():
    pixels = np.full((6, 6), STATIC, np.int8)  # two rows of sky are cut off
    pixels[:2] = DYNAMIC
    pixels[2, :2] = ROAD
    pixels[3, 0] = ROAD  # three of four
    pixels[4:6, 2] = DYNAMIC  # two of four: of equals the first region
    pixels[4:6, 4:6] = DYNAMIC
    assert patch_regions(pixels, CONFIG).tolist() == [ROAD, STATIC, STATIC, STATIC, DYNAMIC, DYNAMIC]


def test_patches_at_the_edge_may_be_cut_off():
    pixels = np.full((6, 6), STATIC, np.int8)
    pixels[2:, 4:] = DYNAMIC
    grid = PatchGrid(1, 2, 4, 6)
    assert (grid.side, grid.column_edges.tolist()) == (4, [0, 4, 6])
    assert patch_regions(pixels, CONFIG, grid).tolist() == [STATIC, DYNAMIC]


def test_larger_masks_are_fitted():
    pixels = np.full((6, 6), STATIC, np.int8)
    pixels[2:4, :2] = ROAD
    assert patch_regions(np.kron(pixels, np.ones((3, 3), np.int8)), CONFIG).tolist() == [ROAD] + [STATIC] * 5


def test_regions_of_classes():
    kinds = {kind.name: int(REGION_OF[kind]) for kind in SurfaceClass}
    assert {name for name, region in kinds.items() if region == ROAD} == {"ROAD", "MARKING", "BIKE_LANE"}
    assert {name for name, region in kinds.items() if region == DYNAMIC} == {"VEHICLE", "BICYCLE", "PEDESTRIAN"}


def test_masks_from_a_folder(tmp_path):
    mask = np.full((6, 6), 2, np.uint8)
    mask[2:4, 2:4] = 1
    Image.fromarray(mask).save(tmp_path / "a.png")
    found = read_regions([("a", "log")], tmp_path, "split", CONFIG, tmp_path)
    assert found.tolist() == [[STATIC, DYNAMIC, *[STATIC] * 4]]
    assert has_labels(tmp_path, tmp_path) and not has_labels(tmp_path)
    with pytest.raises(ValueError, match=r"b\.png: not a readable mask"):
        read_regions([("b", "log")], tmp_path, "split", CONFIG, tmp_path)
    Image.fromarray(mask + 5).save(tmp_path / "c.png")
    with pytest.raises(ValueError, match=r"c\.png: one channel is needed"):
        read_regions([("c", "log")], tmp_path, "split", CONFIG, tmp_path)


def test_frames_are_drawn_again_as_they_were_filmed(city):
    """Colours of cars and lamps apart, the picture beside the labels is the one on disk."""
    name = read_manifest(city)["simulations"][0]
    simulation = read_simulation(city, name)
    log = read_log(DataFolder(city).log(simulation.data_split, simulation.logs[0].name))
    frame = log.frames[4]
    drawn = FrameLabels(city).draw(frame)
    on_disk = frame.cameras[VIEWS[FRONT]].load(DataFolder(city).sensors(simulation.data_split))
    apart = np.abs(drawn.images[0].astype(float) - on_disk).mean(-1)
    calm = REGION_OF[drawn.classes[0]] != DYNAMIC
    assert drawn.images[0].shape == on_disk.shape
    assert np.median(apart[calm]) < 6 and (apart[calm] < 40).mean() > 0.97
    assert (REGION_OF[drawn.classes[0]] == ROAD).mean() > 0.1
