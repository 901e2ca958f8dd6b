"""How many tokens records have, and records that are cut to fit."""

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
    """Counts the tokens of records, and leaves off what does not fit."""

    def __init__(self, options: Options) -> None:
        """Raises ``UsageError`` for a tokenizer or a template that cannot be used."""
        assert options.tokenizer is not None
        template = None
        if options.template is not None:
            from chatsquash.templates.confined import open_template  # which counts without a template do not need

            template = open_template(options.template)
        self.tokenizer = Tokenizer(options.tokenizer)
        self._count = Counter(self.tokenizer, template)
        self._most = options.max_tokens
        self._cuts = options.too_long == "cut" and options.samples == "session"

    def measure(self, made: Record) -> tuple[Record | Violation, list[Violation]]:
        """A record with its number of tokens, cut to fit if that is wanted; or why there is none."""
        value = jsonio.loads(made.line)
        try:
            tokens = self._count(record(value))
            if self._most is None or tokens <= self._most or not self._cuts:
                return replace(made, tokens=tokens), []
            return self._cut(made, value, tokens)
        except RefusedError as problem:
            why = checks.not_rendered(str(problem))
            return why, [why]

    def count_tokens(self, record_line: bytes) -> int | None:
        """How many tokens a record has; ``None`` for one that its template refuses."""
        try:
            return self._count(record(jsonio.loads(record_line)))
        except RefusedError:
            return None

    def _cut(self, made: Record, value: dict[str, Any], tokens: int) -> tuple[Record, list[Violation]]:
        """A record without the exchanges at its end that do not fit; as it is where the first one does not."""
        ends = _ends(value, made.marks)
        counts: dict[int, int] = {}

        def count(end: int) -> int:
            counts[end] = counts.get(end) or self._count(record(_shorten(value, end)))
            return counts[end]

        assert self._most is not None
        place = bisect_right(ends, self._most, key=count)
        if place == 0:
            return replace(made, tokens=tokens), []
        end = ends[place - 1]
        line = jsonio.dumps(_shorten(value, end))
        marks = [mark for mark in made.marks if mark.place < end]
        cut = replace(made, line=line, marks=marks, tokens=counts[end], digest=xxh3_128_digest(line))
        if made.unflagged:
            cut = replace(cut, unflagged=made.unflagged + str(end).encode())
        return cut, [checks.truncated_to_fit(tokens, self._most, len(ends) + 1 - place)]


def _ends(value: dict[str, Any], marks: list[Mark]) -> list[int]:
    """Where each exchange but the last one ends: behind what an assistant says, and not within a reply."""
    said = native(record(value))
    roles = [message["role"] for message in said.messages]
    pairs = zip(roles, [*roles[1:], ""], strict=True)
    spoken = [_at(said, at) + 1 for at, (role, behind) in enumerate(pairs) if role == "assistant" != behind]
    parts: dict[int, list[int]] = {}
    for mark in marks:
        for reply in mark.at:
            parts.setdefault(reply, []).append(mark.place)
    within = {end for places in parts.values() for end in spoken if min(places) < end <= max(places)}
    return sorted({*spoken[:-1]} - within)


def _at(said: StoredRecord, at: int) -> int:
    place = said.place(at)
    assert place is not None
    return place


def _shorten(value: dict[str, Any], end: int) -> dict[str, Json]:
    """A record up to a place."""
    name = "messages" if "messages" in value else "conversations"
    return {**value, name: value[name][:end]}
