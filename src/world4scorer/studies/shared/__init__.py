"""What several studies need: variants of a run and their scores, features of views, statistics."""
