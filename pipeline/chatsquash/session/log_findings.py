"""Findings about a log as a whole: unreadable, cleaned, reordered or truncated by its logger."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatsquash.checks import reading
from chatsquash.core import chat
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, LogHead, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, SessionFindings
from chatsquash.core.text import printable
from chatsquash.records import presets
from chatsquash.session import cleaning
from chatsquash.session.session import Noted, Session, Snapshot, finding
from chatsquash.sources.compression import stem

_MARKS = ("[truncated]", "[TRUNCATED]", "(truncated)", "<truncated>")
"""What texts end with that were cut; results of tools may, since tools cut them for the model."""
_CODE = "cut-by-logger"
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
            fact = reading.cut_by_logger(f"what the {message['role']} said", 1)
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
        return reading.cut_by_logger(repeated.values[0], 1)
    return next((finding for _, finding in noted if finding.code == _CODE), None)


def unfit(seen: LogHead | None, session: Session) -> Violation | None:
    """Why nothing can be made of a log."""
    cleaned_lines = session.lines.cleaned
    if seen and seen.why and not seen.format and (seen.conflict or not (session.snapshot or cleaned_lines)):
        return reading.unknown_format(seen.why)
    return None if session.snapshot else reading.empty_session(cleaned_lines, len(session.rejected))


def cleaning_notes(session: Session, sets: tuple[str, ...]) -> list[Noted]:
    """What cleaning did."""
    snapshot = session.snapshot
    changed = {**(snapshot.entry.cleaned if snapshot else {}), **session.dropped}
    return [(snapshot.entry.line if snapshot else None, finding) for finding in told_of_cleaning(changed, sets)]


def told_of_cleaning(changed: dict[str, int], sets: tuple[str, ...]) -> list[Violation]:
    """What the rules of some sets did, given how many messages or entries each changed."""
    if not any(changed.values()):
        return []
    counts = {rule.replace("_", " "): changed.get(rule, 0) for rule in cleaning.names(sets)}
    return [reading.cleaned(counts, by_default=sets == ("goose",))]


def taken_apart(log: Log) -> Iterator[Noted]:
    """How the lines of a session were taken out of their files."""
    if log.apart:
        yield None, reading.unrelated_requests(log.apart)
    if log.reordered:
        yield None, reading.reordered(log.reordered)


def in_files(findings: list[Finding], log: Log) -> list[Finding]:
    """The findings of a session with the files of their lines, where it has lines in several."""
    return [_in_file(each, log) for each in findings] if log.pieces or log.agents else findings


def _in_file(finding: Finding, log: Log) -> Finding:
    file, line = log.at(finding.line)

    def named(match: re.Match[str]) -> str:
        other, at = log.at(int(match[1].replace(",", "")))
        return f"line {at:,} of {printable(other)}"

    text = _LINE.sub(named, finding.text) if finding.code in _TOLD_LINES else finding.text
    return finding._replace(file=file, line=line, text=text)


def nothing(log: Log, why: Violation) -> Outcome:
    """The outcome of a log of which nothing is known but why."""
    return Outcome(stem(log), report=SessionFindings(why.code, [finding(why, stem(log), log.shown)]))


def unreadable(log: Log, problem: OSError) -> Outcome:
    """The outcome of a log that cannot be opened or read."""
    return nothing(log, reading.unreadable_log(problem.strerror or type(problem).__name__))


def trace(snapshot: Snapshot) -> str:
    """The role trace of a snapshot and its reply."""
    reply = snapshot.entry.reply.message
    return chat.trace([*snapshot.entry.messages, *([reply] if reply else [])])
