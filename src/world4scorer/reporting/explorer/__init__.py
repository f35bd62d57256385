"""Frames of a planner's pools as JSON files for an interactive viewer."""
