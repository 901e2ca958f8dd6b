"""Kimi Code: what is undone or compacted very often."""

import time

import pytest

from chatsquash.formats.agents import kimi_code


def record(of, **more):
    return {"type": of, "time": 1_790_000_000_000, **more}


def said(text):
    part = {"type": "content.part", "part": {"type": "text", "text": text}}
    events = [{"type": "step.begin"}, part, {"type": "step.end"}]
    asked = record("context.append_message", message={"role": "user", "content": "u"})
    return [asked, *(record("context.append_loop_event", event=event) for event in events)]


OFTEN = {
    "undo": record("context.undo", count=1),
    "compaction": record("context.apply_compaction", summary="S", compactedCount=1),
}


@pytest.mark.parametrize("change", OFTEN)
def test_what_is_changed_very_often_is_not_told_each_time_and_that_is_counted(change):
    def took(size):
        before = [each for at in range(size) for each in said(f"a{at}")]
        after = [each for at in range(size) for each in (*said(f"b{at}"), OFTEN[change])]
        began = time.process_time()
        found = kimi_code.conversations([*before, *after, *said("last")])
        return time.process_time() - began, found

    took(50)
    (short, _), (long, found) = took(100), took(400)
    assert long < 10 * max(short, 0.05)
    assert found[0].messages[-1]["content"] == "last" or found[0].messages[-1]["content"][0]["text"] == "last"
    assert len(found) + found[0].origin.unread["history over the limit"] == 401


def test_members_of_a_request_that_are_not_read_are_counted():
    (found,) = kimi_code.conversations([record("llm.request", model="k", tools=[{"name": "ls"}]), *said("a")])
    assert found.origin.unread == {"llm.request.tools": 1}
