"""What a conversion must give, done the slow and obvious way: parse every line in full, keep everything, then pick.

Written from the text of the issue alone.  Nothing of ``chatsquash`` is used but the type of the options; Python's ``json``
decides what JSON is.  Where the issue can be read in more than one way, a comment starting with "Reading:" says which
one was taken.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import orjson

if TYPE_CHECKING:
    from chatsquash.options import Options

BOM = b"\xef\xbb\xbf"
JSON_SPACE = b" \t\r\n"
SECOND = 10**9  # nanoseconds
DAY = 86_400 * SECOND
YEAR_1 = -719_162 * DAY  # 0001-01-01T00:00Z, as nanoseconds since 1970
YEAR_10000 = 2_932_897 * DAY

REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking", "thinking_blocks")
SPEAKS = ("tool_calls", "tool_call_id", "function_call", *REASONING, "refusal", "audio")
GOOSE = re.compile(r"general-purpose\s+AI\s+agent\s+called\s+goose", re.IGNORECASE)
NEUTRAL = "You are a general-purpose AI agent"
TITLE_SYSTEM = "Reply with only a description in four words or less"
TITLE_USER = "Here are the first few user messages:"

Kind = Literal["blank", "bad-line", "bad-entry", "entry"]


class AbortedError(Exception):
    """An invalid session with ``on_invalid == "abort"``: the run stops."""


@dataclass(frozen=True)
class Row:
    """One physical line; what follows ``line`` is meant for entries only."""

    kind: Kind
    line: int
    at: int | Fraction | None = None
    """Nanoseconds since the epoch; a fraction only where a string was logged with more than nine decimals."""
    naive: bool = False
    session_id: str | None = None
    messages: list[Any] = field(default_factory=list)
    tools: list[Any] = field(default_factory=list)
    reply: dict[str, Any] | None = None
    choices: int = 0
    finish_reason: str | None = None


# Reading


def read(data: bytes, stem: str = "") -> list[Row]:
    """Every physical line of a log, as a row.

    ``stem`` changes nothing: an entry without an id stays without one, and validation passes it over.
    """
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [read_line(line, number) for number, line in enumerate(lines, 1)]


def read_line(line: bytes, number: int) -> Row:
    line = line.removeprefix(BOM)
    if not line.strip(JSON_SPACE):
        return Row("blank", number)
    try:
        text = line.decode("utf-8", "surrogatepass")
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

    at, naive = read_time(as_logged.get("timestamp"))
    reply, choices, finish_reason = read_response(value.get("response"))
    session_id = read_session_id(value.get("session_id"))
    return Row("entry", number, at, naive, session_id, messages, tools, reply, choices, finish_reason)


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


def read_response(response: Any) -> tuple[dict[str, Any] | None, int, str | None]:
    """The reply, the number of choices, and why the first one stopped."""
    if not isinstance(response, dict) or not isinstance(response.get("choices"), list):
        return None, 0, None
    # Reading: choices are counted, and the first one's reason taken, also beside an error or where there is no reply.
    choices = response["choices"]
    first = choices[0] if choices and isinstance(choices[0], dict) else {}
    finish_reason = first.get("finish_reason")
    if not isinstance(finish_reason, str):
        finish_reason = None
    reply = first.get("message")
    if response.get("error") or not isinstance(reply, dict) or not is_finite(reply):
        reply = None
    elif not isinstance(reply.get("role"), str):
        reply = {"role": "assistant", **{key: value for key, value in reply.items() if key != "role"}}
    return reply, len(choices), finish_reason


# Times


class Decimalish(str):
    """The digits of a JSON number with a point or an exponent, as logged."""

    __slots__ = ()


def read_time(value: Any) -> tuple[int | Fraction | None, bool]:
    """When, in nanoseconds since the epoch, and whether the offset had to be guessed."""
    naive = False
    if isinstance(value, Decimalish):
        at = epoch(decimal_value(value))
    elif isinstance(value, str):
        at, naive = iso(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        at = epoch(Fraction(value))
    else:
        at = None
    # Reading: the year that counts is that of the instant in UTC, not the one written beside an offset.
    if at is None or not YEAR_1 <= at < YEAR_10000:
        return None, False
    return (int(at) if at == int(at) else at), naive


def iso(text: str) -> tuple[Fraction | None, bool]:
    """What ``datetime.fromisoformat`` accepts, but with every digit of the seconds' fraction."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None, False
    fraction = seconds_fraction(text, moment)
    if fraction is None:
        return None, False
    days = moment.toordinal() - date(1970, 1, 1).toordinal()
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    # Reading: the fraction of an offset (+01:00:00.5) is worth what Python makes of it, microseconds.
    offset = moment.utcoffset()
    shift = (offset.days * 86_400 + offset.seconds) * SECOND + offset.microseconds * 1000 if offset else 0
    return days * DAY + (seconds + fraction) * SECOND - shift, offset is None


