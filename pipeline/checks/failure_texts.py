"""Whether a tool result in words says that its call failed: by how it begins and by how it ends.

What stands between is not looked at, since it is mostly what was asked for: files, logs and tables tell of the errors of
others.
"""

from __future__ import annotations

import re

_EDGE = 800  # characters at either end that are looked at, but for a traceback at the end

_TRACEBACK = "Traceback (most recent call last)"
_BEGINS_WITH_TRACEBACK = re.compile(
    rf"\s*+(?:(?:-{{3,}}+\n[\w.]++ ++|\+ Exception Group )?{re.escape(_TRACEBACK)}|File \"[^\"\n]++\", line \d)"
)
_EXCEPTION = re.compile(r"[^\W\d][\w.]*+(?:: |$)")

_EXIT = re.compile(
    r"""^[\[<(]?(?:(?:the|command|process|execution|was|not|successful|completed|finished|failed|with)[ .]{1,2}){0,6}+
        (?:(?:exit[ ]?code|exited[ ]with[ ]code|returncode)[:>]?[ ]?(?!0+\b)-?\d++|timed[ ]out[ ]after)""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
"""A line in which a harness says how a program ended."""

_ERRNO = (
    "(?i:no such file|permission denied|operation not permitted|not a directory|is a directory|file exists"
    "|no space left|read-only file system|connection (?:refused|reset|timed out)|cannot allocate memory)"
).replace(" ", "[ ]")
"""What operating systems say."""
_NO_ERROR = r"(?!\s*+(?:(?:none|null|false)\b|-?[\d.]++%?\s*+$))"
_BEGINS = re.compile(
    rf"""[\s│╷]*+(?:\#++[ ][^\n]*+\n\s*+)?+(?:
        <(?:\w{{1,40}}_)?error>
        |(?i:(?:[a-z]++[ ])?(?:error|fatal|failure))
            (?:\[\w++\]|[ ]-?\d++)?(?:[ ](?:from[ ]server[ ])?\(\w++\))?:{_NO_ERROR}
        |-32\d\d\d:
        |npm[ ](?:error|ERR!)
        |\(?(?:[A-Za-z_][\w.]{{0,80}})?(?:Error|Exception)(?:\)|:)[ ]
        |(?:An[ ]error[ ]occurred|I[ ]encountered[ ]an[ ]error
            |Error[ ](?:executing|invoking|processing|reading|writing|calling|running|fetching|loading|parsing))\b
        |(?i:failed[ ]to|could[ ]not|couldn't|cannot|can't|unable[ ]to)[ ]\w
        |(?:[\w-]++[ ]){{1,3}}(?:failed(?:[:.]|[ ](?:with|at|due)\b)|timed[ ]out)
        |(?i:access|permission)[ ](?:is[ ])?denied\b
        |(?:Invalid|Unknown|Unsupported)[ ](?:[`'"\w]++[ ])?(?:tool|function|arguments?|parameters?)\b
        |\d++[ ]validation[ ]errors?\b
        |\[?(?:[\w-]++:?[ ]){{0,4}}(?:interrupted|cancell?ed|aborted|rejected|denied|declined)[ ]by[ ](?:the[ ])?user\b
        |(?:The[ ])?[Uu]ser[ ](?:rejected|denied|declined|refused)\b
        |[\w./-]++:[ ](?:[^\n]{{0,200}}[ ])?(?:command[ ]not[ ]found|No[ ]module[ ]named|syntax[ ]error|{_ERRNO})\b
        |curl:[ ]\(\d
        |\S{{1,200}}[:)]\d*+(?::|[ ]-)[ ](?:fatal[ ])?error\b
        |(?![Nn]o[ ])[^\n]{{1,200}}[ ](?:not[ ]found|does[ ]not[ ]exist)\b[^\n]{{0,200}}\Z
    )""",
    re.VERBOSE,
)
"""How results begin that tell why a call failed."""
_ENDS = re.compile(rf"(?:[\w./-]++: )?(?i:error|fatal)(?:\[\w++\])?: {_NO_ERROR}")
"""How the last line of such results begins."""


def told(text: str) -> str | None:
    """What of a text says that a call failed, as the end of a sentence; ``None`` where nothing does."""
    head, tail = text[:_EDGE], text.rstrip()[-_EDGE:]
    if _BEGINS_WITH_TRACEBACK.match(head):
        return "begins with a Python traceback"
    if _BEGINS.match(head):
        return "begins as an error does"
    if _EXIT.search(head) or _EXIT.search(tail):
        return "says that a program ended with an error"
    last = tail.rpartition("\n")[2]
    if _EXCEPTION.match(last) and _ends_with_traceback(text.rstrip()):
        return "ends with a Python traceback"
    return "ends as an error does" if _ENDS.match(last) else None


def _ends_with_traceback(text: str) -> bool:
    """Whether all lines between the last traceback's head and the last line are indented."""
    head = text.rfind(_TRACEBACK)
    if head < 0:
        return False
    frames = text[head:].split("\n")[1:-1]
    return bool(frames) and all(line[:1].isspace() for line in frames)
