"""Many sessions: worker processes, output, accounting."""
