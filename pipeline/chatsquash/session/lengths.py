"""Count the tokens of records, and cut records to a maximum length."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.checks import sampling as checks
from chatsquash.core import jsonio
from chatsquash.core.model import Json, Mark, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.records.line import StoredRecord
from chatsquash.records.reading import native, record
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
        self._cuts = options.too_long == "cut" and options.samples == "session"

    def measure(self, original: Record) -> tuple[Record | Violation, list[Violation]]:
        """Count the tokens of a record, and cut it to fit if requested; return it or its rejection, and findings."""
        value = jsonio.loads(original.line)
        try:
            tokens = self._count(record(value))
            if self._max_tokens is None or tokens <= self._max_tokens or not self._cuts:
                return replace(original, tokens=tokens), []
            return self._cut(original, value, tokens)
        except RefusedError as problem:
            why = checks.not_rendered(str(problem))
            return why, [why]

    def count_tokens(self, record_line: bytes) -> int | None:
        """Count the tokens of a record; return ``None`` if the template rejects it."""
        try:
            return self._count(record(jsonio.loads(record_line)))
        except RefusedError:
            return None

    def _cut(self, original: Record, value: dict[str, Any], tokens: int) -> tuple[Record, list[Violation]]:
        """Drop exchanges at the end of a record until it fits; if not even one exchange fits, drop none."""
        ends = _ends(value, original.marks)
        counts: dict[int, int] = {}
        # Counting is repeated for every candidate end, so the binary search caches its results.

        def count(end: int) -> int:
            counts[end] = counts.get(end) or self._count(record(_shorten(value, end)))
            return counts[end]

        assert self._max_tokens is not None
        place = bisect_right(ends, self._max_tokens, key=count)
        if place == 0:
            return replace(original, tokens=tokens), []
        end = ends[place - 1]
        line = jsonio.dumps(_shorten(value, end))
        marks = [mark for mark in original.marks if mark.place < end]
        cut = replace(original, line=line, marks=marks, tokens=counts[end], digest=xxh3_128_digest(line))
        # The digest of the full record and the position of the cut identify the cut record.
        if original.unflagged:
            cut = replace(cut, unflagged=original.unflagged + str(end).encode())
        return cut, [checks.truncated_to_fit(tokens, self._max_tokens, len(ends) + 1 - place)]


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


def _shorten(value: dict[str, Any], end: int) -> dict[str, Json]:
    """Truncate a record before a position."""
    name = "messages" if "messages" in value else "conversations"
    return {**value, name: value[name][:end]}
