"""Arrays inside JSON files of any size, element by element."""

import io
import json
import random

import pytest

from chatsquash.sources import arrays
from chatsquash.sources.arrays import elements
from tests.conftest import cases

TEXTS = ['a"]}{[\\', "ü", "\\", '"', "x" * 20, "[{", "\n"]


def value(chance, depth=0):
    kind = chance.random()
    if depth > 3 or kind < 0.4:
        return chance.choice([1, None, chance.choice(TEXTS), [], {}])
    if kind < 0.7:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    names = ["a", "log", "entries", 'b"{']
    return {chance.choice(names): value(chance, depth + 1) for _ in range(chance.randrange(4))}


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_elements_are_those_that_a_parser_finds_whatever_stands_around_them(monkeypatch, piece):
    monkeypatch.setattr(arrays, "_PIECE", piece)
    chance = random.Random(piece)
    for number in range(1500):
        held = [value(chance) for _ in range(chance.randrange(6))]
        if number % 3 == 0:  # as exports have them, all of which begin alike
            held = [{"id": place, "of": each} for place, each in enumerate(held)]
        around = {"version": "1", "x": value(chance), "log": {"c": value(chance), "entries": held, "z": value(chance)}}
        made, path = (around, ("log", "entries")) if number % 2 else (held, ())
        data = json.dumps(made, indent=chance.choice([None, 1]), ensure_ascii=False).encode()
        found = list(elements(io.BytesIO(data), path))
        assert [json.loads(each.data) for each in found] == [each for each in held if isinstance(each, (dict, list))]
        assert all(data[each.offset :].startswith(each.data) for each in found)


@cases(
    "data, path, why",
    ("no array", b'{"log": {"entries": 5}}', ("log", "entries"), "has no array log.entries"),
    ("no such member", b'{"log": {}}', ("log", "entries"), "has no array log.entries"),
    ("an object", b"{}", (), "is not an array"),
    ("nothing", b"", (), "is not an array"),
    ("an element that is cut", b'[{"a": 1}, {"b": "', (), "ends within element 2"),
    ("an array that is cut", b'[{"a": 1}, ', (), "ends before its array does"),
)
def test_what_is_broken_says_so_behind_what_was_whole(data, path, why):
    found = elements(io.BytesIO(data), path)
    for _ in range(data.count(b'"a"')):
        assert json.loads(next(found).data) == {"a": 1}
    with pytest.raises(ValueError, match=why):
        next(found)


def test_an_element_that_is_too_long_is_not_held():
    with pytest.raises(ValueError, match="element 1 is too long"):
        next(elements(io.BytesIO(b'[{"a": "' + b"x" * (5 << 20) + b'"}]'), longest=1 << 20))


def test_no_more_is_read_than_one_element_needs():
    class Counting(io.BytesIO):
        count = 0

        def read(self, size=-1):
            data = super().read(size)
            self.count += len(data)
            return data

    file = Counting(b'[{"a": 1}' + b', {"a": 1}' * 1_000_000 + b"]")
    next(elements(file))
    assert file.count <= 2 << 20
