"""The search text, in the spellings and encodings in which records may contain it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from chatsquash.core import jsonio
from chatsquash.core.model import Message
from chatsquash.records.reading import message_parts

LONGEST = 200
"""Length of a search text, in characters."""
MAX_PER_MESSAGE = 10_000
"""Matches counted per message."""
_TOTAL = 100_000
"""Matches counted per record, approximately."""
_MESSAGES = 5_000
"""Messages of a record that are reported as matching."""

_MEMBERS = (
    *("messages", "role", "content", "type", "text", "tools", "function", "name", "description", "parameters", "id"),
    *("tool_calls", "tool_call_id", "arguments", "reasoning_content", "properties", "required", "prompt", "completion"),
    *("conversations", "from", "value", "system", "input", "output", "function_call", "reasoning", "thinking"),
)
"""Keys that most records have."""
_VALUES = {
    "role": ("system", "user", "assistant", "tool", "developer", "function"),
    "type": ("function", "text", "object", "string", "thinking", "array", "number", "integer", "boolean"),
    "from": ("human", "gpt", "function_call", "observation"),
}
_JSON_MEMBERS = (b"arguments", b"custom")
"""Members that are shown as JSON if they are not texts."""


class Needle:
    """A search text; without capital letters, it also matches capitalized words and all capitals."""

    # Searching bytes for each of these spellings is far faster than any search that ignores case.

    def __init__(self, text: str) -> None:
        self.text = text[:LONGEST]

    def __bool__(self) -> bool:
        return bool(self.text.strip())

    @cached_property
    def spellings(self) -> list[str]:
        """The texts that match."""
        text = self.text
        if text != text.lower():
            return [text]
        return list(dict.fromkeys((text, text[:1].upper() + text[1:], text.title(), text.upper())))

    @cached_property
    def raw(self) -> list[bytes]:
        """The byte strings of which a line of JSON contains at least one if it contains the text.

        Arguments of calls are JSON inside a text, so a text in them is escaped twice, and possibly as ASCII.
        """
        encodings: list[bytes] = []
        for text in self.spellings:
            inner = (text, _spelled(text).decode(), json.dumps(text)[1:-1])
            encodings += map(_spelled, inner)
        return list(dict.fromkeys(encodings))

    @cached_property
    def _structure(self) -> list[tuple[bytes, int]]:
        """JSON syntax that is not part of any message, with the number of matches in it."""
        names = [(f'"{name}":', name) for name in _MEMBERS]
        values = [(f'"{name}":"{value}"', value) for name, values in _VALUES.items() for value in values]
        occurrences = [
            (data.encode(), sum(inner.encode().count(each) for each in self.raw)) for data, inner in names + values
        ]
        return [(data, times) for data, times in occurrences if times]

    def may_match(self, line: bytes) -> bool:
        """Return whether a line of JSON may contain the text outside of keys, roles and types.

        Quotes in texts are escaped, so keys cannot be mistaken for text. Keys of arguments that are JSON objects count
        as text.
        """
        count = sum(map(line.count, self.raw))
        if not count or not self._structure:
            return count > 0
        if count > sum(times * line.count(data) for data, times in self._structure):
            return True
        return any(line.count(b'"%s":' % name) != line.count(b'"%s":"' % name) for name in _JSON_MEMBERS)

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the starts and ends of matches in a text, in order and without overlaps."""
        # Each spelling is searched only from its last match on, so the time is linear in the text.
        ahead = {each: text.find(each) for each in self.spellings}
        while candidates := [(place, -len(each)) for each, place in ahead.items() if place >= 0]:
            begin, length = min(candidates)
            end = begin - length
            yield begin, end
            for each, place in ahead.items():
                if 0 <= place < end:
                    ahead[each] = text.find(each, end)

    def counts(self, messages: list[Message]) -> Iterator[tuple[int, int]]:
        """Yield the indices of matching messages with their numbers of matches, up to the limits."""
        total = said = 0
        for at, message in enumerate(messages):
            if count := sum(1 for _ in islice(self._said(message), MAX_PER_MESSAGE)):
                yield at, count
                total, said = total + count, said + 1
            if total >= _TOTAL or said >= _MESSAGES:
                return

    def first(self, message: Message) -> tuple[str, int, int] | None:
        """Return the first matching text of a message with the start and end of the match."""
        return next(self._said(message), None)

    def _said(self, message: Message) -> Iterator[tuple[str, int, int]]:
        for part in message_parts(message):
            for begin, end in self.places(part.text):
                yield part.text, begin, end


def _spelled(text: str) -> bytes:
    """Return a text as JSON, without quotes."""
    return jsonio.dumps(text)[1:-1]
