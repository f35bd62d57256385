"""Teaching the forecast of a dense encoder: what happened in scenes, and the training on cached features."""
