"""What we write for Pydantic AI and read of it, beside what its own types and its adapter for UI messages make of it."""

from __future__ import annotations

import json

import pytest
from pydantic import TypeAdapter
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import UIMessage

from chatsquash import chat
from chatsquash.formats.clients import pydantic_ai, vercel_ai
from chatsquash.formats.clients.pydantic_ai.write import called
from chatsquash.model import Conversation
from chatsquash.translate import losses
from tests.formats.kinds import KINDS, call, image, private, result, said, system, text, user
from tests.formats.table import documents_read

from .shared import RECORDED

UI_MESSAGES = TypeAdapter(list[UIMessage])
WHOLE = Conversation(
    [
        system("Be kind."),
        private(system("Answer in one line."), **{"from": "instructions"}),
        user([text("What is this?"), image()]),
        said("I look.", call("a"), call("b", "{}", "traffic"), reasoning_content="Two calls."),
        private(result("no such city", "a"), is_error=True),
        private(result('{"jam":true}', "b"), json=True),
        user("And?"),
        said("A jam."),
    ],
    [],
)


def kept(document):
    """A document as Pydantic AI writes it again."""
    return json.loads(ModelMessagesTypeAdapter.dump_json(ModelMessagesTypeAdapter.validate_json(json.dumps(document))))


@pytest.mark.parametrize("name", [*KINDS, "whole"])
def test_a_document_that_we_write_is_one(name):
    conversation = KINDS.get(name, WHOLE)
    written = pydantic_ai.dump(conversation)
    held = ModelMessagesTypeAdapter.validate_json(json.dumps(written))
    assert [each.kind for each in held] == [each["kind"] for each in written]
    assert [p.part_kind for each in held for p in each.parts] == [
        p["part_kind"] for each in written for p in each["parts"]
    ]


@pytest.mark.parametrize(("name", "conversation"), [*KINDS.items(), ("whole", WHOLE), *RECORDED])
def test_a_document_that_pydantic_ai_wrote_again_says_the_same(name, conversation):
    (again,) = pydantic_ai.conversations([kept(pydantic_ai.dump(conversation))])
    assert losses.differences(Conversation(conversation.messages, []), again) == []


OLD = "instruction-delta", "tool-availability-delta"
VALID = {
    sentence: turns
    for sentence, turns in documents_read("pydantic_ai").items()
    if not any(part.get("part_kind") in OLD for turn in turns for part in turn["parts"])
}


@pytest.mark.parametrize("sentence", VALID)
def test_what_we_read_is_a_document(sentence):
    assert ModelMessagesTypeAdapter.validate_python(VALID[sentence]), sentence


# The adapter for UI messages


def gist(messages):
    """What messages say to a model, without marks, ids of messages and the spelling of arguments."""
    return [
        (
            "system" if message["role"] == "developer" else message["role"],
            message.get("tool_call_id"),
            [*said_texts(message), *chat.private(message).get("after", [])],
            [
                {**part, "file": {**part["file"], "filename": None}} if "file" in part else part
                for part in chat.other_parts(message)
            ],
            [(each["id"], *spelled(*called(each))) for each in chat.calls(message)],
            message.get("reasoning_content"),
            chat.private(message).get("thinking"),
            chat.private(message).get("is_error", False),
        )
        for message in messages
    ]


def said_texts(message):
    return [told for told in [chat.text(message), message.get("refusal")] if told]


def spelled(name, arguments):
    try:
        return name, json.dumps(json.loads(arguments))
    except ValueError:
        return name, arguments


UNLIKE = {
    "results reordered": "both know a call and its result as one part, and only we note the order",
    "result parts": "both read a list of texts as JSON, and only we note that it is none",
}
NOT_LOADED = {
    **UNLIKE,
    "orphan result": "its reader makes a call of it",
    "asst asst": "its reader joins responses that follow each other",
}
NOT_DUMPED = {
    **UNLIKE,
    "text after call": "its writer marks no steps, so that text behind a call is read as the next response",
    "orphan result": "its writer drops it",
    "empty asst": "its writer drops it",
    "whole": "its writer drops instructions",
}


def through_load(conversation):
    """What we write as UI messages, as its reader reads them."""
    read = VercelAIAdapter.load_messages(UI_MESSAGES.validate_python(vercel_ai.dump(conversation)))
    return pydantic_ai.conversations([json.loads(ModelMessagesTypeAdapter.dump_json(read))])[0].messages


def through_dump(conversation):
    """What we write for Pydantic AI, as its writer writes UI messages, as we read them."""
    held = ModelMessagesTypeAdapter.validate_json(json.dumps(pydantic_ai.dump(conversation)))
    written = VercelAIAdapter.dump_messages(held)
    return vercel_ai.conversations([[each.model_dump(mode="json", by_alias=True) for each in written]])[0].messages


@pytest.mark.parametrize("name", [name for name in (*KINDS, "whole") if name not in NOT_LOADED])
def test_its_reader_reads_our_ui_messages_as_we_meant_them(name):
    conversation = KINDS.get(name, WHOLE)
    assert gist(through_load(conversation)) == gist(conversation.messages)


@pytest.mark.parametrize("name", [name for name in (*KINDS, "whole") if name not in NOT_DUMPED])
def test_we_read_its_ui_messages_as_we_meant_them(name):
    conversation = KINDS.get(name, WHOLE)
    assert gist(through_dump(conversation)) == gist(conversation.messages)


@pytest.mark.parametrize("name", NOT_LOADED)
def test_its_reader_is_known_to_read_something_else(name):
    conversation = KINDS.get(name, WHOLE)
    assert gist(through_load(conversation)) != gist(conversation.messages), NOT_LOADED[name]


@pytest.mark.parametrize("name", NOT_DUMPED)
def test_its_writer_is_known_to_write_something_else(name):
    conversation = KINDS.get(name, WHOLE)
    assert gist(through_dump(conversation)) != gist(conversation.messages), NOT_DUMPED[name]
