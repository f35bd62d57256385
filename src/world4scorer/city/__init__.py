"""The embedded world: a city with traffic and cameras that is made on the spot and written as a NAVSIM dataset.

`streets` come from SUMO's networks, `scenery` is what stands and moves there, `render` draws the cameras, `world`
simulates, records and writes logs. Knows `datasets`, `engine` and `jobs`.
"""
