"""Errors of clips."""

from __future__ import annotations


class ClipError(ValueError):
    """A clip, or something made of clips, that cannot be used; the message names file, field and remedy."""
