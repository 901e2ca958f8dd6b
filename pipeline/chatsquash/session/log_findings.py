"""Findings about a session as a whole: its log, and how many of its logged replies the records contain."""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.checks import coverage as checks
from chatsquash.checks import reading
from chatsquash.core import chat, jsonio
from chatsquash.core.accounting import Account, Coverage, ReplyOutcome
from chatsquash.core.lazy import LazyModule, lazy_compile
from chatsquash.core.log import Log
from chatsquash.core.model import Entry, Finding, LogHead, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Outcome, Record, Rejection, Relative, SessionFindings
from chatsquash.core.text import printable
from chatsquash.formats import PLAIN, PLAIN_RANK, recognise
from chatsquash.records import presets
from chatsquash.session import cleaning
from chatsquash.session.reply_counts import count_trained
from chatsquash.session.session import LineFinding, Session, Snapshot, finding
from chatsquash.sources.compression import stem
from chatsquash.trees.coverage import of_grown

if TYPE_CHECKING:
    from chatsquash.core import mcp
    from chatsquash.reading.reader import Reading
    from chatsquash.trees.replies import LogPath
else:
    mcp = LazyModule("chatsquash.core.mcp")

_MARKS = ("[truncated]", "[TRUNCATED]", "(truncated)", "<truncated>")
"""The ends of strings that a logger truncated."""
_CODE = "truncated-by-logger"
_WITH_LINES = ("role-sequence", "short-tail", "session-id-mismatch", "timestamp-order", "tool-conflict")
"""The codes of findings whose text refers to other lines."""
_LINE = lazy_compile(r"\bline ([\d,]+)")


def logger_cuts(session: Session) -> list[LineFinding]:
    """Return findings about messages that end with a truncation mark."""
    entry = session.snapshot.entry if session.snapshot else None
    if entry is None:
        return []
    reply = entry.reply.message
    messages = entry.messages if reply is None else [*entry.messages, reply]
    # Tools truncate their own results for the model, so these marks do not show that the logger did.
    places = [
        at
        for at, message in enumerate(messages)
        if (content := message.get("content"))
        and message["role"] != "tool"
        and (type(content) is not str or content.rstrip().endswith(_MARKS))
    ]
    findings: list[LineFinding] = []
    for at in places:
        if (chat.text(messages[at]) or "").rstrip().endswith(_MARKS):
            fact = reading.truncated_by_logger(f"the {messages[at]['role']} message", 1)
            findings.append((entry.line, replace(fact, at=at if at < len(entry.messages) else None)))
    return findings


def cut_rejection(session: Session, findings: list[LineFinding], options: Options) -> Violation | None:
    """Return why a truncated session has no record, or ``None`` if it may have one."""
    if options.preset == presets.DEFAULT or options.keep_cut:
        return None
    repeat = next((each for each in session.repeats if each.code == _CODE), None)
    if repeat:
        return reading.truncated_by_logger(repeat.values[0], 1)
    return next((finding for _, finding in findings if finding.code == _CODE), None)


def log_rejection(read: Reading, session: Session, options: Options) -> Violation | None:
    """Return why a log cannot be converted."""
    why = _unusable(read.seen, session)
    if why is None and (read.document or session.growth.trees):  # otherwise each reply is in one record
        from chatsquash.session.output_growth import check_growth  # imported here because few runs need it

        why = check_growth(session, read.document, options)
    return why


def _unusable(seen: LogHead | None, session: Session) -> Violation | None:
    """Return why the content of a log cannot be converted."""
    dropped_lines = session.lines.dropped_entries
    if seen and seen.why and not seen.format and (seen.conflict or not (session.snapshot or dropped_lines)):
        return reading.unknown_format(seen.why)
    if session.snapshot:
        other = _other_format(seen, session.snapshot)
        return (
            reading.unknown_format(f"the response has the format {other}, not {seen.format}")
            if seen and other
            else None
        )
    if session.rejected or session.side_requests:
        return reading.empty_session(dropped_lines, len(session.rejected))
    return reading.unanswered_session()


def format_name(seen: LogHead | None, why: Violation | None) -> str | None:
    """Return the format of a log; an unknown format that was converted is plain chat, ``why`` is its rejection."""
    is_known = seen is None or seen.format is not None or (why and why.code == "unknown-format")
    return (seen.format if seen else None) if is_known else PLAIN


def _other_format(seen: LogHead | None, snapshot: Snapshot) -> str | None:
    """Return the format of the only response if ``--from`` specifies a different one."""
    reply = snapshot.entry.reply
    if not (seen and seen.format and reply.foreign and reply.raw):
        return None
    if any(message["role"] == "assistant" for message in snapshot.entry.messages):
        return None
    recognition = recognise(None, jsonio.value(reply.raw), None)
    return recognition.name if recognition.rank < PLAIN_RANK and recognition.name != seen.format else None


