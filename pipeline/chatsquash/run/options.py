"""Whether options say something that can be done, for those who write them in Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from chatsquash import formats
from chatsquash.checks import rules
from chatsquash.errors import UsageError
from chatsquash.formats import documents
from chatsquash.options import (
    ERRORS,
    GroupBy,
    Media,
    OnInvalid,
    Options,
    Packing,
    Reasoning,
    SessionsBy,
    SplitBy,
    System,
    ToolIds,
    Unpaired,
)
from chatsquash.read.bounds import DEEPEST
from chatsquash.records import presets
from chatsquash.redact.keys import SHORTEST
from chatsquash.run import pairs


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
    ("unpaired", get_args(Unpaired)),
    ("media", get_args(Media)),
    ("sessions_by", (None, *get_args(SessionsBy))),
    ("from_format", (None, *formats.names(), *documents.names())),
    ("format", (None, *get_args(Packing))),
    ("split_by", get_args(SplitBy)),
)
_BOUNDS = (
    "max_line",
    "max_nesting",
    "max_messages",
    "max_rejected",
    "max_expansion",
    "max_expanded",
    "max_memory",
    "max_database_time",
)
_LEAST = {
    **dict.fromkeys(("workers", "limit", "shard_size", "max_chars", *_BOUNDS), 1),
    "min_turns": 0,
    "max_turns": 0,
}
_OPTIONAL = ("limit", "shard_size", "min_turns", "max_turns", "max_chars")
_TYPED = {"from_format": "--from"}
"""What the command line does not look at itself."""
_CLOSED = ("openai", "mistral")
"""Presets for services that refuse members which they do not know."""


def _problems(options: Options) -> Iterator[str]:
    for name, choices in _CHOICES:
        if (value := getattr(options, name)) not in choices:
            known = ", ".join(str(choice) for choice in choices if choice is not None)
            yield f"{_TYPED.get(name, name)} {value!r}: not known; known are {known}"
    for name, least in _LEAST.items():
        value = getattr(options, name)
        if not (value is None and name in _OPTIONAL) and (not isinstance(value, int) or value < least):
            yield f"{name} {value!r}: not a whole number from {least} on"
    if options.max_nesting > DEEPEST:
        yield f"max_nesting {options.max_nesting!r}: at most {DEEPEST}, since Python's own parser reads no more"
    yield from _of_globs(options)
    yield from _of_the_dataset(options)
    yield from _of_the_key(options.anonymize_key)
    if options.unpaired_text is not None and not _is_text(options.unpaired_text):
        yield f"unpaired_text {options.unpaired_text!r}: not a text"
    yield from _of_pairs(options)


def _of_the_key(key: object) -> Iterator[str]:
    if key is not None and not isinstance(key, bytes):
        yield f"anonymize_key: is a {type(key).__name__}; a key is bytes"
    elif key is not None and len(key) < SHORTEST:
        yield f"anonymize_key: has {len(key)} bytes; a key has at least {SHORTEST}"


def _of_pairs(options: Options) -> Iterator[str]:
    for pair in pairs.met(options):
        idle = _spelled(options, pair.idle)
        if pair.example:
            default = Options.__dataclass_fields__[pair.other].default
            given = "" if getattr(options, pair.other) == default else _spelled(options, pair.other)
            yield pairs.problem(idle, pair.other, f"{pair.other}={pair.example!r}", given)
        else:
            yield pairs.problem(idle, _spelled(options, pair.other))


def _spelled(options: Options, name: str) -> str:
    """An option as it is written in Python, but for the key."""
    return name if name == "anonymize_key" else f"{name}={getattr(options, name)!r}"


def _is_text(value: object) -> bool:
    """Whether a value can be written as text."""
    return isinstance(value, str) and not any("\ud800" <= each <= "\udfff" for each in value)


def _of_globs(options: Options) -> Iterator[str]:
    for name in ("include", "exclude", "drop", "only_model"):
        value = getattr(options, name)
        if not _are_texts(value):
            yield f"{name} {value!r}: not a tuple of globs; write one as ('draft*',)"
    if not _are_texts(options.flag_phrase):
        yield f"flag_phrase {options.flag_phrase!r}: not a tuple of texts; write one as ('rate limit',)"


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple | list) and all(isinstance(each, str) for each in value)


def _of_the_dataset(options: Options) -> Iterator[str]:
    """What options for a dataset say that cannot be meant, alone or together."""
    for code in options.drop:
        if code != ERRORS and code not in rules():
            yield f"--drop {code}: no finding has this code; docs/checks.md lists them, {ERRORS} means any error"
    if not isinstance(options.seed, int):
        yield f"seed {options.seed!r}: not a whole number"
    if options.split is not None:
        yield from _of_the_split(options.split)
    if options.metadata and options.preset in _CLOSED:
        yield f"--metadata: the services of --preset {options.preset} refuse members that they do not know"
    least, most = options.min_turns, options.max_turns
    if least is not None and most is not None and least > most:
        yield f"--min-turns {least} is more than --max-turns {most}: no session has both"


def _of_the_split(split: str) -> Iterator[str]:
    from chatsquash.write.splits import parse  # not where none is asked for, which would take time

    try:
        parse(split)
    except UsageError as problem:
        yield str(problem)
