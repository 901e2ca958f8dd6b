"""What a response repeats of its request is not read again, wherever else the same bytes stand."""

from __future__ import annotations

import json

import pytest

from tests.reading.test_entries import hold_to_the_law

PROMPT = "You answer in one word. " * 8
TOOL = {"type": "function", "name": "look", "description": "Looks. " * 20, "parameters": {"type": "object"}}
OTHER = {**TOOL, "name": "see"}


def said(text):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}


def listing(tools):
    return {"type": "mcp_list_tools", "server_label": "s", "tools": tools}


RESPONSES = {
    "it repeats both": lambda answer: {"instructions": PROMPT, "output": [answer], "tools": [TOOL]},
    "it repeats both, the answer first": lambda answer: {"output": [answer], "tools": [TOOL], "instructions": PROMPT},
    "it has other tools": lambda answer: {"instructions": PROMPT, "output": [answer], "tools": [OTHER]},
    "an item of the answer has the tools": lambda answer: {"output": [listing([TOOL]), answer]},
    "an item and the response have the tools": lambda answer: {"output": [listing([TOOL]), answer], "tools": [TOOL]},
    "the tools hold the prompt": lambda answer: {"output": [answer], "tools": [{"instructions": PROMPT}]},
    "it failed": lambda answer: {"status": "failed", "error": {"code": "x"}, "output": [answer], "tools": [TOOL]},
    "it has no answer": lambda answer: {"instructions": PROMPT, "tools": [TOOL], "seen": answer},
}


@pytest.mark.parametrize("sentence", RESPONSES)
def test_a_response_gives_what_it_gives_alone(sentence):
    items, lines = [], []
    for number in range(6):
        answer = said(f"{number}")
        items.append({"role": "user", "content": f"What is {number}?"})
        request = {"model": "m", "instructions": PROMPT, "input": [*items], "tools": [TOOL]}
        response = RESPONSES[sentence](answer)
        lines.append({"request": request, "response": response, "session_id": "s", "timestamp": number})
        items.append(answer)
    data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    hold_to_the_law(data, "openai_responses")


def test_a_prompt_that_stands_elsewhere_too_is_the_one_of_the_request():
    turn = {"role": "user", "content": "Hi"}
    request = {"system": PROMPT, "max_tokens": 9, "messages": [turn]}
    lines = [
        {"meta": {"system": PROMPT}, "request": {**request, "messages": [turn] * count}, "response": None}
        for count in range(1, 5)
    ]
    lines[2]["request"]["system"] = "Another. " * 20
    data = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines).encode()
    hold_to_the_law(data, "anthropic")
