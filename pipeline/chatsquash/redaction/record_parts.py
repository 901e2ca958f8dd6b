"""The parts of a record's JSON: its definitions, its messages without known ones, and the texts near a string."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from msgspec import Struct
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.redaction import shapes, texts

TOOLS = b',"tools":['
_MESSAGES, _NEXT_MESSAGE = b'{"messages":[', b'},{"role":"'
_LONG, _LONG_RECORD = 2048, 4096
"""The minimum length in bytes of a message that is looked up, and of the messages of a record that may have such."""
_MOST_NEIGHBOURS = 16


class _Neighbours(Struct, frozen=True):
    """The message around a string, with those before it that have enough text; or all definitions."""

    line: bytes
    start: int
    end: int

    @classmethod
    def around(cls, line: bytes, at: int) -> _Neighbours:
        """Return the neighbours of an offset."""
        if line.startswith(TOOLS):
            return cls(line, 1, len(line))
        start, end = line.rfind(_NEXT_MESSAGE, 0, at), line.find(_NEXT_MESSAGE, at)
        if end < 0 and not line.endswith(b"}]"):
            raise ValueError("no list of messages")
        return cls(line, start, end if end >= 0 else len(line) - 2)

    def text(self) -> str:
        """Return the joined texts, which begin like the record or with enough text before the message."""
        if self.line.startswith(TOOLS):
            return self._of_definitions()
        start = self.start
        values = [self._message(start, self.end)]
        while start >= 0:
            end, start = start, self.line.rfind(_NEXT_MESSAGE, 0, start)
            values.insert(0, self._message(start, end))
            if len(texts.Texts(values[:-1]).joined) > shapes.NEAR_RUN:
                break
            if len(values) > _MOST_NEIGHBOURS:
                raise ValueError("too many messages without text")
        return texts.Texts(values).joined

    def _message(self, start: int, end: int) -> Json:
        """Parse the message between two offsets; the first one has a negative start."""
        return jsonio.loads(self.line[start + 2 if start >= 0 else len(_MESSAGES) : end + 1])

    def _of_definitions(self) -> str:
        text = texts.Texts([jsonio.loads(b"{" + self.line[1:])]).joined
        if shapes.may_concern_text_before(text):
            raise ValueError("the text before the definitions is unknown")
        return text


class RecordPart(Struct, frozen=True):
    """The definitions of a record, or its messages without those that need no search."""

    line: bytes
    """The complete part."""
    rest: bytes
    """The bytes to search."""
    cuts: Sequence[tuple[int, int]] = ()
    """The offset in ``rest`` after each cut, and the number of bytes that precede it in ``line`` only."""
    new: Sequence[tuple[bytes, int, int]] = ()
    """The digest and the span in ``rest`` of each long message."""
    skipped: int = 0
    """The number of skipped texts in the messages that were cut."""

    @classmethod
    def of(cls, line: bytes, known: dict[bytes, int]) -> RecordPart:
        """Cut the known messages, given by their digests, from those of a record."""
        if len(line) < _LONG_RECORD:
            return cls(line, line)
        pieces: list[bytes] = []
        cuts: list[tuple[int, int]] = []
        new: list[tuple[bytes, int, int]] = []
        done = length = skipped = 0
        for start, end in _long_messages(line):
            key = xxh3_128_digest(line[start:end])
            count = known.get(key)
            if count is None:
                new.append((key, start - length, end - length))
            else:
                skipped += count
                pieces.append(line[done:start])
                length += end - start
                cuts.append((end - length, length))
                done = end
        rest = b"".join((*pieces, line[done:])) if pieces else line
        return cls(line, rest, cuts, new, skipped)

    def place(self, at: int) -> int:
        """Return the offset in the complete part for an offset in the rest."""
        before = bisect_right(self.cuts, at, key=itemgetter(0))
        return at + self.cuts[before - 1][1] if before else at

    def texts_around(self, places: Sequence[int]) -> Iterator[str]:
        """Yield the texts of the neighbours of several strings, in order, once for each message."""
        end = -1
        for place in map(self.place, places):
            if place > end:
                group = _Neighbours.around(self.line, place)
                end = group.end
                yield group.text()


def _long_messages(line: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans of all long messages but the last one."""
    if not line.startswith(_MESSAGES):
        return
    start = len(_MESSAGES)
    while (end := line.find(_NEXT_MESSAGE, start)) >= 0:
        if end - start >= _LONG:
            yield start, end + 2
        start = end + 2
