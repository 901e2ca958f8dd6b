"""The conversations in files, folders and streams, and what stands there beside them."""

from __future__ import annotations

import glob
import io
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chatsquash import formats, jsonio
from chatsquash.errors import UsageError
from chatsquash.formats import bodies, documents
from chatsquash.formats.base import Format, TurnError
from chatsquash.log import Log
from chatsquash.model import OURS, Conversation, Json, Rejected, Tool
from chatsquash.options import Options
from chatsquash.read import beside, contents, envelopes
from chatsquash.read import documents as read_documents
from chatsquash.read.reader import Reader
from chatsquash.read.sessions import MixedSessionsError, by_ids
from chatsquash.sources.compression import Expanded, uncompressed
from chatsquash.sources.find import discover, nothing_to_read
from chatsquash.sources.open import opened
from chatsquash.stages.select import select
from chatsquash.stages.session import Snapshot
from chatsquash.translate import conversations

_PIECE = 1 << 24
_ELSEWHERE = "turns kept elsewhere"
STREAM = "-"
"""Standard input, or standard output."""


class Source(NamedTuple):
    """A conversation, and where it comes from."""

    name: str
    """What its document is called."""
    conversation: Conversation
    file: tuple[int, str]
    """The number of its file, and what that is called."""
    left_out: Counter[str]
    """What belongs to the conversation and was not read, in words."""
    options: tuple[str, ...] = ()
    """The members of its request that only say how the service is to answer."""
    bad_lines: tuple[str, ...] = ()
    """The lines of its file, or of its session, that cannot be read: where, and what is wrong."""


class _NoLineLeftError(UsageError):
    """Of a file no line that can be read is left."""


