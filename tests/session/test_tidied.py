"""Cleaning costs what an entry adds, and gives what cleaning each request by itself gives."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core import edits as editing
from chatsquash.core.edits import compose, difference, replay
from chatsquash.session import cleaning
from chatsquash.session.cleaning import clean
from tests import oracle
from tests.checks.rows import assistant, call, result, user
from tests.conftest import examples
from tests.session.streams import Cleaned, entry, stream, taken

INFO = "<info-msg>It is 10:00</info-msg>"
GOOSE = "You are a general-purpose AI agent called goose, created by Block."
TITLE = {"role": "system", "content": "Reply with only a description in four words or less."}
FIRST = user("Here are the first few user messages:\nhi")
ANSWER = assistant("Greeting the agent")

KINDS = [
    lambda: user(INFO),
    lambda: user("hi"),
    lambda: assistant(""),
    lambda: assistant("done"),
    lambda: assistant(None, call()),
    lambda: result("x"),
    lambda: {"role": "system", "content": GOOSE},
    lambda: {"role": "system", "content": "Be brief."},
    lambda: dict(TITLE),
    lambda: dict(FIRST),
]
SOME = st.lists(st.sampled_from(KINDS).map(lambda make: make()), max_size=4)


@st.composite
def requests(draw):
    """Requests that grow, change anywhere, are cut, or repeat a part, mostly of the very objects of those before."""
    made, now = [draw(SOME)], []
    for _ in range(draw(st.integers(1, 8))):
        now = list(made[draw(st.sampled_from([-1, -1, -1, 0]))])
        start, stop = sorted(draw(st.tuples(*[st.integers(0, len(now))] * 2)))
        put_in, behind = draw(SOME), draw(SOME)
        way = draw(st.sampled_from(["grow", "grow", "change", "front", "cut", "repeat", "title", "again"]))
        made.append(
            {
                "grow": [*now, *behind],
                "change": [*now[:start], *put_in, *now[stop:], *behind],
                "front": [*put_in, *now[min(1, len(now)) :], *behind],
                "cut": now[:start],
                "repeat": [*now[:stop], *now[start:], *behind],
                "title": [dict(TITLE), dict(FIRST), *now],
                "again": [dict(message) for message in now],
            }[way]
        )
    return [(messages, draw(st.sampled_from([None, ANSWER, {**ANSWER, "role": "tool"}]))) for messages in made]


@examples(400)
@given(requests())
def test_each_entry_is_what_cleaning_it_alone_gives(logged):
    entries = list(stream(*(entry(*messages, reply=reply) for messages, reply in logged)))
    cleaned = [oracle.clean(messages, reply) for messages, reply in logged]
    left = [(line, kept, counts) for line, (kept, counts) in enumerate(cleaned, 1) if kept is not None]
    before = []
    out, session = taken(clean(iter(entries)))
    assert [(each.line, each.messages) for each in out] == [(line, kept) for line, kept, _ in left]
    for each, (_, _, counts) in zip(out, left, strict=True):
        assert Cleaned(**each.cleanup_counts) == Cleaned(counts["a"], counts["b"], counts["c"])
        assert replay(before, each.edits) == each.messages, "the edits lead from what went on before"
        before = each.messages
    assert len(out) + session.lines.dropped_entries == len(logged)


@examples(400)
@given(requests())
def test_no_message_is_new_that_the_request_had_before(logged):
    """As long as no rule changes its mind about one: then what went, or came, is all that is."""
    entries = list(stream(*(entry(*messages) for messages, _ in logged)))
    known = {id(message): message for each in entries for message in each.messages}
    before = []
    for out in taken(clean(iter(entries)))[0]:
        again = {id(message) for message in before}
        for run in out.edits:
            if isinstance(run, editing.AddedRun):
                assert not [message for message in run.messages if id(message) in again and id(message) not in known]
        before = out.messages


LISTS = st.lists(st.sampled_from([user(str(number)) for number in range(6)]), max_size=8)


@given(LISTS, LISTS, LISTS)
def test_two_edits_at_once_are_one_after_the_other(first, second, third):
    once = compose(difference(first, second), difference(second, third))
    assert [id(message) for message in replay(first, once)] == [id(message) for message in third]


class Seen(dict):
    """A message that counts how often somebody looks at it."""

    looks = 0

    def __getitem__(self, key):
        Seen.looks += 1
        return super().__getitem__(key)

    def get(self, key, default=None):
        Seen.looks += 1
        return super().get(key, default)


def looks(turns, request):
    """How often cleaning looks at a message of a session of so many turns."""
    entries = list(stream(*(entry(*request(turn), reply=ANSWER) for turn in range(turns))))
    Seen.looks = 0
    for _ in clean(iter(entries)):
        pass
    return Seen.looks


def lines_run(turns, request):
    """How many lines of cleaning run for a session of so many turns: list operations count one, loops each round."""
    files = {editing.__file__, *map(str, Path(cleaning.__file__).parent.glob("*.py"))}
    entries = list(stream(*(entry(*request(turn), reply=ANSWER) for turn in range(turns))))
    count = 0

    def each(frame, event, argument):
        nonlocal count
        count += event == "line"
        return each

    before = sys.gettrace()
    sys.settrace(lambda frame, *_: each if frame.f_code.co_filename in files else None)
    try:
        for _ in clean(iter(entries)):
            pass
    finally:
        sys.settrace(before)
    return count


TURNS = [
    [user(INFO), user(f"question {turn}"), assistant(""), assistant(f"answer {turn}")]
    for turn in range(200)
]  # fmt: skip
SAID = [Seen(message) for turn in TURNS for message in turn]
PROMPT, DATED = Seen(role="system", content=GOOSE), f"{GOOSE} It is "
SESSIONS = [
    ("it grows", lambda turn: [PROMPT, *SAID[: 4 * turn]]),
    ("an empty assistant comes and goes", lambda turn: SAID[: 4 * turn - turn % 2 * 2] if turn else []),
    ("the prompt changes", lambda turn: [Seen(role="system", content=DATED + str(turn)), *SAID[: 4 * turn]]),
    ("a title is asked for", lambda turn: [*([TITLE, FIRST] if turn % 2 else []), PROMPT, *SAID[: 4 * turn]]),
    ("the oldest messages go", lambda turn: [PROMPT, *SAID[4 * turn // 2 : 4 * turn]]),
]


@pytest.mark.parametrize("why, request_of", SESSIONS, ids=[why for why, _ in SESSIONS])
def test_cleaning_looks_at_what_an_entry_adds(why, request_of):
    assert looks(200, request_of) < 2.2 * looks(100, request_of)


@pytest.mark.parametrize("why, request_of", SESSIONS[:3], ids=[why for why, _ in SESSIONS[:3]])
def test_cleaning_does_nothing_for_each_message_that_was_there(why, request_of):
    """Where messages do not move: else the places of those that went are counted anew, which looks at none."""
    assert lines_run(200, request_of) < 2.2 * lines_run(100, request_of)


@pytest.mark.parametrize("count", [looks, lines_run])
def test_what_is_counted_tells_cleaning_all_from_cleaning_what_is_new(count):
    def anew(turn):
        return [Seen(message) for message in SAID[: 4 * turn]]

    assert count(200, anew) > 3 * count(100, anew)
