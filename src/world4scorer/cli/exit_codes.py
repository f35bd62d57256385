"""Exit codes of `w4s`, the same for every verb."""

from typing import Final

INPUT_FAILED: Final = 1
"""An input could not be used; it is named."""
WRONG_COMMAND: Final = 2
"""The command line itself is wrong: a verb or option that does not exist, or options that do not go together."""
INTERRUPTED: Final = 130
"""Ctrl-C, as shells have it."""
PIPE_CLOSED: Final = 141
"""Whoever read the output went away (`w4s ... | head`), as shells have it. Nothing is said."""
TERMINATED: Final = 143
"""SIGTERM, as shells have it."""


class WrongCommand(ValueError):
    """A command line that asks for what does not go together, whatever the files hold."""
