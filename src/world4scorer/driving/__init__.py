"""The planner behind the wheel: closed loop in the city, a planner server with CARLA's agent, Bench2Drive.

`closed_loop` drives and judges routes, `environment` offers it to Gymnasium, `aggregation` trains on what was driven
there, `clips` reads Bench2Drive's data, `bench2drive` trains on it, `serving` answers simulators that run elsewhere.
Knows `reporting` (films) and the rooms above it, but no `studies`.
"""
