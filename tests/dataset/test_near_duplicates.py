"""Sketches tell how many words two records have in common, and the near ones of very many are found."""

import sys
from random import Random

import pytest

from chatsquash.core.accounting import Usage
from chatsquash.core.options import Options
from chatsquash.core.outcome import Likeness, Record
from chatsquash.dataset import near_duplicates
from chatsquash.dataset.near_duplicates import NearDuplicates, SketchIndex
from chatsquash.records.sketch import MIN_EQUAL, SIZE, common, share, sketch


def words(start: int, stop: int) -> str:
    return " ".join(f"w{number}" for number in range(start, stop))


@pytest.mark.parametrize("others", [0, 2, 20, 50, 150, 400])
def test_a_share_is_told_within_a_tenth(others):
    """Of 400 words in a row, all but so many are in both; four standard deviations of 256 orders are a tenth."""
    for at in range(5):
        first, second = (sketch([words(start, start + 400)], b"") for start in (1000 * at, 1000 * at + others))
        exact = max(0, 396 - others) / (396 + min(396, others))
        assert abs(share(common(first, second)) - exact) < 0.1


def test_near_is_four_fifths_and_more():
    assert share(MIN_EQUAL) == pytest.approx(0.8)
    assert share(MIN_EQUAL - 1) < 0.8 <= share(MIN_EQUAL) + 1e-9
    assert (share(SIZE), share(0)) == (1, 0)


def test_a_sketch_depends_on_the_texts_alone():
    known = sketch(["The quick brown fox", "jumps over the lazy dog."], b"")
    assert known == sketch(["the  quick brown\nfox jumps", "over the lazy dog."], b"otherwise")
    assert known[:8].hex() == "21d2038453b1dd9c"
    assert sketch([" "], b"a") == sketch([], b"a") != sketch([], b"b")


def changed(given: bytes, count: int, random: Random) -> bytes:
    """A sketch of which so many bytes are others."""
    found = bytearray(given)
    for at in random.sample(range(SIZE), count):
        found[at] ^= 1 + random.randrange(255)
    return bytes(found)


def test_what_is_near_is_found_among_thousands():
    random, found = Random(1), SketchIndex()
    known = [random.randbytes(SIZE) for _ in range(5000)]
    for each in known:
        assert list(found.find_near(each)) == []
        found.add(each)
    for number in random.sample(range(5000), 200):
        nearly = changed(known[number], random.randrange(40), random)
        assert list(found.find_near(nearly)) == [(number, common(nearly, known[number]))]
        assert list(found.find_near(changed(known[number], SIZE - MIN_EQUAL + 1, random))) == []


def test_many_that_are_nearly_near_are_not_all_looked_at(monkeypatch):
    """In bands that a thousand have in common, the last ones alone are compared."""
    compared: list[int] = []
    monkeypatch.setattr(near_duplicates, "common", lambda *both: compared.append(common(*both)) or compared[-1])
    random, found = Random(2), SketchIndex()
    first = random.randbytes(SIZE)
    for _ in range(1000):
        found.add(first[:100] + random.randbytes(SIZE - 100))
    assert list(found.find_near(first)) == []
    assert len(compared) == 256
    found.add(first)
    assert list(found.find_near(first)) == [(1000, SIZE)]


def test_a_record_takes_less_than_600_bytes():
    random, near = Random(3), NearDuplicates(Options(duplicates="near"))
    worst = 0.0
    for number in range(20_000):
        record = Record(b"", Usage(0, (), 0, 0, 0, ()), alike=Likeness(sketch=random.randbytes(SIZE)))
        assert near.check(record, f"logs/2026-01-13/session-{number:06}.jsonl") is None
        if number > 5000 and number % 97 == 0:
            worst = max(worst, held(near) / number)
    assert 400 < worst < 600


def held(near: NearDuplicates) -> int:
    """The bytes of all that is kept."""
    index, names = near._written, near._logs
    parts = [*index._blocks, index._blocks, index._heads, index._before, names._bytes, names._ends]
    return sum(map(sys.getsizeof, parts))
