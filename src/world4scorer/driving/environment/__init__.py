"""The city as a Gymnasium environment: plans in, images, ego status, route and reward out."""
