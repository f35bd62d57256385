"""Predicted futures of plans that nobody drove, against true ones."""
