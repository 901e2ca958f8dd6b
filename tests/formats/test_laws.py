"""Laws that hold for every format, whatever values it is given.

What is read is made of what the rows of a format hold (``table.py``), put together otherwise; what is written are odd
canonical conversations.  ``make fuzz-fixed`` tries ten times as many.
"""

from __future__ import annotations

import copy
import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import chat, jsonio
from chatsquash.formats import bodies, documents, formats, named
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import at
from chatsquash.translate import conversations, losses
from tests.conftest import examples
from tests.formats.kinds import ODD, settled
from tests.formats.odd import CONVERSATIONS, HELD_WHOLE, links
from tests.formats.table import has_private, is_marked, outcome, rows

EXCHANGES = list(formats())
WHOLE = ("pydantic_ai", "vercel_ai")
"""Documents that hold every conversation, its private slots too."""
OTHERWISE = ("anthropic", "gemini", "ollama", "openai_responses")
"""Formats whose calls may be otherwise once an odd one was read and written again."""
SPELLED_ANEW = (*OTHERWISE, *WHOLE)
"""Formats that may spell otherwise what they read of what they wrote."""
FEWER = examples(50)


@cache
def pieces(name, kind):
    """What rows of a kind are given, and the members and values in all that a format is given."""
    parts = [
        part
        for each in ("turns", "system", "tools", "reply", "stream", "files")
        for row in rows(each, name)
        for part in inside(row.given)
    ]
    keys = sorted({key for part in parts if isinstance(part, dict) for key in part})
    leaves = {json.dumps(part): part for part in parts if not isinstance(part, dict | list) or not part}
    whole = st.sampled_from([row.given for row in rows(kind, name)])
    values = st.recursive(
        st.sampled_from(list(leaves.values())),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(keys), inner, max_size=4),
        max_leaves=8,
    )
    return whole, values | st.sampled_from(parts)


def inside(value):
    """A value and all that is in it."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in held for part in inside(each))]


@st.composite
def odd(draw, name, kind):
    """What a row is given, with other values at up to three places."""
    whole, values = pieces(name, kind)
    value = draw(whole)
    for _ in range(draw(st.integers(0, 3))):
        value = replaced(draw, value, values)
    return value


def replaced(draw, value, values):
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 5)) == 0:
        return draw(values)
    place = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
    made = copy.copy(value)
    made[place] = replaced(draw, value[place], values)
    return made


@pytest.mark.parametrize("name", EXCHANGES)
@given(data=st.data())
def test_any_turn_is_loaded_or_refused_and_equal_turns_give_equal_messages(name, data):
    form, turns = named(name), data.draw(odd(name, "turns"))
    state = other = form.START
    for turn in turns if isinstance(turns, list) else [turns]:
        found = outcome(form.load, turn, state)
        assert found == outcome(form.load, copy.deepcopy(turn), other)
        if isinstance(found, dict):
            continue
        state, other = found.state, copy.deepcopy(found.state)
        assert state == other
        assert is_marked(found.messages)
        for message in found.messages:
            assert isinstance(message["role"], str)
            assert isinstance(message.get("content"), str | list | None)
            assert message.get("reasoning_content") != ""
            made = chat.calls(message) if message["role"] == "assistant" else []
            assert all(isinstance(at(call, "function", "arguments"), str | None) for call in made)
    assert form.close(state) == form.close(other)


@pytest.mark.parametrize("name", EXCHANGES)
@given(data=st.data())
def test_any_value_is_read_without_another_exception(name, data):
    form = named(name)
    value = data.draw(odd(name, data.draw(st.sampled_from(["turns", "tools", "reply"]))))
    outcome(form.system, value)
    outcome(form.tools, value)
    reply = outcome(form.reply, value)
    assert (reply.message is None) is bool(reply.problem)
    for held in (
        [value] if isinstance(value, dict) else [{member: value} for member in (form.TURNS, "messages", "tools")]
    ):
        for mark in (*form.marks.request, *form.marks.response, *form.marks.event):
            assert outcome(mark.test, held) in (True, False)


@pytest.mark.parametrize("name", EXCHANGES)
@FEWER
@given(data=st.data())
def test_any_stream_is_put_together(name, data):
    events = data.draw(odd(name, "stream"))
    stream = outcome(named(name).assemble, events if isinstance(events, list) else [events])
    outcome(named(name).reply, stream.body)
    json.dumps(stream.body)


@pytest.mark.parametrize("name", [name for name in documents.names() if rows("files", name)])
@FEWER
@given(data=st.data())
def test_any_file_is_read_or_refused(name, data):
    found = data.draw(odd(name, "files"))
    objects = found if isinstance(found, list) else [found]
    outcome(documents.named(name).fits, objects)
    held = outcome(documents.named(name).conversations, objects)
    if isinstance(held, list):
        assert is_marked([each.messages for each in held])
        jsonio.dumps([each.messages for each in held])


def read(name, document):
    """The conversation of a document that was written."""
    document = jsonio.loads(jsonio.dumps(document))
    if name in EXCHANGES:
        return bodies.load(named(name), document)
    assert documents.named(name).fits([document]) or name in ("portable", *SPELLED_ANEW)
    return documents.named(name).conversations([document])[0]


@pytest.mark.parametrize("name", conversations.writable())
@given(conversation=ODD | CONVERSATIONS)
def test_any_conversation_is_written_and_what_was_written_is_held_whole(name, conversation):
    form = named(name) if name in EXCHANGES else documents.named(name)
    before = repr(conversation)
    try:
        document = form.dump(conversation)
    except TurnError:
        return
    assert repr(conversation) == before
    assert not has_private(document) or name in WHOLE
    assert document == json.loads(json.dumps(document)) == form.dump(conversation)
    back = read(name, document)
    again = read(name, form.dump(back))
    assert links(again.messages) == links(back.messages)
    assert [each["content"] for each in again.messages] == [each["content"] for each in back.messages]
    assert jsonio.dumps(again.tools) == jsonio.dumps(back.tools)
    if name not in OTHERWISE:
        assert settled(again.messages) == settled(back.messages)
    if name not in SPELLED_ANEW:
        assert form.dump(back) == document
    if name in ("openai_chat", "clippy"):
        assert [message["role"] for message in back.messages] == [message["role"] for message in conversation.messages]


@pytest.mark.parametrize("name", WHOLE)
@FEWER
@given(conversation=HELD_WHOLE)
def test_a_document_that_holds_everything_gives_everything_back(name, conversation):
    written = outcome(conversations.dump, conversation, name)
    assert losses.differences(conversation, read(name, written)) == []
