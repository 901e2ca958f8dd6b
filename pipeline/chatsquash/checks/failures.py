"""Detect failed calls in tool results, based on the format's mark, JSON members or the text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec

from chatsquash.core import chat, jsonio
from chatsquash.core.chat import PRIVATE
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json, Message
from chatsquash.core.text import quote

MARKING = frozenset({"is_error", PRIVATE})
"""Members of messages that may mark a result."""
_MARKS = ("denied", "interrupted")
"""Outcomes that formats mark in addition to ``is_error``."""
_CODES = frozenset({"exit_code", "exitcode", "returncode"})
_FLAGS = frozenset({"timeout", "missing", "incomplete"})
_NO_ERROR = frozenset({"", "none", "null"})

_STATUS = lazy_compile(r"[45]\d\d|error|failure", re.IGNORECASE)
"""A status that indicates failure: an HTTP status or a word."""

_SHORT = 1 << 16
_BRACE = ord("{")
_TOP_NAMES = frozenset({"error", "status", "status_code", "statuscode", "ok", "iserror", "is_error"})
"""Members that report a failure in the outermost object only, in lower case."""
_INNER_NAMES = _CODES | _FLAGS | {"success"}
"""Members that report a failure in any object, in lower case."""
_NAMES = _TOP_NAMES | _INNER_NAMES | {"errors", "data"}
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def failure(message: Message, text: str) -> str | None:
    """Return the evidence that a result is a failure, as the end of a sentence, or ``None`` without evidence.

    Args:
        message: The tool message, of which only marks are checked.
        text: The text of the result.
    """
    return failure_mark(message) or text_failure(text)


def text_failure(text: str, stripped_text: str | None = None) -> str | None:
    """Return the evidence of a failure in the text of a result, like ``failure``.

    ``stripped_text`` is the text without white space at its ends, if known.
    """
    body = text.strip() if stripped_text is None else stripped_text
    if body[:1] != "{":
        return _text_detector()(body)
    if len(text) <= _SHORT and _is_success(text):
        return None
    value = _parse(text)
    return _object_failure(value) if isinstance(value, dict) else None


def _is_success(text: str) -> bool:
    """Return quickly whether an object reports no failure, parsing only relevant members."""
    try:
        members = {
            key: jsonio.loads(bytes(value))
            for key, value in _members(text).items()
            if key.lower() in _NAMES or memoryview(value)[0] == _BRACE  # members of an object may report a failure
        }
        return not members or _object_failure(members) is None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False  # the slower parser decides


@cache
def _text_detector() -> Callable[[str], str | None]:
    """Return the function for results that are not JSON."""
    # Imported on demand, because the patterns are slow to compile.
    from chatsquash.checks._failure_texts import describe_failure

    return describe_failure


def failure_mark(message: Message) -> str | None:
    """Return the mark of the log's format, or the mark in the message itself."""
    if chat.is_marked_failed(message):
        return "is marked as an error"
    if PRIVATE not in message:
        return None
    outcome = chat.outcome(message)
    return f"is marked as {outcome}" if outcome in _MARKS else None


def _object_failure(value: dict[str, Any]) -> str | None:
    """Return the evidence in an object or the objects in it; items of lists are data and are ignored."""
    for key, member in value.items():
        if (name := key.lower()) in _TOP_NAMES and _is_top_failure(name, member):
            return f"has {quote(key)}"
    if value.get("errors") and value.get("data", 0) is None:  # an error response of GraphQL
        return "has 'errors' and no data"
    todo = [value]
    while todo:
        item = todo.pop()
        for key, member in item.items():
            if (name := key.lower()) in _INNER_NAMES and _is_failure(name, member):
                return f"has {quote(key)}: {quote(member)}"
            if isinstance(member, dict):
                todo.append(member)
    return None


def _is_top_failure(name: str, value: Json) -> bool:
    match name:
        case "error" if isinstance(value, str):
            return value.strip().lower() not in _NO_ERROR
        case "error":
            return value is True or (isinstance(value, dict) and bool(value))
        case "status" | "status_code" | "statuscode":
            return _STATUS.fullmatch(str(value)) is not None
        case "ok":
            return value is False
        case "iserror" | "is_error":
            return value is True
    return False


def _is_failure(name: str, value: Json) -> bool:
    if name in _FLAGS:
        return value is True
    return (name == "success" and value is False) or (name in _CODES and _is_code(value))


def _is_code(value: Json) -> bool:
    """Return whether an exit code is known and not 0."""
    if isinstance(value, str):
        return value.lstrip("-0").isdecimal()
    return isinstance(value, int | float) and not isinstance(value, bool) and value != 0


def _parse(text: str) -> Any:
    """Parse JSON that may contain NaN; return ``None`` if it is invalid."""
    # Tools written in Python print NaN.
    with suppress(ValueError, RecursionError):
        try:
            return jsonio.loads(text)
        except jsonio.NotFiniteError:
            return json.loads(text)
    return None
