"""Reads, checks, counts and rewrites existing datasets and outputs."""
