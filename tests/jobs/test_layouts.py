"""Folder layouts: where files of a dataset and of a training run lie, and that nothing else spells these names."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import world4scorer
from world4scorer.jobs.data_folder import DataFolder, split_name
from world4scorer.jobs.model_folder import ModelFolder
from world4scorer.jobs.run_folder import RunFolder

SOURCE = Path(world4scorer.__file__).parent
LAYOUTS = ("jobs/data_folder.py", "jobs/run_folder.py", "jobs/model_folder.py")
"""Every path part in these files is a name that they own."""
OTHERS = {
    "datasets/store/index.py": {"index"},
    "datasets/prepare/log_samples.py": {"samples"},
    "datasets/navsim/map_files.py": {"nuplan-maps-v1.0.json", "map.gpkg"},
    "evaluation/pools/pool_files.py": {"pools.json", "outcomes"},
    "planner/bank/candidate_bank.py": {
        "tokens.npy",
        "bank_candidates.npy",
        "bank_subscores.npy",
        "bank_mask.npy",
        "bank_family.npy",
    },
}
"""Folders whose names are constants of one file."""
ALLOWED = {
    ("cli/demo/stages.py", "city"): "the demonstration's dataset folder",
    ("cube/model/released.py", "config.json"): "beside the weights.pt of a published world model",
    ("driving/clips/city_clips.py", "maps"): "maps of a clip folder",
    ("datasets/navsim/splits.py", "config"): "a checkout of the devkit",
    ("datasets/navsim/splits.py", "train_test_split"): "a checkout of the devkit",
}
"""The same name in another folder."""
DATA, RUN = DataFolder(Path("data")), RunFolder(Path("run"))


def test_a_dataset_folder_has_the_layout_of_navsim_and_what_is_made_from_it() -> None:
    assert DATA.log("mini", "a") == Path("data/navsim_logs/mini/a.pkl")
    assert DATA.sensors("mini") == Path("data/sensor_blobs/mini")
    assert DATA.splits == Path("data/config/train_test_split")
    assert DATA.store("navtest") == Path("data/store/navtest")
    assert DATA.bank("navtrain") == Path("data/bank/navtrain")
    assert DATA.targets("navtrain", "future") == Path("data/targets/navtrain-future.arrow")
    assert DATA.city_manifest == Path("data/city/city.json")
    assert DATA.city_network("berlin") == Path("data/city/networks/berlin.net.xml")
    assert DATA.city_simulation("x") == Path("data/city/simulations/x.json")
    assert DATA.city_trips("x") == Path("data/city/simulations/x.rou.xml")


def test_splits_may_be_given_by_their_yaml_files() -> None:
    assert split_name("splits/navtest.yaml") == split_name("navtest") == "navtest"
    assert split_name("mini.v2") == "mini.v2"
    assert DATA.store("/elsewhere/mine.yaml") == Path("data/store/mine")
    assert RUN.pools("/elsewhere/mine.yml") == Path("run/pools/mine")


def test_a_run_folder_has_one_place_for_everything() -> None:
    assert (RUN.config_file, RUN.data_file) == (Path("run/config.json"), Path("run/data.json"))
    assert RUN.last_checkpoint == Path("run/checkpoints/last.ckpt")
    assert RUN.best_checkpoint == Path("run/checkpoints/best.ckpt")
    assert RUN.history_file == Path("run/history.jsonl") and RUN.tensorboard == Path("run/tensorboard")
    assert (RUN.planner, RUN.best_planner) == (Path("run/planner"), Path("run/planner_best"))
    assert RUN.pools("mini") == Path("run/pools/mini") and RUN.branches("mini") == Path("run/branches/mini")
    assert RUN.evaluation_file == Path("run/evaluation/evaluation.json")
    assert RUN.study_file("lambda") == Path("run/studies/lambda.json")
    assert RUN.variant("parts", "no-bank", 5).planner == Path("run/variants/parts/no-bank-5/planner")
    assert (RUN.features, RUN.readouts, RUN.frames) == (Path("run/features"), Path("run/readouts"), Path("run/frames"))
    assert (RUN.film_file, RUN.report_file) == (Path("run/film.mp4"), Path("run/report.html"))


def test_a_run_is_known_by_its_two_files_and_finished_once_its_planner_is_saved(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.config_file.write_text("{}")
    assert not run.exists
    run.data_file.write_text(json.dumps({"data": "data", "val_split": "splits/mini.yaml"}))
    assert run.exists and not run.trained_on_clips and run.validation_split() == "mini"
    with pytest.raises(ValueError, match=r"planner: no planner there; .* run `w4s train` again"):
        run.finished_planner()
    planner = ModelFolder(run.planner)
    run.planner.mkdir()
    planner.config_file.write_text("{}")
    assert run.is_finished and run.finished_planner() == run.planner and not planner.exists
    planner.weights_file.write_bytes(b"")
    assert planner.exists


def test_a_run_on_clips_has_no_validation_split(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert not run.trained_on_clips
    run.data_file.write_text(json.dumps({"clips": "prepared"}))
    assert run.trained_on_clips
    with pytest.raises(ValueError, match=r"data\.json: names no validation split .* give --split"):
        run.validation_split()
    with pytest.raises(ValueError, match="run `w4s b2d train` again"):
        run.finished_planner()


@pytest.mark.parametrize("text", ["", "[]", "3", '{"val_split": 3}'])
def test_damaged_data_files_are_named(text: str, tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.data_file.write_text(text)
    assert not run.trained_on_clips
    with pytest.raises(ValueError, match=r"data\.json: names no validation split"):
        run.validation_split()


def test_layouts_import_nothing_heavy() -> None:
    check = "import sys, world4scorer.jobs.run_folder; print({'torch', 'numpy', 'numba', 'pyarrow'} & set(sys.modules))"
    printed = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "set()"


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def constants(path: Path) -> dict[str, str]:
    """Text constants of a module, by name."""
    found = {}
    for node in parsed(path).body:
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found[target.id] = node.value.value
    return found


def text_of(node: ast.expr, path: Path) -> tuple[str, Path] | None:
    """A text, and the file that spells it: literal, constant of this module, or imported constant."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value, path
    if not isinstance(node, ast.Name):
        return None
    if node.id in constants(path):
        return constants(path)[node.id], path
    for one in ast.walk(parsed(path)):
        if isinstance(one, ast.ImportFrom) and (one.module or "").startswith("world4scorer."):
            for alias in one.names:
                origin = SOURCE.parent / Path(*str(one.module).split(".")).with_suffix(".py")
                if (alias.asname or alias.name) == node.id and origin.is_file() and alias.name in constants(origin):
                    return constants(origin)[alias.name], origin
    return None


