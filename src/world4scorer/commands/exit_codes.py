"""Exit codes of `w4s`."""

from typing import Final

INPUT_FAILED: Final = 1
"""An input could not be used; 2 is a wrong command line."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells have it."""
