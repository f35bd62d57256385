"""The forecast: maps of an earlier frame brought to now, and plans that read the time of each pose."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from world4scorer.datasets.dense.labels import X_RANGE, Y_RANGE
from world4scorer.planner.model.anchors import integrate
from world4scorer.planner.model.config import city
from world4scorer.planner.model.dense_encoder import DenseEncoder
from world4scorer.planner.model.dense_encoder_config import LIFT_SCALE, MAP_CLASSES, SCALE, DenseEncoderConfig
from world4scorer.planner.model.forecast import (
    FORECAST_FEATURES,
    FORECAST_TIMES,
    Forecast,
    SeenFrames,
    forecast_maps,
    shift_map,
)
from world4scorer.planner.model.images import Frames
from world4scorer.planner.model.map_sampling import BOX_POINTS, box_points, read_forecast, read_map
from world4scorer.planner.model.network import Network
from world4scorer.planner.model.vocabulary import nearest

ROWS, COLUMNS = DenseEncoderConfig().map_cells
CELL = (X_RANGE[1] - X_RANGE[0]) / ROWS


def test_a_map_moves_against_the_ego():
    before = torch.zeros(1, 1, ROWS, COLUMNS)
    before[0, 0, 20, 10] = 1.0
    torch.testing.assert_close(shift_map(before, torch.zeros(1, 3)), before)
    # The ego has moved on by three cells: what was ahead is nearer now.
    forward = shift_map(before, torch.tensor([[-3 * CELL, 0.0, 0.0]]))
    assert forward.argmax() == (20 - 3) * COLUMNS + 10 and forward.max() == pytest.approx(1.0)
    assert not shift_map(before, torch.tensor([[-200.0, 0.0, 0.0]])).any()


def test_a_map_turns_about_the_earlier_pose():
    x, y = 14.0, 6.0
    pose = torch.tensor([[-2.0, 1.0, 0.4]])
    before = torch.stack(
        torch.meshgrid(
            X_RANGE[0] + CELL * (torch.arange(ROWS) + 0.5),
            Y_RANGE[0] + CELL * (torch.arange(COLUMNS) + 0.5),
            indexing="ij",
        )
    )[None]
    there = read_map(shift_map(before, pose), torch.tensor([[[x, y]]]))[0, 0]
    forward, left, heading = pose[0]
    cosine, sine = heading.cos(), heading.sin()
    place = torch.stack([there[0] * cosine - there[1] * sine + forward, there[0] * sine + there[1] * cosine + left])
    torch.testing.assert_close(place, torch.tensor([x, y]), atol=1e-3, rtol=0)


def seen_frames(scenes: int) -> SeenFrames:
    classes = len(MAP_CLASSES)
    return SeenFrames(
        torch.rand(scenes, classes, SCALE * ROWS, SCALE * COLUMNS),
        torch.rand(scenes, 2, LIFT_SCALE * ROWS, LIFT_SCALE * COLUMNS),
        torch.rand(scenes, classes, SCALE * ROWS, SCALE * COLUMNS),
        torch.tensor([[-2.0, 0.5, 0.1]] * scenes),
    )


def test_a_scene_without_a_frame_before_looks_at_one():
    torch.manual_seed(0)
    network = Forecast(8).eval()
    seen = seen_frames(2)
    seen.pose_before[1] = torch.nan
    found = network(seen)
    assert found.shape == (2, FORECAST_FEATURES, ROWS, COLUMNS) and found.isfinite().all()
    other = network(seen._replace(classes_before=torch.rand_like(seen.classes_before)))
    assert not torch.equal(found[0], other[0]) and torch.equal(found[1], other[1])
    assert forecast_maps(found).shape == (2, FORECAST_TIMES, 2 * ROWS, 2 * COLUMNS)


def test_mirrored_frames_lie_over_each_other_as_the_frames_did():
    torch.manual_seed(0)
    seen = seen_frames(1)
    mirrored = seen.mirrored()
    shifted = shift_map(mirrored.classes_before, mirrored.pose_before)
    torch.testing.assert_close(shifted, shift_map(seen.classes_before, seen.pose_before).flip(-1), atol=1e-4, rtol=0)
    headings = [torch.atan2(frames.direction[:, 1], frames.direction[:, 0]) for frames in (seen, mirrored)]
    torch.testing.assert_close(headings[1], -headings[0].flip(-1))
    again = mirrored.mirrored()
    assert all(torch.equal(one, other) for one, other in zip(again, seen, strict=True))


@pytest.mark.parametrize("read", [read_map, nearest])
def test_each_pose_reads_its_own_time(read):
    plans = integrate(torch.tensor([8.0]), torch.zeros(1, 1, FORECAST_TIMES, 2))
    points = box_points(plans, BOX_POINTS)
    x, y = points[0, 0, 3, 0]  # the centre of the car after two seconds
    maps = torch.zeros(1, FORECAST_TIMES, 2 * ROWS, 2 * COLUMNS)
    row, column = int((x - X_RANGE[0]) / CELL * 2), int((y - Y_RANGE[0]) / CELL * 2)
    maps[0, 3, row - 1 : row + 2, column - 1 : column + 2] = 7.0
    found = read_forecast(maps, points, read)
    assert found.shape == (1, 1, FORECAST_TIMES, len(BOX_POINTS)) and found[0, 0, 3, 0] == pytest.approx(7.0)
    assert not found[0, 0, [0, 1, 2, 4, 5, 6, 7]].any()
    maps[0, 3], maps[0, 4] = 0.0, maps[0, 3].clone()  # the same place, too late to be met
    assert not read_forecast(maps, points, read)[0, 0, :, 0].any()


def test_an_encoder_with_a_forecast_is_otherwise_the_same():
    torch.manual_seed(1)
    sizes = DenseEncoderConfig(fine=8, middle=8, patch_width=12, lifted=4, sharp=4, map_width=8, map_inner=8, place=4)
    encoder = DenseEncoder(replace(sizes, forecast=8)).eval()
    plain = encoder.without_forecast()
    own = DenseEncoder(sizes).eval()
    own.load_state_dict(plain.state_dict())
    assert plain.digest() == own.digest() != encoder.digest() and plain.without_forecast() is plain
    assert encoder.shapes[:2] == plain.shapes and len(encoder.shapes) == 3
    now, before = torch.rand(2, 2, 4, 3, 84, 196)
    pose = torch.tensor([[-3.0, 0.0, 0.0], [torch.nan] * 3])
    with torch.no_grad():
        seen = encoder(Frames(now, before, pose))
        assert torch.allclose(seen.features, plain(now).features) and plain(now).forecast is None
        again = encoder.foresee(encoder.look(now), encoder.look(before).features, pose)
        alone = encoder(now)
    torch.testing.assert_close(seen.forecast, again.forecast)
    torch.testing.assert_close(seen.forecast[1], alone.forecast[1])
    assert not torch.allclose(seen.forecast[0], alone.forecast[0])


def test_models_with_a_forecast_need_the_dense_encoder():
    with pytest.raises(ValueError, match="forecast"):
        replace(city(), encoder="vit", vocabulary=0, worst_points=False, forecast=True)
    network = Network(replace(city(), forecast=False))
    with pytest.raises(ValueError, match="frozen encoder"):
        Network(
            replace(city(), encoder="vit", vocabulary=0, worst_points=False, forecast=False, train_vit=True)
        ).encode(Frames(*[torch.zeros(1, 4, 3, 84, 196)] * 2, torch.zeros(1, 3)))
    assert network.encoder.perceiver.forecast is None
