"""The error that this package raises about files."""

from __future__ import annotations


class DatasetError(ValueError):
    """Something on disk cannot be used; the message names the file, the token or layer, and what to do."""
