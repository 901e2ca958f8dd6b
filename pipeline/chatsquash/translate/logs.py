"""Reads the conversation of a session log, or of a single exchange, with the reader of ``convert``."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chatsquash import formats
from chatsquash.core import jsonio
from chatsquash.core.blocks import Call, Result, Turn
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Conversation, Entry, Json, RejectedLine, SkippedLine, Tool
from chatsquash.core.options import Options
from chatsquash.formats import bodies
from chatsquash.formats.base import TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of_messages
from chatsquash.reading import envelopes
from chatsquash.reading.reader import MixedSessionsError, Reader
from chatsquash.reading.sessions import SPAN
from chatsquash.session.parts import parts_in
from chatsquash.session.select import select
from chatsquash.session.session import Snapshot

_ELSEWHERE = "turns stored elsewhere"
_NO_ENTRY = "the log has no usable entry"


class LoggedConversation(NamedTuple):
    """The conversation of a session, and other facts from its log."""

    conversation: Conversation
    session: str | None
    ignored: Counter[str]
    """Content of the conversation that was not read, by description."""
    options: tuple[str, ...]
    """Members of the request that only configure the response, such as ``model``."""
    rejected: list[RejectedLine]
    """The unreadable lines."""


class NoEntryError(UsageError):
    """A session contains no usable entry."""


class NoReadableLineError(NoEntryError):
    """A file or session contains no readable line."""

    def __init__(self, message: str, rejected: list[RejectedLine] | None = None) -> None:
        super().__init__(message)
        self.rejected = rejected or []


def exchange(value: Json, from_format: str | None) -> LoggedConversation | None:
    """Return the conversation of an exchange in any envelope, or ``None`` for any other value.

    Raises ``UsageError`` for an exchange that cannot be read.
    """
    if not isinstance(value, dict) or value.keys().isdisjoint(("request", "response", "call_type", "kwargs")):
        return None
    line = jsonio.dumps(value)
    if envelopes.recognise(line) is None:
        return None
    options = Options(from_format=from_format, sessions_by="file")
    return session(Log("", "exchange", "exchange", len(line)), line, options)


def sessions(log: Log, data: bytes, options: Options) -> list[LoggedConversation]:
    """Return the last complete request and reply of each session in a log.

    Lines with several ids are several sessions. Without ids, the file is divided as by ``convert``.
    Raises ``UsageError`` for a log without a conversation.
    """
    only = session(log, data, options)
    if only and only.session is not None:
        return [only]
    parts = parts_in(log, io.BytesIO(data), options)
    return [only] if only and len(parts) < 2 else _of_parts(parts, data, options)


def _of_parts(parts: Iterable[Log], data: bytes, options: Options) -> list[LoggedConversation]:
    """Return the conversations of sessions; lines of those without one are added to the first."""
    results = list[LoggedConversation]()
    problems = list[NoEntryError]()
    for part in parts:
        try:
            results += filter(None, [session(part, data, options)])
        except NoEntryError as problem:
            problems.append(problem)
    if not results:
        raise problems[0] if problems else NoEntryError(_NO_ENTRY)
    rejected = [line for each in problems if isinstance(each, NoReadableLineError) for line in each.rejected]
    empty = Counter({"sessions without a usable entry": len(problems)})
    first, *others = results
    return [first._replace(ignored=+(first.ignored + empty), rejected=[*first.rejected, *rejected]), *others]


def session(log: Log, data: bytes, options: Options) -> LoggedConversation | None:
    """Return the last complete request and reply of a session, or ``None`` for a log of several sessions.

    Raises ``UsageError`` for a log without a conversation.
    """
    reading = Reader(options).read(io.BytesIO(data), log)
    if reading.is_mixed:
        return None
    is_divisible = options.sessions_by is None and not log.is_part
    try:
        selection = select(_until_other_id(reading.items) if is_divisible else reading.items, trace_roles=False)
    except MixedSessionsError:
        return None
    snapshot = selection.snapshot
    if snapshot is None or not (snapshot.entry.messages or snapshot.entry.reply.message):
        if selection.rejected:
            first = selection.rejected[0]
            raise NoReadableLineError(f"{_NO_ENTRY}: line {first.line}: {first.reason}", selection.rejected)
        raise NoEntryError(_NO_ENTRY)
    entry = snapshot.entry
    form = formats.get_format((reading.seen and reading.seen.format) or formats.PLAIN)
    extras = bodies.request_extras(form, _request(log, data, entry.line))
    is_missing = any(each.code == "missing-history" for each in selection.repeats)  # otherwise the log has all turns
    ignored = ignored_parts(extras, elsewhere=is_missing)
    ignored["choices after the first"] = max(entry.reply.choices - 1, 0)
    conversation = _conversation_of(snapshot, has_private=selection.has_private)
    return LoggedConversation(conversation, entry.session_id, +ignored, tuple(extras.options), selection.rejected)


# ``convert`` rejects a file in which a single line has another id, because options can change that; nothing can here.
def _until_other_id(items: Iterable[Entry | SkippedLine]) -> Iterator[Entry | SkippedLine]:
    """Yield the items of a file; raise ``MixedSessionsError`` once there are two session ids."""
    first: str | None = None
    for item in items:
        if isinstance(item, Entry) and item.session_id is not None:
            first = item.session_id if first is None else first
            if item.session_id != first:
                raise MixedSessionsError
        yield item


def ignored_parts(extras: bodies.RequestExtras, *, elsewhere: bool = True) -> Counter[str]:
    """Count the content of a request that was not read, by description; counts may be 0."""
    counts = Counter({"tools that the service runs": extras.hosted})
    counts.update(f"{_ELSEWHERE} ({member})" for member in extras.elsewhere if elsewhere)
    return counts


def _conversation_of(snapshot: Snapshot, *, has_private: bool) -> Conversation:
    entry = snapshot.entry
    messages = entry.messages_with_reply
    tools = list(map(_wrap, snapshot.tools))
    if not has_private:
        tools = formats.get_format(formats.PLAIN).tools(tools).functions
    try:
        return Conversation(messages, tools, turns=turns_of_messages(messages))
    except TurnError as problem:
        raise UsageError(f"not {formats.PLAIN}: {problem}") from None


def _wrap(tool: Tool) -> Tool:
    """Return a tool definition in OpenAI's form, as records contain it flattened."""
    is_flat = isinstance(tool, dict) and "name" in tool and "type" not in tool
    return {"type": "function", "function": tool} if is_flat else tool


