"""What was once translated wrongly of signatures, and of the order of what is thought, said and called."""

import json

import pytest

import chatsquash
from chatsquash import Options, convert_session
from chatsquash.core.blocks import Reasoning
from tests.conftest import cases
from tests.formats.kinds import SIGNATURE, answers, asks, calling, conversation, gives, says, turn, user
from tests.translate.through import inside, keys, lost, through, translated

# Signatures stay with who signed

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


# No signature and no id is made up


def test_reasoning_that_nobody_signed_is_left_out_where_it_has_to_be_signed():
    held = conversation(asks("a"), says(Reasoning("hm"), "b"))
    assert chatsquash.dump(held, "anthropic")["messages"][1] == {"role": "assistant", "content": "b"}
    written = chatsquash.dump(held, "openai_responses")
    assert "signature" not in keys(written)
    assert "rs_" not in json.dumps(written)
    assert not [item for item in written["input"] if "id" in item]
    for name in ("anthropic", "openai_responses"):
        assert chatsquash.losses(held, name) == ["turns[1].blocks[0]"]


# Order

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


@cases(
    "given, expected",
    ("a user's are lines", asks("a", "b"), "a\nb"),
    ("the system's, too", turn("system", "a", "b"), "a\nb"),
    ("unless white space is there", asks("a ", "b"), "a b"),
    ("an assistant's neighbours are glued", says("a", "b"), "ab"),
    ("a blank line stands where something stood between", says("a", Reasoning("hm"), "b"), "a\n\nb"),
    ("a call is such", says("a", calling(), "b"), "a\n\nb"),
)
@pytest.mark.parametrize("name", ["ollama", "portable"])
def test_texts_that_meet(name, given, expected):
    strings = [each for each in inside(chatsquash.dump(conversation(given), name)) if isinstance(each, str)]
    assert expected in strings


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
