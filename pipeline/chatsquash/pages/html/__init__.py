"""Escape text of logs and render records as HTML; no other package creates HTML from log text."""