def cleaning_notes(session: Session, sets: tuple[str, ...]) -> list[LineFinding]:
    """Report how many messages and entries of a session cleaning changed."""
    snapshot = session.snapshot
    changed = {**(snapshot.entry.cleanup_counts if snapshot else {}), **session.dropped}
    if not changed:
        return []
    return [(snapshot.entry.line if snapshot else None, finding) for finding in cleaning_findings(changed, sets)]


def cleaning_findings(changed: dict[str, int], sets: tuple[str, ...]) -> list[Violation]:
    """Report how many messages or entries the rules of some sets changed."""
    if not any(changed.values()):
        return []
    counts = {rule.replace("_", " "): changed.get(rule, 0) for rule in cleaning.rule_names(sets)}
    return [reading.cleaned(counts, by_default=sets == ("goose",))]


def split_findings(log: Log) -> list[LineFinding]:
    """Report how the lines of a session were split from their files."""
    findings: list[LineFinding] = []
    if log.separate_sessions:
        findings.append((None, reading.unrelated_requests(log.separate_sessions)))
    if log.grouped_sessions:
        findings.append((None, reading.grouped_by_id(log.grouped_sessions)))
    if log.reordered_lines:
        findings.append((None, reading.reordered(log.reordered_lines)))
    return findings


def in_files(findings: list[Finding], log: Log) -> list[Finding]:
    """Return findings with the file of their line if the session has lines in several files."""
    return [_in_file(each, log) for each in findings] if log.pieces or log.agents else findings


def _in_file(finding: Finding, log: Log) -> Finding:
    file, line = log.at(finding.line)

    def line_name(match: re.Match[str]) -> str:
        other, at = log.at(int(match[1].replace(",", "")))
        return f"line {at:,} of {printable(other)}"

    text = _LINE.sub(line_name, finding.text) if finding.code in _WITH_LINES else finding.text
    return finding._replace(file=file, line=line, text=text)


def rejected_outcome(log: Log, why: Violation) -> Outcome:
    """Return an outcome that contains only the reason for the rejection of a log."""
    return Outcome(stem(log), report=SessionFindings(why.code, [finding(why, stem(log), log.display_path)]))


def unreadable_outcome(log: Log, problem: OSError) -> Outcome:
    """Return the outcome of a log that cannot be opened or read."""
    return rejected_outcome(log, reading.unreadable_log(problem.strerror or type(problem).__name__))


def trace(snapshot: Snapshot) -> str:
    """Return the role trace of a snapshot and its reply, with the MCP servers of its tools."""
    reply = snapshot.entry.reply.message
    roles = chat.trace([*snapshot.entry.messages, *([reply] if reply else [])])
    servers = mcp.server_list(snapshot.tools)
    return f"{roles} ({servers})" if servers else roles


_SEQUENCE, _TAIL = "role-sequence", "short-tail"
"""Codes of findings from comparing consecutive requests, regardless of their conversations."""


class SessionCoverage(Struct, frozen=True):
    """How much of a session the records contain."""

    coverage: Coverage
    rows: list[ReplyOutcome]
    notes: list[LineFinding]
    unexplained: set[int] | None = None
    """The lines whose history no tree explains; ``None`` without trees, when any line may be reported."""
    family: Family | None = None
    relatives: list[Relative] = []
    reports_tail: bool = False
    """Whether the record is a single snapshot, so anything after it is missing."""
    breaks: dict[str, int] = {}
    """As in ``SessionReplies``."""

    def of_records(self, records: list[Record]) -> Coverage:
        """Return the coverage with these records counted as conversations, even those without a logged reply."""
        coverage, count = self.coverage, len(records)
        if records and records[0].samples:
            count = len({record.conversation for record in records})
        seen = count + sum(coverage.not_chosen.values())
        return replace(coverage, conversations=seen) if seen > coverage.conversations else coverage

    def without_explained(self, session: Session) -> Session:
        """Drop findings from comparing lines if the trees explain the difference."""
        lines = self.unexplained
        if lines is None:
            return session
        hidden = () if self.reports_tail else (_TAIL,)
        notes = ((at, each) for at, each in session.notes if each.code not in hidden)
        return replace(session, notes=[(at, each) for at, each in notes if each.code != _SEQUENCE or at in lines])


