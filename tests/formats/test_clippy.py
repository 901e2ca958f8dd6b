"""Saved conversations of clippy-code, and back."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.formats.base import TurnError
from chatsquash.formats.clients.clippy import conversations, dump, fits
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, ODD, VALUES, call, image, private, result, said, settled, system, text, user
from tests.formats.odd import CONVERSATIONS
from tests.formats.test_portable import has_private


def saved(*history, **more):
    times = {"timestamp": 1764000000.5, "conversation_start_time": 1763990000.25}
    return {"model": "some-model", "base_url": None, "conversation_history": list(history), **times, **more}


def load(*history, **more):
    return conversations([saved(*history, **more)])[0]


def plain(value):
    """With private slots that are compared."""
    return json.loads(json.dumps(value))


def use(ident="call_abc", **arguments):
    return {"type": "tool_use", "id": ident, "name": "weather", "input": arguments}


def gave(content, ident="call_abc", **more):
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": ident, "content": content, **more}]}


SUMMARY = said("[CONVERSATION SUMMARY]\n\nThey spoke of Paris.\n\n[END SUMMARY]")

READ = [
    ([system(), user(), said(None, call()), result("sun", name="weather"), said()], None, "messages are what they are"),
    ([system(), SUMMARY, user()], None, "so is a summary"),
    ([said("a", reasoning_content="hm")], None, "and reasoning"),
    ([result("ERROR: no such city")], [private(result("no such city"), is_error=True)], "the prefix says that a call failed"),
    ([result("ERROR: ERROR: no")], [private(result("ERROR: no"), is_error=True)], "only one of them is clippy's"),
    ([result("ERROR: ")], [private(result(""), is_error=True)], "the failure may be all there is"),
    ([result("An ERROR: no"), result("ERROR:no")], None, "elsewhere it says nothing"),
    ([user("ERROR: no"), said("ERROR: no")], None, "nor in other messages"),
    ([result([text("ERROR: no"), text("b")])], [private(result([text("no"), text("b")]), is_error=True)], "it stands before the first part"),
    ([result([text("ERROR: "), text("b"), text("c")])], [private(result([text("b"), text("c")]), is_error=True)], "or is that part"),
    # Anthropic's
    ([user("hi"), {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use(city="Paris")]}, gave("sun")],
     [user("hi"), said("I look.", call()), result("sun")], "older files have blocks"),
    ([{"role": "assistant", "content": [use(city="Paris")]}, gave("no", is_error=True)], [said(None, call()), private(result("no"), is_error=True)], "with a member for failures"),
    ([{"role": "assistant", "content": [use(city="Paris")]}, gave("ERROR: no")], [said(None, call()), result("ERROR: no")], "so that the prefix says nothing there"),
]  # fmt: skip


@pytest.mark.parametrize("history, expected, sentence", READ, ids=[row[2] for row in READ])
def test_reading(history, expected, sentence):
    before = copy.deepcopy(history)
    bare = [{key: value for key, value in message.items() if key != "_x"} for message in load(*history).messages]
    wanted = history if expected is None else expected
    assert bare == [{key: value for key, value in message.items() if key != "_x"} for message in wanted], sentence
    failed = [message.get("_x", {}).get("is_error", False) for message in load(*history).messages]
    assert failed == [message.get("_x", {}).get("is_error", False) for message in wanted], sentence
    assert history == before


def test_older_files_have_their_prompt_and_tools_beside_the_history():
    tool = {"name": "weather", "description": "Tells.", "input_schema": {"type": "object"}}
    loaded = load(user("hi"), {"role": "assistant", "content": [use()]}, system="Be brief.", tools=[tool])
    function = {"name": "weather", "description": "Tells.", "parameters": {"type": "object"}}
    assert plain(loaded.tools) == [{"type": "function", "function": function}]
    assert loaded.messages[0]["content"] == "Be brief."


BROKEN = [
    (5, r"^is a number, not an object$"),
    ({}, r"^conversation_history is not there$"),
    (saved() | {"conversation_history": {}}, r"^conversation_history is an object, not a list$"),
    (saved(user(), {"content": "a"}), r"^conversation_history: messages\[1\] has no role$"),
]


@pytest.mark.parametrize("document, problem", BROKEN)
def test_what_is_broken_is_told_with_its_place(document, problem):
    with pytest.raises(TurnError, match=problem):
        conversations([document])
    with pytest.raises(TurnError, match=rf"^conversation 2: {problem[1:]}"):
        conversations([saved(), document])


FITTING = [
    ([saved(user())], True, "what clippy saves"),
    ([saved(user(), project="p")], True, "also with members that are new"),
    ([{"conversation_history": [user()]}], True, "what we write"),
    ([saved(), saved(user())], True, "several, one on each line"),
    ([{"conversation_history": [user()], "session": "s"}], False, "a history of somebody else's"),
    ([saved(user(), format="oumi_conversation_history")], False, "Oumi's file with branches"),
    ([saved(user(), chat_id="c")], False, "Oumi's file without"),
    ([saved("hi")], False, "a history without messages"),
    ([saved(user()), {"messages": [user()]}], False, "a line of something else"),
    ([{"messages": [user()]}], False, "a request"),
    ([[saved()]], False, "an array"),
    ([], False, "an empty file"),
]


@pytest.mark.parametrize("objects, expected, sentence", FITTING, ids=[row[2] for row in FITTING])
def test_recognising(objects, expected, sentence):
    assert bool(fits(objects)) is expected, sentence


WRITTEN = [
    ([system(), user("a"), said("b")], [system(), user("a"), said("b")], "messages are what they are"),
    ([system("a"), user(), system("b")], [system("a"), user(), system("b")], "every system message stays, not the last one alone"),
    ([{"role": "developer", "content": "a"}], [{"role": "developer", "content": "a"}], "a developer is not dropped"),
    ([said(None, call(arguments="{bad"))], [said(None, call(arguments="{bad"))], "malformed arguments stay, where clippy makes {} of them"),
    ([private(result("no"), is_error=True)], [result("ERROR: no")], "a failure is told by the prefix"),
    ([private(result("ERROR: no"), is_error=True)], [result("ERROR: ERROR: no")], "in addition to what the text says"),
    ([private(result('{"a":1}'), is_error=True, json=True)], [result('ERROR: {"a":1}')], "before JSON, too"),
    ([private(result(None), is_error=True)], [result("ERROR: ")], "or alone"),
    ([private(result([text("no"), text("b")]), is_error=True)], [result([text("ERROR: no"), text("b")])], "before the first part"),
    ([private(result([image(), text("b")]), is_error=True)], [result([text("ERROR: "), text("b")])], "or in a part of its own"),
    ([private(result({"a": 1}), is_error=True)], [result('ERROR: {"a":1}')], "before what was no text, too"),
    ([result("no")], [result("no")], "other results have none"),
    ([result("sun", name="weather")], [result("sun", name="weather")], "the name of a result's tool stays"),
    ([said("a", reasoning_content="hm")], [said("a", reasoning_content="hm")], "so does reasoning"),
    ([private(said("I look.", call()), after=["Wait."])], [said([text("I look."), text("Wait.")], call())], "what is said behind calls is a part of its own"),
    ([said(None, call("call_1")), said(None, call("call_1"))], [said(None, call("call_1")), said(None, call("call_1"))], "ids are not made anew"),
]  # fmt: skip


@pytest.mark.parametrize("messages, expected, sentence", WRITTEN, ids=[row[2] for row in WRITTEN])
def test_writing(messages, expected, sentence):
    assert plain(dump(Conversation(messages, []))) == {"conversation_history": expected}, sentence


def test_tools_have_no_place():
    tool = {"type": "function", "function": {"name": "weather"}}
    assert dump(Conversation([user()], [tool])) == {"conversation_history": [user()]}


LOST = {
    "text after call",
    "result json obj",
    "result json list",
    "result image",
    "anthropic signature",
    "anthropic redacted",
    "openai encrypted",
    "gemini call sig",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_comes_back_but_for_what_has_no_place(kind):
    before = copy.deepcopy(KINDS[kind])
    back = conversations([json.loads(json.dumps(dump(KINDS[kind])))])[0]
    assert KINDS[kind] == before, "the conversation is not changed"
    assert (settled(back.messages) == settled(before.messages)) is (kind not in LOST)


@given(ODD | CONVERSATIONS)
def test_odd_values_never_stop_it_and_it_changes_nothing(conversation):
    before = copy.deepcopy(conversation)
    written = dump(conversation)
    assert conversation == before
    assert not has_private(written)
    assert json.loads(json.dumps(written)) == written == dump(conversation)
    back = conversations([json.loads(json.dumps(written))])[0]
    assert [message["role"] for message in back.messages] == [message["role"] for message in conversation.messages]


MESSAGES = st.dictionaries(st.sampled_from("role content tool_calls tool_call_id name _x".split()), VALUES, max_size=4)
ROLES = st.sampled_from(["user", "assistant", "tool", "system"])
HISTORIES = st.lists(st.builds(lambda role, message: {"role": role, **message}, ROLES, MESSAGES) | VALUES, max_size=4)


@given(st.lists(st.builds(lambda history: saved() | {"conversation_history": history}, HISTORIES | VALUES), max_size=2))
def test_whatever_a_file_holds_is_read_or_refused(objects):
    fits(objects)
    before = copy.deepcopy(objects)
    try:
        found = conversations(objects)
    except TurnError:
        return
    assert objects == before
    assert len(found) == len(objects)
