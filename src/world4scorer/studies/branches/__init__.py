"""What would have been: plans that nobody drove, driven in the embedded city, with the traffic's answer and view."""
