"""Outcome labels paired with their plans, or shuffled (Table 2b)."""
