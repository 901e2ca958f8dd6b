"""Filters of records that look at the record alone, by the options that select them."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.core.text import counted, quoted

RecordFilter = Callable[[Record], str | None]
"""Why a record is not wanted; ``None`` for one that is."""


def of_records(options: Options) -> dict[str, RecordFilter]:
    """The filters that look at records alone, by their options, in the order in which they are counted."""
    filters: dict[str, RecordFilter] = {}
    if (least := options.min_turns) is not None:
        filters["--min-turns"] = lambda record: _turns(record) if record.usage.assistant_turns < least else None
    if (most := options.max_turns) is not None:
        filters["--max-turns"] = lambda record: _turns(record) if record.usage.assistant_turns > most else None
    if (chars := options.max_chars) is not None:
        filters["--max-chars"] = lambda record: _too_long(record, chars)
    if (tokens := options.max_tokens) is not None:
        filters["--max-tokens"] = lambda record: _too_many(record, tokens)
    if options.only_model:
        filters["--only-model"] = lambda record: _other_model(record, options.only_model)
    return filters


def _turns(record: Record) -> str:
    return f"the assistant has {counted(record.usage.assistant_turns, 'turn')}"


def _too_long(record: Record, most: int) -> str | None:
    if len(record.line) <= most:  # a character takes one byte at least
        return None
    chars = len(record.line.decode())
    return f"the record has {chars:,} characters" if chars > most else None


def _too_many(record: Record, most: int) -> str | None:
    return f"the record has {record.tokens:,} tokens" if record.tokens is not None and record.tokens > most else None


def _other_model(record: Record, globs: tuple[str, ...]) -> str | None:
    model = record.facts.model if record.facts else None
    if model is None:
        return "the log names no model"
    return None if any(fnmatchcase(model, glob) for glob in globs) else f"the model is {quoted(model)}"
