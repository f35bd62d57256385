"""No, current or future view as auxiliary target (Table 2a)."""
