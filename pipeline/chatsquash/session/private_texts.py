"""What may be private besides records: texts of an outcome, paths of its log, and lines that could not be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, BinaryIO, NamedTuple

from msgspec import structs

from chatsquash.core.accounting import ToolUse
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, RejectedLine
from chatsquash.core.options import Options
from chatsquash.core.outcome import Contents, Ending, Facts, LogNames, Outcome, Record, Relative, SelectedEntry
from chatsquash.core.text import printable
from chatsquash.redaction.hits import Finder
from chatsquash.redaction.privacy import Privacy
from chatsquash.sources import unfold
from chatsquash.sources.joined_files import opened_log
from chatsquash.sources.open import open_file
from chatsquash.sources.unfolding import UnfoldedFile

Hide = Callable[[str], str]
"""Gives a text with nothing private in it."""
_ENDING = (
    "finish",
    "exit_evidence",
    "reward_evidence",
    "finish_evidence",
    "truncated_evidence",
    "failed_results_evidence",
    "last_user_evidence",
)
_GONE = Relative(b"", b"")
"""Stands for a file whose path is not told; it is never the same, so that its session is converted again."""


def texts(outcome: Outcome, log: Log) -> list[str]:
    """All texts that come from a log, each once; the lines of records aside."""
    unique: dict[str, None] = {}

    def note(text: str) -> str:
        unique[text] = None
        return text

    hide_texts(outcome, log, note)
    unique.pop("", None)
    return list(unique)


def hide_texts(outcome: Outcome, log: Log, hide: Hide, digest: Hide = str) -> Outcome:
    """An outcome whose texts are hidden, and which says how its log is called where something was private there.

    ``digest`` tells the path of such a log from others.
    """
    paths = {path: hide(path) for path in (log.display_path, *log.other_files)}
    chosen, family = outcome.output.entry, outcome.output.family
    relatives = [_relative(each, hide) for each in outcome.account.relatives]
    return structs.replace(
        outcome,
        session=hide(outcome.session),
        output=structs.replace(
            outcome.output,
            records=[_record(record, hide) for record in outcome.records],
            entry=_hide_selection(chosen, hide) if chosen else None,
            family=family and family._replace(session=hide(family.session), log=hide(family.log)),
        ),
        report=structs.replace(
            outcome.report,
            findings=[_finding(each, paths, hide) for each in outcome.findings],
            rejected=[each._replace(reason=hide(each.reason)) for each in outcome.report.rejected],
            trace=hide(outcome.report.trace),
        ),
        account=structs.replace(outcome.account, relatives=relatives),
        privacy=structs.replace(outcome.privacy, log_names=_log_names(log, paths, hide, digest)),
    )


def with_names(log: Log, named: LogNames | None) -> Log:
    """A log as reports call it."""
    if named is None:
        return log
    paths = iter(named.other_files)
    pieces = tuple(structs.replace(piece, display_path=next(paths)) for piece in log.pieces)
    agents = tuple(structs.replace(agent, display_path=next(paths)) for agent in log.agents)
    join = structs.replace(log.join, agents=agents) if log.join else None
    return structs.replace(log, display_path=named.display_path, name=named.name, pieces=pieces, join=join)


def _log_names(log: Log, paths: dict[str, str], hide: Hide, digest: Hide) -> LogNames | None:
    named = LogNames(paths[log.display_path], hide(log.name), [paths[each] for each in log.other_files])
    return None if with_names(log, named) == log else structs.replace(named, digest=digest(printable(log.display_path)))


def _record(record: Record, hide: Hide) -> Record:
    usage, facts, chosen = record.usage, record.facts, record.entry
    tools = tuple(_tool(each, hide) for each in usage.tools)
    shared = tuple(each._replace(tools=tuple(_tool(tool, hide) for tool in each.tools)) for each in usage.shared_uses)
    usage = usage._replace(tool_names=tuple(map(hide, usage.tool_names)), tools=tools, shared_uses=shared)
    return structs.replace(
        record,
        usage=usage,
        facts=_facts(facts, hide) if facts else None,
        ending=_ending(record.ending, hide),
        entry=_hide_selection(chosen, hide) if chosen else None,
        contents=record.contents and _hide_contents(record.contents, hide),
        marks=[mark._replace(model=hide(mark.model)) if mark.model else mark for mark in record.marks],
    )


def _facts(facts: Facts, hide: Hide) -> Facts:
    hidden = facts._replace(session=hide(facts.session), source=hide(facts.source))
    return hidden._replace(model=hide(facts.model)) if facts.model else hidden


def _hide_selection(chosen: SelectedEntry, hide: Hide) -> SelectedEntry:
    return chosen._replace(model=hide(chosen.model)) if chosen.model else chosen


def _hide_contents(contents: Contents, hide: Hide) -> Contents:
    trained = Counter[str]()
    for model, length in contents.trained.items():
        trained[hide(model) if model else ""] += length
    return structs.replace(contents, trained=dict(trained))


def _ending(ending: Ending, hide: Hide) -> Ending:
    members: dict[str, Any] = ending._asdict()
    hidden = {name: hide(members[name]) for name in _ENDING if members[name]}
    return Ending(**{**members, **hidden}) if hidden else ending


def _tool(tool: ToolUse, hide: Hide) -> ToolUse:
    return tool._replace(name=hide(tool.name))


def _finding(finding: Finding, paths: dict[str, str], hide: Hide) -> Finding:
    text = hide(finding.text)
    for path, shown in paths.items():
        text = text.replace(path, shown) if path else text
    file = paths.get(finding.file) or hide(finding.file)
    return finding._replace(session=hide(finding.session), file=file, text=text)


def _relative(relative: Relative, hide: Hide) -> Relative:
    pattern = relative.pattern.decode("utf-8", "surrogateescape")
    return relative if hide(pattern) == pattern else _GONE


_PIECE = 1 << 20


def rejected_lines(log: Log, outcome: Outcome, options: Options, names: Privacy) -> Iterator[Iterable[bytes]]:
    """Each line of a log that could not be read, as ``Given.rejected`` has it; it is read before the next one is.

    There are none of captures of HTTP, in which keys and cookies stand.
    """
    if not may_be_kept(log, options):
        return
    if outcome.privacy.unreadable_lines:
        yield from ([line] for line in outcome.privacy.unreadable_lines)
        return
    with opened_log(log, options) as file:
        for rejected in outcome.report.rejected:
            yield kept_line(file, rejected, names)


def may_be_kept(log: Log, options: Options) -> bool:
    """Whether lines of a log may be copied; not of a capture of HTTP, nor of what can no longer be told from one."""
    files = [(piece.path, piece.display_path) for piece in log.pieces] or [(log.path, log.display_path)]
    if not log.is_copy:
        return all(_may_be_kept(path, options) for path, _ in files)
    try:
        return all(_may_be_kept(shown, options) for _, shown in files)
    except OSError:
        return False


def _may_be_kept(path: str, options: Options) -> bool:
    with open_file(path, options) as file:
        if isinstance(file, UnfoldedFile) and not file.unfolding.COPIES:
            return False
        head = file.raw_head(unfold.HEAD) if isinstance(file, UnfoldedFile) else file.read(unfold.HEAD)
        return not unfold.may_be_capture(path, head)


def kept_line(file: BinaryIO, rejected: RejectedLine, names: Privacy, also: Finder | None = None) -> Iterator[bytes]:
    """A line of an open log in pieces; what ``also`` finds is replaced, too."""
    return names.pieces(without_credentials(_pieces(file, rejected)), also)


def _pieces(file: BinaryIO, rejected: RejectedLine) -> Iterator[bytes]:
    """The bytes of a line, a moderate number at a time."""
    file.seek(rejected.offset)
    length = rejected.length
    while length and (piece := file.read(min(length, _PIECE))):
        length -= len(piece)
        yield piece


START_MAX = 1 << 16
"""Bytes that stand before a credential at most: its name, and what is between the two."""
_NAMES = (b"authorization", b"cookie", b"apikey", b"api-key", b"api_key", b"token", b"secret")
_REMOVED = b"[removed]"
# No part of these patterns may begin where an earlier one began and failed later on.
_NAMED = (
    # A member, a pair, or a name and a value; within JSON that is text its quotes have backslashes.
    rb'"[\w-]*+(?:' + b"|".join(b"(?<=%b)" % name for name in _NAMES) + rb")"
    rb'\\*+"\s*+[:,]\s*+(?:\\*+"value\\*+"\s*+:\s*+)?(?P<opening>\\*+"|\[)'
)
_SENT = b"(?P<sent>(?:" + b"|".join(_NAMES) + rb'):[ \t]*+)(?=[^"\\\r\n])'
_QUERY = rb'(?P<query>[?&](?:api_?)?key=)(?=[^&"\\\s])'
_START = b"|".join((_NAMED, _SENT, _QUERY))
_QUOTE = rb'(?<!\\)(?P<slashes>\\*+)"'
_SENT_END, _QUERY_END = rb'["\\\r\n]', rb'[&"\\\s]'


@cache
def compile_pattern(pattern: bytes) -> re.Pattern[bytes]:
    """A pattern, compiled when first needed, which takes longer than converting a small log."""
    return re.compile(pattern, re.IGNORECASE)


class _Credential(NamedTuple):
    """A credential that has begun: what opened it, and how far the end of its bytes was looked for."""

    opening: bytes
    """Its quote with the backslashes before it, a bracket, or the pattern of the byte that ends it."""
    quoted: bool = False

    def end(self, data: bytes, at: int) -> tuple[int, bool]:
        """Where it ends, and whether it does; else from where on the next piece has to be looked at with it."""
        if self.quoted:
            return self._quoted_end(data, at)
        match = compile_pattern(self.opening).search(data, at)
        return (match.start(), True) if match else (len(data), False)

    def _quoted_end(self, data: bytes, at: int) -> tuple[int, bool]:
        """Behind the quote that closes it, or before the one that ends the text that all of this stands in."""
        depth = len(self.opening) - 1
        for quote in compile_pattern(_QUOTE).finditer(data, at):
            slashes = len(quote["slashes"])
            if slashes % 2 == 0 if depth == 0 else slashes <= depth:
                return (quote.end() if slashes or depth == 0 else quote.start()), True
        slashes = len(data) - max(at, len(data.rstrip(b"\\")))
        return len(data) - (min(slashes, depth + 1) if depth else slashes % 2), False


def without_credentials(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes without credentials, however they are cut into pieces; no more is kept than a piece and ``START_MAX``."""
    rest = b""
    begun: _Credential | None = None
    for piece in pieces:
        plain, rest, begun = _remove_credentials(rest + piece, begun, START_MAX)
        yield plain
    yield _remove_credentials(rest, begun, 0)[0]


def _remove_credentials(data: bytes, begun: _Credential | None, ahead: int) -> tuple[bytes, bytes, _Credential | None]:
    """What may be written, what has to be looked at with the next piece, and the credential that this goes on with.

    What starts within the last bytes (``ahead``) is left for the next piece.
    """
    pieces: list[bytes] = []
    at = 0
    while True:
        if begun:
            at, ended = begun.end(data, at)
            if not ended:
                return b"".join(pieces), data[at:], begun
        match = compile_pattern(_START).search(data, at)
        last = max(at, len(data) - ahead)
        if not match or match.start() >= last:
            return b"".join((*pieces, data[at:last])), data[last:], None
        opening = match["opening"] or b""
        quote = opening if opening.endswith(b'"') else b'"' if opening else b""
        pieces += (data[at : match.end() - len(opening)], quote, _REMOVED, quote)
        at, begun = match.end(), _open_credential(match)


def _open_credential(match: re.Match[bytes]) -> _Credential:
    if match["sent"]:
        return _Credential(_SENT_END)
    if match["query"]:
        return _Credential(_QUERY_END)
    return _Credential(rb"(?<=\])") if match["opening"] == b"[" else _Credential(match["opening"], quoted=True)
