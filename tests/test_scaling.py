"""The arithmetic behind results/scaling.md, and that it is made of the other results as they are."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RESULTS = {
    "prepare": {
        "whole": {"ms_per_token": 3.6},
        "official_ms_per_token": [360.0, 720.0],
        "official_load_ms": 36.0,
        "loading": {"bytes_per_scene": 50_000.0},
    },
    "store": [{}, {"load_random": 0.36, "bytes_per_scene": 100_000.0}],
    "outcomes": {"headline": [{"what": "label 64 plans", "ms": 0.5, "official_ms": 250.0}]},
    "bank": {
        "make [ms per scene]": {"whole bank, further rounds included": 7.2},
        "draw [us per scene]": {"batch of 16": 36.0},
    },
    "pools": {"seconds": {"judge": 0.0036}},
    "model": {"models": {"paper": {"operations with attention": 1e12}}},
    "city": {
        "made": {"frames": 1500, "frames_per_second": 50.0},
        "splits": {"a": {"scenes": 600}, "b": {"scenes": 400}},
    },
    "load": {
        "rows": [
            {"part": "candidates", "seconds": 9.0},
            *(
                {"part": "scenes", "step": step, "done": done, "seconds": seconds, "processor_seconds": seconds / 2}
                for step, done, seconds in (("write", 5, 10.0), ("write", 10, 20.0), ("open", 10, 21.0))
            ),
        ]
    },
    "city_quick": {"train_scenes": 1000, "history": [{"epoch": 1, "seconds": 9.0}, {"epoch": 4, "seconds": 40.0}]},
}


@pytest.fixture
def scaling(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import scaling

    yield scaling
    sys.modules.pop("scaling")


def test_core_hours(scaling):
    task = scaling.Task(scenes=1_000_000, test_frames=1_000, epochs=2)
    prepare, bank, labels, load, draw, judge = scaling.processor_work(RESULTS, task)
    assert prepare.core_hours == pytest.approx(1.0)
    assert prepare.official_core_hours == pytest.approx((100.0, 200.0))
    assert bank.core_hours == pytest.approx(2.0) and bank.official_core_hours[0] == pytest.approx(500 / 3.6)
    assert labels.core_hours == pytest.approx(2 * 0.5 / 3.6) and labels.official_core_hours[0] == pytest.approx(
        500 / 3.6
    )
    assert load.core_hours == pytest.approx(0.2) and load.official_core_hours[1] == pytest.approx(20.0)
    assert draw.core_hours == pytest.approx(0.02) and draw.official_core_hours is None
    assert judge.core_hours == pytest.approx(0.001)


def test_steps_that_were_measured(scaling):
    write, opened = scaling.measured(RESULTS)
    assert (write["step"], write["done"], write["seconds"], write["processor_seconds"]) == ("write", 10, 20.0, 10.0)
    assert (opened["step"], opened["seconds"], opened["processor_seconds"]) == ("open", 1.0, 0.5)


def test_room_on_the_disk(scaling):
    sizes = {files.what: files for files in scaling.disk(RESULTS, scaling.Task(scenes=1_000_000))}
    assert sizes["scene store"].gigabytes == pytest.approx(50.0)
    assert sizes["scene store, busy streets"].gigabytes == pytest.approx(100.0)
    assert sizes["bank"].bytes_each == 64 * (8 * 3 * 4 + 7 * 4 + 2) + 16


def test_training_on_a100s(scaling, monkeypatch):
    monkeypatch.setattr(scaling, "paper", lambda _: {"latency_a100_fp32_ms": 100.0, "fp16_ms": 20.0})
    full, half = scaling.gpu(RESULTS, scaling.Task(scenes=12_000, epochs=10))
    assert full.device_hours == pytest.approx(10.0) and full.hours_on_four == pytest.approx(2.5)
    assert full.teraflops == pytest.approx(20.0) and half.teraflops == pytest.approx(100.0)
    assert half.device_hours == pytest.approx(2.0)
    assert full.scenes_per_second_on_four == pytest.approx(40 / 3)
    assert full.official_label_cores == pytest.approx(40 / 3 * 0.25) and full.label_cores == pytest.approx(
        40 / 3 * 5e-4
    )


def test_a_city_of_that_size(scaling):
    found = scaling.city(RESULTS, scaling.Task(scenes=120_000, epochs=3))
    assert found["hours to make"] == pytest.approx(1.0)
    assert found["training, scenes per second"] == pytest.approx(100.0) and found["hours of training"] == pytest.approx(
        1.0
    )


def test_results_are_up_to_date(scaling, tmp_path):
    for name in scaling.SOURCES:
        shutil.copy(ROOT / "results" / f"{name}.json", tmp_path)
    scaling.main(tmp_path)
    for name in ("scaling.md", "scaling.json"):
        assert (tmp_path / name).read_text() == (ROOT / "results" / name).read_text(), "run benchmarks/scaling.py again"
    assert json.loads((tmp_path / "scaling.json").read_text())["task"]["scenes"] == 103_288
