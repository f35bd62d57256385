"""The guides of docs/drop-in.md: each block runs as it stands there, with a stand-in for the code around it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.navsim_golden import NavsimGolden, stored_plans
from world4scorer import epdms, label
from world4scorer.compat import BatchLabels, MetricCacheFolder
from world4scorer.datasets.navsim.filters import read_split
from world4scorer.datasets.prepare.fill_store import prepare
from world4scorer.datasets.prepare.source import NavsimSource
from world4scorer.datasets.store import SceneStore
from world4scorer.evaluation.scores.submission import V1_NAMES, V2_NAMES
from world4scorer.jobs.executors import SerialExecutor

torch = pytest.importorskip("torch")

PAGE = (Path(__file__).parents[3] / "docs" / "drop-in.md").read_text()
GUIDES = dict(re.findall(r"^### (\w+)\n[^#]*?```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
STORE = Path("DATA", "store", "navtrain")
NAMES = (*V2_NAMES[:-2], "score")
LINES = 10


@pytest.fixture(scope="module")
def folder(golden: NavsimGolden, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the blocks run: with a store under the name that they use."""
    folder = tmp_path_factory.mktemp("project")
    source = NavsimSource(golden.dataset, read_split(golden.split_file))
    prepare(source, folder / STORE, SerialExecutor(), show_progress=False)
    return folder


