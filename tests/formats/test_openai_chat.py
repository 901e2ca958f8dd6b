"""What is particular to OpenAI chat; ``rows/openai_chat.json`` has what all formats have."""

import pytest

from chatsquash.core.model import Conversation, WrongType
from chatsquash.formats.providers.openai_chat import dump, reply, variants
from tests.conftest import cases

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ANSWER = {"role": "assistant", "content": "x"}


def assistant(**members):
    return {"role": "assistant", "content": "x", **members}


VARIANTS = [
    (assistant(tool_calls=[CALL], reasoning_content="r"), []),
    (assistant(tool_calls=[{"function": {"name": "f", "arguments": {}}}]), ["tool calls without type", "tool calls without id", "object arguments"]),
    (assistant(tool_calls=[{**CALL, "function": {"name": "f"}}]), ["missing arguments"]),
    (assistant(reasoning="r", reasoning_details=[{"type": "reasoning.text"}]), ["reasoning", "reasoning_details"]),
    (assistant(reasoning="", reasoning_details=[], audio=None, function_call=None), []),
    (assistant(thinking="t", thinking_blocks=[{}]), ["thinking", "thinking_blocks"]),
    (assistant(content=[{"type": "thinking", "thinking": []}]), ["thinking parts"]),
    (assistant(function_call={"name": "f", "arguments": ""}), ["legacy function_call"]),
    (assistant(function_call={"name": "", "arguments": ""}, audio={"id": ""}), ["empty function_call", "empty audio"]),
    ({"role": "function", "name": "f", "content": "1"}, ["legacy function role"]),
    (assistant(tool_calls=[{"id": "c", "type": "custom", "custom": {"name": "f", "input": ""}}]), ["custom tool calls"]),
    ({"role": "tool", "content": "1"}, ["tool results without tool_call_id"]),
    ({"role": "tool", "tool_call_id": "c", "content": {}}, ["tool results as JSON"]),
    ({"role": "user", "content": [{"type": "document_url"}, {"type": "video_url"}]}, ["document_url parts", "video_url parts"]),
]  # fmt: skip


@pytest.mark.parametrize(("message", "words"), VARIANTS, ids=[", ".join(row[1]) or "none" for row in VARIANTS])
def test_variants(message, words):
    assert list(variants(message)) == words


@cases(
    "choice, seen",
    ("NaN beside the message", {"logprobs": float("nan"), "message": ANSWER}, None),
    ("NaN in the message", {"message": {"n": float("nan")}}, "an object with the number NaN"),
    ("infinity in the message", {"message": {"n": [float("inf")]}}, "an object with the number Infinity"),
)
def test_numbers_that_are_none(choice, seen):
    found = reply({"choices": [choice]})
    assert (found.message, found.choices) == (None if seen else ANSWER, 1)
    assert found.wrong == (WrongType("response.choices[0].message", seen) if seen else None)


def test_a_member_of_the_name_of_the_private_slot_is_one_like_any_other():
    message = {"role": "user", "content": "a", "_x": {"a": 1}}
    assert dump(Conversation([message], [])) == {"messages": [message]}
