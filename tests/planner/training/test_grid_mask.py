from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from world4scorer.planner.training.grid_mask import GridMaskConfig, Pattern, draw_pattern, grid_mask, kept_pixels


def painted(pattern, height, width, inverted):
    """Pixel by pixel: blank bar after bar on the canvas, cut the image out."""
    rows, columns = int(1.5 * height), int(1.5 * width)
    canvas = [[True] * columns for _ in range(rows)]
    for number in range(rows // pattern.period):
        for row in range(number * pattern.period + pattern.top, number * pattern.period + pattern.top + pattern.bar):
            for column in range(columns if row < rows else 0):
                canvas[row][column] = False
    for number in range(columns // pattern.period):
        first = number * pattern.period + pattern.left
        for column in range(first, min(first + pattern.bar, columns)):
            for row in range(rows):
                canvas[row][column] = False
    top, left = (rows - height) // 2, (columns - width) // 2
    return np.array([[canvas[top + y][left + x] != inverted for x in range(width)] for y in range(height)])


@given(st.integers(3, 40), st.integers(3, 40), st.floats(0.05, 0.95), st.booleans(), st.integers(0, 2**32))
def test_agrees_with_pixel_by_pixel_painting(height, width, ratio, inverted, seed):
    config = GridMaskConfig(ratio=ratio, inverted=inverted)
    pattern = draw_pattern(height, width, config, np.random.default_rng(seed))
    assert 2 <= pattern.period < min(height, width) and 1 <= pattern.bar < pattern.period
    assert 0 <= pattern.top < pattern.period and 0 <= pattern.left < pattern.period and pattern.angle == 0
    np.testing.assert_array_equal(
        kept_pixels(pattern, height, width, inverted), painted(pattern, height, width, inverted)
    )


def test_a_pattern_by_hand():
    """Canvas 9 x 9, image its middle 6 x 6: bars in rows 1, 4, 7 and columns 2, 5, 8 of the canvas."""
    kept = kept_pixels(Pattern(period=3, bar=1, top=1, left=2, angle=0), 6, 6, inverted=False)
    expected = np.ones((6, 6), bool)
    expected[[0, 3], :] = False
    expected[:, [1, 4]] = False
    assert kept.tolist() == expected[:6, :6].tolist()


def test_a_quarter_turn_swaps_bars_across_and_down():
    pattern = Pattern(period=5, bar=2, top=0, left=3, angle=90)
    plain = kept_pixels(pattern._replace(angle=0), 20, 20, inverted=True)
    np.testing.assert_array_equal(kept_pixels(pattern, 20, 20, inverted=True), np.rot90(plain))


def images(scenes=2):
    return torch.randn(scenes, 4, 3, 28, 42, generator=torch.Generator().manual_seed(1))


def test_one_pattern_for_all_images_of_a_batch():
    given_images = images()
    before = given_images.clone()
    masked = grid_mask(given_images, GridMaskConfig(probability=1.0), np.random.default_rng(4))
    blank = masked == 0
    assert torch.equal(given_images, before)
    assert 0 < blank.float().mean() < 1
    assert torch.equal(blank, blank[:1, :1, :1].expand_as(blank))
    assert torch.equal(masked[~blank], before[~blank])
    assert masked.dtype == before.dtype
    assert grid_mask(images().bfloat16(), GridMaskConfig(probability=1.0), np.random.default_rng(4)).dtype == (
        torch.bfloat16
    )


def test_same_seed_same_patterns_and_no_other_randomness():
    state = torch.random.get_rng_state()
    runs = [
        [grid_mask(images(), GridMaskConfig(), rng) for _ in range(5)] for rng in map(np.random.default_rng, (3, 3, 4))
    ]
    assert all(map(torch.equal, runs[0], runs[1])) and not all(map(torch.equal, runs[0], runs[2]))
    assert torch.equal(state, torch.random.get_rng_state())


def test_the_share_of_batches():
    rng, given_images = np.random.default_rng(0), images(1)
    touched = sum(grid_mask(given_images, GridMaskConfig(), rng) is not given_images for _ in range(1000))
    assert 650 < touched < 750
    assert grid_mask(given_images, GridMaskConfig(probability=0.0), rng) is given_images


def test_inverted_it_keeps_most_of_an_image():
    rng, config = np.random.default_rng(0), GridMaskConfig()
    kept = [kept_pixels(draw_pattern(56, 98, config, rng), 56, 98, True).mean() for _ in range(300)]
    assert 0.6 < np.mean(kept) < 0.8


def test_bad_settings():
    for wrong in ({"probability": 1.1}, {"ratio": 0.0}, {"ratio": 1.0}, {"rotations": 0}, {"probability": -0.1}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            GridMaskConfig(**wrong)
    with pytest.raises(ValueError, match="too small"):
        draw_pattern(2, 9, GridMaskConfig(), np.random.default_rng())
