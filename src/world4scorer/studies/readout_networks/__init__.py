"""Visual readouts: predicted features as images, through networks of their own that the driving model never sees."""
