"""Closed loop: a planner that drives, moment by moment."""
