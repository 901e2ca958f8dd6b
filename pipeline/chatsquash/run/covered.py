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


def lost_of(covered: Coverage, line: int | None, wanted: Coverage | None = None) -> list[Noted]:
    """What is lost, as findings; ``wanted`` are the same sums without replies of filtered records."""
    wanted = wanted or covered
    noted: list[Noted] = []
    if wanted.lost.keys() - {"refused"}:
        noted.append((line, checks.replies_lost(covered.logged, covered.held, covered.lost)))
    if wanted.with_reasoning < wanted.reasoned:
        noted.append((line, checks.reasoning_lost(wanted.logged, wanted.reasoned, wanted.with_reasoning)))
    if covered.withheld:
        noted.append((line, checks.reasoning_withheld(covered.withheld)))
    return noted
