"""Frames of a planner's pools as JSON files: all that an interactive viewer in a browser needs, without Python."""
