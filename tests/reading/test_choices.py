"""Responses with several choices: `n` of OpenAI chat and `candidateCount` of Gemini (SDK types), also streamed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash.reading.choices import of_raw

TEXTS = ["By bus.", "By train."]
CHAT = {
    "id": "r",
    "choices": [
        {"index": at, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for at, text in enumerate(TEXTS)
    ],
}
CHUNKS = [
    {"object": "chat.completion.chunk", "choices": [{"index": at, "delta": {"role": "assistant", "content": piece}}]}
    for at, text in enumerate(TEXTS)
    for piece in (text[:3], text[3:])
]
GEMINI = {
    "candidates": [
        {"index": at, "content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}
        for at, text in enumerate(TEXTS)
    ]
}
EVENTS = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"


@pytest.mark.parametrize(
    "response",
    [CHAT, CHUNKS, EVENTS, GEMINI, {"status": 200, "body": CHAT}],
    ids=["chat", "chunks", "text of events", "Gemini", "in an envelope"],
)
def test_each_choice_is_a_reply(response: Any):
    messages = [choice.message for choice in of_raw(json.dumps(response).encode())]
    assert [message and message["content"] for message in messages] == TEXTS


@pytest.mark.parametrize("raw", [b"", b"null", b"{", b"[]", b'{"choices": {}}', b'{"output": []}', b'{"choices": [5]}'])
def test_what_is_none_has_no_message(raw: bytes):
    assert not any(choice.message for choice in of_raw(raw))
