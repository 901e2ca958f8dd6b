"""Lines come out of the reused buffer as they stand in the file, wherever its ends fall."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.sources import lines as module
from chatsquash.sources.lines import Buffers, lines
from tests.conftest import cases, examples


class Trickle(io.RawIOBase):
    """A file that gives as few bytes at a time as it is told."""

    def __init__(self, data: bytes, sizes: list[int]):
        self._data, self._at, self._sizes = data, 0, sizes

    def readinto(self, into):
        size = self._sizes.pop(0) if self._sizes else len(into)
        piece = self._data[self._at : self._at + min(size, len(into))]
        into[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)


def read(file, longest=1 << 20):
    return [
        (line.number, line.offset, line.length, bytes(line.buffer[line.start : line.stop]))
        for line in lines(file, longest)
    ]


def naive(data: bytes):
    pieces = data.split(b"\n")
    if pieces[-1] == b"":
        pieces.pop()
    at, rows = 0, []
    for number, piece in enumerate(pieces, 1):
        rows.append((number, at, len(piece), piece))
        at += len(piece) + 1
    return rows


@examples(300)
@given(
    st.lists(st.sampled_from([b"\n", b"\r\n", b"a", b"bcd" * 9, b"x" * 70, b"\xff\x00"])).map(b"".join),
    st.lists(st.integers(1, 40)),
    st.sampled_from([1, 2, 16, 64]),
)
def test_lines_are_the_pieces_between_line_feeds(data, sizes, chunk):
    before, module.CHUNK = module.CHUNK, chunk
    try:
        assert read(Trickle(data, sizes)) == naive(data)
    finally:
        module.CHUNK = before


@pytest.mark.parametrize("chunk", [1, 4, 16, 1 << 20])
@cases("data, expected",
    ("an empty file has no line", b"", []),
    ("a last line needs no line feed", b"a\nb", [(1, 0, 1, b"a"), (2, 2, 1, b"b")]),
    ("a line feed at the end starts no line", b"a\n", [(1, 0, 1, b"a")]),
    ("empty lines count", b"\n\na", [(1, 0, 0, b""), (2, 1, 0, b""), (3, 2, 1, b"a")]),
    ("carriage returns stay", b"a\r\n", [(1, 0, 2, b"a\r")]),
    ("an overlong line is passed over with its length", b"a\n" + b"x" * 50 + b"\nb", [(1, 0, 1, b"a"), (2, 2, 50, b""), (3, 53, 1, b"b")]),
    ("an overlong last line, too", b"a\n" + b"x" * 50, [(1, 0, 1, b"a"), (2, 2, 50, b"")]),
    ("an overlong line that ends with the file", b"x" * 50 + b"\n", [(1, 0, 50, b"")]),
)  # fmt: skip
def test_lines(data, expected, chunk, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)
    assert read(Trickle(data, []), longest=20) == expected


def test_an_endless_line_takes_no_memory(monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 64)
    sizes = {len(line.buffer) for line in lines(Trickle(b"x" * 100_000 + b"\nend", []), 256)}
    assert max(sizes) <= 1024


def test_a_buffer_goes_from_one_file_to_the_next_and_what_the_first_left_in_it_is_not_the_second_s():
    room = Buffers()
    first = [line.buffer for line in lines(io.BytesIO(b"x\ny\n" * 50), buffers=room)]
    second = [
        (line.buffer is first[0], bytes(line.buffer[line.start : line.stop]), line.read_end)
        for line in lines(io.BytesIO(b"a\nb"), buffers=room)
    ]
    assert second == [(True, b"a", 3), (True, b"b", 1)]


def test_two_files_at_once_do_not_share_a_buffer_and_a_large_one_is_not_kept():
    room = Buffers()
    one, other = (lines(io.BytesIO(data), buffers=room) for data in (b"a\nb", b"c\nd"))
    assert next(one).buffer is not next(other).buffer
    large = [line.buffer for line in lines(io.BytesIO(b"x" * (1 << 21)), buffers=room)]
    assert next(lines(io.BytesIO(b"a"), buffers=room)).buffer is not large[0]
