"""What is found of the definitions and the system prompt that a session has, or that the user supplies."""

from __future__ import annotations

from typing import Literal

from chatsquash.checks.registry import Fact, rule
from chatsquash.core.text import counted, quoted


@rule("warning")
def tool_conflict(name: str, first_line: int, line: int, *, kept: Literal["first", "last", "each"] = "first") -> Fact:
    """Reported when a tool's definition changes during a session.

    The record keeps the first one, with `--tools last` the last, of a custom tool each of them. Calls made under
    another definition may not fit it; `--check-arguments` holds each call to the one of its time.
    """
    where = f"line {line} defines {quoted(name)} otherwise than line {first_line}"
    what = "each definition" if kept == "each" else f"the {kept} definition"
    calls = "earlier" if kept == "last" else "later"
    return Fact(f"{where}, {what} is kept: see whether {calls} calls fit it")


@rule("info")
def supplied_tools(count: int) -> Fact:
    """Reported when the log defines no tools and the record has the definitions of `--tools-file`."""
    return Fact(
        f"the log defines no tools, {counted(count, 'definition')} of --tools-file in the record: see if they fit"
    )


@rule("info")
def supplied_system() -> Fact:
    """Reported when the log has no system prompt and the record begins with that of `--system-file`."""
    return Fact("the log has no system prompt, that of --system-file begins the record: see if it fits", 0)
