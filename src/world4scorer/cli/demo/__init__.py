"""The whole way in one command: a city, a planner trained on it, what it decides and why."""
