"""Bench2Drive's clips."""
