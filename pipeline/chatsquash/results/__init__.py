"""Read, check, count and rewrite existing datasets and outputs."""
