"""The title of a record is the beginning of its first prompt, whatever preset wrote it."""

import json

import pytest

from chatsquash.results.titles import title_of_line, title_of_value
from tests.conftest import assistant, user

SYSTEM = {"role": "system", "content": "be brief"}
RECORDS = {
    "of messages": ({"messages": [SYSTEM, user("go"), assistant("a"), user("on")], "tools": []}, "go"),
    "of turns": ({"conversations": [{"from": "human", "value": "go"}, {"from": "gpt", "value": "a"}]}, "go"),
    "of a prompt and a completion": ({"prompt": [user("go")], "completion": [assistant("a")]}, "go"),
    "of text parts": ({"messages": [user([{"type": "text", "text": "go"}])]}, "go"),
    "the first that says something": ({"messages": [user(" "), user("go")]}, "go"),
    "without a prompt": ({"messages": [SYSTEM, assistant("a")]}, None),
    "no record": ({"a": 1}, None),
    "a list": ([], None),
}


@pytest.mark.parametrize(("value", "expected"), RECORDS.values(), ids=RECORDS)
def test_a_title(value, expected):
    assert title_of_value(value) == title_of_line(json.dumps(value).encode()) == expected


@pytest.mark.parametrize("line", [b"", b"{", b"[" * 100_000, b'{"messages": [' + b"[" * 100_000, b"\xff"])
def test_a_damaged_line_has_no_title(line):
    assert title_of_line(line) is None


def test_of_a_long_record_only_the_beginning_is_parsed(monkeypatch):
    parsed = []
    from chatsquash.core import jsonio

    loads = jsonio.loads
    monkeypatch.setattr(jsonio, "loads", lambda data: parsed.append(data) or loads(data))
    line = json.dumps({"messages": [user("go")] + [assistant("a")] * 10_000, "tools": [{}] * 1_000}).encode()
    assert title_of_line(line) == "go"
    assert len(parsed) < 50
