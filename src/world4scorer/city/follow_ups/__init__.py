"""A two-stage split of a city: follow-up scenes of its test logs, as navhard has them."""
