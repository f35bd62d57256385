"""Networks that come with the package are checked like those that users make."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from world4scorer import Planner
from world4scorer.jobs.checksums import check_checksum
from world4scorer.planner.bundled import BUNDLED_PLANNERS
from world4scorer.planner.pretrained.image_encoder import BUNDLED, load_encoder


def bundled_files() -> list[Path]:
    encoders = [path for weights in BUNDLED.values() for path in (weights, weights.with_suffix(".json"))]
    return [*encoders, *(path for folder in BUNDLED_PLANNERS.values() for path in folder.iterdir() if path.is_file())]


@pytest.mark.parametrize("path", bundled_files(), ids=lambda path: path.name)
def test_they_carry_a_checksum(path: Path) -> None:
    assert check_checksum(path)


@pytest.mark.parametrize("place", [0.3, 0.6, 0.99])
def test_a_flipped_bit_in_a_planner_is_an_error(place: float, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(BUNDLED_PLANNERS["city"], tmp_path / "planner"))
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[int(place * len(content))] ^= 1
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.safetensors: damaged or changed .*copy it again"):
        Planner.from_pretrained(folder)


def test_an_unknown_encoder_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"^citty: no such encoder; give 'city', 'city-masked', 'city-contrast', or a"):
        load_encoder("citty")
