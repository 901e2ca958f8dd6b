"""Logs come out of a list of bytes and numbers as they went in, each with its number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from chatsquash.core.log import Log
from chatsquash.sources.logs import Logs
from tests.conftest import cases


def job(path: str, below: int = 0, size: int = 0, modified: int | None = None) -> Log:
    return Log(path, path, path[below:], size, modified=modified)


@cases(
    "given_",
    ("no job", []),
    ("a file in a folder", [job("logs/2026-01-13/a.jsonl", 5, 7, 1_768_300_000_123_456_789)]),
    ("a file without a time, and one of the epoch", [job("a", 0, 3), job("b", 0, 4, 0)]),
    ("names beyond ASCII, before others", [job("l/ä/日本.jsonl", 2, 1, 1), job("l/b", 2, 2, 2)]),
    ("a name that is no text", [job("l/\udcff\udc80.jsonl", 2, 1, 1), job("l/b", 2, 2, 2)]),
    ("a name with a line feed", [job("l/a\nb.jsonl", 2, 1 << 40, 1)]),
)
def test_what_is_added_comes_back(given_):
    jobs = Logs()
    for each in given_:
        jobs.append(each)
    given_ = [structs.replace(each, number=number) for number, each in enumerate(given_)]
    assert (list(jobs), jobs[:], len(jobs), jobs.size) == (given_, given_, len(given_), sum(j.size for j in given_))
    assert [jobs[at] for at in range(len(jobs))] == given_
    assert jobs[1:] == given_[1:]
    assert jobs[::-1] == given_[::-1]


def test_a_place_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError):
        Logs()[0]


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1),
            st.integers(0, 1 << 50),
            st.none() | st.integers(0, 1 << 62),
        )
    )
)
def test_any_paths_come_back(rows):
    jobs = Logs()
    added = [job(f"x/{path}", 2, size, modified) for path, size, modified in rows]
    for each in added:
        jobs.append(each)
    assert list(jobs) == [structs.replace(each, number=number) for number, each in enumerate(added)]
