"""Errors about dataset files."""

from __future__ import annotations


class DatasetError(ValueError):
    """A file cannot be used; the message names the file, the token or layer, and the remedy."""
