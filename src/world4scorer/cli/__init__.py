"""The `w4s` command: one file per group of `w4s --help`; each command parses, calls and prints, and computes nothing.

`run.py` dispatches, `command_table.py` lists the commands. Heavy imports happen inside the command that needs them.
Knows every room; nothing imports it.
"""

from world4scorer.cli.run import main

__all__ = ["main"]