def path_parts(path: Path) -> Iterator[tuple[str, Path, int]]:
    """Texts that a module uses as parts of a path: the part, the file that spells it, the line that uses it."""
    for node in ast.walk(parsed(path)):
        used: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            used = [node.right]
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("Path", "joinpath", "with_name", "glob", "rglob"):
                used = node.args
        for one in used:
            if isinstance(one, ast.JoinedStr):
                one = one.values[0] if isinstance(one.values[0], ast.Constant) else one.values[0].value
            found = text_of(one, path)
            if found is not None:
                for part in found[0].split("/"):
                    if "*" not in part:
                        yield part, found[1], node.lineno


def misspelled(root: Path = SOURCE) -> list[str]:
    """Uses of names of a layout that are not taken from their owner."""
    owners: dict[str, set[str]] = {name: {file} for file, names in OTHERS.items() for name in names}
    for file in LAYOUTS:
        for part, _, _ in path_parts(SOURCE / file):
            owners.setdefault(part, set()).add(file)
    found = []
    for path in sorted(root.rglob("*.py")):
        for part, spelled_in, line in sorted(path_parts(path), key=lambda found: found[2]):
            file = spelled_in.relative_to(SOURCE if spelled_in.is_relative_to(SOURCE) else root).as_posix()
            if part in owners and file not in owners[part] and (file, part) not in ALLOWED:
                found.append(f"{path.relative_to(root)}:{line}: {part!r} belongs to {', '.join(sorted(owners[part]))}")
    return found


def test_names_of_a_layout_are_spelled_only_by_their_owner() -> None:
    assert all((SOURCE / file).is_file() for file in (*OTHERS, *(file for file, _ in ALLOWED)))
    assert misspelled() == []


def test_a_name_that_is_spelled_again_is_found(tmp_path: Path) -> None:
    lines = (
        'POOLS = "pools"',
        'a = run / "planner"',
        "b = run / POOLS / split",
        'c = run / f"data.json"',
        'd = Path(root, "navsim_logs")',
        'e = list(root.glob("store/*/index"))',
        'f = run / "mine"',
        'g = {"planner": a, "store": b}',
    )
    (tmp_path / "module.py").write_text("\n".join(lines))
    found = [line.split(" belongs")[0] for line in misspelled(tmp_path)]
    assert found == [
        "module.py:2: 'planner'",
        "module.py:3: 'pools'",
        "module.py:4: 'data.json'",
        "module.py:5: 'navsim_logs'",
        "module.py:6: 'store'",
        "module.py:6: 'index'",
    ]
