"""Exchanges that a proxy or a browser captured over HTTP, as ``chatsquash.sources.captures`` makes lines of them."""

from __future__ import annotations

from chatsquash.reading.members import Members

NAME = "captures of HTTP"
WHAT = "entries of HAR files, flows of mitmproxy"
NEEDS = (frozenset(("captured", "request")),)
SESSION = ("session_id",)
MIXES = True


def fits(line: Members) -> bool:
    """All that have the members."""
    return "request" in line


def unwrap(line: Members) -> Members:
    """What is read of a line."""
    return {name: raw for name, raw in line.items() if name != "captured"}
