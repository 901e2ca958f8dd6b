"""Damaged logs: made from the sample logs by chance, and held to the naive reader and to the accounting."""
