"""Scores of submissions and pools over a store of scenes."""
