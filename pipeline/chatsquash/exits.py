"""With which code a conversion ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

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
    from chatsquash import checks  # which few runs need here

    for code in _each(codes):
        checks.refuse_unknown(code, option="--fail-on", any_error=_ERROR)


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
