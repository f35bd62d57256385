"""The committed bundle of the page is that of its sources, and their types are right."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "explorer"
BUNDLE = ROOT / "src" / "world4scorer" / "reporting" / "explorer" / "page_files"
NODE = shutil.which("node")

needs_esbuild = pytest.mark.skipif(
    NODE is None or not (SOURCES / "node_modules" / "esbuild").is_dir(),
    reason="esbuild is not installed (`npm ci` in explorer/)",
)
needs_typescript = pytest.mark.skipif(
    NODE is None or not (SOURCES / "node_modules" / "typescript").is_dir(),
    reason="typescript is not installed (`npm ci` in explorer/)",
)


@needs_esbuild
def test_the_bundle_is_that_of_the_sources(tmp_path: Path) -> None:
    subprocess.run([str(NODE), str(SOURCES / "build.mjs"), str(tmp_path)], check=True)
    for path in sorted(tmp_path.iterdir()):
        assert path.read_bytes() == (BUNDLE / path.name).read_bytes(), f"{path.name}: run `npm run build` in explorer/"
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in BUNDLE.iterdir()}


@needs_typescript
def test_types() -> None:
    compiler = SOURCES / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run([str(NODE), str(compiler), "--noEmit"], cwd=SOURCES, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_markup_and_style_are_copies() -> None:
    for name in ("explorer.html", "explorer.css"):
        assert (BUNDLE / name).read_bytes() == (SOURCES / "src" / name).read_bytes(), f"{name}: run `npm run build`"