@dataclass(slots=True)
class Sources:
    """Reads conversations, in order."""

    from_format: str | None = None
    every_branch: bool = False
    out: Path | None = None
    """Where documents are written, which is never read."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """What lay in folders and was not read, in words."""
    failed: list[UsageError] = field(default_factory=list)
    """What is wrong with files that cannot be read, of folders, or because no line of theirs can."""
    cut: int = 0
    """How many compressed files end before their end."""
    _files: int = 0

    def read(self, given: str, stdin: BinaryIO) -> Iterator[Source]:
        """Every conversation in a file, a folder, a glob, or standard input; raises ``UsageError`` where there is none.

        Of the output of a conversion only the records are taken.  What is not read in a folder is counted, and so is a
        file of which every line is bad.
        """
        try:
            yield from self._read(given, stdin)
        except _NoLineLeftError as problem:
            self.failed.append(problem)

    def _read(self, given: str, stdin: BinaryIO) -> Iterator[Source]:
        path = Path(given)
        if given == STREAM:
            yield from self._in("stdin", stdin.read(), "stdin")
        elif (path / OURS).is_dir():
            for record_file in sorted(path.glob("*.jsonl")):
                yield from self._in_file(record_file)
        elif path.is_dir() or (glob.has_magic(given) and not os.path.lexists(given)):
            yield from self._in_folder(given)
        else:
            yield from self._in_file(path)

    def _in_folder(self, given: str) -> Iterator[Source]:
        """The conversations of files that nobody named; one that cannot be read is counted, if another can."""
        read_documents.forget()
        found = discover([given], Options(), read_documents.is_document, self.out)
        others = {what: count for what, count in found.others.items() if what != read_documents.PART}
        self.passed_over.update({f"{what} in {given}": count for what, count in others.items()})
        out = os.path.realpath(self.out) if self.out else None
        paths = [log.path for log in found.logs if os.path.realpath(log.path) != out]
        if not paths:
            raise UsageError(nothing_to_read([given], found))
        failures = list[UsageError]()
        for path in paths:
            try:
                inside = list(self._in_file(Path(path)))
            except UsageError as problem:
                failures.append(problem)
            else:
                yield from inside
        if len(failures) == len(paths):
            raise failures[-1]
        self.failed += failures

    def _in_file(self, path: Path) -> Iterator[Source]:
        try:
            data = self._expanded(path)
            contents.refuse_unsaved(data, str(path))
        except OSError as problem:
            raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None
        except TurnError as problem:
            raise UsageError(f"{path}: {problem}") from None
        try:
            yield from self._in(Path(uncompressed(path.name)).stem, data, str(path))
        except UsageError as problem:
            raise type(problem)(f"{path}: {problem}") from None

    def _expanded(self, path: Path) -> bytes:
        """What a file holds; why the rest of a compressed one cannot be read is counted."""
        with opened(path) as file:
            data = b"".join(iter(lambda: file.read(_PIECE), b""))
            if isinstance(file, Expanded) and file.problem:
                self.passed_over[f"the rest of {path}: {file.problem}"] += 1
                self.cut += 1
        return data

    def _in(self, name: str, data: bytes, shown: str) -> Iterator[Source]:
        self._files += 1
        log = None if self.from_format in documents.names() else _log(data)
        if log is not None:
            yield from self._sessions(Log("", shown, name, len(log)), log)
            return
        objects, broken, lines = _objects(data, self.from_format)
        form = self.from_format or conversations.recognise(objects)
        meta = _lying_beside(form, shown)
        try:
            found = conversations.load_all(objects, form, every=self.every_branch, lines=lines, meta=meta)
        except UsageError:
            objects, broken = conversations.divided(objects, broken, form, data)
            found = conversations.load_all(objects, form, every=self.every_branch)
        requests = objects if form in formats.names() else [None] * len(found)
        pairs = [pair for pair in zip(found, requests, strict=True) if pair[0].messages]
        if not pairs:
            raise UsageError(f"{form}: there is no conversation in it")
        if len(found) > len(pairs):
            self.passed_over[f"conversations of {name} that are empty"] += len(found) - len(pairs)
        for number, (conversation, request) in enumerate(pairs, 1):
            own = name if len(pairs) == 1 else f"{name}-{number}"
            source = self._source(own, conversation, name, request and formats.named(form), request)
            if broken and number == 1:
                source = _with_bad_lines(source, broken, shown)
            yield source

    def _source(self, own: str, conversation: Conversation, file: str, form: Format | None, exchange: Json) -> Source:
        """A conversation with what its request and its response have beside it."""
        left_out = Counter(conversation.origin.unread if conversation.origin else {})
        options = list[str]()
        if form is not None:
            request, response = _sides(exchange)
            beside = bodies.aside(form, request)
            left_out["tools that the service runs"] = beside.hosted
            left_out.update(f"{_ELSEWHERE} ({member})" for member in beside.elsewhere)
            left_out["choices after the first"] = max(form.reply(response).choices - 1, 0) if response else 0
            options = beside.options
        return Source(own, conversation, (self._files, file), +left_out, tuple(options))

    # Logs

    def _sessions(self, log: Log, data: bytes) -> Iterator[Source]:
        """The conversation of a session log, or those of a log that is known to hold several sessions."""
        try:
            found = [self._session(log, data)]
        except MixedSessionsError:
            found = [self._session(part, data) for part in by_ids(log, io.BytesIO(data))]
        yield from found

    def _session(self, log: Log, data: bytes) -> Source:
        """The conversation of one session: its last snapshot and the reply."""
        read = Reader(Options(from_format=self.from_format)).read(io.BytesIO(data), log)
        session = select(read.items, trace_roles=False)
        snapshot = session.snapshot
        if snapshot is None or not (snapshot.entry.messages or snapshot.entry.reply.message):
            if session.rejected:
                first = session.rejected[0]
                raise _NoLineLeftError(f"the log has no usable entry: line {first.line}: {first.reason}")
            raise UsageError("the log has no usable entry")
        entry = snapshot.entry
        form = formats.named((read.seen and read.seen.format) or formats.PLAIN)
        conversation = _snapped(snapshot, loaded=session.loaded)
        name = entry.session_id or log.name
        source = self._source(name, conversation, log.name, form, _exchange(data, entry.line))
        left_out = source.left_out
        if not any(each.code == "missing-history" for each in session.repeated):  # the log has all turns
            left_out = Counter({what: n for what, n in left_out.items() if not what.startswith(_ELSEWHERE)})
        left_out["choices after the first"] = max(entry.reply.choices - 1, 0)
        return _with_bad_lines(source._replace(left_out=+left_out), session.rejected, log.shown)


def _log(data: bytes) -> bytes | None:
    """A session log: one whose first line is an exchange, or one exchange on several lines; ``None`` for others."""
    first = next((line for line in data.split(b"\n", 50) if line.strip()), b"")
    return data if envelopes.recognise(first) is not None else read_documents.as_line(data)


def _with_bad_lines(source: Source, broken: list[Rejected], shown: str) -> Source:
    """A conversation with the lines beside it that cannot be read."""
    said = tuple(f"{shown}:{line.line}: {line.reason} [{line.code}]" for line in broken)
    left_out = source.left_out + Counter({"lines that cannot be read": len(broken)})
    return source._replace(left_out=left_out, bad_lines=said)


def _objects(data: bytes, forced: str | None) -> contents.Parsed:
    """The JSON value that a file holds, or those of its lines, and the lines that are none.

    Raises ``UsageError`` for such a line where the others are nothing that is known: it is a value on several lines.
    """
    try:
        found = contents.parsed(data)
        objects, broken, _ = found
        is_known = not broken or _is_document(objects, forced) or conversations.holds_any(objects, forced)
    except TurnError as problem:
        raise UsageError(str(problem)) from None
    except OSError as problem:  # a database beyond the bounds
        raise UsageError(f"cannot be read ({problem.strerror})") from None
    if not is_known:
        raise _NoLineLeftError(f"line {broken[0].line} is {broken[0].reason}")
    return found


def _lying_beside(form: str, path: str) -> Json:
    """What other files tell of a document."""
    pattern = beside.pattern(form, path)
    try:
        return beside.read(pattern, Options()) if pattern else None
    except OSError as problem:
        raise UsageError(f"what lies beside cannot be read ({problem.strerror})") from None


def _is_document(objects: list[Json], forced: str | None) -> bool:
    if forced in documents.names():
        return documents.named(forced).fits(objects) is not None
    return forced is None and documents.recognise(objects) is not None


def _sides(exchange: Json) -> tuple[Json, Json]:
    """The request and the response in a value, which may be a request itself."""
    if isinstance(exchange, dict) and isinstance(exchange.get("request"), dict):
        return exchange["request"], exchange.get("response")
    return exchange, None


def _exchange(data: bytes, number: int) -> Json:
    """The request in a line of a log."""
    line = data.split(b"\n")[number - 1]
    envelope = envelopes.recognise(line)
    whole = (envelopes.unwrap(line, envelope) if envelope else line).removeprefix(b"\xef\xbb\xbf")
    try:
        exchange: Any = jsonio.loads(whole)
    except ValueError:  # beside the request, which was read, as what was selected
        exchange = json.loads(whole.decode("utf-8", "replace"))
    return exchange.get("request")


def _snapped(snapshot: Snapshot, *, loaded: bool) -> Conversation:
    entry = snapshot.entry
    messages = [*entry.messages, *([entry.reply.message] if entry.reply.message else [])]
    tools = list(map(_wrapped, snapshot.tools))
    if loaded:
        return Conversation(messages, tools)
    return bodies.load(formats.named(formats.PLAIN), {"messages": messages, "tools": tools})


def _wrapped(tool: Tool) -> Tool:
    """A definition that a record has flattened, as OpenAI has it."""
    is_flat = isinstance(tool, dict) and "name" in tool and "type" not in tool
    return {"type": "function", "function": tool} if is_flat else tool
