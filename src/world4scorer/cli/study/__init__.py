"""The subcommands of `w4s study`, by what they are asked about."""
