"""What was once translated wrongly of UI messages, model messages, Pydantic AI and tools that a provider runs."""

import chatsquash
from chatsquash.core.blocks import Call, HostedCall, HostedResult, Reasoning, Result, Text
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.translate import conversations
from tests.conftest import cases
from tests.formats.kinds import KINDS, PDF, PNG, SIGNATURE, says
from tests.translate.through import inside, lost, translated

# Tools that the provider runs

VERCEL_HOSTED = [
    {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "a"}]},
    {"id": "m2", "role": "assistant", "parts": [
        {"type": "step-start"},
        {"type": "tool-web_search", "toolCallId": "s1", "state": "output-available", "input": {"query": "x"}, "output": [{"url": "https://example.com"}], "providerExecuted": True, "callProviderMetadata": {"anthropic": {"itemId": "i"}}},
        {"type": "tool-code_execution", "toolCallId": "s2", "state": "input-available", "input": {"code": "1"}, "providerExecuted": True},
        {"type": "text", "text": "b"},
    ]},
]  # fmt: skip
PYDANTIC_HOSTED = [
    {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a"}]},
    {"kind": "response", "parts": [
        {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {"query": "x"}, "tool_call_id": "s1", "provider_name": "openai", "provider_details": {"a": 1}},
        {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": {"status": "completed"}, "tool_call_id": "s1", "provider_name": "openai"},
        {"part_kind": "builtin-tool-call", "tool_name": "code_execution", "args": {"code": "1"}, "tool_call_id": "s2", "provider_name": "openai"},
        {"part_kind": "text", "content": "b"},
    ]},
]  # fmt: skip


def test_vercels_are_those_of_pydantic_ai():
    parts = translated(VERCEL_HOSTED, "pydantic_ai")[1]["parts"]
    assert [part["part_kind"] for part in parts] == [
        "builtin-tool-call",
        "builtin-tool-return",
        "builtin-tool-call",
        "text",
    ]
    assert [part.get("tool_call_id") for part in parts] == ["s1", "s1", "s2", None]
    assert parts[1]["content"] == [{"url": "https://example.com"}]
    assert lost(VERCEL_HOSTED, "vercel_ai") == []
    part = translated(VERCEL_HOSTED, "vercel_ai")[1]["parts"][1]
    assert part | VERCEL_HOSTED[1]["parts"][1] == part


def test_pydantic_ais_are_those_of_vercel():
    found = [part for part in translated(PYDANTIC_HOSTED, "vercel_ai")[1]["parts"] if "toolCallId" in part]
    assert [(part["type"], part["toolCallId"], part["state"], part["providerExecuted"]) for part in found] == [
        ("tool-web_search", "s1", "output-available", True),
        ("tool-code_execution", "s2", "input-available", True),
    ]
    assert [part["input"] for part in found] == [{"query": "x"}, {"code": "1"}]
    assert found[0]["output"] == {"status": "completed"}
    assert lost(PYDANTIC_HOSTED, "vercel_ai") == lost(PYDANTIC_HOSTED, "pydantic_ai") == []
    again = translated(translated(PYDANTIC_HOSTED, "vercel_ai"), "pydantic_ai")
    assert [part["part_kind"] for part in again[1]["parts"]] == [
        part["part_kind"] for part in PYDANTIC_HOSTED[1]["parts"]
    ]


def test_nobody_says_an_empty_text_for_them():
    held = chatsquash.load([*PYDANTIC_HOSTED[:1], {"kind": "response", "parts": PYDANTIC_HOSTED[1]["parts"][2:3]}])
    for name in ("openai_chat", "anthropic", "gemini", "vercel_ai", "portable"):
        assert {"type": "text", "text": ""} not in inside(chatsquash.dump(held, name))
        assert {"text": ""} not in inside(chatsquash.dump(held, name))


def test_geminis_stay_in_their_place():
    call_ = {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}}}
    answer = {"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {"a": 1}}}
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "a"}]},
            {"role": "model", "parts": [call_, answer, {"text": "b"}]},
        ]
    }
    assert translated(body, "gemini") == body
    assert [type(block) for block in chatsquash.load(body).turns[1].blocks] == [HostedCall, HostedResult, Text]


# Vercel

VERCEL = [
    {"id": "m1", "role": "user", "metadata": {"createdAt": 1, "n": [1]}, "parts": [
        {"type": "text", "text": "a"},
        {"type": "file", "mediaType": "application/pdf", "url": f"data:application/pdf;base64,{PDF}", "filename": "plan.pdf"},
    ]},
    {"id": "m2", "role": "assistant", "parts": [
        {"type": "step-start"},
        {"type": "text", "text": "b"},
        {"type": "source-url", "sourceId": "s1", "url": "https://example.com", "title": "T"},
        {"type": "source-document", "sourceId": "s2", "mediaType": "application/pdf", "title": "D", "filename": "d.pdf"},
        {"type": "tool-ls", "toolCallId": "c1", "state": "output-denied", "input": {"a": 1}, "approval": {"id": "p1", "approved": False, "reason": "no"}},
        {"type": "tool-rm", "toolCallId": "c2", "state": "approval-requested", "input": {}, "approval": {"id": "p2"}},
    ]},
]  # fmt: skip


def test_what_ui_messages_hold_survives():
    assert lost(VERCEL, "vercel_ai") == []
    written = translated(VERCEL, "vercel_ai")
    assert [each.get("metadata") for each in written] == [each.get("metadata") for each in VERCEL]
    for before, after in zip(VERCEL, written, strict=True):
        parts = [
            {key: value for key, value in part.items() if key != "state" or "toolCallId" in part}
            for part in after["parts"]
        ]
        assert parts == before["parts"]


