"""What tools give, over the formats: empty texts, files beside texts and values, errors and denials."""

import json
from itertools import product

import pytest

from chatsquash.core.blocks import Call, HostedCall, HostedResult, Media, Result, Text, Turn
from chatsquash.core.model import Conversation
from chatsquash.formats import view
from chatsquash.formats.clients import model_messages, pydantic_ai, vercel_ai
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import conversations

PIXEL = "iVBORw0KGgo="
CALL = Call("t1", "look", "{}")
IMAGE = Media("image", "image/png", PIXEL)
LINK = Media("image", "image/png", url="https://x.test/dot.png")
CLIENTS = {"pydantic_ai": pydantic_ai, "vercel_ai": vercel_ai}


def held(*content, json=False, outcome="success"):
    result = Result("t1", content=content, json=json, outcome=outcome)
    turns = (Turn("user", (Text("Look."),)), Turn("assistant", (CALL,)), Turn("tool", (result,)))
    return Conversation(view.messages(turns), [], turns=turns)


def result_in(read):
    return next(block for turn in turns_of(read) for block in turn.blocks if isinstance(block, Result))


def again(written, name):
    (read,) = conversations.load_all([json.loads(json.dumps(written))], name)
    return result_in(read)


def anthropic(content):
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}]}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": content}
    return {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Look."}, used, {"role": "user", "content": [answer]}],
    }


def bedrock(content):
    used = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t1", "name": "look", "input": {}}}]}
    answer = {"toolResult": {"toolUseId": "t1", "content": content}}
    return {"messages": [{"role": "user", "content": [{"text": "Look."}]}, used, {"role": "user", "content": [answer]}]}


def loaded(body, name):
    return result_in(conversations.load_all([body], name)[0])


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("anthropic", anthropic([{"type": "text", "text": ""}])),
        ("anthropic", anthropic([{"type": "text", "text": ""}, {"type": "text", "text": ""}])),
        ("anthropic", anthropic([])),
        ("anthropic", anthropic("")),
        ("bedrock", bedrock([{"text": ""}])),
    ],
)
def test_empty_texts_are_an_empty_result(name, body):
    found = loaded(body, name)
    assert (found.content, found.json) == ((), False)


def test_an_empty_text_beside_a_reference_is_no_json():
    found = loaded(
        anthropic([{"type": "text", "text": ""}, {"type": "tool_reference", "tool_name": "dig"}]), "anthropic"
    )
    assert not found.json


def test_blocks_that_nobody_knows_beside_an_image_leave_it_an_image():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    found = loaded(anthropic([image, {"note": 1}]), "anthropic")
    assert found.content[0] == IMAGE
    assert not found.json


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize(
    ("content", "is_json"),
    [
        ((Text("here"), IMAGE), False),
        ((IMAGE, Text("here"), LINK), False),
        ((Text("{}"), LINK, IMAGE), True),
        ((Text('{"a":1}'), IMAGE), True),
        ((Text("[1,2]"), IMAGE), True),
        ((Text("null"), IMAGE), True),
        ((IMAGE,), False),
        ((LINK,), False),
    ],
)
def test_files_stand_beside_texts_and_values(name, content, is_json):
    """Pydantic AI (source, ``BaseToolReturnPart._unwrap_data``) shows values together, and files apart."""
    source = held(*content, json=is_json)
    found = again(CLIENTS[name].dump(source), name)
    assert (found.content, found.json) == (content, is_json)
    assert not [path for path in conversations.losses(source, name) if "content" in path]


@pytest.mark.parametrize("name", CLIENTS)
def test_what_only_a_provider_knows_of_a_text_is_lost_and_the_text_is_there(name):
    marked = Text("here", native={"anthropic": {"cache_control": {"type": "ephemeral"}}})
    source = held(marked, IMAGE)
    assert again(CLIENTS[name].dump(source), name).content == (Text("here"), IMAGE)
    assert list(conversations.losses(source, name)) == ["turns[2].blocks[0].content[0].native.anthropic.cache_control"]


