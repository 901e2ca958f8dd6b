"""What we write for Pydantic AI and read of it, beside what its own types and its adapter for UI messages make of it."""

from __future__ import annotations

import json
from itertools import groupby

import pytest
from anthropic.types.beta import BetaMCPToolResultBlock, BetaMCPToolUseBlock
from pydantic import TypeAdapter
from pydantic_ai import messages as library
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models import _conversation_summary_text  # which it has no public name for
from pydantic_ai.models.anthropic import _native_tools as native_tools
from pydantic_ai.ui.vercel_ai import VercelAIAdapter
from pydantic_ai.ui.vercel_ai.request_types import UIMessage

from chatsquash.core.blocks import Call, HostedCall, HostedResult, Media, Reasoning, Result, Text
from chatsquash.formats import bodies, get_format, parts
from chatsquash.formats.calls import call_input
from chatsquash.formats.clients import pydantic_ai, vercel_ai
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.writing import with_tool_names
from chatsquash.translate import losses
from tests.formats.kinds import KINDS, PNG, calling, conversation, gives, says, turn
from tests.formats.table import conversation as of_row
from tests.formats.table import documents_read, rows

from .shared import RECORDED

UI_MESSAGES = TypeAdapter(list[UIMessage])
IMAGE = Media("image", "image/png", PNG)
WHOLE = conversation(
    turn("system", "Be kind."),
    turn("system", "Answer in one line.", instructions=True),
    turn("user", "What is this?", IMAGE),
    says(Reasoning("Two calls."), "I look.", calling("a"), calling("b", "{}", "traffic")),
    turn("tool", gives("no such city", to="a", outcome="failed"), gives('{"jam":true}', to="b", json=True)),
    turn("user", "And?"),
    says("A jam."),
)
WRITTEN = {**KINDS, "whole": WHOLE, **{row.sentence: of_row(row.given) for row in rows("dump", "pydantic_ai")}}


def seen(document):
    """A document as Pydantic AI reads it."""
    return ModelMessagesTypeAdapter.validate_json(json.dumps(document))


def kept(document):
    """A document as Pydantic AI writes it again."""
    return json.loads(ModelMessagesTypeAdapter.dump_json(seen(document)))


def read(document):
    (found,) = pydantic_ai.conversations([document])
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_a_document_that_we_write_is_one(name):
    written = pydantic_ai.dump(WRITTEN[name])
    held = seen(written)
    assert [each.kind for each in held] == [each["kind"] for each in written]
    new = {"retry-prompt": "retry-feedback"}
    assert [p.part_kind for each in held for p in each.parts] == [
        new.get(p["part_kind"], p["part_kind"]) for each in written for p in each["parts"]
    ]


@pytest.mark.parametrize(("name", "held"), [*WRITTEN.items(), *RECORDED])
def test_a_document_that_pydantic_ai_wrote_again_says_the_same(name, held):
    written = pydantic_ai.dump(held)
    assert losses.differences(read(written), read(kept(written))) == []


def test_its_own_lines_of_files_are_files_again():
    media = [IMAGE, Media("image", url="https://example.com/a.png"), Media("file", file_id="file-1", provider="openai")]
    written = pydantic_ai.dump(conversation(says(calling()), turn("tool", gives("A", *media))))
    found = seen(written)[1].parts[0].files
    assert [type(each) for each in found] == [library.BinaryImage, library.ImageUrl, library.UploadedFile]


def test_an_object_of_the_tools_that_looks_like_a_file_is_none():
    arguments = '{"kind":"image-url","url":"https://example.com/a.png","media_type":"image/png"}'
    written = pydantic_ai.dump(conversation(says(calling()), turn("tool", gives(arguments, json=True))))
    part = seen(written)[1].parts[0]
    assert (part.files, part.content) == ([], json.loads(arguments))


VALID = documents_read("pydantic_ai")
INVALID = ("what is not anybody's result is kept as it is", "reasoning that nobody signed has no signer")


@pytest.mark.parametrize("sentence", [sentence for sentence in VALID if sentence not in INVALID])
def test_what_we_read_is_a_document(sentence):
    assert ModelMessagesTypeAdapter.validate_python(VALID[sentence]), sentence


# What the model is shown


def error(*loc, arguments=None, **more):
    return {"type": "missing", "loc": list(loc), "msg": "Field required", "input": arguments or {"a": 1}, **more}


FEEDBACK = [
    ("Say more.", "model_retry"),
    ("Please return text or call a tool.", "no_output"),
    ("Please sing.", "no_output"),
    ([error("a", ctx={"b": 1}), error("b")], "validation_error"),
    ([error("a", "b"), error(arguments="x"), error("c")], "validation_error"),
]


@pytest.mark.parametrize(("content", "cause"), FEEDBACK)
@pytest.mark.parametrize("kind", ["retry-feedback", "retry-prompt"])
def test_feedback_is_worded_as_the_model_sees_it(kind, content, cause):
    document = [{"kind": "request", "parts": [{"part_kind": kind, "content": content}]}]
    if kind == "retry-feedback":
        document[0]["parts"][0]["retry"] = {"cause": cause}
    (part,) = seen(document)[0].parts
    assert told(document) == [part.model_response()]


