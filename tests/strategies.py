"""Logs built to break a reader that cuts corners, for the law that such a reader gives what parsing every line gives.

``logs()`` gives bytes, ``described_logs()`` the same with a sentence per line, ``sessions()`` the entries before they are
written, ``messages()`` a single message, and ``render(entry, draw)`` writes one entry.  An entry is plain JSON values
with two additions: ``Raw`` is written as it stands, ``Pairs`` is an object that may say a key twice.

What shapes a log is drawn by hypothesis, so that it shrinks; how a line is spelled follows from a ``Style``, in which the
same message always gets the same bytes.  The first of all alternatives is the harmless one.

Two things are left out because the contract leaves them open: damage in bytes that nobody reads (it says they are not
judged), and strings with more than nine decimals of a second other than zeros.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random
from typing import Any
from zlib import crc32

from hypothesis import strategies as st

Entry = dict[str, Any]
Messages = list[Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]


class Raw(bytes):
    """Bytes that stand in the log as they are, where a value should be."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Raw({bytes(self)!r})"


class Pairs(list):
    """An object as its (key, value) pairs; a key may come more than once, the last one counts."""

    def __repr__(self) -> str:
        return f"Pairs({list(self)!r})"


# What can be in a message


TEXTS = [
    "hi", "", " \n\t", "two\nlines", "grüße 日本語 😀", "\ud800", "a\udfffb", "\x00\x1f\x7f\u2028", '"messages":[',
    '"messages": [{"role": "user", "content": "x"}], "tools": [', '"tools":[{"name":"t"}]',
    '"request":{"messages":[]}', '"}]}', '"}],"tools":[]}}', "]}", "[{", ",", "\\", '\\"', '\\\\"]', "\\u005d", "/",
    "0", "null", "me@example.org, you@host.net", "<tool_call>{}</tool_call>", '</tool_result> "<',
    "2026-01-13T10:00:00Z",
]  # fmt: skip
INFO_TEXTS = [
    "<info-msg>now 10:00</info-msg>",
    "  <info-msg>\na\n</info-msg>\n\t<info-msg></info-msg> ",
    "<info-msg>a</info-msg> and <info-msg>b</info-msg>",
    "<info-msg>a<info-msg>b</info-msg></info-msg>",
    "<info-msg>open",
    "<info-msg></info-msg>",
]
GOOSE_TEXTS = [
    "You are a general-purpose AI agent called goose, made by Block.",
    "You are a GENERAL-purpose \n ai\tagent  called Goose.",
    "a general-purpose AI agent called duck",
]
TITLE_SYSTEM = "Reply with only a description in four words or less"
TITLE_USER = "Here are the first few user messages:"

NUMBERS = [
    1, 1.0, True, 0, -0.0, False, 2**63, 2**64, -(2**63) - 1, 10**30, 0.1, 1e16, 1e22, 5e-324, Raw(b"1.50"),
    Raw(b"1E5"), Raw(b"-0"), Raw(b"123456789012345678901234567890.5"), Raw(b"9" * 4300),
]  # fmt: skip
TWINS = [1, 1.0, True, Raw(b"1.00"), Raw(b"1e0")]
"""Equal to Python, and four different things in a record."""

PARTS = [
    {"type": "text", "text": "part"},
    "bare",
    {"text": "no type"},
    {"type": "text", "text": ""},
    {"type": "text", "text": "\udc00"},
    {"type": None, "text": "null type"},
    {"type": "text", "text": 5},
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    {"type": "text", "text": "<info-msg>part</info-msg>"},
    {"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}},
    None,
    [],
    {},
]
ARGUMENTS = [
    '{"path": "a.py"}',
    "{}",
    "",
    "not json",
    '{"a": 1, "a": 1.0, "b": [true, null, 1e16, 12345678901234567890123]}',
    '{"a": NaN}',
    '{"a": 1e999}',
    '{"html": "</tool_call><b>"}',
    '{"s": "\\ud800\\u00e9\\n"}',
    " [1,2] ",
    '"text"',
    {"path": "a.py", "n": 1.0},
    {"html": "</tool_result> <i>"},
    [1],
    None,
    5,
    '{"messages":[{"role":"user"}]}',
]
EXTRAS = [
    {},
    {},
    {},
    {"name": None},
    {"name": "bob"},
    {"refusal": None, "audio": None, "function_call": None},
    {"refusal": "no"},
    {"audio": {"id": "a"}},
    {"function_call": {"name": "f", "arguments": "{}"}},
    {"reasoning_content": "hm"},
    {"reasoning": ""},
    {"reasoning_details": [{"text": "hm"}]},
    {"thinking": "hm"},
    {"thinking_blocks": []},
    {"tool_calls": []},
    {"tool_calls": None},
    {"tool_calls": {"id": "x"}},
    {"tool_call_id": ""},
    {"tool_call_id": 7},
    {"messages": [{"role": "user", "content": "nested"}], "tools": [{"name": "nested"}]},
    {"request": {"messages": [], "tools": []}},
    {"cache_control": {"type": "ephemeral"}},
    {"": {"": []}},
    {"\ud800": 1},
    {"deep": Raw(b"[" * 300 + b"]" * 300)},
]
CONTENTS: list[Any] = [None, 5, {}, {"type": "text", "text": "x"}, True, [], [[]]]
IDS = ["c1", "c2", "", None, 3, 'q"<', "c1"]


@cache
def below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def pick(draw: Draw, values: Sequence[Any]) -> Any:
    """One of the values; a strategy made once per length is several times faster than ``sampled_from``."""
    return values[draw(below(len(values)))]


def some(draw: Draw, what: Callable[[Draw], Any], least: int, most: int) -> list[Any]:
    return [what(draw) for _ in range(least + draw(below(most - least + 1)))]


def chance(draw: Draw, one_in: int) -> bool:
    """True once in so many draws; shrinks to False."""
    return draw(below(one_in)) == one_in - 1


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=5)


