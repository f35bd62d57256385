"""A generator that also covers good bank plans (appendix E.3)."""
