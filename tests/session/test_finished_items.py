"""Items of an interrupted Responses stream that the client keeps, as Codex does (its source: items are recorded when done)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash import Options, convert_session

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is in the folder?"}]}
THOUGHT = {"type": "reasoning", "id": "t1", "summary": [{"type": "summary_text", "text": "I look first."}]}
CALL = {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": '{"command":"ls"}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "a.py"}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def interrupted(*items: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a stream that ends within the arguments of a call."""
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "r1", "object": "response"}}]
    events += [{"type": "response.output_item.done", "output_index": at, "item": item} for at, item in enumerate(items)]
    call = {"output_index": len(items), "item": {**CALL, "arguments": ""}}
    return [*events, {"type": "response.output_item.added", **call}]


def log(*kept: dict[str, Any]) -> list[str]:
    """A stream is interrupted; the next requests contain its finished items."""
    second = [USER, *kept]
    third = [*second, CALL, RESULT]
    responses: list[Any] = [interrupted(*kept)]
    responses += [
        {"id": f"r{at}", "object": "response", "status": "completed", "output": output}
        for at, output in enumerate(([CALL], [said("There is a.py.")]), 2)
    ]
    return [
        json.dumps(
            {
                "timestamp": f"2026-01-13T10:00:0{at}Z",
                "session_id": "s",
                "request": {"model": "m", "input": asked},
                "response": response,
            }
        )
        for at, (asked, response) in enumerate(zip(([USER], second, third), responses, strict=True))
    ]


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
@pytest.mark.parametrize(
    "kept, expected",
    [
        ([THOUGHT], [("", "I look first.", 0), ("", "", 1), ("There is a.py.", "", 1)]),
        ([said("I look.")], [("I look.", "", 0), ("", "", 1), ("There is a.py.", "", 1)]),
        ([THOUGHT, said("I look.")], [("I look.", "I look first.", 0), ("", "", 1), ("There is a.py.", "", 1)]),
    ],
    ids=["reasoning", "a message", "both"],
)
def test_later_replies_are_trained_on_without_the_finished_items(kept: Any, expected: Any, conversations: Any):
    options = Options(anonymize=False, conversations=conversations, loss="weight", preset="hf")
    (outcome,) = convert_session(log(*kept), options)
    (record,) = outcome.records
    replies = [each for each in json.loads(record.line)["messages"] if each["role"] == "assistant"]
    found = [(each.get("content") or "", each.get("reasoning_content") or "", each["weight"]) for each in replies]
    assert found == expected