def returned(**members):
    """Pydantic AI's messages with one result."""
    part = {"part_kind": "tool-return", "tool_name": "f", "tool_call_id": "c", "content": "ok", **members}
    return [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a"}]},
        {
            "kind": "response",
            "parts": [{"part_kind": "tool-call", "tool_name": "f", "args": "{}", "tool_call_id": "c"}],
        },
        {"kind": "request", "parts": [part]},
    ]


def called_part(messages):
    return next(part for part in translated(messages, "vercel_ai", "pydantic_ai")[1]["parts"] if "toolCallId" in part)


def test_a_denied_call_is_denied():
    part = called_part(returned(outcome="denied", content="no"))
    assert (part["state"], part["approval"]["approved"], part["approval"]["reason"]) == ("output-denied", False, "no")


def test_a_retry_prompt_is_worded_as_the_model_sees_it():
    prompt = {"part_kind": "retry-prompt", "content": "no such city"}
    messages = [*returned(), {"kind": "request", "parts": [prompt]}]
    said_ = translated(messages, "vercel_ai")[-1]["parts"][-1]["text"]
    assert said_ == (
        "Your previous response failed the application's validation (this is automated feedback, not a message from the "
        "user):\n<pyai:retry_feedback>\nno such city\n</pyai:retry_feedback>"
    )
    of_tool = {**prompt, "tool_name": "f", "tool_call_id": "c"}
    part = called_part([*returned()[:2], {"kind": "request", "parts": [of_tool]}])
    assert (part["state"], part["errorText"]) == ("output-error", "no such city")


def test_a_result_that_is_one_file_is_a_file():
    binary = {"kind": "binary", "data": PNG, "media_type": "image/png"}
    found = chatsquash.load(returned(content=binary))
    assert turns_of(found)[2].blocks[0].content[0].data == PNG
    assert lost(returned(content=binary), "vercel_ai") == []


def test_citations_are_sources():
    sources = [{"kind": "web", "url": "https://example.com", "title": "T"}]
    text = {"part_kind": "text", "content": "b", "citations": [{"sources": sources}]}
    messages = [returned()[0], {"kind": "response", "parts": [text]}]
    found = [part for part in translated(messages, "vercel_ai")[1]["parts"] if part["type"] == "source-url"]
    assert [(part["url"], part["title"]) for part in found] == [("https://example.com", "T")]


@cases("kind, parts",
    ("item ids", "response", [{"part_kind": "thinking", "content": "hm", "id": "rs_1", "signature": SIGNATURE, "provider_name": "openai"}, {"part_kind": "text", "content": "b", "id": "msg_1", "provider_name": "openai"}]),
    ("a compaction", "response", [{"part_kind": "compaction", "content": "all so far", "provider_name": "anthropic"}]),
    ("an uploaded file", "request", [{"part_kind": "user-prompt", "content": ["a", {"kind": "uploaded-file", "file_id": "file-1", "provider_name": "openai", "media_type": "application/pdf"}]}]),
)  # fmt: skip
def test_parts_survive_the_way_through_ui_messages(kind, parts):
    messages = [*([] if kind == "request" else returned()[:1]), {"kind": kind, "parts": parts}]
    assert lost(messages, "vercel_ai") == []
    assert translated(translated(messages, "vercel_ai"), "pydantic_ai")[-1]["parts"] == parts


def test_instructions_say_so_in_the_metadata_of_their_message_since_the_adapter_refuses_a_data_part_there():
    written = chatsquash.dump(KINDS["instructions"], "vercel_ai")
    assert written[0]["metadata"] == {"chatsquash": {"instructions": True}}
    assert [part["type"] for part in written[0]["parts"]] == ["text"]


# The AI SDK's other messages

MODEL_MESSAGES = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "file", "data": PDF, "mediaType": "application/pdf", "filename": "plan.pdf"}]},
    {"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "b"}, {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {"a": 1}}]},
    {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "f", "output": {"type": "text", "value": "ok"}}]},
    {"role": "assistant", "content": "d"},
]  # fmt: skip
VERSION_4 = [
    {"id": "m1", "role": "user", "content": "a", "experimental_attachments": [{"name": "a.png", "contentType": "image/png", "url": f"data:image/png;base64,{PNG}"}]},
    {"id": "m2", "role": "assistant", "content": "b", "toolInvocations": [{"state": "result", "toolCallId": "c", "toolName": "f", "args": {"a": 1}, "result": "ok"}]},
]  # fmt: skip


def test_model_messages_are_a_format_of_their_own():
    found = chatsquash.load(MODEL_MESSAGES)
    assert conversations.recognise([MODEL_MESSAGES]) == "model_messages"
    assert [turn.role for turn in turns_of(found)] == ["system", "user", "assistant", "tool", "assistant"]
    assert turns_of(found)[2] == says(Reasoning("hm"), "b", Call("c", "f", '{"a":1}'))
    assert turns_of(found)[1].blocks[1].name == "plan.pdf"
    assert translated(MODEL_MESSAGES, "model_messages") == MODEL_MESSAGES
    assert lost(MODEL_MESSAGES, "vercel_ai") == []


def test_ui_messages_of_version_4_are_read():
    found = chatsquash.load(VERSION_4)
    assert conversations.recognise([VERSION_4]) == "vercel_ai"
    blocks = [block for turn in turns_of(found) for block in turn.blocks]
    assert [(block.name, block.arguments) for block in blocks if isinstance(block, Call)] == [("f", '{"a":1}')]
    assert [(block.id, block.content) for block in blocks if isinstance(block, Result)] == [("c", (Text("ok"),))]
    assert turns_of(found)[0].blocks[1].data == PNG
