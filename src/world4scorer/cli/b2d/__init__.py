"""The subcommands of `w4s b2d`."""
