"""The naive reader of plain chat: parse every line in full, keep everything, then pick.

Properties and damaged logs hold the fast reader to it.  Python's ``json`` decides what JSON is.  Of ``chatsquash`` only
times are used, which ``tests/core/test_times.py`` holds to rows; what is written as text is unknown here.  Where the specification can be read in more than one way, a comment starting with "Reading:"
says which one was taken.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import orjson

from chatsquash.core import times

if TYPE_CHECKING:
    from chatsquash.core.options import Options

BOM = b"\xef\xbb\xbf"
JSON_SPACE = b" \t\r\n"

REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
SPEAKS = ("tool_calls", "tool_call_id", "function_call", *REASONING, "refusal", "audio")
GOOSE = re.compile(r"general-purpose\s+AI\s+agent\s+called\s+goose", re.IGNORECASE)
NEUTRAL = "You are a general-purpose AI agent"
TITLE_SYSTEM = "Reply with only a description in four words or less"
TITLE_USER = "Here are the first few user messages:"

Kind = Literal["blank", "bad-line", "bad-entry", "entry"]


@dataclass(frozen=True)
class Row:
    """One physical line; what follows ``line`` is meant for entries only."""

    kind: Kind
    line: int
    at: int | None = None
    """Nanoseconds since the epoch."""
    session_id: str | None = None
    messages: list[Any] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    reply: dict[str, Any] | None = None


# Reading


def read(data: bytes, stem: str = "") -> list[Row]:
    """Every physical line of a log, as a row; ``stem`` changes nothing."""
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [read_line(line, number) for number, line in enumerate(lines, 1)]


def read_line(line: bytes, number: int) -> Row:
    line = line.removeprefix(BOM)
    # Reading: NULs are what a crash leaves of lines that were not written yet; what was appended stands behind them.
    if not line.strip(JSON_SPACE + b"\0"):
        return Row("blank", number)
    try:
        text = line.lstrip(b"\0").decode("utf-8", "surrogatepass")
        value = json.loads(text)  # with Python's own bound of 4300 digits for integers
        as_logged = json.loads(text, parse_float=Decimalish)
    except (ValueError, RecursionError):
        return Row("bad-line", number)
    if not isinstance(value, dict):
        return Row("bad-line", number)

    request = value.get("request")
    if not isinstance(request, dict):
        return Row("bad-entry", number)
    messages = request.get("messages")
    # Reading: a request without `tools` may have the older `functions` instead.
    tools = request.get("tools") if request.get("tools") is not None else request.get("functions")
    if not isinstance(tools, list):
        tools = []
    # Reading: what is no JSON is no JSON, also where `messages` would be of the wrong type, so this comes first.
    if not is_finite(messages) or not is_finite(tools):
        return Row("bad-line", number)
    if not isinstance(messages, list):
        return Row("bad-entry", number)
    if not all(isinstance(message, dict) and isinstance(message.get("role"), str) for message in messages):
        return Row("bad-entry", number)

    session_id = read_session_id(value.get("session_id"))
    # Reading: a response whose logger notes a status of HTTP that is an error answers nothing.
    reply = None if is_failure(value.get("status")) else read_reply(value.get("response"))
    return Row("entry", number, read_time(as_logged.get("timestamp")), session_id, messages, tools, reply)


@contextmanager
def all_digits() -> Iterator[None]:
    """Python reads and writes integers of up to 4300 digits unless told otherwise; only reading may judge that."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(before)


@contextmanager
def any_depth() -> Iterator[None]:
    """Writing must not fail on what reading took; only reading may judge the depth."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 50_000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def is_finite(value: Any) -> bool:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)
        elif isinstance(item, float) and not math.isfinite(item):
            return False
    return True


def read_session_id(value: Any) -> str | None:
    if isinstance(value, str) and value != "":
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        with all_digits():
            return str(value)
    return None


def is_failure(status: Any) -> bool:
    if isinstance(status, str) and status.lower() in ("failure", "failed", "error"):
        return True
    return re.match(r"[013-9]\d\d(?!\d)", str(status)) is not None


def read_reply(response: Any) -> dict[str, Any] | None:
    if not isinstance(response, dict) or not isinstance(response.get("choices"), list) or response.get("error"):
        return None
    first = response["choices"][0] if response["choices"] else None
    reply = first.get("message") if isinstance(first, dict) else None
    if not isinstance(reply, dict) or not is_finite(reply):
        return None
    if not isinstance(reply.get("role"), str):
        return {"role": "assistant", **{key: value for key, value in reply.items() if key != "role"}}
    return reply


class Decimalish(str):
    """The digits of a JSON number with a point or an exponent, as logged."""

    __slots__ = ()


def read_time(value: Any) -> int | None:
    with all_digits():
        raw = value if isinstance(value, Decimalish) else json.dumps(value)
    found = times.moment(raw.encode())
    return found and found.at


# Cleaning


def clean(messages: list[Any], reply: dict[str, Any] | None) -> tuple[list[Any] | None, dict[str, int]]:
    """The messages after the rules a to d, ``None`` when the entry goes; and how often each rule applied."""
    counts = {"a": 0, "b": 0, "c": 0, "d": 0}

    after_a = [message for message in messages if not is_info(message)]
    counts["a"] = len(messages) - len(after_a)

    after_b = []
    for message in after_a:
        if message["role"] == "system" and GOOSE.search(text_of(message) or ""):
            # Reading: it is the content that becomes exactly this; a name beside it stays.
            after_b.append({**message, "content": NEUTRAL})
            counts["b"] += 1
        else:
            after_b.append(message)

    after_c = []
    for index, message in enumerate(after_b):
        following = after_b[index + 1 :][:1]
        if following and following[0]["role"] == "assistant" and is_hollow(message):
            counts["c"] += 1
        else:
            after_c.append(message)

    if is_title_request(after_c, reply):
        counts["d"] = 1
        return None, counts
    return after_c, counts


def is_text_part(part: Any) -> bool:
    if isinstance(part, str):
        return True
    # Reading: "no type" is a missing key; {"type": null} is no text part.
    return isinstance(part, dict) and part.get("type", "text") == "text" and isinstance(part.get("text"), str)


def text_of(message: dict[str, Any]) -> str | None:
    """The text, ``None`` where the content is neither a string nor a list."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(part if isinstance(part, str) else part["text"] for part in content if is_text_part(part))
    return None


