"""Training on Bench2Drive's clips: trajectory vocabulary, samples, labels, targets, runs."""
