"""Learning from logs and outcomes: the losses and where their gradients go. Needs torch."""
