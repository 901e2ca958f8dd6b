"""What was once translated wrongly of documents, histories and arrays."""

import json

import pytest

import chatsquash
from chatsquash.core.blocks import Call, Result, Text
from chatsquash.core.errors import UsageError
from chatsquash.translate import conversations
from tests.conftest import cases
from tests.formats.kinds import PDF, answers, asks, call, calling, conversation, gives, said, says, user
from tests.translate.through import DUMPED, lost, through, translated

# Histories of Oumi

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
    assert list(conversations.measured_losses(found, written, "oumi_history")[0]) == []
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
    assert found.origin.started_at is not None
    assert not [each for _, each in found.origin.findings if getattr(each, "code", "") == "unsupported-content"]


def test_a_version_that_is_not_known_is_refused():
    with pytest.raises(UsageError, match="schema_version"):
        chatsquash.load({**OUMI, "schema_version": "2.0.0"}, "oumi_history")


# OpenAF


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


# clippy-code

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
    assert found.origin.ended_at is not None


FAILED = [
    {"role": "user", "content": "a"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no such city", "is_error": True}],
    },
]


@cases("name", "openai_chat", "openai_responses", "ollama", "portable", "oumi", "clippy")
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


# Documents of Anthropic


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
