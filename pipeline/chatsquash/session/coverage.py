"""Coverage of a session: how many of its logged replies its records contain, and the findings about the others."""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import coverage as checks
from chatsquash.checks.coverage import NEVER
from chatsquash.core.accounting import Account, Coverage, ReplyOutcome
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Record, Rejection, Relative
from chatsquash.session.session import Noted, Session
from chatsquash.trees.coverage import of_grown

if TYPE_CHECKING:
    from chatsquash.trees.kinds import LogPath

_SEQUENCE, _TAIL = "role-sequence", "short-tail"
"""Codes of what is found by comparing the requests of a session, whatever their conversations."""


class SessionCoverage(NamedTuple):
    """What the records of a session hold of it."""

    coverage: Coverage
    rows: list[ReplyOutcome]
    notes: list[Noted]
    unexplained: set[int] | None = None
    """The lines whose history no tree explains; ``None``: there are no trees, and any line may be reported."""
    family: Family | None = None
    relatives: list[Relative] = []  # noqa: RUF012 - never changed

    def of_records(self, records: list[Record]) -> Coverage:
        """The same of a session with these records: a record without any logged reply is of a conversation, too."""
        covered, count = self.coverage, len(records)
        if records and records[0].samples:
            count = len({record.conversation for record in records})
        seen = count + sum(covered.not_chosen.values())
        return replace(covered, conversations=seen) if seen > covered.conversations else covered

    def explained(self, session: Session) -> Session:
        """The session without what was found by comparing lines, where trees say why they differ."""
        lines = self.unexplained
        if lines is None:
            return session
        kept = [
            (at, each) for at, each in session.notes if each.code != _TAIL and (each.code != _SEQUENCE or at in lines)
        ]
        return replace(session, notes=kept)


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
        noted.append((line, checks.replies_lost(covered.total, covered.in_records, covered.lost, ways or {})))
    if wanted.with_reasoning < wanted.reasoned:
        noted.append((line, checks.reasoning_lost(wanted.total, wanted.reasoned, wanted.with_reasoning)))
    if covered.withheld:
        noted.append((line, checks.reasoning_withheld(covered.withheld)))
    return noted


def accounts(session: Session, records: list[Record]) -> tuple[Account, Account]:
    """What became of the lines of a session, and of their bytes."""
    selected = {record.chosen.line for record in records if record.chosen and record.chosen.line}
    return session.accounts_of(selected) if selected else session.accounts(written=bool(records))


def with_asides(
    rows: list[ReplyOutcome], lines: list[int], session: str, paths: list[LogPath], ids: dict[int, str]
) -> list[ReplyOutcome]:
    """The rows of a session's replies with those to requests that cleaning dropped, in the order of the lines.

    Such a request is about the person's conversation that began last before it, or about the first one; ``ids`` are the
    names of the conversations that were found, by their ``id()``.
    """
    if not lines:
        return rows
    from chatsquash.trees.selection import name_of_line  # which most sessions do not need

    begun = sorted((path.own[0].line, ids[id(path)]) for path in paths if path.kind == "main")
    asides: list[ReplyOutcome] = []
    for line in lines:
        place = bisect(begun, (line, "")) - 1
        about = begun[max(place, 0)][1] if begun else None
        asides.append(ReplyOutcome(line, "side", "lost", "side-request", name_of_line(session, line), about))
    return sorted([*rows, *asides], key=lambda row: row.line)


def ways(covered: Coverage, asides: int, options: Options) -> dict[str, int]:
    """The options that keep replies which no record holds, with how many; ``asides``: those that cleaning dropped."""
    lost = Counter({why: count for why, count in covered.lost.items() if why not in NEVER})
    lost["side-request"] -= asides
    is_all = options.conversations == "all"
    if is_all:
        options_of = {"without --no-side": lost["side-request"], "without --no-subagents": lost["subagent"]}
    else:
        options_of = {"--conversations all": lost.total()}
    given = ["--conversations all"] * (not is_all) + ["--no-cleanup-goose"] * options.cleanup_goose
    taken = ["--cleanup"] * bool(options.cleanup) + ["--no-side"] * (not options.side)
    dropped = " ".join([*given, *(f"without {' and '.join(taken)}" for _ in taken[:1])])
    options_of[dropped] = options_of.get(dropped, 0) + asides
    return {how: count for how, count in options_of.items() if count}


def grown_session(
    session: Session, made: Record | Rejection, noted: list[Noted]
) -> tuple[list[Record], Violation | None, list[Noted], SessionCoverage]:
    """What comes of a session whose every request goes on from the reply before it."""
    covered = of_grown(session.followed)
    if isinstance(made, Rejection):
        return [], made.why, noted, SessionCoverage(covered.without_record("refused"), [], [])
    line = session.snapshot.entry.line if session.snapshot else None
    return [made], None, noted, SessionCoverage(covered, [], lost_of(covered, line))
