"""The method without its bank, plan sampling, or images."""
