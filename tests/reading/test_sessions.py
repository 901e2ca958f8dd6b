"""The lines of one session in a file with several sessions."""

import io
from array import array

from chatsquash.core import jsonio
from chatsquash.reading import sessions
from chatsquash.reading.members import unquoted, unquoted_value
from chatsquash.reading.sessions import lines_of
from tests.conftest import cases

LINES = [b"a", b"", b"ccc", b"dd", b"e" * 9, b"f", b"gg"]
CONTENT = b"\n".join(LINES)
"""The last line has no line feed."""


def places(*numbers):
    offsets = [sum(map(len, LINES[:at])) + at for at in range(len(LINES))]
    for number in numbers:
        at = number - 1
        yield from (number, offsets[at], len(LINES[at]), int(number < len(LINES)))


@cases(
    "sentence, numbers, chunk",
    ("adjacent lines", (1, 2, 3, 4, 5, 6, 7), 1 << 19),
    ("lines of which each is a chunk", (1, 2, 3, 4, 5, 6, 7), 0),
    ("lines that fill several chunks", (1, 2, 3, 4, 5, 6, 7), 4),
    ("lines between others", (2, 4, 6), 1 << 19),
    ("some of each", (1, 2, 4, 5, 7), 1 << 19),
    ("lines sorted by time", (3, 2, 1, 6, 7), 1 << 19),
)
def test_the_lines_of_a_session_are_read_by_their_places(monkeypatch, sentence, numbers, chunk):
    monkeypatch.setattr(sessions, "CHUNK", chunk)
    for longest in (0, 1, 3, 100):
        hashed = bytearray()
        lines = [
            (line.number, line.offset, line.length, bytes(line.buffer[line.start : line.stop]), line.size)
            for line in lines_of(io.BytesIO(CONTENT), array("Q", places(*numbers)), hashed.extend, longest)
        ]
        spans = [tuple(places(number)) for number in numbers]
        short = [LINES[number - 1] if length <= longest else b"" for number, _, length, _ in spans]
        assert lines == [
            (number, offset, length, data, length + feed)
            for (number, offset, length, feed), data in zip(spans, short, strict=True)
        ], sentence
        assert bytes(hashed) == b"".join(short)


def test_a_line_ends_where_its_file_does():
    file = io.BytesIO(CONTENT[: -len(b"f\ngg") - 5])
    lines = list(lines_of(file, array("Q", places(4, 5, 6)), None, 100))
    assert [(line.length, bytes(line.buffer[line.start : line.stop])) for line in lines] == [
        (2, b"dd"),
        (5, b"eeeee"),
        (0, b""),
    ]


@cases(
    "sentence, raw",
    ("no member", None),
    ("an object", b'{"a":1}'),
    ("a string", b'"text"'),
    ("an empty string", b'""'),
    ("an object in a string", b'"{\\"a\\":[1.50,\\"\\\\n\\"]}"'),
    ("a string in a string", b'"\\"text\\""'),
    ("a truncated object in a string", b'"{\\"a\\":"'),
    ("a number in a string", b'"12"'),
    ("a number that is none", b'"NaN"'),
    ("half a character", b'"{\\"a\\":\\"\\ud800\\"}"'),
    ("half a character of a text", b'"\\ud800"'),
    ("an invalid string", b'"\\x"'),
    ("invalid characters", b'"\xff"'),
    ("null", b"null"),
)
def test_a_member_logged_as_a_string_is_parsed_once(sentence, raw):
    assert unquoted_value(raw) == jsonio.value(unquoted(raw) or b"null"), sentence
