"""One session log to one outcome; ``plan`` is the order."""
