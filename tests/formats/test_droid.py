"""Factory Droid: lines that name no line before them."""

import time

from chatsquash.formats.agents import droid
from tests.formats.table import words

BEGIN = {"type": "session_start", "id": "s", "title": "t", "owner": "o", "version": 2}


def said(name, parent, role, text):
    content = [{"type": "text", "text": text}]
    return {"type": "message", "id": name, "parentId": parent, "message": {"role": role, "content": content}}


TALK = [said("1", None, "user", "a"), said("2", "1", "assistant", "b")]


def test_a_line_of_the_screen_at_the_end_is_not_where_the_conversation_stands():
    (found,) = droid.conversations([BEGIN, *TALK, {"type": "todo_state", "id": "t", "todos": []}])
    assert words([found]) == [["a", "b"]]
    assert found.origin.kind == "main"


def test_a_line_of_the_screen_may_stand_between_messages():
    shown = {"type": "todo_state", "id": "t", "parentId": "2", "todos": []}
    (found,) = droid.conversations([BEGIN, *TALK, shown, said("3", "t", "user", "c"), said("4", "3", "assistant", "d")])
    assert words([found]) == [["a", "b", "c", "d"]]


def test_a_compaction_without_a_parent_stands_behind_the_line_before_it():
    summary = {"type": "compaction_state", "id": "t", "summary": "S"}
    more = [said("3", "2", "user", "c"), said("4", "3", "assistant", "d")]
    found = droid.conversations([BEGIN, *TALK, summary, *more])
    assert words(found) == [["S", "c", "d"], ["a", "b"]]
    assert [each.origin.kind for each in found] == ["compacted", "main"]


def test_what_was_said_anew_is_a_branch():
    found = droid.conversations([BEGIN, *TALK, said("3", "1", "assistant", "c")])
    assert words(found) == [["a", "c"], ["a", "b"]]


def test_a_loop_of_parents_ends():
    summary = {"type": "compaction_state", "id": "t", "summary": "S"}
    found = droid.conversations([BEGIN, said("1", "t", "user", "a"), summary, said("2", "1", "assistant", "b")])
    assert "b" in str(words(found))


def test_lines_without_anything_said_give_nothing():
    assert droid.conversations([BEGIN, {"type": "todo_state"}]) == []


def test_many_summaries_take_time_that_grows_with_them():
    def took(size):
        lines = [{"type": "compaction_state", "id": f"c{at}", "summary": "S"} for at in range(size)]
        given = [BEGIN, *(each for at in range(size) for each in (said(f"m{at}", "m", "assistant", "x"), lines[at]))]
        began = time.process_time()
        droid.conversations(given)
        return time.process_time() - began

    took(100)
    assert took(8_000) < 12 * max(took(2_000), 0.02)
