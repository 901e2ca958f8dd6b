"""Laws that hold for every format, whatever values it is given.

What is read is made of what the rows of a format hold (``table.py``), put together otherwise; what is written are odd
conversations of turns and of messages.  ``make fuzz-fixed`` tries ten times as many.
"""

from __future__ import annotations

import copy
import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert, to_builtins

from chatsquash.core import chat, jsonio
from chatsquash.core.blocks import FAILED, PROMPTS, Media, Refusal, Result, Text, Turn
from chatsquash.core.model import Conversation
from chatsquash.formats import base, bodies, documents, formats, get_format, view
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import have_ids
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import at
from chatsquash.formats.writing import KEY, without_marks
from chatsquash.translate import conversations, losses
from tests.conftest import examples
from tests.formats.kinds import ODD
from tests.formats.odd import CONVERSATIONS, links
from tests.formats.table import has_private, is_marked, outcome, rows, spelled
from tests.translate.through import inside

EXCHANGES = list(formats())
WRITTEN = [name for name in documents.names() if name in conversations.writable_formats()]
NAMELESS = ("model_messages", "portable", "pydantic_ai", "vercel_ai")
"""Documents that may hold so little that nothing shows their format."""
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
def test_any_turn_is_loaded_or_refused_and_equal_turns_give_equal_turns(name, data):
    form, turns = get_format(name), data.draw(odd(name, "turns"))
    state = other = form.START
    for turn in turns if isinstance(turns, list) else [turns]:
        found = outcome(form.load, turn, state)
        assert found == outcome(form.load, copy.deepcopy(turn), other)
        if isinstance(found, dict):
            continue
        state, other = found.state, copy.deepcopy(found.state)
        assert state == other
        well_made(turns_of(found))
    assert form.close(state) == form.close(other)
    well_made(form.close(state))


def well_made(turns):
    """Turns are of the types that they say, and so are their messages."""
    assert convert(to_builtins(turns), list[Turn]) == list(turns)
    for turn in turns:
        assert all(isinstance(block, Result) for block in turn.blocks) or turn.role != "tool"
        content = [block for each in turn.blocks for block in (each, *getattr(each, "content", ()))]
        assert all(block.text for block in content if isinstance(block, Text | Refusal))
        assert all(block.data or block.url or block.file_id for block in content if isinstance(block, Media))
    messages = view.messages(turns)
    assert is_marked(messages)
    assert jsonio.dumps(view.public(turns))
    for message in messages:
        assert isinstance(message["role"], str)
        assert isinstance(message.get("content"), str | list | None)
        assert message.get("reasoning_content") != ""
        made = chat.calls(message) if message["role"] == "assistant" else []
        assert all(isinstance(at(call, "function", "arguments"), str | None) for call in made)


@pytest.mark.parametrize("name", [name for name in EXCHANGES if get_format(name).usual is not base.not_usual])
@given(data=st.data())
def test_a_usual_turn_has_the_messages_and_the_state_of_its_blocks(name, data):
    form, turns = get_format(name), data.draw(odd(name, "turns"))
    state = form.START
    for turn in turns if isinstance(turns, list) else [turns]:
        found, usual = outcome(form.load, turn, state), form.usual(turn, state)
        if isinstance(found, dict):
            assert usual is None
            continue
        if usual is not None:
            messages, following = usual
            assert list(map(list, messages)) == list(map(list, view.messages(found.turns)))
            assert (messages, following) == (view.messages(found.turns), found.state)
        state = found.state


@pytest.mark.parametrize("name", [name for name in EXCHANGES if get_format(name).plain is not base.no_messages])
@given(data=st.data())
def test_a_turn_that_depends_on_no_other_has_the_messages_of_its_blocks(name, data):
    form, turns = get_format(name), data.draw(odd(name, "turns"))
    for turn in turns if isinstance(turns, list) else [turns]:
        found, messages = outcome(form.load, turn, form.START), form.plain(turn)
        if messages is None:
            assert isinstance(found, dict) or not found.turns or not have_ids(found.turns) or form.close(found.state)
        else:
            assert list(map(list, messages)) == list(map(list, view.messages(found.turns)))
            assert messages == view.messages(found.turns)


def test_a_thought_of_gemini_is_usual():
    gemini = get_format("gemini")
    parts = [
        {"thought": True, "text": "First"},
        {"thought": True, "text": "Second"},
        {"text": "Look:"},
        {"functionCall": {"id": "c1", "name": "ls", "args": {}}},
    ]
    turn = {"role": "model", "parts": parts}
    assert (
        gemini.usual(turn, gemini.START)[0]
        == gemini.plain(turn)
        == view.messages(gemini.load(turn, gemini.START).turns)
    )
    late = {"role": "model", "parts": [{"text": "Look:"}, {"thought": True, "text": "First"}]}
    assert gemini.usual(late, gemini.START) is None


