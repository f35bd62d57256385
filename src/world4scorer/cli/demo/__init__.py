"""The whole pipeline in one command: a city, a planner trained on it, its evaluation and studies."""
