"""Shared foundations: the data types that rooms exchange, JSON, text, times, options, errors and the version.

Nothing here reads a log or writes a file of a dataset, and nothing here imports another room.
"""