@pytest.fixture
def run(folder: Path, folders: dict[str, Path], tokens: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(folder)

    def run(project: str, **names: Any) -> dict[str, Any]:
        scope: dict[str, Any] = {"metric_cache_path": folders["v1"], "tokens": tokens, **names}
        exec(compile(GUIDES[project], f"docs/drop-in.md: {project}", "exec"), scope)
        return scope

    return run


@pytest.fixture(scope="module")
def proposals(golden: NavsimGolden, tokens: list[str]) -> Any:
    """(B, 8, 8, 3) as a planner gives them: in single precision, with a gradient."""
    return torch.tensor(np.stack([stored_plans(golden, token) for token in tokens]), requires_grad=True)


def same(found: Any, expected: NDArray[np.float64]) -> None:
    """Every bit of the labels, in the precision of the proposals, without gradient."""
    assert not found.requires_grad and found.dtype == torch.float32
    np.testing.assert_array_equal(found.numpy(), expected.astype(np.float32))


def table_v2(scene: Any, plans: Any) -> NDArray[np.float64]:
    outcome = epdms(scene, plans)
    return np.column_stack([outcome.table[:, :-2], outcome.score])


def rows(proposals: Any) -> NDArray[np.float64]:
    return np.asarray(proposals.detach().double().numpy())


def test_every_project_has_a_guide_of_ten_lines() -> None:
    assert list(GUIDES) == ["DrivoR", "GTRS", "DiffusionDriveV2", "RAP", "iPad"]
    for project, block in GUIDES.items():
        code = [line for line in block.splitlines() if line.strip()]
        assert len(code) <= LINES, project


def test_drivor(run: Any, proposals: Any, tokens: list[str], golden: NavsimGolden, folders: dict[str, Path]) -> None:
    caches, progress = MetricCacheFolder(folders["v1"]), golden.progress("v1")
    scope = run("DrivoR")
    assert scope["labels"].names == V1_NAMES
    found = scope["score_batch"](proposals, tokens)
    assert found.shape == (len(tokens), 8, 7)
    for token, own, plans in zip(tokens, found, rows(proposals), strict=True):
        reference = progress[token]["pdm_progress_published"]
        expected = label(caches[token].scene, plans, reference_progress=reference).table
        np.testing.assert_allclose(own.numpy(), expected, atol=1e-6)  # its progress is the official one, to rounding
    broken = proposals.detach().clone()
    broken[0, 0, 0, 0], broken[0, 1, 0, 1] = float("nan"), float("inf")
    mended = torch.nan_to_num(broken, nan=0.0, posinf=100.0, neginf=-100.0)
    assert torch.equal(scope["score_batch"](broken, tokens), scope["score_batch"](mended, tokens))


def test_gtrs(run: Any, proposals: Any, tokens: list[str]) -> None:
    vocabulary = rows(proposals)[0].astype(np.float32)
    store = SceneStore(STORE)
    table = run("GTRS", vocabulary=vocabulary)["table"]
    assert list(table) == tokens
    for token, scores in table.items():
        assert tuple(scores) == NAMES
        expected = table_v2(store[token], vocabulary)
        np.testing.assert_array_equal(np.stack(list(scores.values()), axis=-1), expected.astype(np.float32))


def test_diffusion_drive(run: Any, proposals: Any, tokens: list[str]) -> None:
    store = SceneStore(STORE)
    found = run("DiffusionDriveV2")["reward"](proposals, tokens)
    expected = [label(store[token], plans).score for token, plans in zip(tokens, rows(proposals), strict=True)]
    same(found, np.stack(expected))
    alone = run("DiffusionDriveV2")["reward"](proposals[:, :1], tokens)
    assert torch.equal(found[:, :1], alone)  # the group does not change a sample's reward


def test_rap(run: Any, proposals: Any, tokens: list[str]) -> None:
    store = SceneStore(STORE)
    keys = {"nc": "no_at_fault_collisions", "lk": "lane_keeping", "total": "score"}
    targets = run("RAP", candidates=proposals, batch={"token": tokens}, KEYS=keys)["targets"]
    expected = np.stack([table_v2(store[token], plans) for token, plans in zip(tokens, rows(proposals), strict=True)])
    assert list(targets) == list(keys)
    for short, name in keys.items():
        same(targets[short], expected[..., NAMES.index(name)])


def test_ipad(run: Any, proposals: Any, tokens: list[str], folders: dict[str, Path]) -> None:
    caches = MetricCacheFolder(folders["v1"])
    stages = [proposals, 0.9 * proposals, proposals[:, :3]]
    targets = run("iPad", proposals_by_stage=stages)["targets"]
    for stage, scores in zip(stages, targets, strict=True):
        for column, name in enumerate(V1_NAMES):
            expected = [
                label(caches[token].scene, plans).table[:, column]
                for token, plans in zip(tokens, rows(stage), strict=True)
            ]
            same(scores[name], np.stack(expected))


@pytest.mark.parametrize("metric", ["labels-v1", "epdms-v2.2", "epdms-pre151"])
def test_arrays_and_tensors_give_the_same_bits(folder: Path, proposals: Any, tokens: list[str], metric: Any) -> None:
    """(B, N, 8, 3) of either kind, from a store, in single and in double precision."""
    labels = BatchLabels.from_store(folder / STORE, metric)
    for kind in (torch.float32, torch.float64):
        tensor = proposals.detach().to(kind)
        tensors, arrays = labels(tensor, tokens), labels(tensor.numpy(), tokens)
        assert list(tensors) == list(arrays) == list(labels.names)
        for name, values in tensors.items():
            assert values.dtype == kind and arrays[name].dtype == values.numpy().dtype
            np.testing.assert_array_equal(values.numpy(), arrays[name])


@pytest.mark.parametrize(("version", "metric"), [("v1", "labels-v1"), ("v2", "epdms-v2.2")])
def test_caches_give_the_bits_of_their_scenes(
    folders: dict[str, Path], folder: Path, proposals: Any, tokens: list[str], version: str, metric: Any
) -> None:
    """Caches against `label` and `epdms` of the same scene, bit for bit; against the store to rounding."""
    caches, plans = MetricCacheFolder(folders[version]), rows(proposals)
    found = BatchLabels.from_metric_caches(folders[version], metric)(plans, tokens)
    stored = BatchLabels.from_store(folder / STORE, metric)(plans, tokens)
    for index, token in enumerate(tokens):
        scene = caches[token].scene
        expected = label(scene, plans[index]).table if version == "v1" else table_v2(scene, plans[index])
        for column, name in enumerate(found):
            np.testing.assert_array_equal(found[name][index], expected[:, column], err_msg=name)
            np.testing.assert_allclose(found[name][index], stored[name][index], atol=1e-8, err_msg=name)
