"""Compile kernels ahead: add to a wheel the machine code that scoring needs, so that its first use need not compile.

    python .ci/compile_kernels.py dist/world4scorer-0.2.0-py3-none-any.whl

Run it with each Python that the wheel should serve, on each kind of machine (Linux on x86-64 and on arm64); every run
adds its own files. That Python must have the base packages. What is added are entries of Numba's own cache for a
baseline processor, which `engine/kernels.py` takes where Python, Numba, machine and sources are the same. The wheel
stays good for every platform: elsewhere Numba compiles on first use.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PLACE = Path("world4scorer/engine/compiled_ahead") / f"{sys.platform}-{platform.machine().lower()}"
BASELINE = """
import platform
from world4scorer.engine.kernels import BASELINES
print(BASELINES[platform.machine().lower()][0])
"""
USE = """
import tempfile
from dataclasses import replace
from importlib.resources import files
import world4scorer as w4s
from world4scorer.datasets.store import SceneStore, write_shard
from world4scorer.engine.outcomes.extended_comfort import extended_comfort_pairs

path = files("world4scorer.cli") / "doctor_reference.npz"
for frame in w4s.read_exchange(path)[:2]:
    for _ in range(3):  # a scene that was judged before takes other kernels
        for call in (w4s.label, w4s.pdms, w4s.epdms):
            call(frame.scene, frame.plans)
    w4s.epdms(replace(frame.scene, past_states=None, past_time_us=None), frame.plans)
    rollouts = w4s.roll_out(frame.scene, frame.plans)
    w4s.extended_comfort(rollouts, rollouts[0], 0.5)
    extended_comfort_pairs(rollouts, rollouts, 0.5)
    with tempfile.TemporaryDirectory() as folder:
        write_shard(folder, frame.scene.log_name, [frame.scene])
        scene = SceneStore(folder)[frame.scene.token]
        w4s.epdms(scene, frame.plans)
"""


def compile_ahead(package: Path) -> int:
    """Compile the kernels of a package, given the folder it lies in, into that folder; returns how many files."""
    variables = os.environ | {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    baseline = subprocess.run(
        [sys.executable, "-c", BASELINE], env=variables, check=True, capture_output=True, text=True
    )
    shutil.rmtree(package / PLACE, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="w4s-kernels-") as folder:
        settings = {"NUMBA_CPU_NAME": baseline.stdout.strip(), "NUMBA_CPU_FEATURES": "", "NUMBA_CACHE_DIR": folder}
        subprocess.run([sys.executable, "-c", USE], env=variables | settings, cwd=folder, check=True)
        made = [path for path in Path(folder).rglob("*.nb?") if path.is_file()]
        (package / PLACE).mkdir(parents=True)
        for path in made:
            shutil.copyfile(path, package / PLACE / path.name)
    return len(made)


def add_to_wheel(wheel: Path) -> None:
    """Compile the kernels of a wheel and put them into it."""
    with tempfile.TemporaryDirectory(prefix="w4s-wheel-") as folder:
        work = Path(folder)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(work / "wheel")
        known = set((work / "wheel" / PLACE).glob("*")) if (work / "wheel" / PLACE).is_dir() else set()
        kept = {path.name: path.read_bytes() for path in known}
        count = compile_ahead(work / "wheel")
        for name, content in kept.items():  # of other Pythons
            if not (work / "wheel" / PLACE / name).exists():
                (work / "wheel" / PLACE / name).write_bytes(content)
        (record,) = (work / "wheel").glob("*.dist-info/RECORD")
        lines = [line for line in record.read_text("utf-8").splitlines() if not line.startswith(PLACE.as_posix() + "/")]
        for path in sorted((work / "wheel" / PLACE).iterdir()):
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
            lines.insert(-1, f"{(PLACE / path.name).as_posix()},sha256={digest},{path.stat().st_size}")
        record.write_text("\n".join(lines) + "\n", "utf-8")
        new = work / wheel.name
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted((work / "wheel").rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(work / "wheel"))
        shutil.copyfile(new, wheel.with_suffix(".part"))
        os.replace(wheel.with_suffix(".part"), wheel)
    print(f"ok    {wheel.name}: {count} files of kernels for {PLACE.name}, {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].endswith(".whl"):
        raise SystemExit("usage: python .ci/compile_kernels.py WHEEL")
    add_to_wheel(Path(sys.argv[1]))
