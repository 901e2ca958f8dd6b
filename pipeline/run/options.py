"""Whether options say something that can be done, for those who write them in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from pipeline import formats
from pipeline.errors import UsageError
from pipeline.formats import documents
from pipeline.model import GroupBy, OnInvalid, Options, Reasoning, SessionsBy
from pipeline.read.bounds import DEEPEST
from pipeline.run.keys import SHORTEST


def refuse_wrong(options: Options) -> None:
    """Raise ``UsageError`` for the first value that is none of its option's; days are looked at with the logs."""
    for problem in _problems(options):
        raise UsageError(problem)


_CHOICES = (
    ("on_invalid", get_args(OnInvalid)),
    ("group_by", get_args(GroupBy)),
    ("reasoning", get_args(Reasoning)),
    ("sessions_by", (None, *get_args(SessionsBy))),
    ("from_format", (None, *formats.names(), *documents.names())),
)


def _problems(options: Options) -> Iterator[str]:
    for name, choices in _CHOICES:
        if (value := getattr(options, name)) not in choices:
            yield f"{name} {value!r}: not known; known are {', '.join(map(str, choices))}"
    for name in ("workers", "limit", "max_line", "max_nesting", "max_messages", "max_expansion", "max_expanded"):
        value = getattr(options, name)
        if (not isinstance(value, int) or value < 1) and (name, value) != ("limit", None):
            yield f"{name} {value!r}: not a whole number from 1 on"
    if options.max_nesting > DEEPEST:
        yield f"max_nesting {options.max_nesting!r}: at most {DEEPEST}, since Python's own parser reads no more"
    for name in ("include", "exclude"):
        value = getattr(options, name)
        if not isinstance(value, tuple | list) or not all(isinstance(glob, str) for glob in value):
            yield f"{name} {value!r}: not a tuple of globs; write one as ('draft*',)"
    key = options.anonymize_key
    if key is not None and not isinstance(key, bytes):
        yield f"anonymize_key: is a {type(key).__name__}; a key is bytes"
    elif key is not None and len(key) < SHORTEST:
        yield f"anonymize_key: has {len(key)} bytes; a key has at least {SHORTEST}"
