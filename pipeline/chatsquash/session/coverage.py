"""What the records of a session hold of its replies, with what is found of those that they do not hold."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.checks import coverage as checks
from chatsquash.core.logged import Coverage, LoggedReply
from chatsquash.core.outcome import Account, Family, Record, Relative
from chatsquash.session.session import Noted, Session

_SEQUENCE, _TAIL = "role-sequence", "short-tail"
"""Codes of what is found by comparing the requests of a session, whatever their conversations."""


class Covered(NamedTuple):
    """What the records of a session hold of it."""

    coverage: Coverage
    rows: list[LoggedReply]
    found: list[Noted]
    unexplained: set[int] | None = None
    """The lines whose history no tree explains; ``None``: there are no trees, and any line may be reported."""
    family: Family | None = None
    relatives: list[Relative] = []  # noqa: RUF012 - never changed

    def of_records(self, count: int) -> Coverage:
        """The same of a session with so many records: a record without any logged reply is of a conversation, too."""
        covered = self.coverage
        seen = count + sum(covered.not_chosen.values())
        return replace(covered, conversations=seen) if seen > covered.conversations else covered

    def explained(self, session: Session) -> Session:
        """The session without what was found by comparing lines, where trees say why they differ."""
        lines = self.unexplained
        if lines is None:
            return session
        kept = [
            (at, each) for at, each in session.found if each.code != _TAIL and (each.code != _SEQUENCE or at in lines)
        ]
        return replace(session, found=kept)


def lost_of(
    covered: Coverage, line: int | None, wanted: Coverage | None = None, ways: dict[str, int] | None = None
) -> list[Noted]:
    """What is lost, as findings.

    ``wanted`` are the same sums without replies of filtered records, ``ways`` the options that keep replies, with how
    many.
    """
    wanted = wanted or covered
    noted: list[Noted] = []
    if wanted.lost.keys() - {"refused"}:
        noted.append((line, checks.replies_lost(covered.logged, covered.held, covered.lost, ways or {})))
    if wanted.with_reasoning < wanted.reasoned:
        noted.append((line, checks.reasoning_lost(wanted.logged, wanted.reasoned, wanted.with_reasoning)))
    if covered.withheld:
        noted.append((line, checks.reasoning_withheld(covered.withheld)))
    return noted


def accounts(session: Session, records: list[Record]) -> tuple[Account, Account]:
    """What became of the lines of a session, and of their bytes."""
    selected = {record.chosen.line for record in records if record.chosen and record.chosen.line}
    return session.accounts_of(selected) if selected else session.accounts(written=bool(records))
