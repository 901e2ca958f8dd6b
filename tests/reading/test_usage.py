"""What the line that became a record says beside its conversation."""

import json

from chatsquash.core.accounting import LoggedUsage, of_reply
from chatsquash.core.model import Response
from chatsquash.formats import get_format
from chatsquash.reading import envelopes
from chatsquash.reading.exchange import split
from tests.conftest import cases

openai_chat = get_format("openai_chat")

CHAT = {"model": "m", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}
ANTHROPIC = {
    "model": "claude",
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 2},
}
STREAMED = [
    {"type": "message_start", "message": {"model": "claude", "usage": {"input_tokens": 10, "output_tokens": 1}}},
    {"type": "message_delta", "usage": {"output_tokens": 7}},
]
GEMINI = {
    "modelVersion": "g",
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 2, "thoughtsTokenCount": 5},
}
RESPONSES = {"model": "m", "output": [], "usage": {"input_tokens": 10, "output_tokens": 2}}
EVENTS = "".join(f"data: {json.dumps(each)}\n\n" for each in [{"type": "response.completed", "response": RESPONSES}])
OLLAMA = {"model": "q", "message": {"role": "assistant"}, "prompt_eval_count": 10, "eval_count": 2}


def line(response, **request):
    return {"request": {"messages": [], **request}, "response": response}


@cases("entry, expected",
    ("OpenAI chat", line(CHAT), LoggedUsage("m", 10, 2)),
    ("what was read from a cache counts, too", line(ANTHROPIC), LoggedUsage("claude", 18, 2)),
    ("events of a stream, of which the last counts", line(STREAMED), LoggedUsage("claude", 10, 7)),
    ("thoughts are said, too", line(GEMINI), LoggedUsage("g", 10, 7)),
    ("OpenAI Responses", line(RESPONSES), LoggedUsage("m", 10, 2)),
    ("events as text", line(EVENTS), LoggedUsage("m", 10, 2)),
    ("counts beside the message", line(OLLAMA), LoggedUsage("q", 10, 2)),
    ("the request's model where the response names none", line({"choices": []}, model="asked"), LoggedUsage("asked")),
    ("the response's model where both name one", line(CHAT, model="asked"), LoggedUsage("m", 10, 2)),
    ("no response", {"request": {"messages": [], "model": "asked"}}, LoggedUsage("asked")),
    ("nothing", line({"choices": []}), LoggedUsage()),
    ("a model that is no text", line({"model": 5}, model=["m"]), LoggedUsage()),
    ("counts that are none", line({"usage": {"prompt_tokens": True, "completion_tokens": -1}}), LoggedUsage()),
    ("counts beyond 64 bits", line({"usage": {"prompt_tokens": 10**30, "completion_tokens": "7"}}), LoggedUsage()),
    ("usage that is not an object", line({"usage": [1], "model": ""}), LoggedUsage()),
    ("a text with half of a UTF-16 pair", line({**CHAT, "x": "\ud800"}), LoggedUsage("m", 10, 2)),
    ("a logger's wrap", {"request": {"headers": {}, "body": {"messages": []}}, "response": {"status": 200, "body": CHAT}}, LoggedUsage("m", 10, 2)),
)  # fmt: skip
def test_an_exchange_tells_its_model_and_its_tokens(entry, expected):
    line = json.dumps(entry).encode()
    found = split(envelopes.unwrap(line, envelopes.recognise(line)), openai_chat)
    assert of_reply(found.reply) == expected


def test_a_document_tells_nothing():
    assert of_reply(Response(included=True)) == LoggedUsage()
