"""Errors of the city that a user can fix."""

from __future__ import annotations


class CityError(ValueError):
    """The embedded world cannot be made or read as asked; the message names the file and the remedy."""
