"""What goes wrong with the manipulation study by a user's doing."""

from __future__ import annotations


class CubeError(ValueError):
    """Bad or missing input, with the remedy in its message."""
