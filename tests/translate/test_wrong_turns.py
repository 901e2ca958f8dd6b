"""What was once translated wrongly of exchanges, prompts and turns of nothing, and what the command did wrong."""

import json
from pathlib import Path

import pytest

import chatsquash
from chatsquash.core.errors import UsageError
from chatsquash.formats.providers.openai_chat.read import turns_of
from tests.formats.kinds import PDF, call, result, said, user
from tests.translate.through import DUMPED, inside, lost, translated

# Exchanges are loaded as the command reads them


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


# System prompts

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


# OpenAI chat, Ollama, and turns of nothing


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


# Instructions

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


# The command


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
    Path("in.json").write_text(json.dumps({"messages": [user("I am eve@kettle.io")]}))
    ended = command("translate", "in.json", "--to", "anthropic", "-o", "out")
    assert ended.code == 0
    assert "eve@kettle.io" in Path("out/in.json").read_text()
    assert "address" in ended.out + ended.err


def test_nothing_is_said_of_addresses_that_would_stay_anyway(here, command):
    Path("in.json").write_text(json.dumps({"messages": [user("I am eve@example.com")]}))
    assert "address" not in command("translate", "in.json", "--to", "anthropic", "-o", "out").err


# Calls


@pytest.mark.parametrize("odd", [-1, 1.5, True, "a", {"a": 1}, [-1]])
def test_calls_that_are_no_list_cost_no_other_turn(odd):
    found = chatsquash.load([user("a"), said("b", tool_calls=odd), user("c")], "openai_chat")
    assert [turn.blocks[0].text for turn in turns_of(found)] == ["a", "b", "c"]
    assert chatsquash.losses(found, "anthropic") == ["turns[1].blocks[1]"]


NUMBERED_ANEW = [
    user("a"), said(None, call("call_0", "{}", "search")), result("found", "call_0"),
    said(None, call("call_0", "{}", "delete"), call("call_0", "{}", "move")), result("gone", "call_0"), result("there", "call_0"),
    said("c"),
]  # fmt: skip


@pytest.mark.parametrize("name", DUMPED)
def test_results_have_the_names_of_their_own_calls_where_ids_repeat(name):
    found = chatsquash.load(NUMBERED_ANEW)
    assert chatsquash.losses(found, name) == []
    (first,), (second, third) = (
        turn.blocks for turn in chatsquash.load(chatsquash.dump(found, name), name).turns if turn.role == "tool"
    )
    named = {first.name or "search", second.name or "delete", third.name or "move"}
    assert named == {"search", "delete", "move"}


def test_reasoning_is_said_as_text_in_what_is_sent_only():
    found = chatsquash.load([user("a"), said("b", reasoning_content="hm")])
    for wanted in ({"foreign_reasoning": "text"}, {"foreign_reasoning": "TEXT", "sendable": True}):
        with pytest.raises(UsageError, match="foreign_reasoning"):
            chatsquash.dump(found, "anthropic", **wanted)


@pytest.mark.parametrize("more", [{"extra_content": {"google": {"thought_signature": "QUJD"}}}, {"odd": 1}])
def test_what_a_call_without_an_id_has_beside_itself_is_not_lost_untold(more):
    held = chatsquash.load(
        [user("a"), said(None, {"type": "function", "function": {"name": "f", "arguments": "{}"}, **more})]
    )
    assert chatsquash.losses(held, "anthropic") == [
        f"turns[1].blocks[0].native.{'google.thoughtSignature' if 'odd' not in more else 'openai_chat.odd'}"
    ]
