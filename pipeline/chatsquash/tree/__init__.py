"""The conversations of a session: what each logged reply continues, and what kind of conversation it belongs to."""
