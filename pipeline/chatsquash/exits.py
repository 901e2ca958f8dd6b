"""With which code a conversion ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from chatsquash.errors import UsageError
from chatsquash.nearest import meant

LEFT_OUT = 3
"""The code where something is missing."""
_ERROR = "error"
"""Stands among codes of findings for every finding that is an error."""


class Done(Protocol):
    """What a run did."""

    def as_json(self) -> dict[str, Any]:
        """Its counts."""


def refuse_unknown(codes: Sequence[str]) -> None:
    """Raise ``UsageError`` for a code that no finding has."""
    if not codes:
        return
    from chatsquash.checks import rules  # which few runs need here

    known = [_ERROR, *rules()]
    for code in _each(codes):
        if code not in known:
            hint = meant(code, known, "docs/checks.md lists them, error means any error")
            raise UsageError(f"--fail-on {code}: no finding has this code; {hint}")


def code(done: Done, codes: Sequence[str], *, is_complete: bool, is_shard: bool) -> int:
    """0, or 3 where a session or a line was left out, or there is no record; ``codes`` decide where there are any.

    A shard may be without records.
    """
    if not codes and not is_complete:
        return LEFT_OUT
    counts = done.as_json()
    if not is_shard and counts.get("conversations", {"written": 1})["written"] == 0:
        return LEFT_OUT
    named = {*_each(codes)}
    found = counts.get("findings", {})
    fails = any(severity in named or not named.isdisjoint(told) for severity, told in found.items())
    return LEFT_OUT if fails else 0


def _each(codes: Sequence[str]) -> Iterator[str]:
    return (code for given in codes for each in given.split(",") if (code := each.strip()))
