"""What is read of Gemini's answers is what Google's own types hold."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

import pytest
from google.genai import types

from chatsquash.core.blocks import Call, Reasoning, Result, Text
from chatsquash.formats.providers import gemini
from chatsquash.formats.providers.openai_chat.read import turns_of_messages
from tests.conftest import needs_real_exchanges, real_exchanges

LOGS = real_exchanges("gemini/*.jsonl")


def part(**members: Any) -> dict[str, Any]:
    return members


def body(*parts: dict[str, Any], reason: str | None = "STOP") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate | ({"finishReason": reason} if reason else {})]}


MADE_UP = {
    "text": [body(part(text="Two ducks."))],
    "thought and signature": [body(part(text="Counting.", thought=True), part(text="Two ducks.", thoughtSignature="c2lnbmVk"))],
    "parallel calls": [
        body(
            part(functionCall={"name": "count", "args": {"of": "ducks", "deep": [{"type": None, "x": 1}]}}),
            part(functionCall={"name": "count", "args": {}, "id": "f2"}, thoughtSignature="c2lnbmVk"),
        )
    ],
    "code run by the provider": [
        body(
            part(executableCode={"language": "PYTHON", "code": "print(2)"}),
            part(codeExecutionResult={"outcome": "OUTCOME_OK", "output": "2\n"}),
            part(text="Two."),
        )
    ],
    "a stream": [
        body(part(text="Coun", thought=True), reason=None),
        body(part(text="ting.", thought=True), reason=None),
        body(part(text="Two ", thoughtSignature="c2lnbmVk"), reason=None),
        body(part(text="ducks."), part(functionCall={"name": "count", "args": {"of": "geese"}}), reason=None),
        body(part(text="")),
    ],
}  # fmt: skip


def recorded() -> list[Any]:
    """The events of each recorded exchange, one for a whole answer."""
    found = []
    for path in LOGS:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            response = json.loads(line)["response"]
            raw = response.get("body_raw")
            events = (
                [json.loads(each[5:]) for each in raw.splitlines() if each.startswith("data:")] if raw else [response]
            )
            if "error" not in events[-1]:
                found.append(pytest.param(events, id=f"{path.stem}:{number}"))
    return found


def requests() -> list[Any]:
    return [
        pytest.param(json.loads(line)["request"], id=f"{path.stem}:{number}")
        for path in LOGS
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    ]


def held(events: list[Any]) -> list[Any]:
    """The parts of the first candidate, as Google's types hold them."""
    # Not whole responses: their types refuse members that are newer than they are.
    candidates = [event["candidates"][0] for event in events if event.get("candidates")]
    contents = [types.Content.model_validate(each["content"]) for each in candidates if "content" in each]
    return [each for content in contents for each in content.parts or []]


def check(events: list[Any]) -> None:
    parts = held(events)
    message = gemini.reply(events[0] if len(events) == 1 else gemini.assemble(events).body).message
    assert message is not None
    [turn] = turns_of_messages([message])
    said = [(type(block), block.text) for block in turn.blocks if isinstance(block, Text | Reasoning) and block.text]
    assert neighbours(said) == neighbours(
        [(Reasoning if each.thought else Text, each.text) for each in parts if each.text]
    )
    check_calls(turn.blocks, [each for each in parts if each.function_call])


def neighbours(texts: list[tuple[Any, str]]) -> list[tuple[Any, str]]:
    """Texts in their order, those of a kind that follow each other as one."""
    return [(kind, "".join(text for _, text in run)) for kind, run in groupby(texts, key=lambda each: each[0])]


def check_calls(blocks: Any, parts: list[Any]) -> None:
    calls = [block for block in blocks if isinstance(block, Call)]
    assert [call.name for call in calls] == [each.function_call.name for each in parts]
    assert [json.loads(call.arguments) for call in calls] == [each.function_call.args for each in parts]
    for call, each in zip(calls, parts, strict=True):
        assert call.made_up is (each.function_call.id is None)
        assert each.function_call.id in (None, call.id)
        assert ("thoughtSignature" in call.native.get("google", {})) is (each.thought_signature is not None)


@pytest.mark.parametrize("events", MADE_UP.values(), ids=MADE_UP)
def test_a_made_up_answer_is_what_googles_types_hold(events):
    check(events)


@needs_real_exchanges
@pytest.mark.parametrize("events", recorded())
def test_a_recorded_answer_is_what_googles_types_hold(events):
    check(events)


@needs_real_exchanges
@pytest.mark.parametrize("request_body", requests())
def test_a_recorded_request_has_the_calls_and_results_of_googles_types(request_body):
    contents = [types.Content.model_validate(each) for each in request_body["contents"]]
    turns, state = [], gemini.START
    for each in request_body["contents"]:
        loaded = gemini.load(each, state)
        turns, state = turns + loaded.turns, loaded.state
    parts = [each for content in contents for each in content.parts]
    blocks = [block for turn in turns for block in turn.blocks]

    check_calls(blocks, [each for each in parts if each.function_call])
    assert [(block.id, block.name) for block in blocks if isinstance(block, Result)] == [
        (each.function_response.id, each.function_response.name) for each in parts if each.function_response
    ]
    tools = [types.Tool.model_validate(each) for each in request_body.get("tools", [])]
    assert [each["function"]["name"] for each in gemini.tools(request_body.get("tools")).functions] == [
        declared.name for tool in tools for declared in tool.function_declarations or []
    ]
