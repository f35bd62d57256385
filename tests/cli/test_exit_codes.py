"""Every command ends with the documented code, and says in one line which input was wrong."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from world4scorer import cli
from world4scorer.cli.command_table import COMMANDS

BAD_INPUT = [
    "demo --preset tiny --out garbage",
    "doctor --store none",
    "city info none",
    "city make --preset tiny --out garbage",
    "city dense none",
    "check-data --data none --split navtest",
    "check-data --data empty --split garbage.yaml",
    "split navtrain --data none",
    "split garbage.yaml --data empty",
    "prepare --data none --split navtest --store out",
    "prepare --data empty --split nowhere --store out",
    "bank make --store none --out out",
    "bank info none",
    "bank import garbage.npz --store none --out out",
    "bank import none.pkl --store none --out out",
    "bank histogram none --generated garbage.npz --store none --out x.png",
    "targets --data none --split navtest --out x.arrow",
    "targets --data empty --split navtest --out empty",
    "targets --data empty --split navtest --out x.arrow --device nowhere",
    "pretrain --data none --out out",
    "pretrain --recipe masked --data none --out out",
    "probe --data none --encoder city --out out",
    "probe --data empty --encoder garbage.json --out out",
    "train --data none --out out",
    "b2d agent --out garbage",
    "b2d map none.xodr --out x.npz",
    "b2d map garbage --out x.npz",
    "b2d prepare none --maps empty --out out",
    "b2d prepare empty --maps empty --out out",
    "b2d vocab none --out x.npz",
    "b2d scan empty",
    "b2d train none --preset city --vocab garbage.npz --out out",
    "b2d city-clips --data none --out out",
    "pools none --data empty --split navtest --out out",
    "pools garbage.pkl --store none --out out",
    "pools garbage.safetensors --data empty --split navtest --out out",
    "submit none --out x.pkl",
    "submit --check garbage.pkl",
    "evaluate none",
    "which none --store none",
    "evaluate empty",
    "evaluate garbage.pkl --store none --out out",
    "evaluate garbage.pkl --store none --out x.csv",
    "evaluate --agents human --store none --out x.csv",
    "drive --checkpoint none --data empty --out out",
    "drive --data empty --drivers sumo --out out",
    "drive --data empty --drivers nowhere --out out",
    "compare-drives none empty",
    "aggregate none --out out",
    "compare none --out out",
    "compare empty --out garbage/x",
    "study auxiliary-target none",
    "study label-pairing none",
    "study reranking none",
    "study interventions none",
    "study disagreement none",
    "study calibration none",
    "study target-geometry none",
    "study state-geometry none",
    "study taxonomy none",
    "study consecutive none",
    "study lambda none",
    "study history none",
    "study coverage none",
    "study parts empty",
    "study counterfactual none",
    "study stability none",
    "study stability empty --scenes 2",
    "study readouts empty",
    "b2d results none",
    "b2d results garbage.json --out out",
    "b2d results empty",
    "b2d results garbage.json --routes none.xml",
    "b2d routes none.xml --out out",
    "b2d routes garbage.json --out out",
    "cube data garbage --preset smoke",
    "cube world-model none",
    "cube collect empty",
    "cube head empty",
    "cube inverse empty",
    "cube tune none",
    "cube evaluate garbage",
    "cube reproduce garbage --preset smoke",
    "report none",
    "report empty --out x.html",
    "show none token --out x.png",
    "show empty token",
    "film none.pkl",
    "film empty --log nobody",
    "diagram --run none --out out",
    "explore none",
    "explore empty --out out.html",
    "frames none",
    "frames empty",
    "score none --out out",
    "score empty --out out",
    "score garbage.npz --out out",
    "score cut.npz --out out",
    "rerank none --out out",
    "rerank garbage.npz --out out",
    "import none.ckpt --out out",
    "import garbage.safetensors --out out",
    "import empty --out out",
    "import --dinov2 none --out out",
    "export none --out x.safetensors",
    "profile --planner none",
    "profile --passes 1 --device nowhere",
    "serve --checkpoint none",
    "serve --checkpoint empty",
    "serve --checkpoint empty --device nowhere",
]
WRONG_COMMAND = [
    "evalaute run",
    "bank mkae",
    "city nothing",
    "completion csh",
    "score --no-such-option",
    "score --out out",
    "rerank --out out",
    "evaluate",
    "evaluate x.pkl --agents human --store none --out x.csv",
    "pools x.pkl",
    "bank import x.pkl --out out",
    "import --out out",
    "profile --compile",
    "b2d results none --missing",
    "b2d results none --corrected",
    "serve --checkpoint empty --socket x.sock --port 1",
    "train --data none --out out --no-such-option 1",
    "b2d vocab none --out x.json",
    "b2d nothing",
]


@pytest.fixture
def here(tmp_path, monkeypatch, compact_folder):
    """A folder with bad inputs of several kinds, to be in."""
    (tmp_path / "empty").mkdir()
    for name in ("garbage", "garbage.npz", "garbage.pkl", "garbage.yaml", "garbage.json", "garbage.safetensors"):
        (tmp_path / name).write_bytes(b"nothing \xff\x00" * 9)
    (tmp_path / "cut.npz").write_bytes((compact_folder / "pub_s34_lot.npz").read_bytes()[:2000])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", BAD_INPUT)
def test_bad_inputs_are_named(here, capsys, monkeypatch, line):
    if line.startswith("doctor"):
        monkeypatch.setattr("world4scorer.cli.doctor.examine", list)
    before = sorted(os.listdir(here))
    assert cli.main(line.split()) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("w4s: ")
    inputs = ("none", "empty", "garbage", "cut", "nowhere")
    assert any(word.partition("/")[0] in said[0] for word in line.split() if word.startswith(inputs))
    assert {name for name in os.listdir(here) if not name.startswith(".")} - set(before) <= {"out"}


@pytest.mark.parametrize("line", WRONG_COMMAND)
def test_wrong_command_lines(here, capsys, line):
    assert cli.main(line.split()) == 2
    assert capsys.readouterr().err
    assert not (here / "out").exists()


def test_every_command_is_tried():
    tried = {line.split()[0] for line in BAD_INPUT}
    assert tried | {"completion"} >= {command.name for command in COMMANDS}


def test_a_near_miss_is_guessed(capsys):
    assert cli.main(["evalaute"]) == 2
    assert "did you mean `w4s evaluate`?" in capsys.readouterr().err


def test_what_is_missing_to_install_is_said(monkeypatch, capsys):
    monkeypatch.setattr("world4scorer.cli.exit_codes.find_spec", lambda name: None)
    assert cli.main(["train", "--data", "x", "--out", "y"]) == 1
    assert "pip install 'world4scorer[train]'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("--accelerator nonsense", "--accelerator nonsense"),
        ("--devices 0", "devices: 0; at least 1"),
        ("--nodes 0", "nodes: 0; at least 1"),
        ("--label-threads 0", "label_threads: 0; at least 1"),
        ("--loaders -1", "loaders: -1; not below 0"),
        ("--threads -1", "threads: -1; not below 0"),
        ("--checkpoint-every 0", "checkpoint_every: 0; at least 1"),
    ],
)
def test_machines_that_cannot_be(here, capsys, words, named):
    assert cli.main(["train", "--data", "empty", "--out", "out", *words.split()]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and named in said[0]
    assert not (here / "out").exists()


def test_a_device_that_is_not_here(here, capsys):
    import torch

    if torch.cuda.is_available():
        pytest.skip("it is here")
    assert cli.main(["train", "--data", "empty", "--out", "out", "--accelerator", "cuda"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1 and said[0].startswith("w4s: --accelerator cuda --devices 1: not on this machine")


def test_no_permission(here, capsys):
    if os.geteuid() == 0:
        pytest.skip("root may do everything")
    (here / "garbage.npz").chmod(0)
    assert cli.main(["score", "garbage.npz", "--out", "out"]) == 1
    assert "garbage.npz" in capsys.readouterr().err


def test_interrupted(monkeypatch, capsys):
    def press(store=None) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("world4scorer.cli.start.doctor", press)
    assert cli.main(["doctor"]) == 130
    assert capsys.readouterr().err == "w4s: interrupted; finished work is kept\n"


@pytest.mark.skipif(sys.platform == "win32", reason="shells there have no such pipes")
def test_a_closed_pipe_is_no_error(tmp_path):
    """A command that prints more than a pipe holds, so that it notices."""
    (tmp_path / "talk.py").write_text("""
