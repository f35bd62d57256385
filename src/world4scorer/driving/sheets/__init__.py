"""Sheets of drives, in the city or in CARLA: a row of camera frames and a small map for each drive."""
