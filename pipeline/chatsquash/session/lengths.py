"""Count the tokens of records, and cut records to a maximum length."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import takewhile
from typing import Any

from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.checks import sampling as checks
from chatsquash.core import chat, jsonio
from chatsquash.core.blocks import PROMPTS
from chatsquash.core.model import Json, Mark, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.records import StoredRecord
from chatsquash.records.reading import RESULTS, native, record
from chatsquash.templates.counting import Counter, RefusedError, Tokenizer


class Lengths:
    """Counts the tokens of records and drops exchanges that do not fit."""

    def __init__(self, options: Options) -> None:
        """Load the tokenizer and the template; raise ``UsageError`` if either cannot be used."""
        assert options.tokenizer is not None
        template = None
        if options.template is not None:
            from chatsquash.templates.confined import (
                open_template,
            )  # imported here because counting without a template does not need it

            template = open_template(options.template)
        self.tokenizer = Tokenizer(options.tokenizer)
        self._count = Counter(self.tokenizer, template)
        self._max_tokens = options.max_tokens
        self._shorten: Callable[[Record, dict[str, Any], int], tuple[Record, list[Violation]]] | None = None
        if options.too_long == "cut" and options.samples == "session":
            self._shorten = self._cut_end
        elif options.too_long == "front":
            self._shorten = self._cut_front

    def measure(self, original: Record) -> tuple[Record | Violation, list[Violation]]:
        """Count the tokens of a record, and cut it to fit if requested; return it or its rejection, and findings."""
        value = jsonio.loads(original.line)
        try:
            tokens = self._count(record(value))
            if self._max_tokens is None or tokens <= self._max_tokens or not self._shorten:
                return replace(original, tokens=tokens), []
            return self._shorten(original, value, tokens)
        except RefusedError as problem:
            why = checks.not_rendered(str(problem))
            return why, [why]

    def count_tokens(self, record_line: bytes) -> int | None:
        """Count the tokens of a record; return ``None`` if the template rejects it."""
        try:
            return self._count(record(jsonio.loads(record_line)))
        except RefusedError:
            return None

    def _cut_end(self, original: Record, value: dict[str, Any], tokens: int) -> tuple[Record, list[Violation]]:
        """Drop exchanges at the end of a record until it fits; if not even one exchange fits, drop none."""
        ends = _ends(value, original.marks)
        counts: dict[int, int] = {}
        # Counting is repeated for every candidate end, so the binary search caches its results.

        def count(end: int) -> int:
            counts[end] = counts.get(end) or self._count(record(_without(value, end)))
            return counts[end]

        assert self._max_tokens is not None
        place = bisect_right(ends, self._max_tokens, key=count)
        if place == 0:
            return replace(original, tokens=tokens), []
        end = ends[place - 1]
        line = jsonio.dumps(_without(value, end))
        marks = [mark for mark in original.marks if mark.place < end]
        cut = replace(original, content=line, marks=marks, tokens=counts[end], digest=xxh3_128_digest(line))
        # The digest of the full record and the position of the cut identify the cut record.
        if original.unflagged:
            cut = replace(cut, unflagged=original.unflagged + str(end).encode())
        return cut, [checks.truncated_to_fit(tokens, self._max_tokens, len(ends) + 1 - place)]

    def _cut_front(self, original: Record, value: dict[str, Any], tokens: int) -> tuple[Record, list[Violation]]:
        """Drop exchanges after the system prompt until a record fits; if not even the last one fits, drop none."""
        lead = _system_messages(value)
        starts = [start for start in _starts(value) if start > lead]
        counts: dict[int, int] = {}

        def fits(start: int) -> bool:
            assert self._max_tokens is not None
            counts[start] = self._count(record(_without(value, lead, start)))
            return counts[start] <= self._max_tokens

        place = bisect_left(starts, True, key=fits)
        if place == len(starts):
            return replace(original, tokens=tokens), []
        start = starts[place]
        shorter = _without(value, lead, start)
        images = {name: original.images[name] for name in shorter.get("images", ()) if name in original.images}
        marks = [mark._replace(place=mark.place - start + lead) for mark in original.marks if mark.place >= start]
        line = jsonio.dumps(shorter)
        cut = replace(original, content=line, images=images, marks=marks, tokens=counts[start])
        return replace(cut, digest=xxh3_128_digest(line), front_truncated=start - lead), []


def _ends(value: dict[str, Any], marks: list[Mark]) -> list[int]:
    """Return the end positions of all exchanges but the last: after assistant messages, but not within a reply."""
    content = native(record(value))
    roles = [message["role"] for message in content.messages]
    pairs = zip(roles, [*roles[1:], ""], strict=True)
    ends = [_at(content, at) + 1 for at, (role, next_role) in enumerate(pairs) if role == "assistant" != next_role]
    parts: dict[int, list[int]] = {}
    for mark in marks:
        for reply in mark.at:
            parts.setdefault(reply, []).append(mark.place)
    within = {end for places in parts.values() for end in ends if min(places) < end <= max(places)}
    return sorted({*ends[:-1]} - within)


def _at(content: StoredRecord, at: int) -> int:
    place = content.place(at)
    assert place is not None
    return place


def _starts(value: dict[str, Any]) -> list[int]:
    """Return the positions at which exchanges start: the first of adjacent user messages, but not within a call."""
    content = native(record(value))
    roles = [message["role"] for message in content.messages]
    others = {_at(content, at) for at, role in enumerate(roles) if role not in ("user", *PROMPTS)}
    starts: set[int] = set()
    callers = _callers(content.messages)
    first_caller = len(roles)
    for at in reversed(range(len(roles))):
        first_caller = min(first_caller, callers.get(at, at))
        if roles[at] == "user" and (at == 0 or roles[at - 1] != "user") and first_caller == at:
            starts.add(_at(content, at))
    return sorted(starts - others)


def _callers(messages: list[Any]) -> dict[int, int]:
    """Return the index of the call that each result answers."""
    calls: dict[Json, int] = {}
    callers: dict[int, int] = {}
    for at, message in enumerate(messages):
        calls.update((call.get("id"), at) for call in chat.calls(message))
        if message["role"] in RESULTS and (caller := calls.get(message.get("tool_call_id"))) is not None:
            callers[at] = caller
    return callers


def _without(value: dict[str, Any], start: int, stop: int | None = None) -> dict[str, Json]:
    """Return a record without the messages from one position to another, by default to the end, and their images."""
    name = "messages" if "messages" in value else "conversations"
    messages: list[Any] = value[name]
    shorter = {**value, name: [*messages[:start], *(messages[stop:] if stop is not None else ())]}
    if "images" in value:
        first = _image_count(messages[:start])
        last = first + _image_count(messages[start:stop])
        shorter["images"] = [*value["images"][:first], *value["images"][last:]]
    return shorter


def _image_count(messages: list[Any]) -> int:
    contents = [message["content"] for message in messages if isinstance(message.get("content"), list)]
    return sum(part.get("type") == "image" for content in contents for part in content)


def _system_messages(value: dict[str, Any]) -> int:
    """Return the number of system messages at the beginning of a record."""
    return len([*takewhile(lambda message: message.get("role") in PROMPTS, value.get("messages", ()))])
