"""Scenes prepared once and kept: how they are made, the store that holds them, and how the work is spread."""
