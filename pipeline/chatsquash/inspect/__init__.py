"""A session entry by entry."""
