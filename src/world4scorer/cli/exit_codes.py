"""Exit codes of `w4s`, the same for every command."""

from typing import Final

INPUT_ERROR: Final = 1
"""An input cannot be used; the message names it."""
USAGE_ERROR: Final = 2
"""The command line is wrong: an unknown command or option, or options that exclude each other."""
INTERRUPTED: Final = 130
"""Ctrl-C, as in shells."""
PIPE_CLOSED: Final = 141
"""The reader of the output is gone (`w4s ... | head`), as in shells. No message."""
TERMINATED: Final = 143
"""SIGTERM, as in shells."""


class UsageError(ValueError):
    """Options that exclude or require each other, whatever the files contain."""
