"""Bytes to sessions: which files are logs, their lines, and the entries in them as edits of one another."""
