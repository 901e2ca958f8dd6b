"""What is found of logs that lie there twice."""

from __future__ import annotations

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import escape, quoted


@rule("info")
def second_copy(first: str) -> Fact:
    """Reported when a log lies there twice, compressed and not, or compressed in two ways. The first one met counts.

    In a folder that is the plain one.
    """
    return Fact(f"not read, since {quoted(first)} counts, which holds the same")


@rule("warning")
def second_copy_differs(first: str, differs: int | None, unread: str = "") -> Fact:
    """Reported when a log lies there twice, and the two differ, or chatsquash cannot compare them.

    The first one met counts.
    """
    counts = f"not read, since {quoted(first)} counts"
    if differs is None:
        return Fact(f"{counts}, with which it cannot be compared ({escape(unread)}): see which one is whole")
    return Fact(f"{counts}, which differs from byte {differs:,} on: see which one is whole, and remove the other")
