"""Inspect AI: which events tell a conversation that the end state lacks."""

import time

from chatsquash.formats.agents import inspect_ai
from tests.formats.table import words


def message(role, name):
    return {"id": name, "role": role, "content": name}


def event(answer, *asked):
    output = {"choices": [{"message": message("assistant", answer)}]}
    return {"event": "model", "input": [message("user", each) for each in asked], "output": output, "tools": []}


def read(*events):
    sample = {"id": "1", "epoch": 1, "messages": [message("user", "q"), message("assistant", "a")], "events": [*events]}
    return inspect_ai.conversations([{"version": 2, "status": "success", "eval": {}, "samples": [sample]}])


def test_sub_agents_that_ran_at_once_are_a_conversation_each():
    events = [event("a", "q"), event("x1", "x"), event("y1", "y"), event("z1", "z"), event("x2", "x", "x1", "x0")]
    found = read(*events, event("y2", "y", "y1", "y0"))
    assert words(found) == [["q", "a"], ["z", "z1"], ["x", "x1", "x0", "x2"], ["y", "y1", "y0", "y2"]]


def test_very_many_events_are_all_read():
    assert len(read(event("a", "q"), *(event(f"x{at}", f"u{at}") for at in range(2_000)))) == 2_001


def test_ranges_that_repeat_what_was_said_very_often_are_read_as_far_as_there_is_room():
    def took(size):
        events = [{**event(f"x{at}"), "input": [], "input_refs": [[0, size]]} for at in range(size)]
        held = {"messages": [message("user", f"u{at}") for at in range(size)], "calls": []}
        sample = {"id": "1", "epoch": 1, "messages": [message("user", "q")], "events": events, "events_data": held}
        began = time.process_time()
        found = inspect_ai.conversations([{"eval": {}, "sample": sample}])
        return time.process_time() - began, found

    took(50)
    (short, _), (long, found) = took(500), took(2_000)
    assert long < 10 * max(short, 0.1)
    assert len(found) + found[0].origin.unread["event over the limit"] == 2_001
