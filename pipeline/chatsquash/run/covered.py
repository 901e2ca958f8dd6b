"""What the records of a session hold of its replies, with what is found of those that they do not hold."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.checks import coverage as checks
from chatsquash.outcome import Coverage, Family, LoggedReply, Relative
from chatsquash.stages.session import Noted


class Covered(NamedTuple):
    """What the records of a session hold of it."""

    coverage: Coverage
    rows: list[LoggedReply]
    found: list[Noted]
    family: Family | None = None
    relatives: list[Relative] = []  # noqa: RUF012 - never changed


def lost_of(covered: Coverage, line: int | None) -> list[Noted]:
    """What is lost, as findings."""
    noted: list[Noted] = []
    if covered.lost.keys() - {"refused"}:
        noted.append((line, checks.replies_lost(covered.logged, covered.held, covered.lost)))
    if covered.with_reasoning < covered.reasoned:
        noted.append((line, checks.reasoning_lost(covered.logged, covered.reasoned, covered.with_reasoning)))
    if covered.withheld:
        noted.append((line, checks.reasoning_withheld(covered.withheld)))
    return noted
