"""Dense labels of city frames, from perturbed poses and in several kinds of weather, for pretraining an encoder."""