def loss_findings(
    coverage: Coverage,
    line: int | None,
    unfiltered: Coverage | None = None,
    options_to_keep: dict[str, int] | None = None,
) -> list[LineFinding]:
    """Report lost replies.

    Args:
        coverage: The coverage of all replies.
        line: The line to report.
        unfiltered: The coverage without replies of filtered records.
        options_to_keep: The options that would keep lost replies, with the number of replies.
    """
    unfiltered = unfiltered or coverage
    findings: list[LineFinding] = []
    excluded = {why for why in unfiltered.lost if why in checks.BY_REQUEST}
    if unfiltered.lost and unfiltered.lost.keys() - {"refused", *excluded}:
        findings.append(
            (line, checks.replies_lost(coverage.total, coverage.in_records, coverage.lost, options_to_keep or {}))
        )
    if unfiltered.with_reasoning < unfiltered.reasoned and not excluded:
        findings.append((line, checks.reasoning_lost(unfiltered.total, unfiltered.reasoned, unfiltered.with_reasoning)))
    if coverage.withheld:
        findings.append((line, checks.reasoning_withheld(coverage.withheld)))
    return findings


def find_unrelated(session: Session, count: int, coverage: Coverage) -> list[LineFinding]:
    """Report a session without ids that contains several conversations of the user, if most replies are lost.

    Such a file contains several sessions, but only the longest one becomes a record.
    """
    if session.id is not None or count < 2 or 2 * coverage.carried >= coverage.total:
        return []
    return [(None, checks.unrelated_conversations(count, coverage.total, coverage.carried))]


def accounts(session: Session, records: list[Record]) -> tuple[Account, Account]:
    """Account for the lines of a session, and for their bytes."""
    selected = {record.entry.line for record in records if record.entry and record.entry.line}
    return session.accounts_of(selected) if selected else session.accounts(has_record=bool(records))


def with_side_requests(
    rows: list[ReplyOutcome], lines: list[int], session: str, paths: list[LogPath], ids: dict[int, str]
) -> list[ReplyOutcome]:
    """Add rows for replies to side requests that cleaning dropped, in the order of the lines.

    A side request belongs to the last of the user's conversations that began before it, or to the first one. ``ids``
    maps the ``id()`` of each path to the id of its conversation.
    """
    if not lines:
        return rows
    from chatsquash.trees.kinds import name_of_line  # imported here because most sessions do not need it

    starts = sorted((path.own[0].line, ids[id(path)]) for path in paths if path.kind == "main")
    side_rows: list[ReplyOutcome] = []
    for line in lines:
        place = bisect(starts, (line, "")) - 1
        about = starts[max(place, 0)][1] if starts else None
        side_rows.append(ReplyOutcome(line, "side", "lost", "side-request", name_of_line(session, line), about))
    return sorted([*rows, *side_rows], key=lambda row: row.line)


def options_keeping(coverage: Coverage, side_requests: int, options: Options) -> dict[str, int]:
    """Return the options that would keep lost replies, with the number each would keep.

    ``side_requests`` is the number of replies to requests that cleaning dropped.
    """
    if not (coverage.lost or side_requests):
        return {}
    counts = Counter({why: count for why, count in coverage.lost.items() if why not in checks.NEVER})
    counts["side-request"] -= side_requests
    is_all = options.conversations == "all"
    if is_all:
        options_of = {"without --no-side": counts["side-request"], "without --no-subagents": counts["subagent"]}
    else:
        options_of = {"--conversations all": counts.total()}
    additions = ["--conversations all"] * (not is_all) + ["--no-cleanup-goose"] * options.cleanup_goose
    removals = ["--cleanup"] * bool(options.cleanup) + ["--no-side"] * (not options.side)
    options_for_side = " ".join([*additions, *(f"without {' and '.join(removals)}" for _ in removals[:1])])
    options_of[options_for_side] = options_of.get(options_for_side, 0) + side_requests
    return {how: count for how, count in options_of.items() if count}


def convert_grown(
    session: Session, record: Record | Rejection, findings: list[LineFinding]
) -> tuple[list[Record], Violation | None, list[LineFinding], SessionCoverage]:
    """Return the result for a session whose every request continues the previous reply."""
    coverage = of_grown(session.growth)
    if isinstance(record, Rejection):
        return [], record.why, findings, SessionCoverage(coverage.without_record("refused"), [], [])
    line = session.snapshot.entry.line if session.snapshot else None
    requests = [request for request in session.growth.growing_requests if request.message is not None]
    record = replace(record, trained_replies=count_trained(requests))
    return [record], None, findings, SessionCoverage(coverage, [], loss_findings(coverage, line))


def line_of(entry: Entry, violation: Violation) -> int:
    """Return the line of the message that a violation refers to, or else the line of the entry."""
    message = violation.at if violation.log_index is None else violation.log_index
    if message is None or entry.origin is None:
        return entry.line
    lines, replies = entry.origin.lines, entry.origin.replies
    line = lines[message] if message < len(lines) else None
    return line or next((reply.line for reply in replies if reply.at == message and reply.line), entry.line)
