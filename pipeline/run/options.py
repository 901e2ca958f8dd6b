"""Whether options say something that can be done, for those who write them in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from pipeline import formats
from pipeline.errors import UsageError
from pipeline.formats import documents
from pipeline.model import GroupBy, OnInvalid, Options, Reasoning, SessionsBy, System, ToolIds
from pipeline.run.keys import SHORTEST
from pipeline.write import presets


def refuse_wrong(options: Options) -> None:
    """Raise ``UsageError`` for the first value that is none of its option's; days are looked at with the logs."""
    for problem in _problems(options):
        raise UsageError(problem)


_CHOICES = (
    ("on_invalid", get_args(OnInvalid)),
    ("group_by", get_args(GroupBy)),
    ("reasoning", get_args(Reasoning)),
    ("preset", presets.names()),
    ("system", get_args(System)),
    ("tool_ids", get_args(ToolIds)),
    ("sessions_by", (None, *get_args(SessionsBy))),
    ("from_format", (None, *formats.names(), *documents.names())),
)


def _problems(options: Options) -> Iterator[str]:
    for name, choices in _CHOICES:
        if (value := getattr(options, name)) not in choices:
            yield f"{name} {value!r}: not known; known are {', '.join(map(str, choices))}"
    if options.json_tool_calls and options.preset != presets.DEFAULT:
        yield f"json_tool_calls: is for the preset chat, not for {options.preset}; the preset text writes calls as text"
    for name, value in (("workers", options.workers), ("limit", 1 if options.limit is None else options.limit)):
        if not isinstance(value, int) or value < 1:
            yield f"{name} {value!r}: not a whole number from 1 on"
    for name in ("include", "exclude"):
        value = getattr(options, name)
        if not isinstance(value, tuple | list) or not all(isinstance(glob, str) for glob in value):
            yield f"{name} {value!r}: not a tuple of globs; write one as ('draft*',)"
    key = options.anonymize_key
    if key is not None and not isinstance(key, bytes):
        yield f"anonymize_key: is a {type(key).__name__}; a key is bytes"
    elif key is not None and len(key) < SHORTEST:
        yield f"anonymize_key: has {len(key)} bytes; a key has at least {SHORTEST}"
