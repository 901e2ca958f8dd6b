"""What somebody looks for, as it may stand in texts and in the bytes of records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property

from chatsquash import jsonio

LONGEST = 200
"""Characters that are looked for."""


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
        found: list[bytes] = []
        for text in self.spellings:
            inner = (text, _spelled(text).decode(), json.dumps(text)[1:-1])
            found += map(_spelled, inner)
        return list(dict.fromkeys(found))

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it stands in a text: begins and ends, in order, none in another."""
        at = 0
        while (found := self._next(text, at)) is not None:
            yield found
            at = found[1]

    def is_in(self, text: str) -> bool:
        """Whether it stands in a text."""
        return any(each in text for each in self.spellings)

    def _next(self, text: str, at: int) -> tuple[int, int] | None:
        places = ((text.find(each, at), len(each)) for each in self.spellings)
        begin, length = min(((begin, -length) for begin, length in places if begin >= 0), default=(-1, 0))
        return (begin, begin - length) if begin >= 0 else None


def _spelled(text: str) -> bytes:
    """A text as it stands in JSON, without quotes."""
    return jsonio.dumps(text)[1:-1]
