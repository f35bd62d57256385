"""Rendering backend of MuJoCo, which reads it from the environment at import."""

from __future__ import annotations

import os
import sys
from ctypes.util import find_library


def choose_backend() -> None:
    """Let MuJoCo render off screen where there is no display; too late once MuJoCo is imported.

    By itself it would choose GLFW, which cannot render there and warns at import. What the user has set stays.
    """
    if not sys.platform.startswith("linux") or os.environ.get("MUJOCO_GL") or os.environ.get("DISPLAY"):
        return
    found = next((name for name in ("EGL", "OSMesa") if find_library(name)), "disable")
    os.environ["MUJOCO_GL"] = found.lower()
