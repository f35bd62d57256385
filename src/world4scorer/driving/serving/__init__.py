"""A planner behind a socket, for simulators that run in another Python: server, protocol, client, CARLA's agent."""