def text(draw: Draw) -> str:
    return draw(ANY_TEXT) if chance(draw, 5) else pick(draw, TEXTS)


def message(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def plain_message(draw: Draw) -> dict[str, Any]:
    return message(pick(draw, ["user", "assistant", "system", "tool"]), text(draw))


def odd_message(draw: Draw) -> Any:
    result = {
        "role": pick(draw, ["user", "assistant", "system", "developer", "tool", "function", "", "User", "\udfff"])
    }
    what = pick(draw, ["text", "parts", "parts", "none", "other"])
    if what == "text":
        result["content"] = text(draw)
    elif what == "parts":
        result["content"] = some(draw, lambda draw: pick(draw, PARTS), 0, 3)
    elif what == "other":
        result["content"] = pick(draw, CONTENTS)
    result |= pick(draw, EXTRAS)
    if chance(draw, 3):
        result["n"] = pick(draw, NUMBERS)
    if chance(draw, 4):
        result = dict(reversed(result.items()))
    return twice(draw, result) if chance(draw, 8) else result


def twice(draw: Draw, value: dict[str, Any]) -> Pairs:
    """The same object, but for one key that is said twice, where the first time does not count."""
    key = pick(draw, sorted(value))
    return Pairs([(key, pick(draw, [None, "first", ["x"], Raw(b"NaN")])), *value.items()])


def goose_message(draw: Draw) -> dict[str, Any]:
    kind = pick(draw, ["info", "hollow", "prompt", "title"])
    if kind == "info":
        role, content = "user", pick(draw, INFO_TEXTS)
    elif kind == "hollow":
        role, content = "assistant", pick(draw, ["", " \n", "\u00a0"])
    elif kind == "prompt":
        role, content = pick(draw, ["system", "developer"]), pick(draw, GOOSE_TEXTS)
    else:
        role, content = pick(draw, [("system", TITLE_SYSTEM), ("user", " \n" + TITLE_USER)])
    if chance(draw, 4):
        content = [{"type": "text", "text": content[:9]}, content[9:], *pick(draw, [[], [], [PARTS[7]]])]
    return message(role, content) | pick(draw, EXTRAS)


def call(draw: Draw) -> Any:
    function = {"name": pick(draw, ["read", "t<", "read", "", None]), "arguments": pick(draw, ARGUMENTS)}
    result = {"id": pick(draw, IDS), "type": "function", "function": function}
    oddity = pick(draw, ["", "", "", "", "", "no arguments", "function", "object"])
    if oddity == "no arguments":
        del function["arguments"]
    elif oddity == "function":
        result["function"] = pick(draw, [None, "read", {}])
    elif oddity == "object":
        return pick(draw, [None, "read", []])
    return result


def calling_message(draw: Draw) -> dict[str, Any]:
    content = pick(draw, [None, "", "text", " text\n", [], PARTS[:2], [PARTS[7]], 5])
    result = message("assistant", content, tool_calls=some(draw, call, 1, 2))
    if chance(draw, 4):
        del result["content"]
    return result


def result_message(draw: Draw) -> dict[str, Any]:
    content = pick(draw, ["ok", "", None, '{"error": "no"}', PARTS[:1], [PARTS[7]], {"ok": True}])
    return {"role": "tool", "tool_call_id": pick(draw, IDS), "content": content}


MESSAGES = [plain_message, plain_message, odd_message, goose_message, calling_message, result_message]


def any_message(draw: Draw) -> Any:
    return pick(draw, MESSAGES)(draw)


def turn(draw: Draw) -> Messages:
    """What one step of a session adds."""
    what = pick(draw, ["plain", "call", "any"])
    if what == "plain":
        return some(draw, plain_message, 1, 2)
    if what == "call":
        return [calling_message(draw), result_message(draw)]
    return some(draw, any_message, 1, 3)


@st.composite
def messages(draw: Draw) -> Any:
    """One chat message with a string role; now and then ``Pairs`` instead of a dict."""
    return any_message(draw)


# Tools, replies, ids and times


def tool(name: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}, **more}}


