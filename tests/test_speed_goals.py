"""The table of goals: its arithmetic, and that no number in it is written by hand."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("torch")


@pytest.fixture
def speed(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import speed

    yield speed
    sys.modules.pop("speed")


RESULTS = {
    "outcomes": {
        "cold": [
            {"kernel_cache": "full", "import_s": 0.5, "first_label_s": 0.5},
            {"kernel_cache": "compiled ahead", "import_s": 0.5, "first_label_s": 1.5},
        ],
        "again": [
            {"plans": 1, "label_us_per_plan": 50.0, "epdms_us_per_plan": 70.0},
            {"plans": 64, "label_us_per_plan": 5.0, "epdms_us_per_plan": 8.0},
            {
                "plans": 4096,
                "label_us_per_plan": 4.0,
                "label_us_per_plan_64_of_them": 5.0,
                "epdms_us_per_plan": 10.0,
                "epdms_us_per_plan_64_of_them": 8.0,
            },
        ],
    },
    "install_size": {
        "rows": [
            *(
                {"package": name, "brought_by": "base", "mb": 100.0}
                for name in ("numba", "llvmlite", "numpy", "pyarrow")
            ),
            {"package": "matplotlib", "brought_by": "pictures", "mb": 50.0},
        ]
    },
    "model": {
        "models": {
            "paper": {
                "operations with attention": 1e12,
                "times": {
                    "parts": {
                        "one": {
                            "fp32, merged": {"milliseconds of processor": 20_000.0},
                            "bf16, merged": {"milliseconds of processor": 8_000.0},
                        }
                    }
                },
            },
            "city": {
                "times": {
                    "parts": {
                        "training step of preset city, 16 scenes": {
                            "fp32": {"milliseconds of processor": 180.0},
                            "bf16 products": {"milliseconds of processor": 100.0},
                        }
                    }
                }
            },
        }
    },
    "images": {
        "rows": [
            {"way": "as training reads them (Pillow)", "scenes_a_second": 10.0},
            {"way": "Pillow, without resizing", "scenes_a_second": 25.0},
        ]
    },
    "load": {
        "rows": [
            {"part": "scenes", "step": "write", "scale": 1.0, "processor_seconds": 60.0, "bytes": 4e9},
            {"part": "frames", "step": "evaluate", "scale": 0.1, "processor_seconds": 9.0, "bytes": 1e9},
        ]
    },
}


def test_goals(speed):
    hardware = speed.Hardware(8e9, {"fp32": 5e10, "bf16": 2e11})
    first, one, one_label, many, _, flat, _, base, step, model, images, stored, evaluated = speed.goals(
        RESULTS, hardware
    )
    assert (first.measured, first.limit, first.met, first.ratio) == (2.0, 1.0, True, 2.0)
    assert one.measured == pytest.approx(0.07) and one.met is False and one_label.met is True
    assert many.measured == pytest.approx(0.512) and many.limit == pytest.approx(1e3 * 64 * 8 * 11 * 41 * 8 / 8e9)
    assert flat.measured == pytest.approx(0.8) and flat.met
    assert (base.measured, base.limit, base.met) == (400.0, 300.0, False)
    assert (step.goal, step.measured, step.met) == (90.0, 100.0, False)
    assert (model.goal, model.measured, model.limit, model.ratio) == (10.0, 8.0, 5.0, 1.6)
    assert images.met and images.ratio == pytest.approx(2.5)
    assert stored.measured == 60.0 and stored.limit == pytest.approx(1.0)
    assert evaluated.measured is None and evaluated.met is None  # a tenth is not the whole
    assert "not measured" in speed.markdown([evaluated], hardware)


def test_the_page_is_made_of_the_numbers_beside_it(speed):
    kept = json.loads((ROOT / "results" / "speed.json").read_text())
    rows = [speed.Goal(**{k: v for k, v in row.items() if k not in ("met", "ratio")}) for row in kept["goals"]]
    page = speed.markdown(rows, speed.Hardware(**kept["hardware"]))
    assert page == (ROOT / "results" / "speed.md").read_text(), "run benchmarks/speed.py again"
