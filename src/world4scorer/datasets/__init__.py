"""Logs, maps and images in NAVSIM's formats, and scenes prepared from them.

`navsim` reads and writes the formats, `store` keeps prepared scenes, `pdm_closed` is the reference planner, `prepare`
turns logs into stored scenes and training samples. Knows `engine` and `jobs`.
"""
