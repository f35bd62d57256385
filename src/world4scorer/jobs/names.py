"""Tokens and log names, which become file names: checked where they enter."""

from __future__ import annotations

import re
from typing import Any, Final

MAX_LENGTH: Final = 128
"""Characters of a name; with a suffix it must fit into a file name on every system."""
_SAFE: Final = re.compile(r"[^\x00-\x1f\x7f/\\:*?\"<>|\ud800-\udfff]+")
"""No separators or control characters, and nothing that some file system refuses."""
_RESERVED: Final = re.compile(r"(CON|PRN|AUX|NUL|COM\d|LPT\d)(\..*)?", re.IGNORECASE)
"""Devices of Windows, with any suffix."""


def is_safe_name(name: Any) -> bool:
    """Whether a token or log name can be part of a file name, inside the folder that is meant, on every system."""
    return (
        isinstance(name, str)
        and 0 < len(name) <= MAX_LENGTH
        and _SAFE.fullmatch(name) is not None
        and _RESERVED.fullmatch(name) is None
        and name[0] not in ". "
        and name[-1] not in ". "
    )


def safe_name(what: str, name: Any, error: type[ValueError] = ValueError) -> str:
    """The name, if it is safe; else an error that begins with `what` it is the name of."""
    if not is_safe_name(name):
        shown = repr(name) if len(repr(name)) <= MAX_LENGTH else f"{repr(name)[:MAX_LENGTH]}..."
        raise error(
            f"{what}: {shown} cannot be a file name; names have 1 to {MAX_LENGTH} characters, no separators, control "
            'characters or any of :*?"<>|, and neither begin nor end with a dot or space'
        )
    return str(name)
