"""What the line that became a record says beside its conversation."""

import io
import json
from array import array

import pytest

from chatsquash.model import Log
from chatsquash.read import facts
from chatsquash.read.facts import Logged, logged, prefix

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


ROWS = [
    ("OpenAI chat", line(CHAT), Logged("m", 10, 2)),
    ("what was read from a cache counts, too", line(ANTHROPIC), Logged("claude", 18, 2)),
    ("events of a stream, of which the last counts", line(STREAMED), Logged("claude", 10, 7)),
    ("thoughts are said, too", line(GEMINI), Logged("g", 10, 7)),
    ("OpenAI Responses", line(RESPONSES), Logged("m", 10, 2)),
    ("events as text", line(EVENTS), Logged("m", 10, 2)),
    ("counts beside the message", line(OLLAMA), Logged("q", 10, 2)),
    ("the request's model where the response names none", line({"choices": []}, model="asked"), Logged("asked")),
    ("the response's model where both name one", line(CHAT, model="asked"), Logged("m", 10, 2)),
    ("no response", {"request": {"messages": [], "model": "asked"}}, Logged("asked")),
    ("nothing", line({"choices": []}), Logged()),
    ("a model that is no text", line({"model": 5}, model=["m"]), Logged()),
    ("counts that are none", line({"usage": {"prompt_tokens": True, "completion_tokens": -1}}), Logged()),
    ("counts beyond 64 bits", line({"usage": {"prompt_tokens": 10**30, "completion_tokens": "7"}}), Logged()),
    ("usage that is no object", line({"usage": [1], "model": ""}), Logged()),
    ("a text with half of a UTF-16 pair", line({**CHAT, "x": "\ud800"}), Logged("m", 10, 2)),
    (
        "a logger's wrap",
        {"request": {"headers": {}, "body": {"messages": []}}, "response": {"status": 200, "body": CHAT}},
        Logged("m", 10, 2),
    ),
]


def job(size=0, spans=None):
    return Log("a.jsonl", "a.jsonl", "a.jsonl", size, spans)


@pytest.mark.parametrize("sentence, entry, expected", ROWS, ids=[row[0] for row in ROWS])
def test_a_line_tells_its_model_and_its_tokens(sentence, entry, expected):
    assert logged(io.BytesIO(json.dumps(entry).encode()), job(), 1, 1) == expected


@pytest.mark.parametrize("ending", ["", "\n"])
@pytest.mark.parametrize("block", [1, 7, 1 << 18])
def test_a_line_is_found_by_its_number(monkeypatch, ending, block):
    monkeypatch.setattr(facts, "_BLOCK", block)
    lines = [json.dumps(line({"model": f"m{number}"})) for number in range(1, 6)]
    lines[3] = ""  # a blank line counts
    file = io.BytesIO(("\n".join(lines) + ending).encode())
    found = [logged(file, job(), number, 5).model for number in range(1, 6)]
    assert found == ["m1", "m2", "m3", None, "m5"]


def test_a_line_among_those_of_other_sessions_is_found_by_its_place():
    first, second = (json.dumps(line({"model": name})).encode() for name in ("a", "b"))
    file = io.BytesIO(first + b"\n" + second + b"\n")
    spans = array("Q", [2, len(first) + 1, len(second)])
    assert logged(file, job(spans=spans), 2, 1).model == "b"


NO_LOGS = [b"", b"\n", b"[1, 2]", b'{"version": "ATIF"}', b"{", b'{"request": 5}', b'{"request": {}, "response": "{"}']


@pytest.mark.parametrize("data", NO_LOGS)
def test_what_is_no_log_tells_nothing(data):
    assert logged(io.BytesIO(data), job(), 1, 1) == Logged()


def test_a_file_that_cannot_be_read_tells_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"")
    with path.open("ab") as file:
        assert logged(file, job(), 1, 1) == Logged()


SYSTEM, USER = {"role": "system", "content": "s"}, {"role": "user", "content": "u"}
ALIKE = [
    ("what follows the first user message makes no difference", [SYSTEM, USER], [SYSTEM, USER, SYSTEM, USER], True),
    ("the system prompt does", [SYSTEM, USER], [USER], False),
    ("the first user message does", [SYSTEM, USER], [SYSTEM, {**USER, "content": "v"}], False),
    ("so do all messages of the system", [SYSTEM, SYSTEM, USER], [SYSTEM, USER], False),
    ("parts are no text", [USER], [{**USER, "content": [{"type": "text", "text": "u"}]}], False),
    ("other members make no difference", [USER], [{**USER, "name": "n"}], True),
    ("who speaks does", [USER], [{**USER, "role": "assistant"}], False),
]


@pytest.mark.parametrize("sentence, one, other, same", ALIKE, ids=[row[0] for row in ALIKE])
def test_conversations_begin_alike(sentence, one, other, same):
    assert (prefix(one) == prefix(other)) is same
