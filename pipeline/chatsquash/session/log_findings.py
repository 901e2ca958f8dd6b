"""Findings about a session as a whole: its log, and how many of its logged replies the records contain."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import coverage as checks
from chatsquash.checks import reading
from chatsquash.checks.coverage import NEVER
from chatsquash.core import chat, jsonio, mcp
from chatsquash.core.accounting import Account, Coverage, ReplyOutcome
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, LogHead, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Outcome, Record, Rejection, Relative, SessionFindings
from chatsquash.core.text import printable
from chatsquash.formats import PLAIN_RANK, recognise
from chatsquash.records import presets
from chatsquash.session import cleaning
from chatsquash.session.session import Noted, Session, Snapshot, finding
from chatsquash.sources.compression import stem
from chatsquash.trees.coverage import of_grown

if TYPE_CHECKING:
    from chatsquash.trees.replies import LogPath

_MARKS = ("[truncated]", "[TRUNCATED]", "(truncated)", "<truncated>")
"""What texts end with that were cut; results of tools may, since tools cut them for the model."""
_CODE = "truncated-by-logger"
_TOLD_LINES = ("role-sequence", "short-tail", "session-id-mismatch", "timestamp-order", "tool-conflict")
"""Findings whose texts name other lines."""
_LINE = re.compile(r"\bline ([\d,]+)")


def logger_cuts(session: Session) -> Iterator[Noted]:
    """The messages that end with a mark of what was cut."""
    entry = session.snapshot.entry if session.snapshot else None
    if entry is None:
        return
    said = [*enumerate(entry.messages), (None, entry.reply.message)]
    for at, message in said:
        if message is not None and message["role"] != "tool" and _is_cut(message):
            fact = reading.truncated_by_logger(f"what the {message['role']} said", 1)
            yield entry.line, fact._replace(at=at)


def _is_cut(message: Message) -> bool:
    text = message.get("content")
    if isinstance(text, list):
        text = chat.text(message)
    return isinstance(text, str) and text.rstrip().endswith(_MARKS)


def cut_rejection(session: Session, noted: list[Noted], options: Options) -> Violation | None:
    """Why no record is made of a session of which something was cut; ``None`` where one may be."""
    if options.preset == presets.DEFAULT or options.keep_cut:
        return None
    repeated = next((each for each in session.repeated if each.code == _CODE), None)
    if repeated:
        return reading.truncated_by_logger(repeated.values[0], 1)
    return next((finding for _, finding in noted if finding.code == _CODE), None)


def unfit(seen: LogHead | None, session: Session) -> Violation | None:
    """Why nothing can be made of a log."""
    cleaned_lines = session.lines.cleaned
    if seen and seen.why and not seen.format and (seen.conflict or not (session.snapshot or cleaned_lines)):
        return reading.unknown_format(seen.why)
    if session.snapshot:
        other = _other_format(seen, session.snapshot)
        return reading.unknown_format(f"the response is not of {seen.format}, but {other}") if seen and other else None
    if session.rejected or session.asides:
        return reading.empty_session(cleaned_lines, len(session.rejected))
    return reading.unanswered_session()


def _other_format(seen: LogHead | None, snapshot: Snapshot) -> str | None:
    """The format of the only response if the log is read as another one, as `--from` requests it."""
    reply = snapshot.entry.reply
    if not (seen and seen.format and reply.foreign and reply.raw):
        return None
    if any(message["role"] == "assistant" for message in snapshot.entry.messages):
        return None
    found = recognise(None, jsonio.value(reply.raw), None)
    return found.name if found.rank < PLAIN_RANK and found.name != seen.format else None


def cleaning_notes(session: Session, sets: tuple[str, ...]) -> list[Noted]:
    """What cleaning did."""
    snapshot = session.snapshot
    changed = {**(snapshot.entry.cleanup_counts if snapshot else {}), **session.dropped}
    return [(snapshot.entry.line if snapshot else None, finding) for finding in told_of_cleaning(changed, sets)]


def told_of_cleaning(changed: dict[str, int], sets: tuple[str, ...]) -> list[Violation]:
    """What the rules of some sets did, given how many messages or entries each changed."""
    if not any(changed.values()):
        return []
    counts = {rule.replace("_", " "): changed.get(rule, 0) for rule in cleaning.rule_names(sets)}
    return [reading.cleaned(counts, by_default=sets == ("goose",))]


def taken_apart(log: Log) -> Iterator[Noted]:
    """How the lines of a session were taken out of their files."""
    if log.separate_sessions:
        yield None, reading.unrelated_requests(log.separate_sessions)
    if log.grouped_sessions:
        yield None, reading.grouped_by_id(log.grouped_sessions)
    if log.reordered_lines:
        yield None, reading.reordered(log.reordered_lines)


def in_files(findings: list[Finding], log: Log) -> list[Finding]:
    """The findings of a session with the files of their lines, where it has lines in several."""
    return [_in_file(each, log) for each in findings] if log.pieces or log.agents else findings


def _in_file(finding: Finding, log: Log) -> Finding:
    file, line = log.at(finding.line)

    def line_name(match: re.Match[str]) -> str:
        other, at = log.at(int(match[1].replace(",", "")))
        return f"line {at:,} of {printable(other)}"

    text = _LINE.sub(line_name, finding.text) if finding.code in _TOLD_LINES else finding.text
    return finding._replace(file=file, line=line, text=text)


def nothing(log: Log, why: Violation) -> Outcome:
    """The outcome of a log of which nothing is known but why."""
    return Outcome(stem(log), report=SessionFindings(why.code, [finding(why, stem(log), log.display_path)]))


def unreadable(log: Log, problem: OSError) -> Outcome:
    """The outcome of a log that cannot be opened or read."""
    return nothing(log, reading.unreadable_log(problem.strerror or type(problem).__name__))


def trace(snapshot: Snapshot) -> str:
    """The role trace of a snapshot and its reply, with the MCP servers of its tools."""
    reply = snapshot.entry.reply.message
    roles = chat.trace([*snapshot.entry.messages, *([reply] if reply else [])])
    servers = mcp.server_list(snapshot.tools)
    return f"{roles} ({servers})" if servers else roles


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
    reports_tail: bool = False
    """Whether the record is that of one snapshot, so that it lacks what came after that."""

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
        hidden = () if self.reports_tail else (_TAIL,)
        notes = ((at, each) for at, each in session.notes if each.code not in hidden)
        return replace(session, notes=[(at, each) for at, each in notes if each.code != _SEQUENCE or at in lines])


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


def find_unrelated(session: Session, begun: int, covered: Coverage) -> list[Noted]:
    """What is said of a session without ids in which the person began several conversations, if most replies are lost.

    Such a file holds several sessions, of which the specified record has the longest one.
    """
    if session.id is not None or begun < 2 or 2 * covered.carried >= covered.total:
        return []
    return [(None, checks.unrelated_conversations(begun, covered.total, covered.carried))]


def accounts(session: Session, records: list[Record]) -> tuple[Account, Account]:
    """What became of the lines of a session, and of their bytes."""
    selected = {record.entry.line for record in records if record.entry and record.entry.line}
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
    from chatsquash.trees.kinds import name_of_line  # which most sessions do not need

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