def seconds_fraction(text: str, moment: datetime) -> Fraction | None:
    """The digits after the point, with the date and the one character after it cut off wherever that may be."""
    if parses(date.fromisoformat, text) is not None:
        return Fraction(0)
    for length in (7, 8, 10):
        day, clock = parses(date.fromisoformat, text[:length]), parses(time.fromisoformat, text[length + 1 :])
        if day is not None and clock is not None and datetime.combine(day, clock) == moment:
            without_offset = re.split("[-+Z]", text[length + 1 :])[0]
            _, _, digits = without_offset.replace(",", ".").partition(".")
            with all_digits():
                return Fraction(int(digits or "0"), 10 ** len(digits))
    return None  # 24:00, which Python 3.11 refuses and later ones take


def parses(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except ValueError:
        return None


def decimal_value(digits: str) -> Fraction | None:
    """The exact value, but without building a number of a billion digits for 1e999999999."""
    mantissa, _, exponent = digits.lower().partition("e")
    with all_digits():
        power = int(exponent or "0")
    value = Decimal(mantissa)
    if value == 0:
        return Fraction(0)
    size = value.adjusted() + power
    if size > 30:  # past the year 9999 in any unit
        return None
    if size < -30:  # less than a nanosecond in any unit, so that only the sign matters
        return Fraction(1 if value > 0 else -1, 10**30)
    return Fraction(value) * Fraction(10) ** power


def epoch(value: Fraction | None) -> Fraction | None:
    if value is None:
        return None
    for least, unit in ((10**17, 1), (10**14, 1000), (10**11, 10**6), (0, SECOND)):
        if abs(value) >= least:
            return Fraction(value * unit // 1)
    raise AssertionError


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


def as_one(message: dict[str, Any]) -> str | None:
    """The text where it is written as one text, and not only looked at."""
    # Reading: white space at a seam counts as far as lines go, so that an empty line is completed, not doubled.
    content = message.get("content")
    if not isinstance(content, list):
        return text_of(message)
    text, between = "", False
    for part in content:
        if not is_text_part(part):
            between = True
            continue
        said = part if isinstance(part, str) else part["text"]
        if text and said:
            seam = text[len(text.rstrip()) :] + said[: len(said) - len(said.lstrip())]
            if between:
                text += "\n" * (2 - seam.count("\n"))
            elif message["role"] != "assistant" and seam == "":
                text += "\n"
        text, between = text + said, between and not said
    return text


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
    if has_two_ids(entries) or goes_back(entries):
        if options.on_invalid == "abort":
            raise AbortedError
        if options.on_invalid == "skip":
            return None
        if has_two_ids(entries) and options.sessions_by != "file":
            return None

    longest = max(len(row.messages) for row in entries)
    while len(entries[-1].messages) < longest:
        entries.pop()
    messages = list(entries[-1].messages)
    if entries[-1].reply is not None:
        messages.append(entries[-1].reply)
    messages = [normalised(message) for message in messages]
    tools = union([tool for row in entries for tool in row.tools])
    if options.json_tool_calls:
        messages = [inlined(message) for message in messages]
    return encode({"messages": messages, "tools": tools})


def cleaned(row: Row) -> Row | None:
    messages, _ = clean(row.messages, row.reply)
    if messages is None:
        return None
    return replace(row, messages=messages)


def has_two_ids(entries: list[Row]) -> bool:
    return len({row.session_id for row in entries if row.session_id is not None}) > 1


def goes_back(entries: list[Row]) -> bool:
    # Reading: "down to nanoseconds" means that what is less does not count.
    times = [math.floor(row.at) for row in entries if row.at is not None]
    return any(earlier > later for earlier, later in pairwise(times))


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


# Inline tool calls


def inlined(message: dict[str, Any]) -> dict[str, Any]:
    # Reading: only a list of calls can be inlined, else the message stays; an id that is no string is its JSON.
    # Reading: content that is neither text, list, null nor missing cannot become text and is dropped like an image.
    # Reading: a message that had no content (null ones are gone by now) gets it as its last key.
    text = as_one(message) or ""
    calls = message.get("tool_calls")
    if message["role"] == "assistant" and isinstance(calls, list) and calls:
        if not all(call_name(call) for call in calls):
            return message
        blocks = "\n".join(call_block(call["function"]) for call in calls)
        content = (text + "\n" + blocks if text else blocks).strip()
        return {key: value for key, value in {**message, "content": content}.items() if key != "tool_calls"}
    if message["role"] == "tool" and message.get("tool_call_id") is not None:
        call_id = message["tool_call_id"]
        written = call_id if isinstance(call_id, str) else encode(call_id).decode()
        quoted = written.replace('"', "&quot;").replace("<", "&lt;")
        content = f'<tool_result tool_call_id="{quoted}">{text}</tool_result>'
        return {key: value for key, value in {**message, "content": content}.items() if key != "tool_call_id"}
    return message


def call_name(call: Any) -> str | None:
    function = call.get("function") if isinstance(call, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) and name else None


def call_block(function: dict[str, Any]) -> str:
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        arguments = parsed(arguments)
    with all_digits(), any_depth():
        block = json.dumps({"name": function["name"], "arguments": arguments}, ensure_ascii=False)
    if "</tool_call>" in block or "</tool_result>" in block:
        block = block.replace("<", "\\u003c")
    return f"<tool_call>{block}</tool_call>"


def parsed(arguments: str) -> Any:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    # Reading: 1e999 is refused like NaN, for it could only be written as Infinity.
    return value if is_finite(value) else arguments


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
