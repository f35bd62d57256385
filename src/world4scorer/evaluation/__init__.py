"""Pools of plans, their scores, and results with intervals.

`pools` keeps a planner's plans with their outcomes, `leaderboard` has Bench2Drive's formulas, `scores` makes tables and
findings, `two_stage` evaluates navhard, `rules` compares all ways to score a submission. Knows `planner`, `drawing` and
the rooms above them.
"""
