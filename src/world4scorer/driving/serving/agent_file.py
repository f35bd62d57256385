"""Copies the leaderboard agent out of the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from world4scorer.jobs.files import atomic_write, check_folder

AGENT: Final = "world4scorer_agent.py"
CONFIG: Final = "world4scorer_agent.json"
DEFAULT_OPTIONS: Final[dict[str, Any]] = {"keep_commands": True, "route": 4.0}
"""Selection options for Bench2Drive; the agent's defaults."""
SOURCE: Final = Path(__file__).with_name(AGENT)


def copy_agent(folder: Path, config: dict[str, Any], overwrite: bool = False) -> list[Path]:
    """Write the agent and its configuration; raises if different files exist, unless `overwrite`."""
    check_folder(folder)
    contents = {folder / AGENT: SOURCE.read_bytes(), folder / CONFIG: (json.dumps(config, indent=2) + "\n").encode()}
    differing = [path for path, content in contents.items() if path.exists() and path.read_bytes() != content]
    if differing and not overwrite:
        raise ValueError(f"{differing[0]}: is there and differs; --overwrite replaces it")
    for path, content in contents.items():
        with atomic_write(path) as stream:
            stream.write(content)
    return list(contents)
