"""What the line that became a record says beside its conversation: who answered, and how many tokens that took."""

from __future__ import annotations

import os
from contextlib import suppress
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple

import msgspec
from msgspec import Raw, Struct

from chatsquash import jsonio
from chatsquash.model import Json, Log, Message
from chatsquash.read import envelopes, replies
from chatsquash.read.lines import LONGEST
from chatsquash.read.lines import lines as lines_of
from chatsquash.read.sessions import SPAN
from chatsquash.sources.compression import Expanded

_BLOCK = 1 << 18
_MOST = 1 << 53
"""More tokens than this nobody counts; sums of a few still fit into 64 bits."""
_USAGE = ("usage", "usageMetadata")
_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic's, which are no part of its input tokens."""
_PROMPT = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_COMPLETION = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_THOUGHTS = "thoughtsTokenCount"
"""Gemini's, which are no part of its candidates."""


class Logged(NamedTuple):
    """What is known of one exchange."""

    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Request(Struct, gc=False):
    model: Json = None
    body: Raw = Raw()


class _Line(Struct, gc=False):
    """A line as it is read, with what tells lines that are wrapped otherwise."""

    request: _Request
    response: Raw = Raw()
    call_type: Raw = Raw()
    kwargs: Raw = Raw()
    fncall_messages: Raw = Raw()


class _Body(Struct, gc=False):
    """What is wanted of a response's body; all else is passed over without making anything of it."""

    model: Json = None
    modelVersion: Json = None  # noqa: N815 - the log's name
    usage: Json = None
    usageMetadata: Json = None  # noqa: N815 - the log's name
    prompt_eval_count: Json = None
    eval_count: Json = None
    body: Raw = Raw()
    body_raw: Raw = Raw()


_line, _body = jsonio.decoder(_Line), jsonio.decoder(_Body)


def logged(file: BinaryIO, log: Log, number: int, lines: int) -> Logged:
    """What line ``number`` of the ``lines`` of an open log says; nothing of a file that is no log."""
    if log.part is not None:
        return Logged()
    try:
        data = _selected(file, log, number, lines)
    except OSError:
        return Logged()
    for read in (_quickly, _thoroughly):
        with suppress(msgspec.MsgspecError, ValueError, RecursionError):
            if found := read(data):
                return found
    return Logged()


def prefix(messages: list[Message]) -> str:
    """A digest of what a conversation begins with: its system prompt and its first message of anybody else."""
    digest = sha256()
    for message in messages:
        role = message["role"]
        digest.update(jsonio.dumps([role, message.get("content")]))
        if role not in ("system", "developer"):
            break
    return digest.hexdigest()[:32]


def _selected(file: BinaryIO, log: Log, number: int, lines: int) -> bytes:
    """A line again; it stands near the end, where the search begins."""
    if log.spans is not None:
        at = log.spans[::SPAN].index(number) * SPAN
        file.seek(log.spans[at + 1])
        return _exactly(file, log.spans[at + 2])
    if isinstance(file, Expanded):  # in which going back is to begin again
        file.seek(0)
        found = next((line for line in lines_of(file) if line.number == number), None)
        return bytes(found.buffer[found.start : found.stop]) if found else b""
    end = file.seek(0, os.SEEK_END)
    file.seek(max(0, end - 1))
    stop = end - (file.read(1) == b"\n")
    for _ in range(lines - number):
        stop = _line_feed_before(file, stop)
    start = _line_feed_before(file, stop) + 1
    file.seek(start)
    return _exactly(file, min(stop - start, LONGEST))


def _exactly(file: BinaryIO, size: int) -> bytes:
    """So many bytes; an unbuffered file may give less at a time."""
    pieces = []
    while size and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _line_feed_before(file: BinaryIO, stop: int) -> int:
    """Where the last line feed before a place stands; -1 if there is none."""
    while stop > 0:
        start = max(0, stop - _BLOCK)
        file.seek(start)
        found = _exactly(file, stop - start).rfind(b"\n")
        if found >= 0:
            return start + found
        stop = start
    return -1


def _quickly(line: bytes) -> Logged | None:
    """What a line says that needs no unwrapping, and whose response came whole; ``None`` for any other."""
    found = _line.decode(line)
    wrapped = (found.request.body, found.call_type, found.kwargs, found.fncall_messages)
    if any(map(bytes, wrapped)) or bytes(found.response)[:1] != b"{":
        return None
    body = _body.decode(found.response)
    if bytes(body.body) or bytes(body.body_raw):
        return None
    return _told(found.request.model, [{name: getattr(body, name) for name in _Body.__struct_fields__[:-2]}])


def _thoroughly(line: bytes) -> Logged | None:
    """What any line says."""
    envelope = envelopes.recognise(line)
    if envelope is None:
        return None
    found = jsonio.loads(envelopes.unwrap(line, envelope))
    request, response = found.get("request"), replies.unwrapped(found.get("response"))
    streamed = replies.events(response)
    return _told(request.get("model") if isinstance(request, dict) else None, streamed[0] if streamed else [response])


def _told(asked: Json, events: list[Json]) -> Logged:
    usage = _merged(events)
    model = replies.model(events) or (asked if isinstance(asked, str) and asked else None)
    return Logged(model, _first(usage, _PROMPT, *_CACHED), _first(usage, _COMPLETION, _THOUGHTS))


def _merged(events: list[Json]) -> dict[str, Any]:
    """The last of each count that events name."""
    usage: dict[str, Any] = {}
    for event in events:
        for holder in replies.holders(event):
            for counts in (holder, *(holder.get(name) for name in _USAGE)):
                usage |= {k: v for k, v in counts.items() if _is_count(v)} if isinstance(counts, dict) else {}
    return usage


def _is_count(value: Json) -> bool:
    return type(value) is int and 0 <= value < _MOST


def _first(usage: dict[str, Any], names: tuple[str, ...], *more: str) -> int | None:
    """The first of these counts that is there, with those that some have beside it."""
    counted = next((usage[name] for name in names if name in usage), None)
    return None if counted is None else counted + sum(usage.get(name, 0) for name in more)
