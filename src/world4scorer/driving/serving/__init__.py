"""Planner server for simulators in another Python: protocol, server, client, CARLA agent."""