import sys
from world4scorer import cli
from world4scorer.cli import start

def talk(store=None) -> int:
    for _ in range(4000):
        print(100 * "x")
    return 0

start.doctor = talk
sys.exit(cli.main(["doctor"]))
""")
    command = f"{sys.executable} {tmp_path / 'talk.py'} | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 141 and (done.stdout, done.stderr) == (10 * "x", "")


def test_a_broken_pipe_of_others_is_an_error(monkeypatch, capfd):
    def lose_a_worker(store=None) -> int:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr("world4scorer.cli.start.doctor", lose_a_worker)
    assert cli.main(["doctor"]) == 1
    assert "Broken pipe: a process that was started has ended" in capfd.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGTERM there")
def test_sigterm_ends_what_was_started(tmp_path):
    """A command that waits for a process of its own, which would go on for an hour."""
    code = f"""
import multiprocessing, sys, time
from pathlib import Path
from world4scorer import cli
from world4scorer.cli import start

def slow(store=None) -> int:
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(3600,))
    child.start()
    Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
    child.join()
    time.sleep(3600)
    return 0

start.doctor = slow
sys.exit(cli.main(["doctor"]))
"""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    until = time.monotonic() + 60
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 143 and said == "w4s: terminated; finished work is kept\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "child").read_text()), 0)
