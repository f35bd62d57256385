"""What people look at: the report of a run, films, and frame files for viewers.

Knows `studies`, `evaluation` and the rooms above them.
"""
