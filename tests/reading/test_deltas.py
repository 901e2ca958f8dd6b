"""The delta law: replaying the edits gives exactly what parsing each line in full gives."""

import json
from collections import Counter
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.edits import replay
from chatsquash.core.model import Entry, KeptRun
from chatsquash.formats import formats
from chatsquash.reading import deltas
from chatsquash.reading.deltas import Effort
from chatsquash.reading.evidence import Shape
from chatsquash.session.cleaning import clean
from tests import format_logs, oracle, strategies
from tests.conftest import examples, often
from tests.fuzz.hold import is_plain_chat
from tests.session.streams import entries, taken


def read(data: bytes, effort: Effort | None = None):
    return taken(entries(data, effort=effort))


def spelled(value) -> str:
    """A value so that 1, 1.0 and True differ."""
    return repr(value)


PATHS = ("extensions", "patches", "unrelated", "whole")


@pytest.mark.hypothesis
def test_replaying_the_edits_is_parsing_every_line():
    paths = Counter()

    @examples(700)
    @given(strategies.logs(), st.sampled_from([(3, 24), (1, 2), (1, 1)]))
    def law(data, patience):
        # Small logs seldom share nothing for long, so the reader is made impatient for some of them.
        with mock.patch.multiple(deltas, _PATIENCE=patience[0], _WHILE=patience[1]):
            effort = hold_to_the_law(data)
        paths.update({path: getattr(effort, path) for path in PATHS})

    law()
    assert all(paths[path] >= often(51) for path in PATHS), paths


def hold_to_the_law(data):
    effort = Effort()
    found, session = read(data, effort)
    rows = oracle.read(data, "stem")
    assert session.lines.all == len(rows)
    assert session.lines.blank == sum(row.kind == "blank" for row in rows)
    bad = [(row.line, row.kind) for row in rows if row.kind in ("bad-line", "bad-entry")]
    assert [(rejected.line, rejected.code) for rejected in session.rejected] == bad
    expected = [row for row in rows if row.kind == "entry"]
    assert [entry.line for entry in found] == [row.line for row in expected]
    before, lines = [], data.split(b"\n")
    for entry, row in zip(found, expected, strict=True):
        is_known = is_plain_chat(lines[row.line - 1])  # what is of another format is rewritten
        assert not is_known or spelled(entry.messages) == spelled(row.messages)
        before = replay(before, entry.edits)
        assert all(a is b for a, b in zip(before, entry.messages, strict=True))
        assert not is_known or spelled(entry.tools) == spelled(row.tools)
        assert spelled(entry.reply.message) == spelled(row.reply)
        assert (entry.at, entry.session_id) == (row.at, row.session_id)
    return effort


def difference(before: list, after: list) -> list:
    """The difference by value as ``settle`` states it: of each message its place in the earlier list, or none."""
    places, expected, added = [], 0, 0
    for message in after:
        near = [at for at in (expected, expected + 1) if spelled(before[at : at + 1]) == spelled([message])]
        if near and added < 8:
            places.append(near[0])
            expected, added = near[0] + 1, 0
        else:
            places.append(None)
            added += 1
    return places


def told(edits) -> list:
    """The same of edits."""
    runs = (range(run.start, run.stop) if isinstance(run, KeptRun) else [None] * len(run.messages) for run in edits)
    return [at for run in runs for at in run]


def hold_to_the_edit_law(found):
    before = []
    for entry in found:
        assert told(entry.edits) == difference(before, entry.messages)
        for run, behind in pairwise(entry.edits):
            assert type(run) is not type(behind) or (isinstance(run, KeptRun) and run.stop != behind.start), "one run"
        before = entry.messages


@examples(500)
@given(strategies.logs(), st.sampled_from([(3, 24), (1, 2), (1, 1)]))
def test_edits_are_the_difference_by_value_whichever_way_they_were_found(data, patience):
    with mock.patch.multiple(deltas, _PATIENCE=patience[0], _WHILE=patience[1]):
        hold_to_the_edit_law(read(data)[0])


