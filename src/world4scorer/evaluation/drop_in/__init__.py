"""The calling conventions of the devkits' scorer and of published training loops; public as `world4scorer.compat`."""
