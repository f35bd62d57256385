"""How large is an installation, and what does each dependency cost?

    python benchmarks/install_size.py [--extras maps pictures] [--out results/install_size]

Installs the checkout into an empty environment with pip, the base first and then each extra in its turn, and measures
site-packages without pip and setuptools, as `du` does. Writes results/install_size.json and results/install_size.md.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GOAL_MB = 250
"""Goal of the base install."""
SMALL_MB = 1.0
"""Packages below are summed up."""
LIST = """
import json, sys
from importlib.metadata import distributions
blocks = lambda path: path.lstat().st_blocks * 512 / 2**20
sizes = {}
for one in distributions():
    files = [one.locate_file(file) for file in one.files or ()]
    sizes[one.metadata["Name"].lower()] = sum(blocks(path) for path in files if path.exists())
print(json.dumps(sizes))
"""


def installed(python: Path) -> dict[str, float]:
    """MB on disk of each installed package, compiled Python files included."""
    done = subprocess.run([python, "-c", LIST], check=True, capture_output=True, text=True)
    sizes = json.loads(done.stdout)
    return {name: size for name, size in sizes.items() if name not in ("pip", "setuptools")}


def measure(extras: list[str]) -> list[dict[str, object]]:
    """Packages in the order in which they come, with what brings them."""
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory(prefix="w4s-size-") as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        known: set[str] = set()
        for extra in ("base", *extras):
            wanted = str(ROOT) if extra == "base" else f"{ROOT}[{extra}]"
            subprocess.run([python, "-m", "pip", "install", "--quiet", wanted], check=True)
            sizes = installed(python)
            new = sorted(set(sizes) - known, key=lambda name: -sizes[name])
            rows += [{"package": name, "brought_by": extra, "mb": sizes[name]} for name in new]
            known |= set(sizes)
    return rows


def markdown(rows: list[dict[str, object]], command: str) -> str:
    """Sums, and a table of packages."""
    parts = sorted({str(row["brought_by"]) for row in rows}, key=lambda part: part != "base")
    lines = ["# Size of an installation", "", f"Made by `{command}` with Python {platform.python_version()}.", ""]
    lines += ["| install | MB |", "|---|--:|"]
    for part in parts:
        total = sum(float(str(row["mb"])) for row in rows if row["brought_by"] == part)
        name = f"base (goal {GOAL_MB})" if part == "base" else f"extra `{part}`, more than the rows above"
        lines.append(f"| {name} | {total:.0f} |")
    lines += ["", "| package | brought by | MB |", "|---|---|--:|"]
    for part in parts:
        here = [row for row in rows if row["brought_by"] == part]
        large = [row for row in here if float(str(row["mb"])) >= SMALL_MB]
        lines += [f"| {row['package']} | {part} | {float(str(row['mb'])):.0f} |" for row in large]
        rest = [row for row in here if row not in large]
        if rest:
            total = sum(float(str(row["mb"])) for row in rest)
            lines.append(f"| {', '.join(str(row['package']) for row in rest)} | {part} | {total:.1f} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extras", nargs="*", default=["maps", "pictures"])
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "install_size")
    options = parser.parse_args()
    rows = measure(options.extras)
    command = "python benchmarks/install_size.py"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.with_suffix(".json").write_text(json.dumps({"command": command, "rows": rows}, indent=1) + "\n")
    text = markdown(rows, command)
    options.out.with_suffix(".md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