TOOLS: list[Any] = [
    tool("read"),
    tool("write"),
    tool("read", description="another"),
    tool("read", strict=1),
    tool("read", strict=True),
    {"name": "read", "input_schema": {"type": "object"}},
    {"function": {"default": 1}},
    {"function": {"default": 1.0}},
    {"default": True},
    {"type": "function", "function": None},
    {"type": "function", "function": "read", "name": "read"},
    tool(""),
    tool("", strict=1),
    {"default": True, "more": 1},
    {"more": 1, "default": True},
    tool(5),
    tool("\udc00", **{"$defs": {"messages": [], "tools": [{"x": "]}"}]}}),
    tool("deep", schema=Raw(b'{"a":' * 300 + b"1" + b"}" * 300)),
    tool("big", maximum=2**70),
    "read",
    None,
    5,
    [],
]
NOT_TOOLS: list[Any] = [None, {}, "tools", {"read": tool("read")}, 0, True, Raw(b"NaN"), {"x": Raw(b"Infinity")}]

REPLIES: list[Any] = [
    {"role": "assistant", "content": "done"},
    {"role": "assistant", "content": "a short session title"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c9", "function": {"name": "read", "arguments": "{}"}}]},
    {"role": "assistant", "content": " "},
    {"role": "assistant", "content": [{"type": "text", "text": "two words"}]},
    {"role": "user", "content": "odd"},
    {"content": "no role"},
    {"content": "null role", "role": None, "x": 1},
    {"role": 5},
    {},
    {"role": "assistant", "content": "\ud800", "n": 2**64},
    {"role": "assistant", "messages": [], "content": '"messages":['},
    Pairs([("role", "user"), ("content", "x"), ("role", "assistant")]),
]  # fmt: skip
NOT_REPLIES: list[Any] = [
    {"role": "assistant", "content": "x", "n": Raw(b"NaN")},
    {"role": "assistant", "content": [{"x": Raw(b"-1e999")}]},
    None,
    "text",
    [],
]
RESPONSES: list[Any] = [
    None,
    "text",
    [],
    {},
    5,
    {"error": {"message": "overloaded"}},
    {"error": {"message": "late"}, "choices": [{"message": REPLIES[0]}]},
    {"error": None, "choices": [{"message": REPLIES[0]}]},
    {"error": Raw(b"NaN"), "choices": [{"message": REPLIES[0]}]},
    {"choices": None},
    {"choices": {"0": {"message": REPLIES[0]}}},
    {"choices": []},
    {"choices": ["x"]},
    {"choices": [None, {"message": REPLIES[0]}]},
    {"choices": [{"delta": {"content": "x"}}]},
    {"choices": [{"message": REPLIES[0], "finish_reason": 5}]},
    {"choices": [{"message": REPLIES[0], "finish_reason": "length", "logprobs": Raw(b"NaN")}]},
    {"choices": [{"message": REPLIES[0], "finish_reason": "stop"}, {"message": REPLIES[1]}]},
    {"choices": [{"message": REPLIES[0]}, None]},
    Pairs([("choices", []), ("choices", [{"message": REPLIES[0]}])]),
]

SESSION_IDS: list[Any] = [None, "", 7, "7", 7.0, True, "other", [], {"id": "s1"}, "\ud800", 10**25, Raw(b"-0")]
TIMES: list[Any] = [
    None, "", True, [], "yesterday", "2026-01-13", "2026-01-13 10:00:01", "2026-01-13T10:00:01",
    "2026-01-13T12:00:01+02:00", "2026-01-13T10:00:01,5Z", "2026-01-13T10:00:01.Z", "2026-01-13T10:00:01.000000001Z",
    "2026-01-13T10:00:01.000000002Z", "2026-01-13T10:00:01.000000002000Z", "2026-01-13T10:00:01.9999999",
    "20260113T100001.5Z", "2026-W03-2T10:00:01Z", "2026W032T10", "2026-01-13T24:00:00Z", "2026-01-13T10:00:01z",
    " 2026-01-13T10:00:01Z", "2026-02-30T10:00:00Z", "0001-01-01T00:00:00", "9999-12-31T23:59:59.999999999Z",
    1768298401, Raw(b"1768298401.5"), Raw(b"1768298401.000000001"), Raw(b"1768298401.0000000019"),
    Raw(b"1.7682984015e9"), 1768298401500, Raw(b"1768298401500.25"), 1768298401500000, 1768298401500000001,
    1768298401500000002, 99999999999, 100000000000, 0, Raw(b"-0.5"), Raw(b"-1e-10"), Raw(b"1e999"),
    Raw(b"1E-999999999"), Raw(b"NaN"), 10**40, -(10**11),
]  # fmt: skip


def spelled_time(way: str, second: int) -> Any:
    """One moment per second from 2026-01-13T10:00:01Z, in the way a log spells its times."""
    epoch = 1768298400 + second
    return {
        "zulu": f"2026-01-13T10:00:{second:02}Z",
        "offset": f"2026-01-13T12:00:{second:02}.5+02:00",
        "naive": f"2026-01-13T10:00:{second:02}",
        "nanoseconds apart": f"2026-01-13T10:00:00.{second:09}Z",
        "seconds": epoch,
        "milliseconds": epoch * 1000,
        "nanoseconds": epoch * 10**9,
        "fractions": Raw(b"%d.000000001" % epoch),
        "equal": "2026-01-13T10:00:00Z",
        "backwards": f"2026-01-13T10:00:{59 - second:02}Z",
    }[way]


# How a session grows


def index_of(history: Messages, draw: Draw) -> int:
    return draw(below(max(1, len(history))))


def changed(history: Messages, index: int, value: Any) -> Messages:
    return [*history[:index], value, *history[index + 1 :]]


def grow(history: Messages, draw: Draw) -> Messages:
    return history + turn(draw)


def repeat(history: Messages, draw: Draw) -> Messages:
    return list(history)


def drop_tail(history: Messages, draw: Draw) -> Messages:
    return history[: index_of(history, draw)]


def branch(history: Messages, draw: Draw) -> Messages:
    return history[: index_of(history, draw)] + turn(draw)


def rewrite(history: Messages, draw: Draw) -> Messages:
    return grow(changed(history, index_of(history, draw), any_message(draw)), draw)


def clock(history: Messages, draw: Draw) -> Messages:
    now = message("system", f"You are an agent. It is 10:{draw(below(60)):02}.")
    return grow([now, *history[1:]], draw)


def retype(history: Messages, draw: Draw) -> Messages:
    """One message differs only by 1, 1.0 or true, which Python takes for equal."""
    index = index_of(history, draw)
    old = history[index] if history else message("user", "n")
    old = dict(old)
    return grow(changed(history, index, {**old, "n": pick(draw, TWINS)}), draw)


def reorder_keys(history: Messages, draw: Draw) -> Messages:
    index = index_of(history, draw)
    old = history[index] if history else message("user", "n")
    return grow(changed(history, index, dict(reversed(dict(old).items()))), draw)


def insert(history: Messages, draw: Draw) -> Messages:
    index = index_of(history, draw)
    return history[:index] + turn(draw) + history[index:]


def remove(history: Messages, draw: Draw) -> Messages:
    index = index_of(history, draw)
    return history[:index] + history[index + 1 + draw(below(2)) :] + turn(draw)


def swap(history: Messages, draw: Draw) -> Messages:
    index = index_of(history, draw)
    return history[index:] + history[:index]


def double(history: Messages, draw: Draw) -> Messages:
    """A run of messages twice in a row, so that a comparison may find it in the wrong place."""
    index = index_of(history, draw)
    return history + history[index:]


def compact(history: Messages, draw: Draw) -> Messages:
    kept = draw(below(3))
    return [*history[:1], message("user", "Summary of the conversation so far"), *history[len(history) - kept :]]


def clear_results(history: Messages, draw: Draw) -> Messages:
    cleared = [{**dict(m), "content": "[Old tool result content cleared]"} if is_result(m) else m for m in history]
    return grow(cleared, draw)


def is_result(value: Any) -> bool:
    return dict(value).get("role") == "tool"


def rename_ids(history: Messages, draw: Draw) -> Messages:
    suffix = pick(draw, ["x", "_1"])

    def renamed(value: Any) -> Any:
        if isinstance(value, list) and not isinstance(value, Pairs):
            return [renamed(item) for item in value]
        if isinstance(value, dict):
            return {k: f"{v}{suffix}" if k in ("id", "tool_call_id") else renamed(v) for k, v in value.items()}
        return value

    return grow(renamed(history), draw)


def move_cache_control(history: Messages, draw: Draw) -> Messages:
    mark = {"cache_control": {"type": "ephemeral"}}
    bare = []
    for old in history:
        new = {key: value for key, value in dict(old).items() if key != "cache_control"}
        if isinstance(new.get("content"), list) and len(new["content"]) == 1 and isinstance(new["content"][0], dict):
            part = new["content"][0]
            new["content"] = [{key: value for key, value in part.items() if key != "cache_control"}]
        bare.append(new)
    *head, last = [*bare, *turn(draw)]
    last = dict(last)
    if isinstance(last.get("content"), str) and chance(draw, 2):
        last["content"] = [{"type": "text", "text": last["content"], **mark}]
    else:
        last |= mark
    return [*head, last]


EDITS = [
    drop_tail, branch, rewrite, clock, retype, reorder_keys, insert, remove, swap, double, compact, clear_results,
    rename_ids, move_cache_control,
]  # fmt: skip


def side(history: Messages, draw: Draw) -> Messages:
    """A request that does not belong to the conversation, which goes on as if nothing had been."""
    other = [message("system", "You are a summariser."), message("user", "hi")]
    title = [message("system", TITLE_SYSTEM + "."), message("user", f"{TITLE_USER} hi")]
    probe = [message("user", "quota")]
    return pick(draw, [other, title, probe, [], history[:1], title + history])


WRONG_SHAPES: list[Callable[[Entry], Any]] = [
    lambda entry: {**entry, "request": None},
    lambda entry: {**entry, "request": [entry["request"]]},
    lambda entry: {key: value for key, value in entry.items() if key != "request"},
    lambda entry: entry["request"],
    lambda entry: [entry],
    lambda entry: with_messages(entry, None),
    lambda entry: with_messages(entry, {}),
    lambda entry: with_messages(entry, "messages"),
    lambda entry: with_messages(entry, [*entry["request"]["messages"], "text"]),
    lambda entry: with_messages(entry, [None, *entry["request"]["messages"]]),
    lambda entry: with_messages(entry, [*entry["request"]["messages"], {"content": "no role"}]),
    lambda entry: with_messages(entry, [*entry["request"]["messages"], {"role": 5}]),
    lambda entry: with_messages(entry, [*entry["request"]["messages"], {"role": None}, message("user", "x")]),
    lambda entry: with_messages(entry, [*entry["request"]["messages"], []]),
    lambda entry: {**entry, "request": {k: v for k, v in entry["request"].items() if k != "messages"}},
]


def with_messages(entry: Entry, value: Any) -> Entry:
    return {**entry, "request": {**entry["request"], "messages": value}}


POISONS = [
    Raw(b"NaN"), Raw(b"-Infinity"), Raw(b"1e999"), Raw(b'[{"x":[NaN]}]'), Raw(b'"\xff"'), Raw(b'"a\xc3"'),
    Raw(b'"\xc0\x80"'), Raw(b'"\xf4\x90\x80\x80"'), Raw(b'"\xed\xa0\x80"'), Raw(b'"\xed\xa0\xbd\xed\xb8\x80"'),
    Raw(b'"a\x00b"'), Raw(b'"a\tb"'), Raw(b'"\\x"'), Raw(b'"\\ud83d\\ude00 \\ud83d \\ude00"'), Raw(b"01"),
    Raw(b"9" * 4301), Raw(b"nul"), Raw(b"'x'"), Raw(b"[1,]"), Raw(b"[" * 100_000 + b"]" * 100_000),
]  # fmt: skip
"""Values for a field inside a message or a tool.  Most of them cost the line."""
POISONED = "poison"


def poisoned(values: Messages, draw: Draw) -> Messages:
    poison = pick(draw, POISONS)
    if not values or not isinstance(values[0], dict):
        return [*values, {"role": "user", "content": poison}]
    index = index_of(values, draw)
    old = values[index]
    return changed(values, index, {**old, "content": poison} if isinstance(old, dict) else poison)


def tool_list(draw: Draw) -> list[Any]:
    if chance(draw, 3):
        return some(draw, lambda draw: pick(draw, TOOLS), 0, 3)
    return pick(draw, [TOOLS[:2], TOOLS[:1], TOOLS[:3], [], TOOLS[3:5], TOOLS[6:9]])


def response(draw: Draw, *, hostile: bool) -> Any:
    if hostile and chance(draw, 2):
        return pick(draw, RESPONSES)
    reply = pick(draw, REPLIES + NOT_REPLIES if hostile else REPLIES)
    return {"id": "r", "choices": [{"index": 0, "message": reply, "finish_reason": "stop"}]}


FAMILIES = ("edits", "tools", "times", "ids", "responses", "shapes", "poison", "spelling", "lines")
"""What may go wrong in a log; each log draws some of them, so that logs differ in what they are about."""


def family_set(draw: Draw) -> frozenset[str]:
    if chance(draw, 3):
        return frozenset(["edits"])
    bits = draw(below(2 ** len(FAMILIES)))
    return frozenset(name for bit, name in enumerate(FAMILIES) if bits >> bit & 1)


MISSING = object()
PADS = [*[""] * 8, "x" * 5000, '{"role":"user","content":"x"},' * 150, "\\" * 2000 + '"]' * 500, "é😀" * 600]


@dataclass
class Step:
    """One entry, and how it came to be."""

    entry: Any
    what: str


def steps(draw: Draw, families: frozenset[str], *, append_only: bool = False) -> list[Step]:
    count = pick(draw, [3, 1, 2, 4, 5, 7, 3, 12])
    start = message("system", pick(draw, ["You are an agent.", *GOOSE_TEXTS[:1]]) + pick(draw, PADS))
    history: Messages = [start, *turn(draw)]
    tools = tool_list(draw)
    way = pick(draw, ["zulu", "milliseconds", "nanoseconds apart"])
    if "times" in families:
        way = pick(draw, ["zulu", "offset", "naive", "seconds", "nanoseconds", "fractions", "equal", "backwards"])
    result: list[Step] = []
    for number in range(1, count + 1):
        request = history
        op = grow
        if append_only:
            op = pick(draw, [grow, grow, grow, repeat])
        elif "edits" in families and chance(draw, 2):
            op = pick(draw, [repeat, side, *EDITS])
        if number > 1 or op is side:
            request = op(history, draw)
        if op is not side:
            history = request
        notes = [op.__name__]
        entry = plain_entry(request, tools, response(draw, hostile="responses" in families), way, number)
        if "tools" in families:
            tools, note = next_tools(tools, entry, draw)
            notes.append(note)
        result.append(Step(damaged(entry, families, notes, draw), ", ".join(note for note in notes if note)))
    return result


def plain_entry(request: Messages, tools: list[Any], response: Any, way: str, number: int) -> Entry:
    entry: Entry = {"timestamp": spelled_time(way, number), "session_id": "s1"}
    entry["request"] = {"model": "m", "messages": request}
    if tools:
        entry["request"]["tools"] = tools
    entry["response"] = response
    return entry


def next_tools(tools: list[Any], entry: Entry, draw: Draw) -> tuple[list[Any], str]:
    """The tools of the conversation from here on; this one request may say something else."""
    what = pick(draw, ["", "", "changed", "other", "gone", "wrong", "reversed", "more", "retyped", "retyped"])
    request = entry["request"]
    if what == "changed":
        tools = request["tools"] = tool_list(draw)
    elif what == "more":
        tools = request["tools"] = [*tools, pick(draw, TOOLS)]
    elif what == "retyped":
        tools = request["tools"] = [*tools[:1], tool("write", strict=pick(draw, TWINS))]
    elif what == "reversed":
        tools = request["tools"] = tools[::-1]
    elif what == "other":
        request["tools"] = tool_list(draw)
    elif what == "gone":
        request.pop("tools", None)
    elif what == "wrong":
        request["tools"] = pick(draw, NOT_TOOLS)
    return tools, what and f"tools {what}"


def damaged(entry: Entry, families: frozenset[str], notes: list[str], draw: Draw) -> Any:
    for family, key, values in (("times", "timestamp", TIMES), ("ids", "session_id", SESSION_IDS)):
        if family in families and chance(draw, 3):
            entry[key] = pick(draw, [MISSING, *values])
            notes.append(f"{key} {entry[key]!r}" if entry[key] is not MISSING else f"no {key}")
    if "responses" in families and chance(draw, 6):
        entry["response"] = MISSING
        notes.append("no response")
    entry = {key: value for key, value in entry.items() if value is not MISSING}
    if "poison" in families and chance(draw, 4):
        where = pick(draw, ["messages", "messages", "tools", "reply"])
        old = entry["request"].get(where)
        if where == "reply":
            entry["response"] = {"choices": [{"message": poisoned([message("assistant", "")], draw)[0]}]}
        else:
            entry["request"] = {**entry["request"], where: poisoned(old if isinstance(old, list) else [], draw)}
        notes.append(f"{POISONED} in {where}")
        return entry  # a wrong shape around it could make it something that nobody reads
    if "shapes" in families and chance(draw, 4):
        shape = draw(below(len(WRONG_SHAPES)))
        notes.append(f"wrong shape {shape}")
        return WRONG_SHAPES[shape](entry)
    return entry


@st.composite
def sessions(draw: Draw, *, append_only: bool = False) -> list[Any]:
    """The entries of one log before they are written; not each of them is a good one unless ``append_only``."""
    families = frozenset[str]() if append_only else family_set(draw)
    return [step.entry for step in steps(draw, families, append_only=append_only)]


# How an entry is spelled


SPACES = ["compact", "default", "odd", "wide"]
ESCAPES = ["needed", "ascii", "some", "raw surrogates"]
ODD_SPACE = [b"", b"", b" ", b"  ", b"\t", b"\r", b" \r\t "]
DECOYS: list[Any] = [
    [],
    [message("user", "decoy")],
    [message("user", "decoy", n=Raw(b"NaN"))],
    None,
    "messages",
    {"messages": []},
    ["text"],
]
TRICKS = [
    "decoy at the top", "decoy in the request", "decoy in a string", "fields after", "not a number, unread",
    "deep, unread", "escaped keys", "messages twice", "messages twice, a prefix first",
    "messages twice, a prefix last", "request twice", "request twice, a prefix first", "tools twice",
    "tools twice, the same first", "others twice",
]  # fmt: skip
HARMLESS_TRICKS = TRICKS[:4]
UNREADS_MESSAGES = "messages twice, a prefix last"


@dataclass(frozen=True)
class Style:
    """How entries are written down: the same value gives the same bytes."""

    space: str = "compact"
    escape: str = "needed"
    order: int = 0
    """0: keys as they come; else what to shuffle those of an entry, its request and its response by."""
    tricks: frozenset[str] = frozenset()
    seed: int = 0
    written: dict[str, bytes] = field(default_factory=dict, repr=False, compare=False)

    def random(self, of: str) -> Random:
        return Random(crc32(of.encode("utf-8", "surrogatepass"), self.seed))

    def gap(self, random: Random, before: bytes = b"") -> bytes:
        """White space; ``before`` is what it follows."""
        if self.space == "odd":
            return random.choice(ODD_SPACE)
        if self.space == "wide":
            return b" "
        return b" " if self.space == "default" and before in (b",", b":") else b""


def a_style(draw: Draw, *, append_only: bool = False) -> Style:
    tricks = frozenset[str]()
    if chance(draw, 3):
        tricks = frozenset(some(draw, lambda draw: pick(draw, HARMLESS_TRICKS if append_only else TRICKS), 1, 2))
    return Style(pick(draw, SPACES), pick(draw, ESCAPES), pick(draw, [0, 0, 1, 2, 3, 4, 5]), tricks, draw(below(100)))


def render(entry: Any, draw: Draw, style: Style | None = None) -> bytes:
    """One line, without its line feed; entries written in one style share the bytes of what they share."""
    if style is None:
        style = a_style(draw)
    if not isinstance(entry, dict):
        return write(entry, style, style.random("entry"))
    pairs = [(key, value) for key, value in entry.items() if key != "request"]
    response = entry.get("response")
    if isinstance(response, dict):
        pairs = [(key, shuffled(value, style) if key == "response" else value) for key, value in pairs]
    random = style.random("entry")
    if "request" in entry:
        pairs.insert(min(2, len(pairs)), ("request", request_of(entry["request"], style)))
    reordered(pairs, style)
    pairs = around(pairs, entry.get("request"), style)
    return style.gap(random) + write_pairs(pairs, style, random) + style.gap(random)


def shuffled(value: dict[str, Any], style: Style) -> Pairs:
    pairs = Pairs(value.items())
    reordered(pairs, style)
    return pairs


def reordered(pairs: list[Any], style: Style) -> None:
    if style.order:
        Random(style.order).shuffle(pairs)


def request_of(request: Any, style: Style) -> Any:
    """The request with its two lists written so that each element has bytes of its own, and the tricks played."""
    if not isinstance(request, dict):
        return request
    pairs = [
        (key, as_written(value, style) if key in ("messages", "tools") else value) for key, value in request.items()
    ]
    reordered(pairs, style)
    values = request.get("messages")
    prefix = as_written(values[:-1], style) if isinstance(values, list) else Raw(b"[]")
    decoy = style.random("decoy").choice(DECOYS)
    if "messages twice" in style.tricks:
        pairs.insert(0, ("messages", decoy))
    if "messages twice, a prefix first" in style.tricks:
        pairs.insert(0, ("messages", prefix))
    if UNREADS_MESSAGES in style.tricks:
        pairs.append(("messages", prefix))
    if "tools twice" in style.tricks and "tools" in request:
        pairs.insert(0, ("tools", decoy))
    if "tools twice, the same first" in style.tricks and "tools" in request:
        pairs.insert(0, ("tools", as_written(request["tools"], style)))
    if "decoy in the request" in style.tricks:
        pairs.insert(0, ("metadata", {"messages": [message("user", "decoy")], "tools": [], "x": {"messages": prefix}}))
    if "not a number, unread" in style.tricks:
        pairs[:0] = [("temperature", Raw(b"Infinity")), ("top_p", Raw(b"1e999"))]
    if "fields after" in style.tricks:
        pairs += [("stop", ["]", "}", '"']), ("stream", False), ("metadata", None)]
    return Pairs(pairs)


def around(pairs: list[Any], request: Any, style: Style) -> list[Any]:
    """The pairs of an entry with the tricks played that concern its top level."""
    decoy = [message("user", "decoy")]
    if "decoy at the top" in style.tricks:
        pairs = [("messages", decoy), ("tools", [{"name": "decoy"}]), *pairs, ("x", {"request": {"messages": decoy}})]
    if "decoy in a string" in style.tricks:
        pairs = [("note", '{"request":{"messages":[{"role":"user","content":"x"}],"tools":['), *pairs, ("", "]}")]
    if "not a number, unread" in style.tricks:
        pairs = [("latency", Raw(b"NaN")), *pairs, ("usage", {"cost": [Raw(b"-Infinity"), Raw(b"1e400")]})]
    if "deep, unread" in style.tricks:
        pairs = [("trace", Raw(b"[" * 300 + b"]" * 300)), *pairs]
    if "others twice" in style.tricks:
        pairs = [("session_id", "first"), ("timestamp", "2020-01-01T00:00:00Z"), ("response", None), *pairs]
    if "request twice" in style.tricks:
        pairs = [("request", {"messages": style.random("decoy").choice(DECOYS), "tools": [{"name": "decoy"}]}), *pairs]
    if "request twice, a prefix first" in style.tricks and isinstance(request, dict):
        values = request.get("messages")
        first = {"messages": as_written(values[:-1], style) if isinstance(values, list) else None}
        pairs = [("request", first), *pairs]
    if "fields after" in style.tricks:
        pairs = [*pairs, ("meta", {"a": [1, 1.0, None]}), ("done", True)]
    return pairs


def as_written(values: Any, style: Style) -> Any:
    if not isinstance(values, list) or isinstance(values, Pairs):
        return values
    parts = []
    for index, value in enumerate(values):
        random = style.random(f"around {index}")
        spelled = repr(value)
        if spelled not in style.written:
            style.written[spelled] = write(value, style, style.random(spelled))
        before = b"," if index else b""
        parts.append(before + style.gap(random, before) + style.written[spelled] + style.gap(random))
    return Raw(b"[" + b"".join(parts) + b"]")


def write(value: Any, style: Style, random: Random) -> bytes:
    if isinstance(value, Raw):
        return bytes(value)
    if isinstance(value, dict):
        return write_pairs(list(value.items()), style, random)
    if isinstance(value, Pairs):
        return write_pairs(value, style, random)
    if isinstance(value, list):
        items = [style.gap(random) + write(item, style, random) for item in value]
        return b"[" + joined(items, style, random) + style.gap(random) + b"]"
    if isinstance(value, str):
        return write_string(value, style, random)
    return json.dumps(value).encode()


def write_pairs(pairs: list[Any], style: Style, random: Random) -> bytes:
    written = []
    for key, value in pairs:
        name = write_key(key, style, random) + style.gap(random) + b":" + style.gap(random, b":")
        written.append(style.gap(random) + name + write(value, style, random))
    return b"{" + joined(written, style, random) + style.gap(random) + b"}"


def joined(items: list[bytes], style: Style, random: Random) -> bytes:
    return b"".join(
        (b"," + style.gap(random, b",") if index else b"") + item + (style.gap(random) if style.space == "odd" else b"")
        for index, item in enumerate(items)
    )


def write_key(key: str, style: Style, random: Random) -> bytes:
    if "escaped keys" in style.tricks and key:
        at = random.randrange(len(key))
        if key[at].isalpha() and key[at].isascii():
            escaped = json.dumps(key[:at])[1:-1] + f"\\u{ord(key[at]):04x}" + json.dumps(key[at + 1 :])[1:-1]
            return b'"' + escaped.encode() + b'"'
    return write_string(key, style, random)


def write_string(text: str, style: Style, random: Random) -> bytes:
    if style.escape == "ascii":
        return json.dumps(text).encode()
    if style.escape == "some":
        head, tail = text[:60], text[60:]
        if head and head[-1] > "\ud7ff" and head[-1] < "\ue000":  # keep what could be read as a pair together
            head, tail = text, ""
        rest = json.dumps(tail, ensure_ascii=False)[1:-1].encode("utf-8", "backslashreplace")
        return (
            b'"' + "".join(some_escape(char, random) for char in head).encode("utf-8", "backslashreplace") + rest + b'"'
        )
    errors = "surrogatepass" if style.escape == "raw surrogates" else "backslashreplace"
    return json.dumps(text, ensure_ascii=False).encode("utf-8", errors)


def some_escape(char: str, random: Random) -> str:
    if random.random() < 0.25:
        units = char.encode("utf-16-be", "surrogatepass").hex()
        if random.random() < 0.5:
            units = units.upper()
        return "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4))
    if char == "/" and random.random() < 0.5:
        return "\\/"
    return json.dumps(char, ensure_ascii=False)[1:-1]


# What becomes of the lines


NOT_ENTRIES = [
    b"[]", b"1", b'"x"', b"null", b"{}", b"nonsense", b"{", b"}", b'{"request":{"messages":', b"\x00" * 9, b"NaN",
]  # fmt: skip
BLANKS = [b"", b" ", b"\t \r", b"\r", b"\xef\xbb\xbf", b"\xef\xbb\xbf \r"]
ENDS = [b"}", b"]", b",", b" {}", b"\x00", b"\x00" * 50, b"\x0b", b"\xef\xbb\xbf", b"\xff", b"#"]


def bom(line: bytes, draw: Draw) -> bytes:
    return b"\xef\xbb\xbf" + line


def crlf(line: bytes, draw: Draw) -> bytes:
    return line + b"\r"


def two_boms(line: bytes, draw: Draw) -> bytes:
    return b"\xef\xbb\xbf" * 2 + line


def space_then_bom(line: bytes, draw: Draw) -> bytes:
    return b" \xef\xbb\xbf" + line


def cut(line: bytes, draw: Draw) -> bytes:
    return line[: draw(below(len(line) + 1))]


def cut_head(line: bytes, draw: Draw) -> bytes:
    return line[draw(below(min(40, len(line)) + 1)) :]


def glued(line: bytes, draw: Draw) -> bytes:
    return line + pick(draw, [b"", b" ", b","]) + line


def cut_and_glued(line: bytes, draw: Draw) -> bytes:
    return cut(line, draw) + line


def more_at_the_end(line: bytes, draw: Draw) -> bytes:
    return line + pick(draw, ENDS)


def zeros_in_front(line: bytes, draw: Draw) -> bytes:
    return b"\x00" * (1 + draw(below(5))) + line


def blank_before(line: bytes, draw: Draw) -> bytes:
    return pick(draw, BLANKS) + b"\n" + line


def other_line_before(line: bytes, draw: Draw) -> bytes:
    return pick(draw, NOT_ENTRIES) + b"\n" + line


def said_twice(line: bytes, draw: Draw) -> bytes:
    return line + b"\n" + line


DAMAGE = [
    crlf, bom, blank_before, other_line_before, said_twice, cut, cut_head, glued, cut_and_glued, more_at_the_end,
    zeros_in_front, two_boms, space_then_bom,
]  # fmt: skip


@dataclass(frozen=True)
class Log:
    """The bytes of a log, and what it was meant to be, step by step (a step may be more than one line)."""

    data: bytes
    what: tuple[str, ...]


@st.composite
def described_logs(draw: Draw, *, append_only: bool = False) -> Log:
    families = frozenset[str]() if append_only else family_set(draw)
    style = a_style(draw, append_only=append_only) if append_only or "spelling" in families else Style()
    lines: list[bytes] = []
    what = [] if style == Style() else [f"all in {style}"]
    for step in steps(draw, families, append_only=append_only):
        note = step.what
        if "spelling" in families and chance(draw, 6):
            style = a_style(draw)
            note += f", now {style}"
        # What is said again later is not read, so that damage in it would not be judged.
        here = replace(style, tricks=style.tricks - {UNREADS_MESSAGES}) if POISONED in note else style
        line = render(step.entry, draw, here)
        if "lines" in families and chance(draw, 3):
            damage = pick(draw, DAMAGE)
            line = damage(line, draw)
            note += f", {damage.__name__}"
        lines.append(line)
        what.append(note)
    end = b"" if "lines" in families and chance(draw, 3) else b"\n"
    return Log(b"\n".join(lines) + end, tuple(what))


def logs(*, append_only: bool = False) -> st.SearchStrategy[bytes]:
    """Whole log files.

    With ``append_only`` every line is a good entry whose messages begin with the very bytes of the previous one's; then
    only the style, the tools, the replies and what is added differ.
    """
    return described_logs(append_only=append_only).map(lambda log: log.data)
