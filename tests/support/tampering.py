"""Files changed by somebody who knows of checksums: what is tested is what comes after comparing them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from world4scorer.jobs.checksums import DIGITS, MARK, UNSEALED, seal


def tamper(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Change the content of a file, and its checksum with it."""
    changed = change(path.read_bytes())
    path.write_bytes(seal(re.sub(re.escape(MARK) + rb"[0-9a-f]{%d}" % DIGITS, UNSEALED, changed)))
