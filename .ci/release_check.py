"""Check what would be released: sdist and wheel are built, installed into empty environments, and tested there.

    python .ci/release_check.py                 # the base install, then each extra
    python .ci/release_check.py base train      # only these

The wheel is built from the sdist. Each environment runs `w4s doctor`, whose numerical self-test compares with the
official implementation, and imports what its extra brings. An extra that cannot be installed on this machine (no wheel
for its Python, say) is skipped and reported; one that was named must install. Standard library only: any Python that
the package supports can run it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASE = "base"
NEVER = ("torch", "transformers", "lightning", "libsumo", "mujoco", "ray", "matplotlib", "PIL", "pyogrio", "pyproj")
"""Packages that the base install must not bring."""
PROOF = {
    BASE: f"import importlib.util as u; bad = [n for n in {NEVER!r} if u.find_spec(n)]; assert not bad, bad",
    "pictures": "import world4scorer.drawing.birdseye, world4scorer.reporting.film.files",
    "maps": "import world4scorer.datasets.prepare.fill_store",
    "city": "from world4scorer.city.streets.sumo import load_sumo; load_sumo(); import av",
    "cluster": "import ray",
    "cube": "import world4scorer.cube.simulator.cube_env",
    "carla": "import carla",
    "train": "from world4scorer import Planner; Planner.from_pretrained('city')",
    "gym": "import gymnasium; from world4scorer.driving.environment.city_env import CityEnv",
    "docs": "import mkdocs, material, mkdocstrings",
    "dev": "import pytest, mypy, nbclient",
}
"""What must work in an environment, by extra."""
SHIPPED = ("py.typed", "cli/doctor_reference.npz", "planner/weights/city_planner/model.safetensors")
SHIPPED += ("reporting/explorer/page_files/explorer.html", "evaluation/scores/paper_numbers.json")
"""Files beside the modules, below `world4scorer/`; losing one is the usual fault of a wheel."""


class Failed(Exception):
    """A step did not end well."""


def run(*words: str | Path, **options: object) -> str:
    """Run a program; its output, or an error with the end of it."""
    done = subprocess.run(list(map(str, words)), text=True, stdout=-1, stderr=subprocess.STDOUT, check=False, **options)  # type: ignore[call-overload]
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, words))}\n" + "\n".join(done.stdout.splitlines()[-15:]))
    return str(done.stdout)


def environment(folder: Path) -> Path:
    """An empty environment; returns its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def copy_tracked(folder: Path) -> Path:
    """Copy what git tracks: nothing else is released, and building leaves nothing in the checkout."""
    for name in run("git", "ls-files", "-z", cwd=ROOT).split("\0"):
        if name and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def build(work: Path) -> tuple[Path, str]:
    """Build sdist and wheel into dist/ and look inside; returns the wheel and its version."""
    python = environment(work / "build")
    run(python, "-m", "pip", "install", "--quiet", "build")
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(python, "-m", "build", "--outdir", ROOT / "dist", copy_tracked(work / "source"))
    (wheel,), (sdist,) = (ROOT / "dist").glob("*.whl"), (ROOT / "dist").glob("*.tar.gz")
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "src/world4scorer/__init__.py").read_text(), re.MULTILINE)
    assert version is not None
    if wheel.name.split("-")[1] != version[1]:
        raise Failed(f"{wheel.name}: not the version {version[1]} of the source")
    with zipfile.ZipFile(wheel) as archive:
        inside = {name.removeprefix("world4scorer/") for name in archive.namelist()}
    if missing := set(SHIPPED) - inside:
        raise Failed(f"{wheel.name}: lacks {', '.join(sorted(missing))}")
    sources = {path.relative_to(ROOT / "src" / "world4scorer").as_posix() for path in (ROOT / "src").rglob("*.py")}
    if missing := sources - inside:
        raise Failed(f"{wheel.name}: lacks {', '.join(sorted(missing)[:5])}")
    with tarfile.open(sdist) as archive_of_sources:
        if not any(name.endswith("/LICENSE") for name in archive_of_sources.getnames()):
            raise Failed(f"{sdist.name}: lacks LICENSE")
    for path in (sdist, wheel):
        print(f"ok    {path.name}, {path.stat().st_size / 1e6:.1f} MB", flush=True)
    return wheel, version[1]


def add_kernels(wheel: Path, work: Path) -> None:
    """Add kernels compiled ahead for this Python and machine."""
    python = environment(work / "env")
    run(python, "-m", "pip", "install", "--quiet", wheel)
    print(run(python, ROOT / ".ci" / "compile_kernels.py", wheel, cwd=work).splitlines()[-1], flush=True)


def check(extra: str, wheel: Path, version: str, work: Path) -> str:
    """Install the wheel with an extra into an empty environment and test it there; returns what was found."""
    python = environment(work / "env")  # always the same path: compiled kernels are cached by it
    run(python, "-m", "pip", "install", "--quiet", wheel if extra == BASE else f"{wheel}[{extra}]")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean["NUMBA_CACHE_DIR"] = str(work / "kernels")
    options = {"cwd": work, "env": clean}
    if run(python, "-m", "world4scorer", "--version", **options).split()[-1] != version:
        raise Failed(f"{extra}: `w4s --version` is not {version}")
    report = run(python, "-m", "world4scorer", "doctor", **options)
    if "compiling kernels" in report:
        raise Failed(f"{extra}: `w4s doctor` compiles, although the wheel brings kernels")
    if extra == "city":
        run(python, "-m", "world4scorer", "doctor", "--city", **options)
    run(python, "-c", PROOF[extra], **options)
    packages = run(python, "-m", "pip", "list", "--format=freeze", **options).splitlines()
    return f"{len(packages)} packages; w4s doctor: {report.count('ok  ')} checks"


def can_install(extra: str, wheel: Path, work: Path) -> str:
    """Why pip finds no packages for an extra here; empty if it does."""
    python = work / "build" / ("Scripts" if os.name == "nt" else "bin") / "python"
    try:
        run(python, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", f"{wheel}[{extra}]")
    except Failed as error:
        return next((line for line in str(error).splitlines() if line.startswith("ERROR:")), str(error))
    return ""


def main(chosen: Sequence[str]) -> int:
    """Build, then check each; returns the exit code."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known = [BASE, *project["optional-dependencies"]]
    if unknown := set(chosen) - set(known):
        print(f"no extra {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    with tempfile.TemporaryDirectory(prefix="w4s-release-") as folder:
        work = Path(folder)
        try:
            wheel, version = build(work)
            add_kernels(wheel, work)
        except Failed as error:
            print(f"FAILED  building: {error}", flush=True)
            return 1
        for extra in sorted(chosen or known, key=known.index):
            reason = can_install(extra, wheel, work) if not chosen and extra != BASE else ""
            if reason:
                print(f"skip  {extra}: cannot be installed here ({reason})", flush=True)
                continue
            try:
                print(f"ok    {extra}: {check(extra, wheel, version, work)}", flush=True)
            except Failed as error:
                failed += 1
                print(f"FAILED  {extra}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
