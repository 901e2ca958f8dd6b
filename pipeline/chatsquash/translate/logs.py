"""The conversation in a session log, or in one exchange of one, as ``convert`` reads it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from chatsquash import formats
from chatsquash.core import jsonio
from chatsquash.core.blocks import Call, Result, Turn
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Conversation, Json, RejectedLine, Tool
from chatsquash.core.options import Options
from chatsquash.formats import bodies
from chatsquash.formats.base import TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of_messages
from chatsquash.reading import envelopes
from chatsquash.reading.reader import MixedSessionsError, Reader
from chatsquash.session.select import select
from chatsquash.session.session import Snapshot

_ELSEWHERE = "turns kept elsewhere"


class LoggedConversation(NamedTuple):
    """The conversation of a session, and what its log tells beside it."""

    conversation: Conversation
    session: str | None
    left_out: Counter[str]
    """What belongs to the conversation and was not read, in words."""
    options: tuple[str, ...]
    """The members of its request that only say how the service is to answer."""
    rejected: list[RejectedLine]
    """The lines that cannot be read."""


class NoLineLeftError(UsageError):
    """Of a file no line that can be read is left."""


def exchange(value: Json, from_format: str | None) -> LoggedConversation | None:
    """What an exchange in any envelope holds; ``None`` for what is none.

    Raises ``UsageError`` for an exchange that cannot be read.
    """
    if not isinstance(value, dict) or value.keys().isdisjoint(("request", "response", "call_type", "kwargs")):
        return None
    line = jsonio.dumps(value)
    if envelopes.recognise(line) is None:
        return None
    options = Options(from_format=from_format, sessions_by="file")
    return session(Log("", "exchange", "exchange", len(line)), line, options)


def session(log: Log, data: bytes, options: Options) -> LoggedConversation | None:
    """The conversation of a session: its last full state and the reply; ``None`` for a log of several sessions.

    Raises ``UsageError`` for a log without a conversation.
    """
    read = Reader(options).read(io.BytesIO(data), log)
    if read.is_mixed:
        return None
    try:
        selection = select(read.items, trace_roles=False)
    except MixedSessionsError:
        return None
    snapshot = selection.snapshot
    if snapshot is None or not (snapshot.entry.messages or snapshot.entry.reply.message):
        if selection.rejected:
            first = selection.rejected[0]
            raise NoLineLeftError(f"the log has no usable entry: line {first.line}: {first.reason}")
        raise UsageError("the log has no usable entry")
    entry = snapshot.entry
    form = formats.get_format((read.seen and read.seen.format) or formats.PLAIN)
    aside = bodies.request_extras(form, _request(data, entry.line))
    is_missing = any(each.code == "missing-history" for each in selection.repeats)  # else the log has all turns
    left_out = unread(aside, elsewhere=is_missing)
    left_out["choices after the first"] = max(entry.reply.choices - 1, 0)
    conversation = _snapped(snapshot, has_private=selection.has_private)
    return LoggedConversation(conversation, entry.session_id, +left_out, tuple(aside.options), selection.rejected)


def unread(aside: bodies.RequestExtras, *, elsewhere: bool = True) -> Counter[str]:
    """What of a request belongs to its conversation and is not read, in words; counts may be 0."""
    counts = Counter({"tools that the service runs": aside.hosted})
    counts.update(f"{_ELSEWHERE} ({member})" for member in aside.elsewhere if elsewhere)
    return counts


def _snapped(snapshot: Snapshot, *, has_private: bool) -> Conversation:
    entry = snapshot.entry
    messages = [*entry.messages, *([entry.reply.message] if entry.reply.message else [])]
    tools = list(map(_wrap, snapshot.tools))
    if not has_private:
        tools = formats.get_format(formats.PLAIN).tools(tools).functions
    try:
        return Conversation(messages, tools, turns=turns_of_messages(messages))
    except TurnError as problem:
        raise UsageError(f"not {formats.PLAIN}: {problem}") from None


def _wrap(tool: Tool) -> Tool:
    """A definition that a record has flattened, as OpenAI has it."""
    is_flat = isinstance(tool, dict) and "name" in tool and "type" not in tool
    return {"type": "function", "function": tool} if is_flat else tool


def _request(data: bytes, number: int) -> Json:
    """The request in a line of a log."""
    line = data.split(b"\n")[number - 1]
    envelope = envelopes.recognise(line)
    whole = (envelopes.unwrap(line, envelope) if envelope else line).removeprefix(b"\xef\xbb\xbf")
    try:
        value = jsonio.loads(whole)
    except ValueError:  # beside the request, which was read, as what was selected
        value = jsonio.value(whole.decode("utf-8", "replace"), {})
    return value.get("request")


def unlinked(turns: Iterable[Turn]) -> Counter[str]:
    """How many there are of both, in words; services refuse a request with such."""
    waiting = dict[str, int]()
    unanswering = 0
    for turn in turns:
        for block in turn.blocks:
            if type(block) is Call:
                waiting[block.id] = waiting.get(block.id, 0) + 1
            elif type(block) is Result and waiting.get(block.id):
                waiting[block.id] -= 1
            elif type(block) is Result:
                unanswering += 1
    counts = {"results without a call": unanswering, "calls without a result": sum(waiting.values())}
    return Counter({words: count for words, count in counts.items() if count})
