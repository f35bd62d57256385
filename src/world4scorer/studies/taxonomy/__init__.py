"""Why consecutive choices fail extended comfort (appendix E.1)."""
