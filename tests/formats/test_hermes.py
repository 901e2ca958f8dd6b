"""Hermes Agent: what holds of any session, whatever its rows are."""

import copy
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats import documents
from chatsquash.formats.agents import hermes
from chatsquash.formats.base import TurnError
from tests.formats.odd import VALUES
from tests.formats.table import links, words

REVIEW = "Review the conversation above and consider saving to memory what lasts."


def session(*messages, name="s", **more):
    """A session as its export has it."""
    return {"id": name, "source": "cli", "started_at": 1.0, "message_count": 2, **more, "messages": list(messages)}


def user(text, **more):
    return {"role": "user", "content": text, **more}


def model(text, *calls, **more):
    made = [{"id": call, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for call in calls]
    return {"role": "assistant", "content": text, **({"tool_calls": made} if made else {}), **more}


def gave(call, text):
    return {"role": "tool", "tool_call_id": call, "content": text}


# Reviews


def test_a_review_is_apart_with_the_calls_that_were_made_for_it():
    asked = [user("Hello"), model("Hi"), user(REVIEW), model(None, "c1"), gave("c1", "saved"), model("Saved.")]
    main, review = hermes.conversations([session(*asked, user("Bye"), model("Bye."))])
    assert words([main]) == [["Hello", "Hi", "Bye", "Bye."]]
    assert words([review]) == [["Hello", "Hi", REVIEW, None, "saved", "Saved."]]
    assert review.origin.kind == "side"


def test_a_review_may_be_asked_for_in_the_name_of_the_system():
    asked = [user("Hello"), model("Hi"), {"role": "system", "content": REVIEW}, model("Nothing.")]
    main, review = hermes.conversations([session(*asked, user("Bye"), model("Bye."))])
    assert words([main]) == [["Hello", "Hi", "Bye", "Bye."]]
    assert [message["role"] for message in review.messages] == ["user", "assistant", "system", "assistant"]


def test_a_review_without_a_reply_is_counted():
    (found,) = hermes.conversations([session(user("Hello"), model("Hi"), user(REVIEW), user("Bye"), model("Bye."))])
    assert words([found]) == [["Hello", "Hi", "Bye", "Bye."]]
    assert found.origin.unread["message of a review"] == 1


# Sessions


def test_parents_that_form_a_loop_come_to_an_end():
    names = ["a", "b", "c"]
    held = [
        session(user(each), model(each), name=each, parent_session_id=above, end_reason="compression")
        for each, above in zip(names, ["c", "a", "b"], strict=True)
    ]
    found = hermes.conversations(held)
    assert sorted(words(found)) == [["a", "a"], ["b", "b"], ["c", "c"]]
    assert sum(parent is None for _, _, parent in links(found)) == 1


def test_two_sessions_of_one_id_are_both_read():
    found = hermes.conversations([session(user("a"), model("b")), session(user("c"), model("d"))])
    assert sorted(words(found)) == [["a", "b"], ["c", "d"]]


def test_a_session_whose_parent_is_not_there_is_a_conversation_of_its_own():
    (found,) = hermes.conversations([session(user("a"), model("b"), parent_session_id="gone")])
    assert found.origin.kind == "main"
    assert found.origin.session_id == "s"


def test_a_session_without_messages_gives_nothing():
    assert hermes.conversations([session()]) == []


def test_an_id_that_is_no_text_is_none():
    deep = []
    for _ in range(5_000):
        deep = [deep]
    (found,) = hermes.conversations([session(user("a"), model("b"), name=deep)])
    assert found.origin.session_id is None


# Databases


def test_rows_become_the_sessions_that_they_are_of():
    sessions = [{"id": name, "started_at": at, "system_prompt_hash": "h"} for name, at in (("a", 1), ("b", 2))]
    messages = [
        {"id": number, "session_id": of, "display_order": 7, **message}
        for number, (of, message) in enumerate([("b", user("x")), ("a", user("y")), ("gone", user("z"))])
    ]
    prompts = [{"hash": "h", "prompt": "You are Hermes."}]
    first, second = hermes.from_rows({"sessions": sessions, "messages": messages, "system_prompts": prompts})
    assert first["system_prompt"] == second["system_prompt"] == "You are Hermes."
    assert first["messages"] == [{"id": 1, **user("y")}]
    assert second["messages"] == [{"id": 0, **user("x")}]


# Whatever there is


FLAGS = st.sampled_from([None, 0, 1])
MESSAGES = st.lists(
    st.builds(
        lambda make, text, active, compacted, of: {**make(text), "active": active, "compacted": compacted, **of},
        st.sampled_from([user, model, lambda text: gave("c", text)]),
        st.sampled_from(["a", "b", REVIEW, "[CONTEXT SUMMARY]: c"]),
        FLAGS,
        FLAGS,
        st.sampled_from([{}, {"timestamp": 1.0}, {"timestamp": 2.0}]),
    ),
    max_size=8,
)


@given(messages=MESSAGES, rewinds=st.sampled_from([0, 1, 9]))
def test_each_message_that_is_sent_now_stands_in_the_first_conversation_or_in_a_review(messages, rewinds):
    found = hermes.conversations([session(*messages, rewind_count=rewinds)])
    told = [message["content"] for each in found for message in each.messages]
    sent = {message["content"] for message in messages if message["active"] != 0}
    if not found:  # the session is reported as empty
        assert sent <= {REVIEW}
        return
    left = sum(count for name, count in found[0].origin.unread.items() if name.startswith("message"))
    for text in sent:
        assert text in told or left


@given(data=st.data())
def test_any_values_give_conversations_or_an_error_that_says_where(data):
    held = session(user("a"), model("b", "c"), gave("c", "d"), model("[CONTEXT SUMMARY]: e", active=0), name="x")
    held = [held, copy.deepcopy({**held, "id": "y", "parent_session_id": "x", "end_reason": "compression"})]
    for _ in range(data.draw(st.integers(1, 4))):
        target = data.draw(st.sampled_from([*held, *(each for one in held for each in one["messages"])]))
        target[data.draw(st.sampled_from([*target]))] = data.draw(VALUES)
        if not all(isinstance(one.get("messages"), list) for one in held):
            break
        if not all(isinstance(each, dict) for one in held for each in one["messages"]):
            break
    with suppress(TurnError):
        documents.load("hermes", held)


@pytest.mark.parametrize("kind", ["rewinds", "reviews", "chain", "compressions"])
def test_many_rows_take_time_that_grows_with_them(kind):
    def held(size):
        if kind == "chain":
            after = {"end_reason": "compression"}
            return [
                session(model(f"m{at}"), name=str(at), parent_session_id=str(at + 1), **after) for at in range(size)
            ]
        if kind == "reviews":
            rows = [part for at in range(size) for part in (user(f"u{at}"), model(f"m{at}"), user(REVIEW), model("No"))]
        elif kind == "rewinds":
            rows = [model(f"m{at}", active=at % 2) for at in range(size * 4)]
        else:
            rows = [user(f"[CONTEXT SUMMARY]: {at}", active=0, compacted=1) for at in range(size * 4)]
        return [session(*rows)]

    def took(size):
        given = held(size)
        began = time.process_time()
        hermes.conversations(given)
        return time.process_time() - began

    took(100)
    assert took(800) < 12 * max(took(200), 0.02)
