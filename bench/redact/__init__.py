"""A corpus of agent transcripts with planted secrets and look-alikes, and what the redaction makes of it."""
