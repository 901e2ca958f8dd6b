"""Shared foundations: the data types that rooms exchange, JSON, text, times, options, errors and the version.

Nothing here reads logs or writes dataset files, and nothing here imports another room.
"""
