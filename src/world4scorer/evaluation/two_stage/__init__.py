"""Two-stage evaluation (navhard): plans of recorded frames, then plans of scenes that begin near where they lead."""
