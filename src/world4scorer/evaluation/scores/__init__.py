"""Scores of many frames: files in, tables out."""