def test_some_turns_are_usual():
    turns = [row.given for row in rows("turns", "anthropic") if isinstance(row.given, list)]
    usual = [get_format("anthropic").usual(turn, get_format("anthropic").START) for each in turns for turn in each]
    assert len(usual) - usual.count(None) > 20


@pytest.mark.parametrize("name", [name for name in EXCHANGES if get_format(name).dump])
@given(data=st.data())
def test_what_was_read_of_a_format_and_written_is_held_by_it(name, data):
    body = {get_format(name).TURNS: data.draw(odd(name, "turns"))}
    found = outcome(bodies.load, get_format(name), body)
    if not isinstance(found, dict):
        again = bodies.load(get_format(name), outcome(get_format(name).dump, found))
        assert conversations.losses(again, name) == []


@pytest.mark.parametrize("name", EXCHANGES)
@given(data=st.data())
def test_any_value_is_read_without_another_exception(name, data):
    form = get_format(name)
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
    stream = outcome(get_format(name).assemble, events if isinstance(events, list) else [events])
    outcome(get_format(name).reply, stream.body)
    json.dumps(stream.body)


@pytest.mark.parametrize("name", [name for name in documents.names() if rows("files", name)])
@FEWER
@given(data=st.data())
def test_any_file_is_read_or_refused(name, data):
    found = data.draw(odd(name, "files"))
    objects = found if isinstance(found, list) else [found]
    outcome(documents.get_format(name).fits, objects)
    held = outcome(documents.get_format(name).conversations, objects)
    if isinstance(held, list):
        assert is_marked([message for each in held for message in each.messages])
        jsonio.dumps([view.public(turns_of(each)) for each in held])
        well_made([turn for each in held for turn in turns_of(each)])


@pytest.mark.parametrize("name", [name for name in WRITTEN if rows("files", name) and name != "oumi_history"])
@FEWER
@given(data=st.data())
def test_what_was_read_of_a_document_and_written_is_held_by_it(name, data):
    found = data.draw(odd(name, "files"))
    held = outcome(documents.get_format(name).conversations, found if isinstance(found, list) else [found])
    for each in held if isinstance(held, list) else ():
        if turns_of(each):
            again = read(name, outcome(documents.get_format(name).dump, each))
            assert conversations.losses(again, name) == []


def read(name, document):
    """The conversation of a document that was written."""
    document = jsonio.loads(jsonio.dumps(document))
    if name in EXCHANGES:
        return bodies.load(get_format(name), document)
    found = documents.get_format(name).conversations([document])
    told = documents.get_format(name).fits([document]) or name in NAMELESS or any(each.native for each in found)
    assert told or not any(turns_of(each) for each in found), "what was written shows its format"
    return found[0] if found else Conversation([], [])


@pytest.mark.parametrize("name", conversations.writable_formats())
@given(conversation=ODD | CONVERSATIONS)
def test_any_conversation_is_written_and_what_was_written_is_held_whole(name, conversation):
    form = conversations.named_format(name)
    before = repr(conversation)
    try:
        document = form.dump(conversation)
    except TurnError:
        return
    assert repr(conversation) == before
    assert not has_private(document)
    assert document == json.loads(json.dumps(document)) == form.dump(conversation)
    back = read(name, document)
    well_made(turns_of(back))
    again = read(name, form.dump(back))
    assert links(turns_of(again)) == links(turns_of(back))
    assert losses.differences(back, again) == []
    assert nameless(view.public(turns_of(again))) == nameless(view.public(turns_of(back)))
    if name in ("openai_chat", "clippy"):
        assert spoken(turns_of(back)) == spoken(turns_of(conversation))


def spoken(turns):
    """The assistant's turns and each result."""
    return [
        kind
        for turn in turns
        for kind in (
            ["assistant"] if turn.role == "assistant" else ["tool" for block in turn.blocks if type(block) is Result]
        )
    ]


def nameless(messages):
    """Messages without the names of results, which calls tell."""
    return [{key: value for key, value in message.items() if key != "name"} for message in messages]


@pytest.mark.parametrize("name", conversations.writable_formats())
@given(conversation=ODD | CONVERSATIONS)
def test_no_mark_of_ours_is_written_where_none_is_needed(name, conversation):
    """It tells that a prompt was given as instructions, or that a text says what the format has no member for."""
    try:
        document = conversations.named_format(name).dump(conversation)
    except TurnError:
        return
    bare = without_marks(document)
    assert spelled(bare).count(f'"{KEY}":') <= repr(conversation).count(KEY)
    needed = any(turn.instructions or failed(turn) for turn in turns_of(conversation))
    if not needed and not (name == "gemini" and any(turn.role in PROMPTS for turn in turns_of(conversation))):
        assert bare == document


def failed(turn):
    return any(isinstance(block, Result) and block.outcome in FAILED for block in turn.blocks)
