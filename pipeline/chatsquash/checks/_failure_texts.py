"""Detect failed calls in tool results without JSON: from the first line, the last lines, or a Python traceback.

The text in between is ignored, because it is mostly requested content: files, logs and tables quote other errors.
"""

from __future__ import annotations

import re

from chatsquash.core.lazy import lazy_compile

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

_NO_ERROR = r"(?!\s*+(?:(?:none|null|false)\b|-?[\d.]++%?\s*+$))"
"""Excludes values after ``error:`` that make it a setting or a number."""
_PLAIN_ERROR = lazy_compile(
    rf"""\A(?:
    <(?:\w{{1,40}}_)?error>
    |(?i:error|fatal|failure)(?:\[\w++\]|[ ]-?\d++)?(?:[ ](?:from[ ]server[ ])?\(\w++\))?:{_NO_ERROR}
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
    [A-Za-z]++[ ](?i:error)(?:[ ]-?\d++)?:{_NO_ERROR}
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
    rf"\A(?:(?:[\w./-]++:[ ])?(?i:error|fatal)(?:\[\w++\])?:[ ]{_NO_ERROR}|make(?:\[\d++\])?:[ ]\*\*\*[ ])"
)
"""Beginnings of last lines written by compilers, git and make."""


def describe_failure(stripped_text: str) -> str | None:
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