def has_other_parts(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and not all(is_text_part(part) for part in content)


def is_info(message: dict[str, Any]) -> bool:
    text = text_of(message)
    if message["role"] != "user" or text is None or has_other_parts(message):
        return False
    rest = text.strip()
    elements = 0
    while rest.startswith("<info-msg>"):
        _, end, after = rest.partition("</info-msg>")
        if not end:
            return False
        rest = after.strip()
        elements += 1
    return elements > 0 and rest == ""


def is_hollow(message: dict[str, Any]) -> bool:
    text = text_of(message)
    return (
        message["role"] == "assistant"
        and text is not None
        and text.strip() == ""
        and not any(message.get(key) for key in SPEAKS)
        and not has_other_parts(message)
    )


def is_title_request(messages: list[Any], reply: dict[str, Any] | None) -> bool:
    if len(messages) < 2 or reply is None:
        return False
    first, second = messages[:2]
    return (
        first["role"] == "system"
        and (text_of(first) or "").lstrip().startswith(TITLE_SYSTEM)
        and second["role"] == "user"
        and (text_of(second) or "").lstrip().startswith(TITLE_USER)
        and (not isinstance(reply.get("role"), str) or reply["role"] == "assistant")
        and 1 <= len((text_of(reply) or "").split()) <= 6
    )


# Converting


def convert(data: bytes, stem: str, options: Options) -> bytes | None:
    """The record of a session without its line feed, addresses untouched; ``None`` when it is left out."""
    entries = [row for row in read(data, stem) if row.kind == "entry"]
    if options.cleanup_goose:
        entries = [row for row in map(cleaned, entries) if row is not None]
    if not entries:
        return None
    if (has_two_ids(entries) or goes_back(entries)) and options.on_invalid != "keep":
        return None
    if has_two_ids(entries) and options.sessions_by != "file":
        return None
    longest = max(len(row.messages) for row in entries)
    while len(entries[-1].messages) < longest:
        entries.pop()
    last = entries[-1]
    messages = [*last.messages, *([last.reply] if last.reply is not None else [])]
    tools = union([tool for row in entries for tool in row.tools])
    return encode({"messages": [normalised(message) for message in messages], "tools": tools})


def cleaned(row: Row) -> Row | None:
    messages, _ = clean(row.messages, row.reply)
    return None if messages is None else replace(row, messages=messages)


def has_two_ids(entries: list[Row]) -> bool:
    return len({row.session_id for row in entries if row.session_id is not None}) > 1


def goes_back(entries: list[Row]) -> bool:
    known = [row.at for row in entries if row.at is not None]
    return any(earlier > later for earlier, later in pairwise(known))


def normalised(message: dict[str, Any]) -> dict[str, Any]:
    result = {key: value for key, value in message.items() if value is not None}
    if result["role"] == "developer":
        result["role"] = "system"
    return result


def in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(each) for each in value] if isinstance(value, list) else value


def union(tools: list[Any]) -> list[Any]:
    result: list[Any] = []
    names: set[str] = set()
    nameless: set[bytes] = set()
    for tool in tools:
        flat = tool
        if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
            flat = tool["function"]
        # Reading: an empty string names nothing, and the order of keys makes no other definition.
        if isinstance(flat, dict) and isinstance(flat.get("name"), str) and flat["name"]:
            is_new = flat["name"] not in names
            names.add(flat["name"])
        else:
            definition = encode(in_order(flat))
            is_new = definition not in nameless
            nameless.add(definition)
        if is_new:
            result.append(flat)
    return result


# Writing


def encode(value: Any) -> bytes:
    """The bytes of ``orjson.dumps``, and for what that refuses: all digits, and lone surrogates as escapes.

    Reading: two surrogates that stand side by side without being one character are two escapes as well.
    """
    with any_depth():
        return encoded(value)


def encoded(value: Any) -> bytes:
    if isinstance(value, dict):
        return b"{" + b",".join(encoded(key) + b":" + encoded(item) for key, item in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(encoded(item) for item in value) + b"]"
    if isinstance(value, str):
        return b'"' + b"".join(encode_piece(piece) for piece in re.split("([\ud800-\udfff])", value)) + b'"'
    if isinstance(value, int) and not isinstance(value, bool):
        with all_digits():
            return str(value).encode()
    if isinstance(value, float):
        return orjson.dumps(float(value))
    return orjson.dumps(value)  # true, false, null


def encode_piece(piece: str) -> bytes:
    if "\ud800" <= piece <= "\udfff":
        return b"\\u%04x" % ord(piece)
    return orjson.dumps(piece)[1:-1]
