"""What we write for Oumi keeps the rules of its types, and is what they make of it.

Oumi needs torch and half of what is trained with, so that ``make conformance`` installs it without what it needs: its
types alone ask for no more than Pydantic and Jinja.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core.model import Conversation
from chatsquash.formats.base import with_private
from chatsquash.formats.clients.oumi import dump
from chatsquash.formats.clients.oumi_history import dump_all
from chatsquash.formats.writing import without_marks
from tests.formats.kinds import KINDS, ODD, call, image, said, text, user
from tests.formats.odd import CONVERSATIONS

TYPES = ("object", "string", "number", "integer", "boolean", "array", "null")
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": ["string", "null"], "enum": ["Paris", None]}, "any": True, "odd": {"type": "dict"}},
    "required": ["city"],
    "items": [{"type": "string"}],
}
TOOLS = [
    {
        "type": "function",
        "function": {"name": "weather", "description": "Tells.", "parameters": SCHEMA, "strict": True},
    },
    with_private(
        {"type": "function", "function": {"name": "traffic"}}, {"anthropic": {"cache_control": {"ephemeral": 1}}}
    ),
]
MORE = {
    "path and bytes": [user([text("a"), image("cat.png"), image("data:image/png;base64,AAAA"), image("")])],
    "thought alone": [said(None, reasoning_content="hm")],
    "call without id": [said(None, {**call(), "id": None}), {"role": "tool", "content": "x"}],
    "index": [said(None, {**call(), "index": 0})],
}
WHOLE = [*KINDS.values(), *(Conversation(messages, TOOLS) for messages in MORE.values())]
NAMES = [*KINDS, *MORE]


def expect(holder, wanted, optional=()):
    assert isinstance(holder, dict)
    for key, kinds in wanted.items():
        assert key in optional or key in holder, key
        assert key not in holder or isinstance(holder[key], kinds), key


def held_to_the_rules(document):
    """The rules that Oumi's ``Conversation`` checks; it passes over members that it does not know."""
    assert document.keys() <= {"messages", "tools", "metadata"}
    expect(document, {"messages": list, "metadata": dict, "tools": list}, ["tools"])
    for message in document["messages"]:
        held_message(message)
    for tool in document.get("tools", []):
        expect(tool, {"type": str, "function": dict})
        assert tool["type"] == "function"
        optional = {"description": str | None, "strict": bool | None, "parameters": dict | None}
        expect(tool["function"], {"name": str, **optional}, optional)
        held_schema(tool["function"].get("parameters"))


def held_message(message):
    assert message["role"] in ("system", "user", "assistant", "tool")
    optional = {"tool_calls": list, "tool_call_id": str, "reasoning_content": str}
    expect(message, {"content": str | list | None, **optional}, optional)
    assert message["content"] is not None or message["tool_calls"]
    for item in message["content"] if isinstance(message["content"], list) else []:
        held_item(item)
    for each in message.get("tool_calls", []):
        expect(each, {"id": str, "type": str, "function": dict})
        assert each["type"] == "function"
        expect(each["function"], {"name": str, "arguments": str})


def held_item(item):
    assert item["type"] in ("text", "image_path", "image_url", "image_binary")
    said = "binary" if item["type"] == "image_binary" else "content"
    assert item.keys() >= {"type", said}
    assert isinstance(item[said], str)
    assert item["type"] == "text" or item[said]


def held_schema(schema):
    if schema is None:
        return
    optional = {"description": str | None, "title": str | None, "format": str | None, "enum": list | None}
    optional |= {"properties": dict | None, "required": list | None, "items": dict | None}
    expect(schema, optional, optional)
    kinds = schema.get("type")
    assert all(each in TYPES for each in (kinds if isinstance(kinds, list) else [kinds] if kinds is not None else []))
    assert all(isinstance(each, str) for each in schema.get("required") or [])
    for each in (schema.get("properties") or {}).values():
        assert isinstance(each, dict)
        held_schema(each)
    held_schema(schema.get("items"))


def held_history(document):
    """The rules of the documentation, with those that Oumi's import has beyond them."""
    for member in ("schema_version", "format", "branches"):
        assert member in document
    assert document["format"] == "oumi_conversation_history"
    for key, branch in document["branches"].items():
        assert branch["id"] == key
        assert isinstance(branch["conversation_history"], list)
        assert branch["parent_branch_id"] is None or branch["parent_branch_id"] in document["branches"]
        assert isinstance(branch["branch_point_index"], int)
        assert not branch.keys() & {"created_at", "last_active"}, "the import wants a time there, or no such member"
        for message in branch["conversation_history"]:
            assert message["role"] in ("system", "user", "assistant", "attachment")
            assert isinstance(message["text_content" if message["role"] == "attachment" else "content"], str)


@pytest.mark.parametrize("conversation", WHOLE, ids=NAMES)
def test_a_training_conversation_keeps_the_rules(conversation):
    held_to_the_rules(json.loads(json.dumps(dump(conversation))))


@given(ODD | CONVERSATIONS)
def test_so_does_one_with_odd_values(conversation):
    held_to_the_rules(json.loads(json.dumps(dump(conversation))))


def test_a_history_keeps_the_rules():
    held_history(json.loads(json.dumps(dump_all(WHOLE))))


@given(st.lists(ODD | CONVERSATIONS, max_size=2))
def test_so_does_a_history_with_odd_values(conversations):
    held_history(json.loads(json.dumps(dump_all(conversations))))


@pytest.mark.parametrize("name", [name for name in KINDS if name != "orphan result"])
def test_every_result_answers_a_call_before_it_once(name):
    waiting = set()
    for message in dump(KINDS[name])["messages"]:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
        waiting |= {each["id"] for each in message.get("tool_calls", [])}


# By Oumi's own types


@pytest.mark.parametrize("conversation", WHOLE, ids=NAMES)
def test_oumi_takes_a_conversation_and_keeps_all_of_it_but_our_marks(oumi_type, conversation):
    written = json.loads(json.dumps(dump(conversation)))
    assert oumi_type.from_dict(json.loads(json.dumps(written))).to_dict() == without_marks(written)


@given(conversation=ODD | CONVERSATIONS)
def test_oumi_takes_one_with_odd_values(oumi_type, conversation):
    oumi_type.from_dict(json.loads(json.dumps(dump(conversation))))
