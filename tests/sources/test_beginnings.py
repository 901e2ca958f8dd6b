"""The beginning of a file is JSON that is whole, wherever the file is cut."""

import io
import json

import pytest

from chatsquash.core import jsonio
from chatsquash.sources import beginnings
from chatsquash.sources.beginnings import beginning, complete

VALUE = {
    "messages": [{"role": "user", "content": 'a "b" \\ \u00e9 \U0001f600 ü'}, [1, 2.5, None, {}]],
    "x": [[], {"y": 1}],
}
TEXTS = {
    "on one line": json.dumps(VALUE),
    "indented": json.dumps(VALUE, indent=2),
    "with characters of several bytes": json.dumps(VALUE, ensure_ascii=False),
}


def begins(part, whole) -> bool:
    """Whether a value is the beginning of another one: at its end something may be missing."""
    if isinstance(part, dict):
        return all(name in whole and begins(value, whole[name]) for name, value in part.items())
    if isinstance(part, list):
        return len(part) <= len(whole) and all(map(begins, part, whole))
    return whole.startswith(part) if isinstance(part, str) else part == whole


@pytest.mark.parametrize("name", TEXTS)
def test_a_value_that_is_cut_anywhere_is_closed(name):
    data = TEXTS[name].encode()
    for stop in range(data.index(b"{") + 1, len(data)):
        if data[:stop].endswith(b"\\ud83d") or b"\\ud83d" in data[stop - 12 : stop]:
            continue  # half a pair of surrogates is a character, too
        found = jsonio.loads(complete(data[:stop]))
        assert begins(found, VALUE), (stop, complete(data[:stop]))


def test_lines_end_with_the_last_whole_one():
    assert complete(b'{"a":1}\n{"b":2}\n{"c"') == b'{"a":1}\n{"b":2}\n'


def test_a_short_file_is_taken_as_it_is():
    assert beginning(io.BytesIO(b'{"a"')) == b'{"a"'


def test_no_more_is_read_than_tells(monkeypatch):
    monkeypatch.setattr(beginnings, "MOST", 100)
    file = io.BytesIO(b"[" + b"1," * 1000 + b"1]")
    assert set(jsonio.loads(beginning(file))) == {1}
    assert file.tell() <= 101


def test_of_very_many_small_values_fewer_are_taken():
    file = io.BytesIO(b"[" + b"[]," * 10_000 + b"1]")
    found = jsonio.loads(beginning(file, 50_000))
    assert 100 < len(found) < 2_000


def test_a_document_is_read_in_one_piece_hashed_once_and_not_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * (3 << 20))
    hashed = bytearray()
    with path.open("rb", buffering=0) as file:
        kept = beginnings.Beginning(file, hashed.extend)
        with kept:
            beginnings.read_from_start(file, 1 << 16)
            found = beginnings.read_from_start(file, 1 << 30)
            assert kept.data is found
            beginnings.discard(file)
            assert not kept.data
    assert bytes(hashed) == found == path.read_bytes()


def test_kept_bytes_are_neither_read_nor_hashed_again(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"0123456789")
    hashed = bytearray()
    with path.open("rb", buffering=0) as file:
        first = beginnings.Beginning(file, hashed.extend)
        with first:
            first.pass_on(memoryview(file.read(4)))
            beginnings.keep(file, memoryview(b"abcd"))
            assert beginnings.read_from_start(file, 6) == b"abcd45"
        assert not first.data
    assert hashed == b"012345"


def test_bytes_of_another_file_are_not_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"0123")
    with path.open("rb", buffering=0) as file, beginnings.Beginning(file, None):
        beginnings.keep(io.BytesIO(), memoryview(b"abcd"))
        assert beginnings.read_from_start(file, 4) == b"0123"