def test_every_file_that_is_no_data_has_its_digest():
    part = pydantic_ai.dump(held(Text("{}"), LINK, IMAGE, json=True))[-1]["parts"][0]
    assert len(part["content_file_digests"]) == 1


def test_values_beside_files_have_no_data_in_their_text():
    content = [{"a": 1}, {"kind": "binary", "data": PIXEL, "media_type": "image/png"}, ["b"]]
    part = {"part_kind": "tool-return", "tool_name": "look", "content": content, "tool_call_id": "t1"}
    call = {"part_kind": "tool-call", "tool_name": "look", "args": "{}", "tool_call_id": "t1"}
    found = loaded([{"kind": "response", "parts": [call]}, {"kind": "request", "parts": [part]}], "pydantic_ai")
    assert found.content == (Text('[{"a":1},["b"]]'), IMAGE)
    assert found.json


def test_a_denial_may_have_an_empty_reason():
    source = held(outcome="denied")
    for form in (vercel_ai, model_messages):
        name = form.NAME
        found = again(form.dump(source), name)
        assert (found.content, found.outcome) == ((), "denied"), name
        assert not [path for path in conversations.losses(source, name) if "content" in path], name


def test_errors_of_hosted_tools_are_errors_as_older_versions_kept_them():
    """Pydantic AI's adapter writes ``output-error`` for such values (source, ``_adapter.py``)."""
    call = {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {}, "tool_call_id": "b1"}
    came = {"error_text": "Too many.", "is_error": True}
    gave = {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": came, "tool_call_id": "b1"}
    (read,) = conversations.load_all([[{"kind": "response", "parts": [call, gave]}]], "pydantic_ai")
    (hosted,) = [block for block in turns_of(read)[0].blocks if isinstance(block, HostedResult)]
    assert hosted.outcome == "failed"
    part = vercel_ai.dump(read)[0]["parts"][1]
    assert (part["state"], part["errorText"]) == ("output-error", "Too many.")


def test_changes_of_the_tools_stand_with_the_prompt_and_come_before_the_reply():
    delta = {"part_kind": "tool-availability-delta", "tools_added": ["dig"], "tool_call_id": "l1"}
    prompt = {"part_kind": "user-prompt", "content": "Look."}
    document = [
        {"kind": "request", "parts": [prompt, delta]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Yes."}]},
    ]
    (read,) = conversations.load_all([document], "pydantic_ai")
    written = vercel_ai.dump(read)
    assert written[0]["parts"][1] == {
        "type": "data-tool-availability-delta",
        "data": {"added": ["dig"], "tool_call_id": "l1"},
    }
    assert list(conversations.losses(read, "vercel_ai")) == []
    assert pydantic_ai.dump(conversations.load_all([written], "vercel_ai")[0]) == document


def test_the_older_name_of_tools_that_were_added_is_read():
    delta = {"part_kind": "tool-availability-delta", "added": ["dig"]}
    document = [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Look."}, delta]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "Yes."}]},
    ]
    (read,) = conversations.load_all([document], "pydantic_ai")
    assert vercel_ai.dump(read)[0]["parts"][1]["data"] == {"added": ["dig"]}
    assert list(conversations.losses(read, "vercel_ai")) == []
    newer = {"part_kind": "tool-availability-delta", "tools_added": ["dig"]}
    assert pydantic_ai.dump(read)[0]["parts"][1] == newer


INLINE = {"type": "file", "mediaType": "text/plain", "filename": "a.txt", "data": {"type": "text", "text": "Rent: 900"}}
"""A file that contains its text: ``FilePart`` and ``FileDataText`` of the AI SDK 7."""


def test_the_text_of_an_inline_file_is_a_text():
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "Read it."}, INLINE]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "f", "input": {}}]},
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "c1",
                    "toolName": "f",
                    "output": {"type": "content", "value": [{"type": "text", "text": "See"}, INLINE]},
                }
            ],
        },
    ]
    assert model_messages.fits([messages])
    (read,) = conversations.load_all([messages], "model_messages")
    prompt, _, result = turns_of(read)
    assert [block.text for block in prompt.blocks] == ["Read it.", "Rent: 900"]
    assert [block.text for block in result.blocks[0].content] == ["See", "Rent: 900"]
    assert model_messages.dump(read) == messages
    assert list(conversations.losses(read, "model_messages")) == []
    assert "turns[0].blocks[1].native.model_messages.file" in conversations.losses(read, "anthropic")


