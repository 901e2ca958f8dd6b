"""Conversations that were once translated wrongly: what each is written as, and what is told as lost."""

import json
from pathlib import Path

import pytest

import chatsquash
from chatsquash import Options, convert_session
from chatsquash.blocks import Call, HostedCall, HostedResult, Reasoning, Result, Text
from chatsquash.errors import UsageError
from chatsquash.translate import conversations
from tests.formats.kinds import (  # fmt: skip
    KINDS,
    PDF,
    PNG,
    SIGNATURE,
    answers,
    asks,
    call,
    calling,
    conversation,
    gives,
    said,
    says,
    turn,
    user,
)

DUMPED = [name for name in conversations.writable() if name != "oumi_history"]


def translated(document, to, source=None):
    """A document in another format."""
    return chatsquash.dump(chatsquash.load(document, source), to)


def lost(document, to, source=None):
    return list(chatsquash.losses(chatsquash.load(document, source), to))


def through(held, *names):
    """The turns of a conversation that was written in these formats, each read before it is written in the next."""
    for name in names:
        held = chatsquash.load(chatsquash.dump(held, name), name)
    return list(held.turns)


def inside(value):
    """A value and all that is in it."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in held for part in inside(each))]


def keys(value):
    return {key for each in inside(value) if isinstance(each, dict) for key in each}


# 1. Exchanges are loaded as the command reads them


def test_a_reply_that_is_streamed_is_part_of_the_conversation():
    chunks = [
        {"choices": [{"delta": {"role": "assistant", "content": "Good "}}]},
        {"choices": [{"delta": {"content": "day"}}]},
    ]
    found = chatsquash.load({"request": {"messages": [user("Hi")]}, "response": chunks})
    assert found.messages == [user("Hi"), said("Good day")]


@pytest.mark.parametrize("body", [{"body": {"choices": [{"message": said("b")}]}}, {"body_raw": json.dumps({"choices": [{"message": said("b")}]})}])  # fmt: skip
def test_http_pairs_are_loaded(body):
    pair = {"request": {"headers": {}, "body": {"messages": [user("a")]}}, "response": {"status": 200, **body}}
    assert chatsquash.load(pair).messages == [user("a"), said("b")]


def test_a_whole_reply_of_openai_is_read_as_its_turns_are():
    message = {
        "role": "assistant",
        "content": "b",
        "reasoning": "hm",
        "function_call": {"name": "f", "arguments": '{"a":1}'},
    }
    exchange = {"request": {"messages": [user("a")]}, "response": {"choices": [{"message": message}]}}
    reply = translated(exchange, "ollama")["messages"][1]
    assert (reply["content"], reply["thinking"]) == ("b", "hm")
    assert reply["tool_calls"][0]["function"] == {"name": "f", "arguments": {"a": 1}}
    assert lost(exchange, "ollama") == []


# 2. Signatures stay with who signed

GEMINI = {
    "contents": [
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [{"text": "hm", "thought": True, "thoughtSignature": SIGNATURE}, {"text": "b"}]},
    ]
}
ANTHROPIC = {
    "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": SIGNATURE}, {"type": "text", "text": "b"}]},
    ]
}  # fmt: skip
LATE = {
    "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}, {"type": "thinking", "thinking": "hm", "signature": SIGNATURE}]},
    ]
}  # fmt: skip


def test_googles_signature_is_none_of_anthropics():
    assert translated(GEMINI, "anthropic") == {
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    }
    assert lost(GEMINI, "anthropic") == ["turns[1].blocks[0]"]


@pytest.mark.parametrize("document", [ANTHROPIC, LATE])
def test_anthropics_signature_is_none_of_googles(document):
    written = translated(document, "gemini")
    assert {"text": "hm", "thought": True} in written["contents"][1]["parts"]
    assert SIGNATURE not in json.dumps(written)
    place = [type(block) for block in chatsquash.load(document).turns[1].blocks].index(Reasoning)
    path = f"turns[1].blocks[{place}]"
    assert lost(document, "gemini") == [f"{path}.signer", f"{path}.signature"]


def test_pydantic_ai_and_vercel_are_told_who_signed():
    part = translated(ANTHROPIC, "pydantic_ai")[1]["parts"][0]
    assert part == {"part_kind": "thinking", "content": "hm", "signature": SIGNATURE, "provider_name": "anthropic"}
    part = next(part for part in translated(ANTHROPIC, "vercel_ai")[1]["parts"] if part["type"] == "reasoning")
    assert part["providerMetadata"]["anthropic"] == {"signature": SIGNATURE}
    for name in ("pydantic_ai", "vercel_ai"):
        assert lost(ANTHROPIC, name) == lost(GEMINI, name) == []
        assert chatsquash.dump(chatsquash.load(translated(ANTHROPIC, name), name), "anthropic") == ANTHROPIC


# 3. No signature and no id is made up


def test_reasoning_that_nobody_signed_is_left_out_where_it_has_to_be_signed():
    held = conversation(asks("a"), says(Reasoning("hm"), "b"))
    assert chatsquash.dump(held, "anthropic")["messages"][1] == {"role": "assistant", "content": "b"}
    written = chatsquash.dump(held, "openai_responses")
    assert "signature" not in keys(written)
    assert "rs_" not in json.dumps(written)
    assert not [item for item in written["input"] if "id" in item]
    for name in ("anthropic", "openai_responses"):
        assert chatsquash.losses(held, name) == ["turns[1].blocks[0]"]


# 4. System prompts

SYSTEMS = {"messages": [{"role": "system", "content": "s"}, {"role": "system", "content": "t"}, user("a"), said("b")]}
MIDDLE = {"messages": [user("a"), said("b"), {"role": "system", "content": "t"}, user("c")]}


def test_two_leading_system_prompts_are_both_the_systems():
    texts = [{"type": "text", "text": "s"}, {"type": "text", "text": "t"}]
    assert translated(SYSTEMS, "anthropic") == {"system": texts, "messages": [user("a"), said("b")]}
    written = translated(SYSTEMS, "gemini")
    assert written["systemInstruction"]["parts"] == [{"text": "s"}, {"text": "t"}]
    assert [each["role"] for each in written["contents"]] == ["user", "model"]
    assert lost(SYSTEMS, "anthropic") == lost(SYSTEMS, "gemini") == []


def test_one_in_the_middle_stays_there_and_is_told_where_the_target_has_no_such_role():
    assert translated(MIDDLE, "anthropic")["messages"][2] == {"role": "system", "content": "t"}
    assert lost(MIDDLE, "anthropic") == []
    turn = translated(MIDDLE, "gemini")["contents"][2]
    assert (turn["role"], turn["parts"][0]["text"]) == ("user", "<system>t</system>")
    told = chatsquash.losses(chatsquash.load(MIDDLE), "gemini")
    assert "turns[2].role" in [*told, *told.kept_for_chatsquash]


# 5. Tools that the provider runs

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


# 6. Order

ORDERED = (
    asks("a"),
    says("b", Reasoning("hm", "anthropic", SIGNATURE), "c", calling("x"), "d", calling("y"), Reasoning("oh", "anthropic", SIGNATURE)),
    answers(gives("1", to="x"), gives("2", to="y")),
    says("e"),
)  # fmt: skip
HOLD_ORDER = ["anthropic", "pydantic_ai", "vercel_ai", "model_messages"]


@pytest.mark.parametrize("name", HOLD_ORDER)
def test_texts_reasoning_and_calls_keep_their_order(name):
    held = conversation(*ORDERED)
    assert chatsquash.losses(held, name) == []
    found = through(held, name)
    assert [type(block) for block in found[1].blocks] == [type(block) for block in ORDERED[1].blocks]


def test_and_so_they_do_through_all_that_hold_it():
    found = through(conversation(*ORDERED), *HOLD_ORDER)
    assert [(type(block), getattr(block, "text", "")) for block in found[1].blocks] == [
        (type(block), getattr(block, "text", "")) for block in ORDERED[1].blocks
    ]


def test_gemini_and_responses_hold_the_order_of_what_they_take():
    held = conversation(asks(), says("b", calling("x"), "d", calling("y"), "e"), answers(gives(to="x"), gives(to="y")))
    for name in ("gemini", "openai_responses"):
        assert chatsquash.losses(held, name) == []


JOINED = [
    ("a user's are lines", asks("a", "b"), "a\nb"),
    ("the system's, too", turn("system", "a", "b"), "a\nb"),
    ("unless white space is there", asks("a ", "b"), "a b"),
    ("an assistant's neighbours are glued", says("a", "b"), "ab"),
    ("a blank line stands where something stood between", says("a", Reasoning("hm"), "b"), "a\n\nb"),
    ("a call is such", says("a", calling(), "b"), "a\n\nb"),
]


@pytest.mark.parametrize("sentence, given, expected", JOINED, ids=[row[0] for row in JOINED])
@pytest.mark.parametrize("name", ["ollama", "portable"])
def test_texts_that_meet(name, sentence, given, expected):
    strings = [each for each in inside(chatsquash.dump(conversation(given), name)) if isinstance(each, str)]
    assert expected in strings, sentence


def test_texts_of_a_result_are_lines():
    held = conversation(asks(), says(calling()), answers(gives("a", "b")))
    assert "a\nb" in [each for each in inside(chatsquash.dump(held, "ollama")) if isinstance(each, str)]


def test_so_they_meet_in_inlined_records():
    thought = {"type": "thinking", "thinking": "hm", "signature": SIGNATURE}
    content = [
        {"type": "text", "text": "a"},
        thought,
        {"type": "text", "text": "b"},
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    ]
    request = {"model": "claude-x", "max_tokens": 9, "messages": [user([{"type": "text", "text": "x"}])]}
    response = {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": content}
    log = json.dumps({"session_id": "s", "timestamp": 1, "request": request, "response": response})
    (outcome,) = convert_session([log.encode()], Options(anonymize=False, json_tool_calls=True, reasoning="inline"))
    assert json.loads(outcome.record)["messages"][1]["content"] == (
        '<think>\nhm\n</think>\n\na\n\nb\n<tool_call>{"name": "f", "arguments": {}}</tool_call>'
    )


# 7. Vercel

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
    assert found.turns[2].blocks[0].content[0].data == PNG
    assert lost(returned(content=binary), "vercel_ai") == []


def test_citations_are_sources():
    sources = [{"kind": "web", "url": "https://example.com", "title": "T"}]
    text = {"part_kind": "text", "content": "b", "citations": [{"sources": sources}]}
    messages = [returned()[0], {"kind": "response", "parts": [text]}]
    found = [part for part in translated(messages, "vercel_ai")[1]["parts"] if part["type"] == "source-url"]
    assert [(part["url"], part["title"]) for part in found] == [("https://example.com", "T")]


PARTS = [
    ("item ids", "response", [{"part_kind": "thinking", "content": "hm", "id": "rs_1", "signature": SIGNATURE, "provider_name": "openai"}, {"part_kind": "text", "content": "b", "id": "msg_1", "provider_name": "openai"}]),
    ("a compaction", "response", [{"part_kind": "compaction", "content": "all so far", "provider_name": "anthropic"}]),
    ("an uploaded file", "request", [{"part_kind": "user-prompt", "content": ["a", {"kind": "uploaded-file", "file_id": "file-1", "provider_name": "openai", "media_type": "application/pdf"}]}]),
]  # fmt: skip


@pytest.mark.parametrize("sentence, kind, parts", PARTS, ids=[row[0] for row in PARTS])
def test_parts_survive_the_way_through_ui_messages(sentence, kind, parts):
    messages = [*([] if kind == "request" else returned()[:1]), {"kind": kind, "parts": parts}]
    assert lost(messages, "vercel_ai") == [], sentence
    assert translated(translated(messages, "vercel_ai"), "pydantic_ai")[-1]["parts"] == parts


def test_instructions_say_so_in_the_metadata_of_their_message_since_the_adapter_refuses_a_data_part_there():
    written = chatsquash.dump(KINDS["instructions"], "vercel_ai")
    assert written[0]["metadata"] == {"chatsquash": {"instructions": True}}
    assert [part["type"] for part in written[0]["parts"]] == ["text"]


# 8. OpenAI chat, Ollama, and turns of nothing


def test_the_data_of_a_file_always_has_a_name():
    body = {"contents": [{"role": "user", "parts": [{"inlineData": {"mimeType": "application/pdf", "data": PDF}}]}]}
    (part,) = translated(body, "openai_chat")["messages"][0]["content"]
    assert part["file"] == {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "file.pdf"}
    assert lost(body, "openai_chat") == []


def test_a_file_by_its_address_has_no_place():
    document = {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}}
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, document]}]}
    assert translated(body, "openai_chat", "anthropic")["messages"] == [user("a")]
    assert lost(body, "openai_chat", "anthropic") == ["turns[0].blocks[1]"]


def test_ollama_has_no_developer():
    body = {"messages": [{"role": "developer", "content": "s"}, user("a")]}
    assert translated(body, "ollama")["messages"][0] == {"role": "system", "content": "s"}
    assert lost(body, "ollama") == ["turns[0].role"]


@pytest.mark.parametrize("name", DUMPED)
def test_a_user_turn_of_nothing_that_the_target_holds_is_left_out(name):
    body = {"messages": [user("a"), said("b"), user([{"type": "x_new", "x_new": 1}]), user("c")]}
    written = translated(body, name)
    for empty in ("", [], {"text": ""}, {"type": "text", "text": ""}):
        assert not [
            each
            for each in inside(written)
            if isinstance(each, dict) and empty in [each.get("content", 0), each.get("parts", 0)]
        ]
    assert {"text": ""} not in inside(written)
    assert lost(body, name) == ([] if name in ("openai_chat", "clippy") else ["turns[2]"])


# 9. Instructions

RESPONSES = {"instructions": "Be brief.", "input": [{"role": "user", "content": "a"}]}
PYDANTIC = [{"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "a"}], "instructions": "Be brief."}]


def test_instructions_of_responses_are_those_of_pydantic_ai_and_the_other_way_round():
    assert translated(RESPONSES, "pydantic_ai") == PYDANTIC
    assert translated(PYDANTIC, "openai_responses") == RESPONSES


@pytest.mark.parametrize("name", DUMPED)
def test_they_are_such_after_any_other_format(name):
    for document, own in ((RESPONSES, "openai_responses"), (PYDANTIC, "pydantic_ai")):
        there = translated(document, name, own)
        assert chatsquash.dump(chatsquash.load(there, name), own) == document


# 10. Histories of Oumi

OUMI = {
    "schema_version": "1.0.0",
    "format": "oumi_conversation_history",
    "created_at": "2025-01-15T14:30:45.123456",
    "source": "oumi_interactive_chat",
    "oumi_version": "0.7",
    "session": {"chat_id": "chat-1", "current_branch_id": "main", "total_session_time": 12.5},
    "configuration": {"model": {"model_name": "some/model"}, "engine": "VLLM"},
    "branches": {
        "main": {
            "id": "main",
            "name": "Main",
            "created_at": "2025-01-15T14:30:45.123456",
            "last_active": "2025-01-15T14:35:20.789012",
            "parent_branch_id": None,
            "branch_point_index": 0,
            "conversation_history": [
                {"role": "user", "content": "a", "timestamp": "2025-01-15T14:30:50", "word_count": 1},
                {"role": "assistant", "content": "b", "timestamp": "2025-01-15T14:30:55", "raw_thinking": "hm", "word_count": 1},
                {"role": "attachment", "content": "of a file", "file_name": "a.txt"},
            ],
            "model_name": "some/model",
            "engine_type": "VLLM",
            "model_config": {"a": 1},
            "generation_config": {"b": 2},
        }
    },
    "command_history": [{"command": "/save"}],
    "attachments": [{"file_name": "a.txt", "text_content": "of a file"}],
    "statistics": {"total_branches": 1, "total_messages": 2},
}  # fmt: skip


def test_a_history_keeps_all_that_it_has():
    found = conversations.load_all([OUMI], every=True)
    written = conversations.dump_all(found, "oumi_history")
    assert list(conversations.lost_of_all(found, written, "oumi_history")[0]) == []
    for name in ("created_at", "oumi_version", "configuration", "command_history", "attachments", "session"):
        assert written[name] == OUMI[name]
    before, after = OUMI["branches"]["main"], written["branches"]["main"]
    for name in ("created_at", "last_active", "model_name", "engine_type", "model_config", "generation_config"):
        assert after[name] == before[name]
    for logged, again in zip(before["conversation_history"][:2], after["conversation_history"][:2], strict=True):
        assert again | logged == again


def test_and_what_others_have_no_place_for_is_told():
    told = lost(OUMI, "openai_chat")
    for member in ("configuration", "attachments", "command_history", "oumi_version"):
        assert f"native.oumi.{member}" in told
    assert [path for path in told if path.endswith(".native.oumi.timestamp")]


def test_its_times_and_models_are_used_and_no_warning():
    (found,) = conversations.load_all([OUMI])
    assert [reply.model for reply in found.origin.replies] == ["some/model"]
    assert found.origin.started is not None
    assert not [each for _, each in found.origin.found if getattr(each, "code", "") == "not-held"]


def test_a_version_that_is_not_known_is_refused():
    with pytest.raises(UsageError, match="schema_version"):
        chatsquash.load({**OUMI, "schema_version": "2.0.0"}, "oumi_history")


# 11. OpenAF


def test_an_array_of_gemini_with_a_system_entry_is_read():
    array = [{"role": "system", "parts": [{"text": "s"}]}, {"role": "user", "parts": [{"text": "a"}]}]
    assert [(each.role, each.blocks[0].text) for each in chatsquash.load(array).turns] == [
        ("system", "s"),
        ("user", "a"),
    ]


def test_a_response_of_a_name_and_content_is_the_result_of_that_name():
    calls = {
        "role": "model",
        "parts": [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "g", "args": {}}}],
    }
    given = {"role": "user", "parts": [{"functionResponse": {"name": "g", "response": {"name": "g", "content": "ok"}}}]}
    (result,) = chatsquash.load({"contents": [calls, given]}).turns[1].blocks
    assert (result.id, result.content) == ("call_2", (Text("ok"),))


def test_a_result_that_is_a_list_of_blocks_is_read_as_blocks():
    result = {"id": "c", "name": "f", "result": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}
    array = [
        {"role": "assistant", "content": None, "toolCalls": [{"id": "c", "name": "f", "arguments": {}}]},
        {"role": "user", "content": None, "toolResults": [result]},
    ]
    (block,) = chatsquash.load(array).turns[1].blocks
    assert block.content == (Text("a"), Text("b"))


@pytest.mark.parametrize(
    "names", [("portable", "portable"), ("anthropic", "portable", "gemini"), ("vercel_ai", "portable", "ollama")]
)
def test_arguments_that_are_no_json_are_wrapped_once(names):
    found = through(conversation(asks(), says(calling(arguments="{bad"))), *names)
    assert [block.arguments for block in found[1].blocks if isinstance(block, Call)] == ["{bad"]
    written = chatsquash.dump(conversation(*found), names[-1])
    assert json.dumps(written).count("INVALID_JSON") == 1


# 12. clippy-code

CLIPPY = {
    "model": "some-model",
    "base_url": "https://example.com/v1",
    "conversation_history": [user("a"), {**said(None), "tool_calls": [call(arguments="")]}],
    "timestamp": 1764000000.5,
    "conversation_start_time": 1763990000.25,
}


def test_saved_files_keep_what_they_have_and_empty_arguments_stay_so():
    assert translated(CLIPPY, "clippy") == CLIPPY
    assert lost(CLIPPY, "clippy") == []
    assert "native.clippy.base_url" in lost(CLIPPY, "openai_chat")
    (found,) = conversations.load_all([CLIPPY])
    assert [reply.model for reply in found.origin.replies] == ["some-model"]
    assert found.origin.ended is not None


NO_FLAG = ["openai_chat", "openai_responses", "ollama", "portable", "oumi", "clippy"]
FAILED = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no such city", "is_error": True}],
    },
]


@pytest.mark.parametrize("name", NO_FLAG)
def test_a_result_that_failed_says_so_where_there_is_no_flag(name):
    found = chatsquash.load({"messages": FAILED})
    written = chatsquash.dump(found, name)
    assert "ERROR: no such city" in json.dumps(written)
    (result,) = [
        block for each in chatsquash.load(written, name).turns for block in each.blocks if isinstance(block, Result)
    ]
    assert (result.outcome, result.content) == ("failed", (Text("no such city"),))
    kept = chatsquash.losses(found, name).kept_for_chatsquash
    assert kept == ([] if name == "clippy" else ["turns[2].blocks[0].outcome", "turns[2].blocks[0].content[0].text"])


@pytest.mark.parametrize("name", [name for name in DUMPED if name != "clippy"])
def test_such_a_text_without_our_mark_stays(name):
    held = conversation(asks(), says(calling()), answers(gives("ERROR: no such city")))
    assert chatsquash.losses(held, name) == []
    assert chatsquash.losses(held, name).kept_for_chatsquash == []
    (result,) = [block for each in through(held, name) for block in each.blocks if isinstance(block, Result)]
    assert (result.outcome, result.content) == ("success", (Text("ERROR: no such city"),))


# 13. The AI SDK's other messages

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
    assert [turn.role for turn in found.turns] == ["system", "user", "assistant", "tool", "assistant"]
    assert found.turns[2] == says(Reasoning("hm"), "b", Call("c", "f", '{"a":1}'))
    assert found.turns[1].blocks[1].name == "plan.pdf"
    assert translated(MODEL_MESSAGES, "model_messages") == MODEL_MESSAGES
    assert lost(MODEL_MESSAGES, "vercel_ai") == []


def test_ui_messages_of_version_4_are_read():
    found = chatsquash.load(VERSION_4)
    assert conversations.recognise([VERSION_4]) == "vercel_ai"
    blocks = [block for turn in found.turns for block in turn.blocks]
    assert [(block.name, block.arguments) for block in blocks if isinstance(block, Call)] == [("f", '{"a":1}')]
    assert [(block.id, block.content) for block in blocks if isinstance(block, Result)] == [("c", (Text("ok"),))]
    assert found.turns[0].blocks[1].data == PNG


# 14. Documents of Anthropic


def test_a_document_keeps_what_it_says_through_pydantic_ai():
    document = {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": PDF},
        "title": "Plan",
        "context": "of last year",
        "citations": {"enabled": True},
        "cache_control": {"type": "ephemeral"},
    }
    body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}, document]}]}
    assert lost(body, "pydantic_ai", "anthropic") == []
    written = translated(body, "pydantic_ai", "anthropic")
    held = written[0]["parts"][0]["content"][1]
    assert held["vendor_metadata"] == {key: document[key] for key in ("title", "context", "citations", "cache_control")}
    assert chatsquash.dump(chatsquash.load(written), "anthropic") == body


# 15. The command


def test_an_output_that_ends_in_jsonl_is_a_file_of_lines(here, command):
    Path("in.jsonl").write_text("".join(json.dumps({"messages": [user(each)]}) + "\n" for each in ("a", "b")))
    assert command("translate", "in.jsonl", "--to", "anthropic", "-o", "out.jsonl").code == 0
    assert [json.loads(line)["messages"] for line in Path("out.jsonl").read_text().splitlines()] == [
        [user("a")],
        [user("b")],
    ]


def test_nothing_is_written_of_what_is_refused(here, command):
    lines = [{"messages": [user("a")]}, {"messages": [user("a"), said("b", reasoning_content="hm")]}]
    Path("in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = sorted(path.name for path in Path().iterdir())
    assert command("translate", "in.jsonl", "--to", "portable", "-o", "out", "--lossless").code == 1
    assert sorted(path.name for path in Path().iterdir()) == before


def test_addresses_are_left_alone_and_that_is_said(here, command):
    Path("in.json").write_text(json.dumps({"messages": [user("I am eve@example.com")]}))
    ended = command("translate", "in.json", "--to", "anthropic", "-o", "out")
    assert ended.code == 0
    assert "eve@example.com" in Path("out/in.json").read_text()
    assert "address" in ended.out + ended.err
