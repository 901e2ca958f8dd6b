"""The text that is looked for in records, in the spellings in which it is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from chatsquash.core import jsonio
from chatsquash.core.model import Message
from chatsquash.records.reading import message_parts

LONGEST = 200
"""Characters that are looked for."""
MAX_PER_MESSAGE = 10_000
"""Times that are counted in one message."""
_TOTAL = 100_000
"""Times that are counted in one record, about."""
_MESSAGES = 5_000
"""Messages of a record in which something is found."""

_MEMBERS = (
    *("messages", "role", "content", "type", "text", "tools", "function", "name", "description", "parameters", "id"),
    *("tool_calls", "tool_call_id", "arguments", "reasoning_content", "properties", "required", "prompt", "completion"),
    *("conversations", "from", "value", "system", "input", "output", "function_call", "reasoning", "thinking"),
)
"""Names of members that most records have."""
_VALUES = {
    "role": ("system", "user", "assistant", "tool", "developer", "function"),
    "type": ("function", "text", "object", "string", "thinking", "array", "number", "integer", "boolean"),
    "from": ("human", "gpt", "function_call", "observation"),
}
_JSON_MEMBERS = (b"arguments", b"custom")
"""Members that are said as JSON where they are no text."""


class Needle:
    """A text that is looked for; one without capital letters is found with them, too.

    That is as it stands, with capital first letters, and in capitals: bytes are looked through for each of these at the
    speed of memory, which nothing that knows all cases reaches.
    """

    def __init__(self, text: str) -> None:
        self.text = text[:LONGEST]

    def __bool__(self) -> bool:
        return bool(self.text.strip())

    @cached_property
    def spellings(self) -> list[str]:
        """The texts that are looked for."""
        text = self.text
        if text != text.lower():
            return [text]
        return list(dict.fromkeys((text, text[:1].upper() + text[1:], text.title(), text.upper())))

    @cached_property
    def raw(self) -> list[bytes]:
        """The bytes of which a line of JSON holds some where it holds the text.

        Arguments of calls are JSON in a text, so a text in them is spelled twice, and maybe in ASCII.
        """
        encodings: list[bytes] = []
        for text in self.spellings:
            inner = (text, _spelled(text).decode(), json.dumps(text)[1:-1])
            encodings += map(_spelled, inner)
        return list(dict.fromkeys(encodings))

    @cached_property
    def _structure(self) -> list[tuple[bytes, int]]:
        """Bytes of JSON that no message says, each with how often it holds the text."""
        names = [(f'"{name}":', name) for name in _MEMBERS]
        values = [(f'"{name}":"{value}"', value) for name, values in _VALUES.items() for value in values]
        occurrences = [
            (data.encode(), sum(inner.encode().count(each) for each in self.raw)) for data, inner in names + values
        ]
        return [(data, times) for data, times in occurrences if times]

    def may_match(self, line: bytes) -> bool:
        """Whether it stands in a line of JSON elsewhere than in names of members, roles and types.

        A quote in a text is escaped, so that none of these can be one.  Where arguments are no text, their names are
        said, too.
        """
        count = sum(map(line.count, self.raw))
        if not count or not self._structure:
            return count > 0
        if count > sum(times * line.count(data) for data, times in self._structure):
            return True
        return any(line.count(b'"%s":' % name) != line.count(b'"%s":"' % name) for name in _JSON_MEMBERS)

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it stands in a text: begins and ends, in order, none in another.

        Each spelling is looked for once from where it was found last, so that the time is linear in the text.
        """
        ahead = {each: text.find(each) for each in self.spellings}
        while candidates := [(place, -len(each)) for each, place in ahead.items() if place >= 0]:
            begin, length = min(candidates)
            end = begin - length
            yield begin, end
            for each, place in ahead.items():
                if 0 <= place < end:
                    ahead[each] = text.find(each, end)

    def counts(self, messages: list[Message]) -> Iterator[tuple[int, int]]:
        """The messages that say it, by their index, each with how often; the first ones where there are too many."""
        total = said = 0
        for at, message in enumerate(messages):
            if count := sum(1 for _ in islice(self._said(message), MAX_PER_MESSAGE)):
                yield at, count
                total, said = total + count, said + 1
            if total >= _TOTAL or said >= _MESSAGES:
                return

    def first(self, message: Message) -> tuple[str, int, int] | None:
        """The first text of a message that says it, and where."""
        return next(self._said(message), None)

    def _said(self, message: Message) -> Iterator[tuple[str, int, int]]:
        for part in message_parts(message):
            for begin, end in self.places(part.text):
                yield part.text, begin, end


def _spelled(text: str) -> bytes:
    """A text as it stands in JSON, without quotes."""
    return jsonio.dumps(text)[1:-1]