@pytest.mark.parametrize("image", [{"type": "Buffer", "data": [137, 80, 78, 71]}, {"0": 137, "1": 80, "2": 78}])
def test_an_image_of_octets_marks_model_messages(image):
    assert model_messages.fits([[{"role": "user", "content": [{"type": "image", "image": image}]}]])


@pytest.mark.parametrize("image", [{"bytes": None, "path": "a.png"}, {"path": "a.png"}, {}, "a.png", 5])
def test_an_image_of_another_library_does_not(image):
    assert not model_messages.fits([[{"role": "user", "content": [{"type": "image", "image": image}]}]])


@pytest.mark.parametrize(
    "image", [{"type": "image", "image": PIXEL}, {"type": "image", "image": PIXEL, "mediaType": "image/*"}]
)
def test_an_image_alone_marks_model_messages(image):
    messages = [{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}]
    assert model_messages.fits([messages])
    (read,) = conversations.load_all([messages], "model_messages")
    assert turns_of(read)[0].blocks[1] == IMAGE


def test_losses_name_the_file_that_is_gone():
    paper = {"type": "document", "source": {"type": "url", "url": "https://x.test/a.pdf"}}
    data = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x"}}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": [paper, data]}]}
    (read,) = conversations.load_all([body], "anthropic")
    assert list(conversations.losses(read, "openai_chat")) == ["turns[0].blocks[0]"]


CITED = [
    {
        "type": "char_location",
        "cited_text": "",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 1,
    },
    {
        "type": "web_search_result_location",
        "cited_text": "",
        "encrypted_index": "e",
        "title": None,
        "url": "https://x.test/",
    },
    {
        "type": "search_result_location",
        "cited_text": "a",
        "search_result_index": 0,
        "source": "",
        "title": "",
        "start_block_index": 0,
        "end_block_index": 1,
    },
]


@pytest.mark.parametrize(("citation", "through"), [*product(CITED, ["anthropic"]), (CITED[1], "pydantic_ai")])
def test_required_members_of_citations_are_written_again_where_they_say_nothing(citation, through):
    """Required in ``anthropic.types.beta.beta_text_citation_param``."""
    said = {"role": "assistant", "content": [{"type": "text", "text": "So.", "citations": [citation]}]}
    body = {"max_tokens": 9, "messages": [{"role": "user", "content": "Why?"}, said]}
    (read,) = conversations.load_all([body], "anthropic")
    (read,) = conversations.load_all([conversations.dump(read, through)], through)
    (text,) = conversations.dump(read, "anthropic")["messages"][1]["content"]
    assert text["citations"] == [citation]


def test_the_name_of_a_server_is_written_again_where_it_is_empty():
    """Required in ``BetaMCPToolUseBlockParam``."""
    call = {"type": "mcp_tool_use", "id": "m1", "name": "dig", "input": {}, "server_name": ""}
    body = {
        "max_tokens": 9,
        "messages": [{"role": "user", "content": "Dig."}, {"role": "assistant", "content": [call]}],
    }
    (read,) = conversations.load_all([body], "anthropic")
    assert isinstance(turns_of(read)[1].blocks[0], HostedCall)
    assert conversations.dump(read, "anthropic")["messages"][1]["content"] == [call]
