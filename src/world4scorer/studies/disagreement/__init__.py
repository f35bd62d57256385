"""Where NAVSIM v1 and v2 as objectives choose different plans (appendix B.2)."""