@pytest.mark.hypothesis
@pytest.mark.parametrize("name", formats())
def test_edits_are_the_difference_by_value_in_every_format(name):
    @examples(100)
    @given(format_logs.logs(name), st.sampled_from([(3, 24), (1, 1)]))
    def law(data, patience):
        with mock.patch.multiple(deltas, _PATIENCE=patience[0], _WHILE=patience[1]):
            items = entries(data, Shape.of(name))
            hold_to_the_edit_law([item for item in items if isinstance(item, Entry)])

    law()


def test_a_log_that_grows_after_requests_that_share_nothing_adds_what_is_new():
    others = [[{"role": "user", "content": f"{number} " + "x" * number}] for number in range(4)]
    growing = [[{"role": "user", "content": f"turn {n}"} for n in range(turns)] for turns in range(1, 9)]
    data = b"\n".join(json.dumps({"request": {"messages": each}}).encode() for each in [*others, *growing])
    effort = Effort()
    found, _ = read(data, effort)
    assert effort.whole > 3, "lines are not compared after such requests"
    assert [entry.shared_prefix for entry in found[5:]] == [1, 2, 3, 4, 5, 6, 7]
    assert all(a is b for before, after in pairwise(found[4:]) for a, b in zip(before.messages, after.messages))


@examples(300)
@given(strategies.logs())
def test_cleaning_what_was_replayed_is_replaying_what_was_cleaned(data):
    found, _ = read(data)
    cleaned = taken(clean(iter(found)))[0]
    before = []
    expected = []
    for entry in found:
        messages, _ = oracle.clean(entry.messages, entry.reply.message)
        if messages is not None:
            expected.append((entry.line, messages))
    assert [entry.line for entry in cleaned] == [line for line, _ in expected]
    for entry, (_, messages) in zip(cleaned, expected, strict=True):
        before = replay(before, entry.edits)
        assert spelled(before) == spelled(entry.messages) == spelled(messages)


def log(turns: int, **dump) -> tuple[bytes, int]:
    """A session that only grows, and the bytes of its last snapshot, replies and tools."""
    tools = [{"type": "function", "function": {"name": f"tool{n}", "description": "d" * 300}} for n in range(20)]
    messages = [{"role": "system", "content": "s" * 4000}, {"role": "user", "content": "grüße 🙂"}]
    written, replies = [], 0
    for turn in range(turns):
        reply = {"role": "assistant", "content": f"answer {turn} " + "x" * 200}
        entry = {
            "timestamp": 1e9 + turn,
            "session_id": "s",
            "request": {"model": "m", "messages": messages, "tools": tools},
            "response": {"choices": [{"index": 0, "message": reply}]},
        }
        written.append(json.dumps(entry, **dump).encode())
        replies += len(json.dumps(reply, **dump))
        size = len(json.dumps(messages, **dump).encode())
        messages = [*messages, reply, {"role": "user", "content": f"question {turn} " + "y" * 300}]
    return b"\n".join(written) + b"\n", size + replies + len(json.dumps(tools, **dump))


def test_a_log_that_only_grows_is_parsed_once():
    for dump in ({}, {"separators": (",", ":")}, {"ensure_ascii": False}):
        data, needed = log(60, **dump)
        effort = Effort()
        found, _ = read(data, effort)
        assert effort.parsed <= 1.3 * needed
        # What is split without being parsed: the rest of each line, and the first line's snapshot.
        assert effort.skipped <= 1.3 * needed + 60 * 400
        assert (effort.unrelated, effort.extensions, effort.patches, effort.whole, effort.wrong_guesses) == (
            1,
            59,
            0,
            0,
            0,
        )
        assert [entry.shared_prefix for entry in found[1:]] == [len(entry.messages) for entry in found[:-1]]
        assert all(entry.tools is found[0].tools for entry in found)


def test_a_line_that_is_wrong_in_two_ways_is_a_bad_line_however_it_is_read():
    def line(number, *more):
        clock = {"role": "system", "content": f"It is {number}."}
        return json.dumps({"request": {"messages": [clock, {"role": "user", "content": "x" * 99}, *more]}}).encode()

    effort = Effort()
    wrong = line(2, 5, float("nan"))
    for data in (wrong, b"\n".join([line(0), line(1), wrong])):
        _, session = read(data, effort)
        assert [rejected.code for rejected in session.rejected] == ["bad-line"]
    assert effort.patches == 1
