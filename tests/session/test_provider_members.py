"""Members that a model got and that records do not have are reported, where they come from an API's own form."""

from __future__ import annotations

import json

import pytest

from chatsquash import Options, convert_session

FOUND = {"type": "search_result", "title": "Tides", "source": "https://a.example", "content": [{"type": "text", "text": "High."}]}  # fmt: skip
PDF = {"type": "document", "context": "A draft.", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA=="}}  # fmt: skip
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}}
LOOK = {"name": "look", "description": "Looks.", "input_schema": SCHEMA}
EXAMPLES = {**LOOK, "input_examples": [{"at": "sea"}]}


def anthropic(*blocks, tools=()):
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "So."}], "stop_reason": "end_turn"}  # fmt: skip
    asked = {"role": "user", "content": [{"type": "text", "text": "See"}, *blocks]}
    return {"model": "claude", "max_tokens": 9, "messages": [asked], "tools": list(tools)}, message


def gemini(part, **declared):
    tools = [{"functionDeclarations": [{"name": "look", "description": "Looks.", "parameters": SCHEMA, **declared}]}]
    answer = {"candidates": [{"content": {"role": "model", "parts": [{"text": "So."}]}, "finishReason": "STOP"}]}
    return {"contents": [{"role": "user", "parts": [part]}], "tools": tools}, answer


def responses(*items, **tool):
    tools = [{"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA, **tool}]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So."}]}
    asked = [{"role": "user", "content": "See"}, *items]
    answer = {"id": "r", "object": "response", "status": "completed", "output": [said]}
    return {"model": "m", "input": asked, "tools": tools}, answer


def unsupported_content(*exchanges):
    lines = [
        json.dumps({"session_id": "s", "timestamp": at, "request": request, "response": response})
        for at, (request, response) in enumerate(exchanges)
    ]
    (outcome,) = convert_session(lines, Options(anonymize=False))
    assert outcome.record
    return [each.text.partition(": ")[2] for each in outcome.findings if each.code == "unsupported-content"]


CLICK = {
    "type": "computer_call",
    "id": "cu_1",
    "call_id": "c1",
    "status": "completed",
    "action": {"type": "screenshot"},
}
SHOWN = {"type": "computer_call_output", "call_id": "c1", "output": "So."}
CHECKS = [{"id": "sc_1", "code": "malicious_instructions"}]
SPACE = {"type": "namespace", "name": "sea", "description": "At sea.", "tools": [{"type": "function", "name": "sail"}]}
LOST = [
    ("a search result", anthropic(FOUND), ["1 'title', 1 'source'"]),
    ("a document", anthropic(PDF), ["1 'context'"]),
    ("examples of inputs", anthropic(tools=[EXAMPLES]), ["1 'input_examples'"]),
    ("checks of a computer", responses({**CLICK, "pending_safety_checks": CHECKS}, SHOWN), ["1 'pending_safety_checks'"]),
    ("a computer without any", responses({**CLICK, "pending_safety_checks": []}, SHOWN), []),
    ("the schema of an output", responses(output_schema=SCHEMA), ["1 'output_schema'"]),
    ("a transcript", gemini({"text": "Hi", "audioTranscription": {"text": "Hi"}}), ["1 'audioTranscription'"]),
    ("schemas of a result", gemini({"text": "Hi"}, responseJsonSchema=SCHEMA), ["1 'responseJsonSchema'"]),
    ("nothing", gemini({"text": "Hi"}), []),
]  # fmt: skip


@pytest.mark.parametrize(("exchange", "expected"), [row[1:] for row in LOST], ids=[row[0] for row in LOST])
def test_members_that_records_do_not_have_are_reported(exchange, expected):
    assert unsupported_content(exchange) == expected


def test_the_description_of_a_namespace_is_reported():
    request, response = responses()
    assert unsupported_content(({**request, "tools": [SPACE]}, response)) == ["1 'description'"]


def test_a_definition_is_reported_once_and_another_one_again():
    request, response = anthropic(tools=[EXAMPLES])
    later = {**request, "messages": [*request["messages"], {"role": "assistant", "content": "So."}, {"role": "user", "content": "On"}]}  # fmt: skip
    other = {**EXAMPLES, "name": "see"}
    assert unsupported_content((request, response), (later, response)) == ["1 'input_examples'"]
    assert (
        unsupported_content((request, response), ({**later, "tools": [EXAMPLES, other]}, response))
        == ["1 'input_examples'"] * 2
    )
