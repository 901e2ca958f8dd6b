"""Detect failed calls in tool results, based on the format's mark, JSON members or the text.

Of a text, only the first line, the last lines and a Python traceback count. The text in between is ignored, because it
is mostly requested content: files, logs and tables quote other errors.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
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


_MAX_LINE = 400  # the number of characters of a line to search
_TOP, _END = 200, 300  # the numbers of characters in which tools report how a command ended

_TRACEBACK = "Traceback (most recent call last)"
_BEGINNINGS = ("Traceback ", "File ", "---", "+ Exception Group ")
_BEGINS_WITH_TRACEBACK = lazy_compile(
    rf"\A(?:(?:-{{3,}}+\n[\w.]++ ++|\+ Exception Group )?{re.escape(_TRACEBACK)}|File \"[^\"\n]++\", line \d)"
)
"""The forms used by Python, notebooks and exception groups; a syntax error has only a location."""
_EXCEPTION = lazy_compile(r"\A[^\W\d][\w.]*+(?:: |$)")

_EXIT = lazy_compile(
    r"""^[\[<(]?
    (?:(?:the|command|process|execution|was|not|successful|completed|finished|failed|with)[ .]{1,2}){0,6}+
    (?:(?:exit[ ]?(?:code|status)|exited[ ]with[ ](?:code|status)|returncode)[:>]?[ ]?(?!0+\b)-?\d++
    |timed[ ]out[ ]after)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A line in which a tool of an agent reports how a command ended."""
_XIT = re.compile("xit").search  # twice as fast as ``in``

_NO_SETTING = r"(?!\s*+(?:(?:none|null|false)\b|-?[\d.]++%?\s*+$))"
"""Excludes values after ``error:`` that make it a setting or a number."""
_PLAIN_ERROR = lazy_compile(
    rf"""\A(?:
    <(?:\w{{1,40}}_)?error>
    |(?i:error|fatal|failure)(?:\[\w++\]|[ ]-?\d++)?(?:[ ](?:from[ ]server[ ])?\(\w++\))?:{_NO_SETTING}
    |-32\d\d\d:
    |npm[ ](?:error|ERR!)
    |(?:\[?An[ ]error[ ]occurred|I[ ]encountered[ ]an[ ]error)\b
    |Error[ ](?:executing|invoking|processing|reading|writing|calling|running|fetching|loading|parsing)\b
    |(?:\w++:[ ])?(?i:failed[ ]to|could[ ]not|couldn't|cannot|can't|unable[ ]to)[ ]\w
    |(?i:access|permission)[ ](?:is[ ])?denied\b
    |(?:Invalid|Unknown|Unsupported)[ ](?:[`'"\w]++[ ])?(?:tool|function|arguments?|parameters?)\b
    |\d++[ ]validation[ ]errors?\b
    |curl:[ ]\(\d
    )""",
    re.VERBOSE,
)
"""Beginnings of lines with the reason for a failure; each row is a form that many tools use."""

_ERRNO = (
    "(?i:no such file|permission denied|operation not permitted|not a directory|is a directory|file exists"
    "|no space left|read-only file system|connection (?:refused|reset|timed out)|cannot allocate memory)"
).replace(" ", "[ ]")
"""Error messages of operating systems."""
_SHELL = rf"(?:command[ ]not[ ]found|No[ ]module[ ]named|syntax[ ]error|{_ERRNO})"
_NAMED_ERROR = lazy_compile(
    rf"""\A(?:
    [A-Za-z]++[ ](?i:error)(?:[ ]-?\d++)?:{_NO_SETTING}
    |\(?(?:[A-Za-z_][\w.]{{0,80}})?(?:Error|Exception|SystemExit|KeyboardInterrupt)(?:\)|:)[ ]
    |(?:[\w-]++[ ]){{1,3}}(?:failed(?:[:.]|[ ](?:with|at|due)\b)|timed[ ]out)
    |\[?(?:[\w-]++:?[ ]){{0,4}}(?:interrupted|cancell?ed|aborted|rejected|denied|declined)[ ]by[ ](?:the[ ])?user\b
    |(?:The[ ])?[Uu]ser[ ](?:rejected|denied|declined|refused)\b
    |[\w./-]++:[ ](?:[^\n]{{0,200}}[ ])?{_SHELL}\b
    |\S{{1,200}}[:)]\d*+(?::|[ ]-)[ ](?:fatal[ ])?error\b
    )""",
    re.VERBOSE,
)
"""The same forms after a name or a description of the operation."""
_NOT_FOUND = lazy_compile(r"\A(?!No )[^\n]{1,200} (?:not found|does not exist)\b[^\n]{0,200}\Z", re.IGNORECASE)

_ENDS = lazy_compile(
    rf"\A(?:(?:[\w./-]++:[ ])?(?i:error|fatal)(?:\[\w++\])?:[ ]{_NO_SETTING}|make(?:\[\d++\])?:[ ]\*\*\*[ ])"
)
"""Beginnings of last lines written by compilers, git and make."""


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
        return _describe_failure(body)
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


def _describe_failure(stripped_text: str) -> str | None:
    """Return the evidence in text that a call failed, as the end of a sentence, or ``None`` without evidence.

    The text has no white space at its ends.
    """
    if stripped_text.startswith(_BEGINNINGS) and _BEGINS_WITH_TRACEBACK.match(stripped_text):
        return "begins with a Python traceback"
    first = _first_line(stripped_text)
    if _is_error(first) or (len(first) == len(stripped_text) and " not " in first and _NOT_FOUND.match(first)):
        return "begins like an error message"
    if _reports_exit(stripped_text):
        return "reports that a program timed out or exited with a nonzero code"
    begin = stripped_text.rfind("\n") + 1
    last = stripped_text[begin : begin + _MAX_LINE]
    if begin and _EXCEPTION.match(last) and _ends_with_traceback(stripped_text):
        return "ends with a Python traceback"
    return "ends like an error message" if ": " in last and _ENDS.match(last) else None


def _first_line(stripped_text: str) -> str:
    """Return the first line, without a heading before it or the frame of a box around it."""
    if stripped_text[:1] in ("#", "╷"):
        stripped_text = stripped_text.partition("\n")[2].lstrip(" \n│")
    end = stripped_text.find("\n", 0, _MAX_LINE)
    return stripped_text[: end if end >= 0 else _MAX_LINE]


def _is_error(line: str) -> bool:
    if _PLAIN_ERROR.match(line):
        return True
    # Few lines contain one of these words, and searching for words is much faster than matching the pattern.
    may_match = (
        ": " in line or "rror" in line or "failed" in line or "timed out" in line or " by " in line or "ser " in line
    )
    return may_match and _NAMED_ERROR.match(line) is not None


def _reports_exit(stripped_text: str) -> bool:
    edges = stripped_text if len(stripped_text) <= _TOP + _END else stripped_text[:_TOP] + stripped_text[-_END:]
    if not (_XIT(edges) or "returncode" in edges or "timed out" in edges):
        return False
    end = max(0, len(stripped_text) - _END)
    return _EXIT.search(stripped_text, 0, _TOP) is not None or _EXIT.search(stripped_text, end) is not None


def _ends_with_traceback(stripped_text: str) -> bool:
    """Return whether all lines between the header of the last traceback and the last line are indented."""
    head = stripped_text.rfind(_TRACEBACK)
    if head < 0:
        return False
    frames = stripped_text[head:].split("\n")[1:-1]
    return bool(frames) and all(line[:1].isspace() for line in frames)
