"""Logs that grow, and logs built to be mistaken for them: the reader agrees with the naive reader on each."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash.sources import lines
from tests.conftest import assistant, user
from tests.fuzz.growing import calm, growing
from tests.fuzz.hold import hold
from tests.strategies import TITLE_SYSTEM, TITLE_USER, tool

SYSTEM = {"role": "system", "content": "You are an agent."}
TITLE = [{"role": "system", "content": TITLE_SYSTEM}, user(TITLE_USER)]
INFO = user("<info-msg>now</info-msg>")
TOOLS = [tool("read")]
LOT = 50
"""Seeds in a lot; half of the lots are tried only by the long tests."""
LOTS = [*range(4), *(pytest.param(lot, marks=pytest.mark.long) for lot in range(4, 8))]


def line(number: int, messages: list[Any], reply: dict[str, Any] | None = None, **asked: Any) -> bytes:
    """A line of a log, compact."""
    request = {"model": "m", "messages": messages, **asked, "temperature": 0}
    choice = {"index": 0, "message": reply or assistant(f"a{number}"), "finish_reason": "stop"}
    response = {"id": f"r{number}", "model": "g", "choices": [choice]}
    at = f"2026-01-13T10:00:{number:02}Z"
    entry = {"timestamp": at, "session_id": "s1", "request": request, "response": response}
    return json.dumps(entry, separators=(",", ":")).encode()


def grown(first: list[Any], reply: dict[str, Any] | None = None, *added: Any, **asked: Any) -> list[bytes]:
    """Three lines that grow by the reply and by what is added."""
    lines, history = [], first
    for number in (1, 2, 3):
        said = reply or assistant(f"a{number}")
        lines.append(line(number, history, said, **asked))
        history = [*history, said, *(added or [user(f"q{number}")])]
    return lines


BARE, WITH_TOOLS = grown([SYSTEM, user()]), grown([SYSTEM, user()], tools=TOOLS)
SPELLED = json.dumps(TOOLS, separators=(",", ":")).encode()


def beside(
    member: bytes, at: int | None = None, lines: list[bytes] = BARE, behind: bytes = b'"temperature":0'
) -> list[bytes]:
    """The lines with one more member behind another: one of them, or all."""
    return [each.replace(behind, behind + b"," + member) if at in (None, n) else each for n, each in enumerate(lines)]


def last(member: bytes, at: int | None = None) -> list[bytes]:
    """The lines with a member at their ends: one of them, or all."""
    return [each[:-1] + b"," + member + b"}" if at in (None, n) else each for n, each in enumerate(BARE)]


def first(messages: list[Any], reply: str) -> list[bytes]:
    return grown(messages, assistant(reply), user("q"), INFO, user("w<info-msg>z</info-msg>"))


def deep(levels: int) -> Any:
    return json.loads("[" * levels + "]" * levels)


def forgotten(**members: Any) -> list[bytes]:
    """A reply with members that the history has not."""
    replied = line(1, [SYSTEM, user()], assistant("a1", **members))
    return [replied, line(2, [SYSTEM, user(), assistant("a1"), user("q")])]


def number(value: bytes) -> dict[str, list[bytes]]:
    """A number that is spelled so in the reply, in the history, and in both."""
    both = grown([SYSTEM, user()], assistant("a", n="@"))
    spelled, usual = [each.replace(b'"@"', value) for each in both], [each.replace(b'"@"', b"1") for each in both]
    shown = value[:9].decode("latin-1")
    return {
        f"{shown} in replies and history": spelled,
        f"{shown} in a reply": [spelled[0], *usual[1:]],
        f"{shown} in a history": [usual[0], *spelled[1:]],
    }


LIMITS = [
    *[b'"max_tokens":8192.0', b'"max_tokens":-0', b'"max_tokens":1', b'"max_tokens":true', b'"max_tokens":1e2'],
    *[b'"max_tokens":null,"max_output_tokens":1', b'"max_completion_tokens":1,"max_tokens":5'],
    *[b'"max_tokens":' + b"9" * 30, b'"max_tokens":1,"max_tokens":5', b'"options":null', b'"generationConfig":{}'],
]
UNREAD = [
    *[b'"x":NaN', b'"x":1e400', b'"x":"\\ud800"', b'"x":"\xff"', b'"x":"\x01"', b'"x":"\\x"', b'"x":01', b'"\xff":1'],
    *[b'"x":' + b"9" * 5000, b'"x":' + b"[" * 200 + b"]" * 200, b'"x":' + b"[" * 2000 + b"]" * 2000, b'"model":5'],
]
TWICE = [
    *[b'"messages":null', b'"messages":[]', b'"messages":[{"role":"user","content":"other"}]', b'"tools":null'],
    *[b'"tools":[]', b'"tools":' + SPELLED, b'"metadata":{"messages":[],"tools":' + SPELLED + b"}"],
]
AGAIN = [
    *[b'"timestamp":"2026-01-13T09:00:00Z"', b'"session_id":"s2"', b'"session_id":null', b'"response":null'],
    *[b'"request":{"messages":[]}', b'"status":500', b'"status":200.0', b'"status":"200"', b'"status":200'],
]
ENDS = ['],"temperature":', '"}],"temperature":0}', '],"tools":[', '],"tools":' + SPELLED.decode(), '"}],"x":[{"a":"']
NUMBERS = [
    *[b"NaN", b"1e400", b'"\\ud800"', b'"\xff"', b"1.0", b"-0", b"1E2", b"12345678901234567890123", b"-0.0"],
    b"0.1000000000000000055511151231257827",
]
BAD_TOOLS = [
    b'[{"x":"\xf9"}]', b"[NaN]", b"[1e400]", b"[" * 600 + b"]" * 600, b"{}", b"[1]", b'["\\ud800"]', b"[]", b"[] ",
]  # fmt: skip
ODD: list[Any] = ["text", None, [], 5, {}, {"role": 5}, {"role": None}, {"content": "x"}, {"role": "function"}]

LOGS: dict[str, list[bytes]] = {
    "a log that grows": BARE,
    "one with tools": WITH_TOOLS,
    **{
        f"two values on a line, {gap} between": [BARE[0], gap.join(BARE[1:])]
        for gap in (b"", b" ", b",", b"\r", b"\x0b")
    },
    **{f"the first two on one, {gap} between": [gap.join(BARE[:2]), BARE[2]] for gap in (b"", b" ", b",")},
    "a line that is JSON with the next one": [BARE[0], BARE[1][:-1] + b',"k":["a"', b'"b"],' + BARE[2][1:]],
    "one that the next one ends": [BARE[0], *BARE[1].split(b',"response"', 1), BARE[2]],
    "a value on many lines": [BARE[0], BARE[1].replace(b",", b",\n"), BARE[2]],
    "a first value on two lines": [BARE[0].replace(b',"resp', b',\n"resp'), *BARE[1:]],
    "blank lines between": [b"", BARE[0], b"", b" \t", BARE[1], b"\r", BARE[2], b""],
    **{f"{each[:40]} everywhere": beside(each) for each in (*LIMITS, *UNREAD, *TWICE)},
    **{f"{each[:40]} at the end": beside(each, 2) for each in (*LIMITS, *UNREAD, *TWICE)},
    **{f"{each[:40]} with tools": beside(each, 1, WITH_TOOLS) for each in TWICE},
    **{f"{each[:40]} before": beside(each, 1, WITH_TOOLS, b'"model":"m"') for each in TWICE},
    **{f"{each[:40]} in a choice": beside(each, 1, BARE, b'"finish_reason":"stop"') for each in UNREAD},
    **{f"{each[:40]} once more": last(each, at) for at in range(3) for each in AGAIN},
    **{f"{each[:40]} once more in all": last(each) for each in AGAIN},
    **{f"texts with {each}": grown([SYSTEM, user(each)], assistant(each), user(each), tools=TOOLS) for each in ENDS},
    **{f"tools that are {each[:9]}": [one.replace(SPELLED, each) for one in WITH_TOOLS] for each in BAD_TOOLS},
    "a member like what stands behind": grown([SYSTEM, {**user(["x"]), "temperature": 0}]),
    "members like tools": grown([SYSTEM], None, {**user(["x"]), "tools": TOOLS}, tools=TOOLS),
    "tools only elsewhere": [WITH_TOOLS[0], *beside(b'"x":{"tools":' + SPELLED + b"}", None, BARE[1:])],
    **{name: log for value in NUMBERS for name, log in number(value).items()},
    **{f"an id {each!r}": [one.replace(b'"id":"r1"', b'"id":' + each) for one in BARE] for each in NUMBERS},
    **{f"{each} for a message": grown([SYSTEM, user()], None, each) for each in ODD},
    **{f"{each} for the first": grown([each, user()]) for each in ODD},
    **{f"{each} for a reply": grown([SYSTEM, user()], each) for each in ODD if isinstance(each, dict)},
    **{f"a reply with {n} levels, which the history has not": forgotten(d=deep(n)) for n in range(6, 12)},
    **{f"{n} levels": grown([SYSTEM, {**user(), "d": deep(n)}], assistant("a", d=deep(n))) for n in range(6, 12)},
    "no messages at first": first([], "A title"),
    "none that cleaning leaves": first([INFO], "A title"),
    "an empty message first": first([assistant("")], "A title"),
    "a title request that only cleaning shows": first([INFO, *TITLE], "A title"),
    "one with something between": first([TITLE[0], INFO, TITLE[1]], "A title"),
    "one that goes on": first(TITLE, "A title of many more words than a title has"),
    "the half of one": first(TITLE[:1], "A title"),
    "one before": [line(0, TITLE, assistant("A title")), *BARE],
    "one behind": [*BARE, line(9, TITLE, assistant("A title"))],
    "one that begins as the session": [*grown(TITLE, assistant("no title, but a text")), line(9, TITLE)],
}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("chunk", [1 << 19, 64], ids=["whole", "in pieces"])
def test_what_is_taken_for_something_else(name, chunk, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK", chunk)
    hold(b"\n".join(LOGS[name]) + b"\n")


@pytest.mark.parametrize("log", [growing, calm])
@pytest.mark.parametrize("lot", LOTS)
def test_logs_that_grow_and_what_may_happen_to_them(log, lot):
    for seed in range(lot * LOT, (lot + 1) * LOT):
        try:
            hold(log(seed))
        except BaseException as problem:
            problem.add_note(f"{log.__name__}({seed})")
            raise
