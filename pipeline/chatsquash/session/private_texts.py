"""Private values outside of records: texts of an outcome, paths of its log, and unreadable lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, BinaryIO

from msgspec import Struct, structs

from chatsquash.core.accounting import ReplyOutcome, ToolUse, TrainedReplies
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, RejectedLine
from chatsquash.core.options import Options
from chatsquash.core.outcome import Contents, Ending, Facts, LogNames, Outcome, Record, Relative, SelectedEntry
from chatsquash.core.text import printable
from chatsquash.redaction.privacy import Privacy
from chatsquash.redaction.values import Finder
from chatsquash.sources import unfold
from chatsquash.sources.open import open_file, open_log

Hide = Callable[[str], str]
"""Returns a text without private values."""
_ENDING = (
    "finish",
    "exit_evidence",
    "reward_evidence",
    "finish_evidence",
    "truncated_evidence",
    "failed_results_evidence",
    "last_user_evidence",
    "scores",
    "scores_evidence",
)
_ending_texts = attrgetter(*_ENDING)
_UNKNOWN_FILE = Relative(b"", b"")
"""A placeholder for a file with a private path; it always counts as changed, so its session is converted again."""


def collect_texts(outcome: Outcome, log: Log) -> list[str]:
    """Return all distinct strings that ``hide_texts`` hides, in order."""
    texts = [log.display_path, *log.other_files]
    texts += [_pattern(each) for each in outcome.account.relatives]
    texts.append(outcome.session)
    for record in outcome.records:
        _collect_from_record(record, texts)
    if (entry := outcome.output.entry) and entry.model:
        texts.append(entry.model)
    if family := outcome.output.family:
        texts += (family.session, family.log)
    for finding in outcome.findings:
        texts += (finding.text, finding.file, finding.session)
    texts += [each.reason for each in outcome.report.rejected]
    texts.append(outcome.report.trace)
    for row in outcome.replies.rows:
        texts += [text for score in row.scores for text in (score.name, score.value) if isinstance(text, str)]
    texts.append(log.name)
    unique = dict.fromkeys(texts)
    unique.pop("", None)
    return list(unique)


def _collect_from_record(record: Record, texts: list[str]) -> None:
    usage, facts, entry, contents = record.usage, record.facts, record.entry, record.contents
    texts += [tool.name for tool in usage.tools]
    texts += [tool.name for each in usage.shared_uses for tool in each.tools]
    texts += usage.tool_names
    if facts:
        texts += (facts.session, facts.source, facts.model or "")
    texts += filter(None, _ending_texts(record.ending))
    if entry and entry.model:
        texts.append(entry.model)
    if contents:
        texts += contents.trained
    texts += [mark.model for mark in record.marks]
    texts += record.models
    texts += record.trained_replies


def hide_texts(outcome: Outcome, log: Log, hide: Hide, digest: Hide = str) -> Outcome:
    """Apply ``hide`` to all strings in an outcome, and record the log's new names if they change.

    ``digest`` distinguishes the paths of such logs.
    """
    paths = {path: hide(path) for path in (log.display_path, *log.other_files)}
    entry, family = outcome.output.entry, outcome.output.family
    relatives = [_relative(each, hide) for each in outcome.account.relatives]
    return structs.replace(
        outcome,
        session=hide(outcome.session),
        output=structs.replace(
            outcome.output,
            records=[_record(record, hide) for record in outcome.records],
            entry=_hide_selection(entry, hide) if entry else None,
            family=family and structs.replace(family, session=hide(family.session), log=hide(family.log)),
        ),
        report=structs.replace(
            outcome.report,
            findings=[_finding(each, paths, hide) for each in outcome.findings],
            rejected=[structs.replace(each, reason=hide(each.reason)) for each in outcome.report.rejected],
            trace=hide(outcome.report.trace),
        ),
        account=structs.replace(outcome.account, relatives=relatives),
        replies=structs.replace(outcome.replies, rows=[_row(row, hide) for row in outcome.replies.rows]),
        privacy=structs.replace(outcome.privacy, log_names=_log_names(log, paths, hide, digest)),
    )


def with_log_names(log: Log, log_names: LogNames | None) -> Log:
    """Return a log with the names that reports use for it."""
    if log_names is None:
        return log
    paths = iter(log_names.other_files)
    pieces = tuple(structs.replace(piece, display_path=next(paths)) for piece in log.pieces)
    agents = tuple(structs.replace(agent, display_path=next(paths)) for agent in log.agents)
    join = structs.replace(log.join, agents=agents) if log.join else None
    return structs.replace(log, display_path=log_names.display_path, name=log_names.name, pieces=pieces, join=join)


def _log_names(log: Log, paths: dict[str, str], hide: Hide, digest: Hide) -> LogNames | None:
    log_names = LogNames(paths[log.display_path], hide(log.name), [paths[each] for each in log.other_files])
    return (
        None
        if with_log_names(log, log_names) == log
        else structs.replace(log_names, digest=digest(printable(log.display_path)))
    )


def _record(record: Record, hide: Hide) -> Record:
    usage, facts, entry = record.usage, record.facts, record.entry
    tools = tuple(_tool(each, hide) for each in usage.tools)
    shared_uses = tuple(
        structs.replace(each, tools=tuple(_tool(tool, hide) for tool in each.tools)) for each in usage.shared_uses
    )
    usage = usage._replace(tool_names=tuple(map(hide, usage.tool_names)), tools=tools, shared_uses=shared_uses)
    return structs.replace(
        record,
        usage=usage,
        facts=_facts(facts, hide) if facts else None,
        ending=_ending(record.ending, hide),
        entry=_hide_selection(entry, hide) if entry else None,
        contents=record.contents and _hide_contents(record.contents, hide),
        marks=[mark._replace(model=hide(mark.model)) if mark.model else mark for mark in record.marks],
        models=list(map(hide, record.models)) if record.models else record.models,
        trained_replies=_hide_models(record.trained_replies, hide),
    )


def _facts(facts: Facts, hide: Hide) -> Facts:
    hidden = structs.replace(facts, session=hide(facts.session), source=hide(facts.source))
    return structs.replace(hidden, model=hide(facts.model)) if facts.model else hidden


def _hide_selection(entry: SelectedEntry, hide: Hide) -> SelectedEntry:
    return structs.replace(entry, model=hide(entry.model)) if entry.model else entry


def _hide_contents(contents: Contents, hide: Hide) -> Contents:
    trained = Counter[str]()
    for model, length in contents.trained.items():
        trained[hide(model) if model else ""] += length
    return structs.replace(contents, trained=dict(trained))


def _hide_models(counts: dict[str, TrainedReplies], hide: Hide) -> dict[str, TrainedReplies]:
    hidden: dict[str, TrainedReplies] = {}
    for model, count in counts.items():
        name = hide(model) if model else ""
        hidden[name] = hidden.get(name, TrainedReplies()).plus(count)
    return hidden


def _ending(ending: Ending, hide: Hide) -> Ending:
    members: dict[str, Any] = structs.asdict(ending)
    hidden = {name: hide(members[name]) for name in _ENDING if members[name]}
    return Ending(**{**members, **hidden}) if hidden else ending


def _row(row: ReplyOutcome, hide: Hide) -> ReplyOutcome:
    if row.evidence and row.evidence.model:
        row = structs.replace(row, evidence=structs.replace(row.evidence, model=hide(row.evidence.model)))
    if not row.scores:
        return row
    scores = [
        structs.replace(
            score, name=hide(score.name), value=hide(score.value) if isinstance(score.value, str) else score.value
        )
        for score in row.scores
    ]
    return structs.replace(row, scores=tuple(scores))


def _tool(tool: ToolUse, hide: Hide) -> ToolUse:
    name = hide(tool.name)
    return tool if name == tool.name else structs.replace(tool, name=name)


def _finding(finding: Finding, paths: dict[str, str], hide: Hide) -> Finding:
    text = hide(finding.text)
    for path, replacement in paths.items():
        # Texts of findings quote paths.
        text = text.replace(path, replacement) if path else text
    file, session = paths.get(finding.file) or hide(finding.file), hide(finding.session)
    if (text, file, session) == (finding.text, finding.file, finding.session):
        return finding
    return finding._replace(text=text, file=file, session=session)


def _relative(relative: Relative, hide: Hide) -> Relative:
    pattern = _pattern(relative)
    return relative if hide(pattern) == pattern else _UNKNOWN_FILE


def _pattern(relative: Relative) -> str:
    return relative.pattern.decode("utf-8", "surrogateescape")


_PIECE = 1 << 20


def rejected_lines(log: Log, outcome: Outcome, options: Options, names: Privacy) -> Iterator[Iterable[bytes]]:
    """Yield the unreadable lines of a log in pieces; each line must be consumed before the next.

    Lines of HTTP captures are never yielded, because they contain keys and cookies.
    """
    if not may_be_kept(log, options):
        return
    if outcome.privacy.unreadable_lines:
        yield from ([line] for line in outcome.privacy.unreadable_lines)
        return
    with open_log(log, options) as file:
        for rejected in outcome.report.rejected:
            yield read_rejected_line(file, rejected, names)


def may_be_kept(log: Log, options: Options) -> bool:
    """Return whether lines of a log may be copied: not if it is an HTTP capture, or might be one."""
    files = [(piece.path, piece.display_path) for piece in log.pieces] or [(log.path, log.display_path)]
    # The path of a copy does not show where it comes from, so the original file is checked.
    if not log.is_copy:
        return all(_may_be_kept(path, options) for path, _ in files)
    try:
        return all(_may_be_kept(display_path, options) for _, display_path in files)
    except OSError:
        return False


def _may_be_kept(path: str, options: Options) -> bool:
    from chatsquash.sources.unfolding import UnfoldedFile  # only needed to keep malformed lines

    with open_file(path, options) as file:
        if isinstance(file, UnfoldedFile) and not file.unfolding.COPIES:
            return False
        head = file.raw_head(unfold.HEAD) if isinstance(file, UnfoldedFile) else file.read(unfold.HEAD)
        return not unfold.may_be_capture(path, head)


def read_rejected_line(
    file: BinaryIO, rejected: RejectedLine, names: Privacy, also: Finder | None = None
) -> Iterator[bytes]:
    """Yield a line of an open log in pieces, with private values replaced, including those that ``also`` matches."""
    return names.pieces(without_credentials(_pieces(file, rejected)), also)


def _pieces(file: BinaryIO, rejected: RejectedLine) -> Iterator[bytes]:
    """Yield the bytes of a line in pieces of moderate size."""
    file.seek(rejected.offset)
    length = rejected.length
    while length and (piece := file.read(min(length, _PIECE))):
        length -= len(piece)
        yield piece


START_MAX = 1 << 16
"""The maximum number of bytes before a credential: its name and the separators."""
_NAMES = (b"authorization", b"cookie", b"apikey", b"api-key", b"api_key", b"token", b"secret")
_REMOVED = b"[removed]"
# To keep matching linear, no pattern may start at a position where an earlier attempt started and then failed.
_AS_MEMBER = (
    # A JSON member, a pair, or a name and a value; if the JSON is itself inside a string, its quotes are escaped.
    rb'"[\w-]*+(?:' + b"|".join(b"(?<=%b)" % name for name in _NAMES) + rb")"
    rb'\\*+"\s*+[:,]\s*+(?:\\*+"value\\*+"\s*+:\s*+)?(?P<opening>\\*+"|\[)'
)
_AS_HEADER = b"(?P<sent>(?:" + b"|".join(_NAMES) + rb'):[ \t]*+)(?=[^"\\\r\n])'
_AS_QUERY = rb'(?P<query>[?&](?:api_?)?key=)(?=[^&"\\\s])'
_START = b"|".join((_AS_MEMBER, _AS_HEADER, _AS_QUERY))
_QUOTE = rb'(?<!\\)(?P<slashes>\\*+)"'
_SENT_END, _QUERY_END = rb'["\\\r\n]', rb'[&"\\\s]'


# Compiling takes longer than converting a small log.
@cache
def compile_pattern(pattern: bytes) -> re.Pattern[bytes]:
    """Compile a pattern on first use."""
    return re.compile(pattern, re.IGNORECASE)


class _Credential(Struct, frozen=True):
    """A credential that has started, possibly in an earlier piece."""

    opening: bytes
    """The quote that opens it with its backslashes, a bracket, or the pattern of the byte that ends it."""
    quoted: bool = False

    def end(self, data: bytes, at: int) -> tuple[int, bool]:
        """Return the end of the credential and ``True``, or where to continue in the next piece and ``False``."""
        if self.quoted:
            return self._quoted_end(data, at)
        match = compile_pattern(self.opening).search(data, at)
        return (match.start(), True) if match else (len(data), False)

    def _quoted_end(self, data: bytes, at: int) -> tuple[int, bool]:
        """Return the position after the closing quote, or before the quote that ends the string around it."""
        depth = len(self.opening) - 1
        for quote in compile_pattern(_QUOTE).finditer(data, at):
            slashes = len(quote["slashes"])
            if slashes % 2 == 0 if depth == 0 else slashes <= depth:
                return (quote.end() if slashes or depth == 0 else quote.start()), True
        slashes = len(data) - max(at, len(data.rstrip(b"\\")))
        return len(data) - (min(slashes, depth + 1) if depth else slashes % 2), False


def without_credentials(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Remove credentials from a stream of bytes; at most a piece and ``START_MAX`` bytes are kept in memory."""
    rest = b""
    open_credential: _Credential | None = None
    for piece in pieces:
        plain, rest, open_credential = _remove_credentials(rest + piece, open_credential, START_MAX)
        yield plain
    yield _remove_credentials(rest, open_credential, 0)[0]


def _remove_credentials(
    data: bytes, open_credential: _Credential | None, ahead: int
) -> tuple[bytes, bytes, _Credential | None]:
    """Return the clean bytes, the bytes to examine with the next piece, and the credential that continues there.

    Matches that start within the last ``ahead`` bytes are left for the next piece.
    """
    pieces: list[bytes] = []
    at = 0
    while True:
        if open_credential:
            at, is_closed = open_credential.end(data, at)
            if not is_closed:
                return b"".join(pieces), data[at:], open_credential
        match = compile_pattern(_START).search(data, at)
        last = max(at, len(data) - ahead)
        if not match or match.start() >= last:
            return b"".join((*pieces, data[at:last])), data[last:], None
        opening = match["opening"] or b""
        quote = opening if opening.endswith(b'"') else b'"' if opening else b""
        pieces += (data[at : match.end() - len(opening)], quote, _REMOVED, quote)
        at, open_credential = match.end(), _open_credential(match)


def _open_credential(match: re.Match[bytes]) -> _Credential:
    if match["sent"]:
        return _Credential(_SENT_END)
    if match["query"]:
        return _Credential(_QUERY_END)
    return _Credential(rb"(?<=\])") if match["opening"] == b"[" else _Credential(match["opening"], quoted=True)
