"""Requests of OpenAI Responses that name a conversation, whose turns the service stores.

The member is an id or an object with one (``ResponseConversationParam`` of the SDK's types); a service adds input and output
once a response is complete (from its documentation).
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.reading.test_reader import answered, asked, exchange, held_to_the_law, log, missing, read, texts


def told(second: int, said: str, reply: str | None, conversation: Any = "c1", ident: str = "") -> dict[str, Any]:
    response = None if reply is None else answered(ident or f"r{second}", reply)
    return exchange(second, asked(said, conversation=conversation), response)


def streamed(second: int, said: str, reply: str) -> dict[str, Any]:
    """A request whose stream ends early."""
    created = {"type": "response.created", "response": {"id": f"r{second}", "object": "response", "output": []}}
    item = {"type": "message", "role": "assistant", "content": []}
    events = [
        created,
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": reply},
    ]
    return exchange(second, asked(said, conversation="c1"), events)


BEGIN = told(0, "a", "b")


@pytest.mark.parametrize("conversation", ["c1", {"id": "c1"}], ids=["an id", "an object"])
def test_a_request_continues_the_last_one_of_its_conversation(conversation):
    found, session = read(log(BEGIN, told(1, "c", "d", conversation), told(2, "e", "f")))
    assert [texts(entry) for entry in held_to_the_law(found)] == [["a"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]]
    assert [entry.shared_prefix for entry in found] == [0, 1, 3]
    assert missing(session) == []


def test_conversations_may_alternate():
    lines = [BEGIN, told(1, "v", "w", "c2"), told(2, "c", "d"), told(3, "x", "y", {"id": "c2"}), told(4, "e", "f")]
    found, _ = read(log(*lines))
    histories = [texts(entry) for entry in held_to_the_law(found)]
    assert histories == [["a"], ["v"], ["a", "b", "c"], ["v", "w", "x"], ["a", "b", "c", "d", "e"]]


def test_many_conversations_alternate():
    lines = [told(turn * 12 + each, f"{each} {turn}", "b", f"c{each}") for turn in range(3) for each in range(12)]
    found, _ = read(log(*lines))
    assert [texts(entry)[::2] for entry in held_to_the_law(found)] == [
        [f"{each} {earlier}" for earlier in range(turn + 1)] for turn in range(3) for each in range(12)
    ]


FAILED = {"id": "r1", "object": "response", "status": "failed", "error": {"message": "overloaded"}, "output": []}
AGAIN = [
    ("a request that failed is not stored", exchange(1, asked("c", conversation="c1"), FAILED)),
    ("nor is one without a response", told(1, "c", None)),
    ("the same turns after a truncated response are a retry", streamed(1, "c", "d and")),
    ("a line that is logged twice counts once", told(1, "c", "d", ident="r2")),
]


@pytest.mark.parametrize("line", [row[1] for row in AGAIN], ids=[row[0] for row in AGAIN])
def test_a_retry_continues_what_the_first_attempt_continued(line):
    found, _ = read(log(BEGIN, line, told(2, "c", "d"), told(3, "e", "f")))
    *_, retry, last = (texts(entry) for entry in held_to_the_law(found))
    assert (retry, last) == (["a", "b", "c"], ["a", "b", "c", "d", "e"])


def test_other_turns_after_a_truncated_response_continue_it():
    found, _ = read(log(BEGIN, streamed(1, "c", "d and"), told(2, "e", "f")))
    assert texts(held_to_the_law(found)[-1]) == ["a", "b", "c", "d and", "e"]


def test_instructions_are_those_of_each_request():
    lines = [BEGIN, told(1, "c", "d"), told(2, "e", "f")]
    lines[0]["request"]["instructions"] = "Be brief."
    lines[2]["request"]["instructions"] = "Be kind."
    found, _ = read(log(*lines))
    expected = [["Be brief.", "a"], ["a", "b", "c"], ["Be kind.", "a", "b", "c", "d", "e"]]
    assert [texts(entry) for entry in held_to_the_law(found)] == expected


def without_id(line: dict[str, Any]) -> dict[str, Any]:
    response = {name: value for name, value in line["response"].items() if name != "id"}
    return {**line, "response": response}


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("again, place", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
def test_a_line_that_is_logged_twice_is_no_new_turn(again, place, has_ids):
    lines = [told(0, "a", "b"), told(1, "c", "d"), told(2, "e", "f")]
    lines = lines if has_ids else [*map(without_id, lines)]
    found, _ = read(log(*lines[:place], lines[again], *lines[place:], told(3, "g", "h")))
    assert "".join(texts([*held_to_the_law(found)][-1])) == "abcdefg"


def test_the_same_words_at_another_time_are_a_new_turn():
    found, _ = read(log(*map(without_id, [BEGIN, told(1, "a", "b"), told(2, "c", "d")])))
    assert texts([*held_to_the_law(found)][-1]) == ["a", "b", "a", "b", "c"]
