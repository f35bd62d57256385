"""What people look at: the report of a run, films, and the explorer.

Knows `studies`, `evaluation` and the rooms above them.
"""
