"""Tables and figures of finished drives: all drivers, and two of them route by route."""
