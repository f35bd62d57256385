from __future__ import annotations

from tests.support.city_fixtures import ingolstadt, ingolstadt_network

__all__ = ["ingolstadt", "ingolstadt_network"]
