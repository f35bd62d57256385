"""Bench2Drive's results: records of routes as CARLA's leaderboard writes them, and the published formulas on them."""