@pytest.mark.parametrize("content", [content for content, _ in FEEDBACK])
def test_a_prompt_to_call_a_tool_again_is_worded_as_the_model_sees_it(content):
    prompt = {"part_kind": "retry-prompt", "content": content, "tool_name": "weather", "tool_call_id": "a"}
    document = [{"kind": "request", "parts": [prompt]}]
    (part,) = seen(document)[0].parts
    (block,) = read(document).turns[0].blocks
    assert [each.text for each in block.content] == [part.model_response_str(wrap_if_error=False)]
    assert block.outcome == part.outcome


def test_a_summary_is_worded_as_the_model_sees_it():
    document = [{"kind": "request", "parts": [{"part_kind": "compaction", "content": "They met."}]}]
    assert told(document) == [_conversation_summary_text("They met.")]


@pytest.mark.parametrize("content", ["Be brief.", None])
def test_a_change_of_instructions_is_worded_as_the_model_sees_it(content):
    document = [
        {"kind": "request", "parts": [{"part_kind": "instruction-delta", "id": 'agent:"a"&b', "content": content}]}
    ]
    (part,) = seen(document)[0].parts
    assert told(document) == [part.render()]


def told(document):
    return [block.text for turn in read(document).turns for block in turn.blocks]


# The adapter for UI messages


def gist(held):
    """What turns say to a model, without marks, ids of messages, empty ones and the spelling of arguments."""
    called = with_tool_names(turns_of(held))[1]
    said = [
        (turn.role, told)
        for turn in turns_of(held)
        if (told := [each for block in turn.blocks if (each := gist_of(block, called))])
    ]
    return [(role, [each for _, told in group for each in told]) for role, group in groupby(said, lambda each: each[0])]


def gist_of(block, called):
    match block:
        case Text():
            return block.text
        case Reasoning():
            return block.text, block.signer, block.signature, block.encrypted, block.id
        case Call():
            return block.id, block.name, call_input(block)
        case Result():
            content = [gist_of(each, called) for each in block.content]
            return block.id, block.name or called.get(block.id, ""), content, block.json, block.outcome
        case HostedCall():
            return block.id, block.name, call_input(Call("", "", block.arguments)), block.provider
        case HostedResult():
            return block.id, block.name, block.value, block.outcome
        case Media():
            return block.kind, parts.standard_base64(block.data), block.url, block.file_id
    return None


def through_load(held):
    """What we write as UI messages, as its reader reads them."""
    loaded = VercelAIAdapter.load_messages(UI_MESSAGES.validate_python(vercel_ai.dump(held)))
    return read(json.loads(ModelMessagesTypeAdapter.dump_json(loaded)))


def through_dump(held):
    """What we write for Pydantic AI, as its writer writes UI messages, as we read them."""
    written = VercelAIAdapter.dump_messages(seen(pydantic_ai.dump(held)))
    return vercel_ai.conversations([[each.model_dump(mode="json", by_alias=True) for each in written]])[0]


def as_written(held):
    """What Pydantic AI can hold of it."""
    return read(pydantic_ai.dump(held))


REORDERED = "both know a call and its result as one part, and only we note the order"
NOT_LOADED = {"orphan result": "its reader makes a call of it", "results reordered": REORDERED}
NOT_DUMPED = {
    "instructions": "its writer drops instructions",
    "orphan result": "its writer drops it",
    "results reordered": REORDERED,
    "text after call": "its writer marks no steps, so that text behind a call is read as the next response",
    "whole": "its writer drops instructions",
}
MET = {**KINDS, "whole": WHOLE}


@pytest.mark.parametrize("name", [name for name in MET if name not in NOT_LOADED])
def test_its_reader_reads_our_ui_messages_as_we_meant_them(name):
    assert gist(through_load(MET[name])) == gist(as_written(MET[name]))


@pytest.mark.parametrize("name", [name for name in MET if name not in NOT_DUMPED])
def test_we_read_its_ui_messages_as_we_meant_them(name):
    assert gist(through_dump(MET[name])) == gist(as_written(MET[name]))


@pytest.mark.parametrize("name", NOT_LOADED)
def test_its_reader_is_known_to_read_something_else(name):
    assert gist(through_load(MET[name])) != gist(as_written(MET[name])), NOT_LOADED[name]


@pytest.mark.parametrize("name", NOT_DUMPED)
def test_its_writer_is_known_to_write_something_else(name):
    assert gist(through_dump(MET[name])) != gist(as_written(MET[name])), NOT_DUMPED[name]


@pytest.mark.parametrize("is_error", [False, True])
def test_calls_of_mcp_servers_are_what_it_makes_of_anthropics_blocks(is_error):
    used = {"type": "mcp_tool_use", "id": "m1", "name": "weather", "server_name": "s", "input": {"city": "Paris"}}
    gave = {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": is_error, "content": []}
    call = native_tools.map_mcp_server_use_block(BetaMCPToolUseBlock(**used), "anthropic")
    answer = native_tools.map_mcp_server_result_block(BetaMCPToolResultBlock(**gave), call, "anthropic")
    held = bodies.load(get_format("anthropic"), {"messages": [{"role": "assistant", "content": [used, gave]}]})
    (message,) = ModelMessagesTypeAdapter.validate_python(pydantic_ai.dump(held))
    ours = [(part.tool_name, part.tool_call_id, part.provider_name) for part in message.parts]
    assert ours == [(part.tool_name, part.tool_call_id, part.provider_name) for part in (call, answer)]
    assert (message.parts[0].args_as_dict(), message.parts[1].content) == (call.args, answer.content)
