"""What the package promises to those who import it: types, docstrings, short representations."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest

import world4scorer as w4s
from world4scorer.engine.outcomes import Cause
from world4scorer.planner.planner import ScoredPlans

ROOT = Path(__file__).parents[1]
NAMES = [name for name in w4s.__all__ if name != "__version__"]
CLASSES = [
    w4s.Scene,
    w4s.Frame,
    w4s.V1Outcome,
    w4s.V2Outcome,
    w4s.Judge,
    w4s.InertialReranker,
    w4s.SceneStore,
    w4s.Planner,
]
CLASSES += [Cause, ScoredPlans]


def methods(kind):
    """What a class defines for others: functions, and getters of properties."""
    for name, value in vars(kind).items():
        if name.startswith("_") and name != "__init__":
            continue
        value = getattr(value, "__func__", value)  # class methods
        value = getattr(value, "fget", value) if isinstance(value, property) else getattr(value, "func", value)
        if inspect.isfunction(value):
            yield name, value


FUNCTIONS = [(name, getattr(w4s, name)) for name in NAMES if inspect.isfunction(getattr(w4s, name))]
METHODS = [(f"{kind.__name__}.{name}", value) for kind in CLASSES for name, value in methods(kind)]


@pytest.mark.parametrize(("name", "function"), FUNCTIONS + METHODS, ids=[name for name, _ in FUNCTIONS + METHODS])
def test_functions_are_annotated_and_documented(name, function):
    function = inspect.unwrap(function)
    hints = typing.get_type_hints(function)
    parameters = [one for one in inspect.signature(function).parameters if one not in ("self", "cls")]
    assert set(parameters) | {"return"} <= set(hints)
    assert hints["return"] is not typing.Any
    assert all(hints[one] is not typing.Any for one in parameters)
    assert name.endswith("__init__") or function.__doc__


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if dataclasses.is_dataclass(kind)])
def test_every_field_says_what_it_is(kind):
    """By the text below it: shape, unit, meaning."""
    source = inspect.getsource(kind)
    for field in dataclasses.fields(kind):
        after = source.partition(f"    {field.name}: ")[2].partition("\n")[2].lstrip()
        assert after.startswith('"""'), f"{kind.__name__}.{field.name}"


def test_representations_are_short(compact_folder):
    frame = w4s.read_exchange(compact_folder / "pub_log4_cross.npz")[0]
    outcome = w4s.label(frame.scene, frame.plans)
    reranker = w4s.InertialReranker()
    reranker.choose(frame.scene, frame.plans, frame.utilities)
    shown = [frame, frame.scene, outcome, w4s.epdms(frame.scene, frame.plans), outcome.causes["NC"], reranker]
    for thing in [*shown, w4s.label(frame.scene, np.zeros((0, 8, 3)))]:
        text = repr(thing)
        assert text.startswith(f"{type(thing).__name__}(") and len(text) < 250 and "\n" not in text
    assert frame.scene.token in repr(frame) and "64 plans" in repr(outcome)


def test_wrong_shapes_are_named(compact_folder):
    frame = w4s.read_exchange(compact_folder / "pub_log4_cross.npz")[0]
    for judge in (w4s.label, w4s.pdms, w4s.epdms, w4s.roll_out):
        with pytest.raises(w4s.SceneError, match=r"expected shape \(N, 8, 3\), got \(8, 3\)"):
            judge(frame.scene, frame.plans[0])
    with pytest.raises(w4s.SceneError, match=r"expected shape \(N, 8, 3\)"):
        w4s.InertialReranker().choose(frame.scene, 5, frame.utilities)


USER = """
import numpy as np
import torch
from world4scorer import InertialReranker, Planner, Scene, epdms, label, pdms, read_exchange

def judge(scene: Scene, plans: list[list[list[float]]]) -> float:
    reveal_type(label(scene, plans))
    reveal_type(pdms(scene, plans).score)
    reveal_type(epdms(scene, np.zeros((1, 8, 3)), version="pre151").causes["NC"].of(0))
    reveal_type(InertialReranker(weight=1.0).choose(scene, plans, [0.5]))
    reveal_type(read_exchange("x.npz")[0].scene.human_future)
    return float(label(scene, plans).table[0, 6])

def plan(planner: Planner) -> None:
    scored = planner(torch.zeros(1, 4, 3, 56, 98), torch.zeros(1, 11))
    reveal_type(scored)
    reveal_type(scored.choice("v2"))
"""


@pytest.mark.slow
def test_type_checkers_see_types(tmp_path):
    """A strict user of the package has no complaint, and nothing is `Any`. Half a minute without mypy's cache."""
    script = tmp_path / "user.py"
    script.write_text(USER)
    options = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(script)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    revealed = [line.split('"')[1] for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(revealed) == USER.count("reveal_type(")
    assert not [text for text in revealed if text == "Any" or "Unknown" in text]
    for text, expected in zip(
        revealed, ("V1Outcome", "float64", "str", "int", "float64", "ScoredPlans", "Tensor"), strict=True
    ):
        assert expected in text