def _request(log: Log, data: bytes, number: int) -> Json:
    """Return the request on a line of a log, counted from 1."""
    line = _line(log, data, number)
    envelope = envelopes.recognise(line)
    whole = (envelopes.unwrap(line, envelope) if envelope else line).removeprefix(b"\xef\xbb\xbf")
    try:
        value = jsonio.loads(whole)
    except ValueError:  # the request itself was readable, so the damage is elsewhere on the line
        value = jsonio.value(whole.decode("utf-8", "replace"), {})
    return value.get("request")


def _line(log: Log, data: bytes, number: int) -> bytes:
    """Return a line; those of one session of many are found without splitting all of the data again."""
    if log.spans is None:
        return data.split(b"\n")[number - 1]
    at = SPAN * log.spans[::SPAN].index(number)
    offset, length = log.spans[at + 1 : at + 3]
    return data[offset : offset + length]


def unlinked(turns: Iterable[Turn]) -> Counter[str]:
    """Count results without a call and calls without a result; most services reject requests with either."""
    open_calls = dict[str, int]()
    unmatched = 0
    for turn in turns:
        for block in turn.blocks:
            if type(block) is Call:
                open_calls[block.id] = open_calls.get(block.id, 0) + 1
            elif type(block) is Result and open_calls.get(block.id):
                open_calls[block.id] -= 1
            elif type(block) is Result:
                unmatched += 1
    counts = {"results without a call": unmatched, "calls without a result": sum(open_calls.values())}
    return Counter({words: count for words, count in counts.items() if count})
