"""Errors of the cube study."""

from __future__ import annotations


class CubeError(ValueError):
    """Bad or missing input, with the remedy in its message."""
