"""Requests that continue responses by their ids give the same entries whichever earlier requests stay loaded."""

import json

import pytest

from chatsquash import Options, read
from chatsquash.reading import answers
from tests.conftest import write_log
from tests.conversion.shapes import response_row, said

AROUND = Options(anonymize=False, conversations="all", restore="all", loss="weight")


def forks(count):
    """A long conversation, then conversations in turns that fork from its end, each request sent twice."""
    rows, before = [], ""
    for number in range(count):
        rows.append(response_row(number, said("question", number), {"previous_response_id": before} if before else {}))
        before = f"resp_{number}"
    ends = dict.fromkeys(range(12), before)
    for number in range(count, 5 * count):
        for again in range(2):
            place = 2 * number + again
            refers = {"previous_response_id": ends[number % 12]}
            rows.append(response_row(place, said("question", number), refers, f"fork_{place}"))
        ends[number % 12] = f"fork_{2 * number}"
    return rows


@pytest.fixture
def logs(tmp_path):
    write_log(tmp_path / "logs/a.jsonl", *map(json.dumps, forks(30)))
    return tmp_path / "logs"


def records(logs):
    return [session.records for session in read(logs, AROUND)]


@pytest.mark.parametrize("few, most", [(8, 0), (1, 0), (1, 100), (50, 10**6)])
def test_entries_do_not_depend_on_what_stays_loaded(monkeypatch, logs, few, most):
    expected = records(logs)
    monkeypatch.setattr(answers, "_FEW", few)
    monkeypatch.setattr(answers, "_MOST_TURNS", most)
    assert records(logs) == expected
    assert len(expected[0]) > 12
