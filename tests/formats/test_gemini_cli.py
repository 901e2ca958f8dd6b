"""Gemini CLI: what a resume and a compression write, as recorded with version 0.61 (other texts)."""

from pathlib import Path

import pytest

from chatsquash.formats import documents, evidence
from chatsquash.reading import contents
from tests.formats.agent_records import records

HEADER = {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}
TOKENS = {"tokens": {"input": 9, "output": 5}, "model": "gemini-3"}


def prompt(name, text):
    return {"id": name, "timestamp": "2026-01-01T00:00:01Z", "type": "user", "content": [{"text": text}]}


def reply(name, text, *calls):
    made = [{"id": f"ls__{call}", "name": "ls", "args": {}, "result": [answer(call)["content"][0]]} for call in calls]
    more = {"toolCalls": made} if made else {}
    return {"id": name, "timestamp": "2026-01-01T00:00:02Z", "type": "gemini", "content": text, **TOKENS, **more}


def answer(call, name="r"):
    result = {"functionResponse": {"id": f"ls__{call}", "name": "ls", "response": {"output": f"of {call}"}}}
    return {"id": name, "timestamp": "2026-01-01T00:00:03Z", "type": "user", "content": [result]}


def again(message, name=None):
    """A message as a history that is set has it."""
    if message["type"] == "user":
        return {**message, "id": name or message["id"]}
    calls = [
        {"functionCall": {key: call[key] for key in ("id", "name", "args")}} for call in message.get("toolCalls", [])
    ]
    kept = {key: message[key] for key in ("timestamp", "type")}
    return {"id": name or message["id"], **kept, "content": [{"text": message["content"]}, *calls]}


def put(*messages):
    return {"$set": {"messages": list(messages), "lastUpdated": "2026-01-01T00:00:04Z"}}


CONTEXT = prompt("0", "context")
ONE = [prompt("1", "a"), reply("2", "b", "c1"), answer("c1", "3"), reply("4", "c")]
RESUMED = [CONTEXT, *map(again, ONE[:2]), {**answer("c1"), "id": "2"}, *map(again, ONE[2:])]


def resumed(*history):
    return [HEADER, put(CONTEXT), {"$set": {"sessionId": "s"}}, put(*history)]


def test_what_a_resume_repeats_is_the_same_conversation():
    two = [prompt("5", "d"), reply("6", "e")]
    lines = [HEADER, put(CONTEXT), *ONE, *resumed(*RESUMED), *two]
    said = ["context", "a", "b*", "of c1", "c*", "d", "e*"]
    assert records(lines, merge_consecutive=False) == [("main", said)]
    lines += [*resumed(*RESUMED, *map(again, two)), prompt("7", "f"), reply("8", "g")]
    assert records(lines) == [("main", [*said, "f", "g*"])]
    (plain,) = records(lines, conversations="last")
    assert plain[1][-1] == "g*"


SUMMARY = [prompt("10", "A summary."), again(reply("11", "Got it."))]


def test_a_compression_begins_a_compacted_conversation_whose_beginning_no_model_gave():
    kept = [again(prompt("5", "d"), "12"), again(reply("6", "e", "c2"), "13")]
    lines = [HEADER, put(CONTEXT), *ONE, prompt("5", "d"), reply("6", "e", "c2"), put(CONTEXT, *SUMMARY, *kept)]
    lines += [answer("c2", "14"), reply("15", "f")]
    before = ("main", ["context", "a", "b*", "of c1", "c*", "d", "e*"])
    assert records(lines) == [("compacted", ["context", "A summary.", "Got it.", "d", "e", "of c2", "f*"]), before]


def test_two_compressions_with_a_resume_between_them_follow_each_other():
    lines = [HEADER, put(CONTEXT), *ONE, put(CONTEXT, *SUMMARY), prompt("5", "d"), reply("6", "e")]
    lines += resumed(CONTEXT, *SUMMARY, *map(again, lines[-2:]))
    second = [prompt("20", "Another summary."), again(reply("21", "Got it."))]
    lines += [prompt("7", "f"), reply("8", "g"), put(CONTEXT, *second), prompt("9", "h"), reply("22", "i")]
    assert records(lines) == [
        ("compacted", ["context", "Another summary.", "Got it.", "h", "i*"]),
        ("compacted", ["context", "A summary.", "Got it.", "d", "e*", "f", "g*"]),
        ("main", ["context", "a", "b*", "of c1", "c*"]),
    ]


def test_a_rewind_after_a_resume_leaves_a_branch():
    lines = [HEADER, put(CONTEXT), *ONE, *resumed(*RESUMED), prompt("5", "d"), reply("6", "e"), {"$rewindTo": "5"}]
    lines += [prompt("7", "f"), reply("8", "g")]
    shared = ["context", "a", "b", "of c1", "c"]
    found = records(lines)
    assert [kind for kind, _ in found] == ["main", "branch"]
    assert sorted(said[-2:] for _, said in found) == [["d", "e*"], ["f", "g*"]]
    assert all([each.rstrip("*") for each in said[:5]] == shared for _, said in found)


@pytest.mark.parametrize(
    "path", sorted((Path(__file__).parents[1] / "golden" / "gemini_cli").rglob("logs/*.json*")), ids=str
)
def test_turns_that_are_loaded_one_by_one_give_what_all_of_them_give(monkeypatch, path):
    values = contents.parse(path.read_bytes()).objects
    one_by_one = documents.load("gemini_cli", values)
    monkeypatch.setattr(evidence, "_load_independent_turns", lambda form, turns: None)
    together = documents.load("gemini_cli", values)
    assert [(each.messages, each.origin) for each in one_by_one] == [(each.messages, each.origin) for each in together]
