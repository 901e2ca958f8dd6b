"""Exchanges captured over HTTP by a proxy or browser, in the lines written by ``chatsquash.sources.captures``."""

from __future__ import annotations

from chatsquash.reading.members import Members

NAME = "HTTP captures"
WHAT = "entries of HAR files, mitmproxy flows"
NEEDS = (frozenset(("captured", "request")),)
SESSION = ("session_id",)
MIXES = True


def fits(line: Members) -> bool:
    """Return whether a line has the marker of this envelope."""
    return "request" in line


def unwrap(line: Members) -> Members:
    """Return the members without the marker of this envelope."""
    return {name: raw for name, raw in line.items() if name != "captured"}
