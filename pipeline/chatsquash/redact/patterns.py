"""Patterns that users write, which run in an engine of linear time, whatever they are."""

from __future__ import annotations

import re
from itertools import islice

from chatsquash.core.errors import UsageError
from chatsquash.redact.hits import Finder, Hit
from chatsquash.redact.needles import printed

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
_BETWEEN = "\n\0\n"
"""What texts are joined with: a pattern looks at each of them by itself, so that none takes what is across two."""
_MARKS = range(0xF0000, 0xFFFFE)
"""Private characters, of which those that a text does not hold mark where matches begin and end."""


def pattern(name: str, regex: str) -> Finder:
    """Finds what fits a pattern of Rust's syntax, which has no look-around and no references back.

    Raises ``UsageError`` for a wrong name, and a pattern that the engine refuses.
    """
    if not _NAME.fullmatch(name) or not regex:
        raise UsageError(f"--redact-pattern {name}={regex}: write NAME=REGEX, where NAME has letters, digits, _ and -")
    refuse_pattern(regex, f"--redact-pattern {name}")
    kind = name.upper().replace("-", "_")
    return lambda text: [Hit(start, end, kind, name, text[start:end]) for start, end in spans(regex, text)]


def refuse_pattern(regex: str, place: str) -> None:
    """Raise ``UsageError`` for a pattern that the engine refuses."""
    import polars as pl  # which few runs need

    try:
        for each in (regex, _whole(regex)):  # which also refuses a comment that takes the end of a group with it
            pl.Series([""]).str.contains(each)
    except pl.exceptions.PolarsError as problem:
        lines = str(problem).splitlines()
        why = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), lines[0])
        hint = "look-around and references back are not known"
        raise UsageError(f"{place}: the pattern is refused ({why}); {hint}") from None


def spans(regex: str, text: str) -> list[tuple[int, int]]:
    """Where a pattern fits, in order, empty matches aside."""
    import polars as pl

    plain = printed(text)
    opened, closed = _unused(plain)
    marked = pl.Series(plain.split(_BETWEEN)).str.replace_all(f"({regex})", f"{opened}${{1}}{closed}")
    first, *others = _BETWEEN.join(marked).split(opened)
    matches, at = [], len(first)
    for each in others:
        fitting, _, after = each.partition(closed)
        if fitting:
            matches.append((at, at + len(fitting)))
        at += len(fitting) + len(after)
    return matches


def is_all(regex: str, value: str) -> bool:
    """Whether a pattern fits a value from its first character to its last."""
    import polars as pl

    return bool(pl.Series([printed(value)]).str.contains(_whole(regex))[0])


def _whole(regex: str) -> str:
    return rf"\A(?:{regex})\z"


def _unused(text: str) -> tuple[str, str]:
    """Two characters that a text does not hold."""
    characters = set(text) if chr(_MARKS[0]) in text or chr(_MARKS[1]) in text else ()
    first, second, *_ = islice((each for each in map(chr, _MARKS) if each not in characters), 2)
    return first, second
