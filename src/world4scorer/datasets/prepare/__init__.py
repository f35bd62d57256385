"""From logs and maps to scenes: tracks, lights, route, centreline, reference plan."""
