"""Which records are wanted: filters, and duplicates."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.checks import dataset
from chatsquash.model import Found, Log
from chatsquash.options import ERRORS, Options
from chatsquash.outcome import Outcome, Record
from chatsquash.sources.days import is_between
from chatsquash.stages.session import finding
from chatsquash.text import counted, quoted


class Filtered(NamedTuple):
    """What is left of a session, and why its record is not wanted."""

    outcome: Outcome
    filtered: str = ""
    """The option that filtered it."""
    duplicate: bool = False


class Filters:
    """Takes outcomes in order, and removes the records that are not wanted."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._filters = _filters(options)
        self._seen: dict[bytes, str] = {}

    def apply(self, log: Log, outcome: Outcome) -> Filtered:
        """An outcome without its record, where that is filtered or was there before; a finding says so."""
        if not outcome.records:
            return Filtered(outcome)
        record = outcome.records[0]
        if log.part is not None and (found := self._untimely(outcome)):
            return Filtered(_without(log, outcome, dataset.filtered(*found)), filtered=found[0])
        for option, unwanted in self._filters.items():
            if why := unwanted(outcome, record):
                return Filtered(_without(log, outcome, dataset.filtered(option, why)), filtered=option)
        if self._options.unique:
            digest = sha256(record.line).digest()[:16]
            if digest in self._seen:
                return Filtered(_without(log, outcome, dataset.duplicate_record(self._seen[digest])), duplicate=True)
            self._seen[digest] = log.shown
        return Filtered(outcome)

    def _untimely(self, outcome: Outcome) -> tuple[str, str] | None:
        """The option by which a session of a document with several is not wanted, and why: its file was, as a whole."""
        since, until = self._options.since, self._options.until
        option = "--since" if since else "--until"
        if outcome.day is None:
            return (option, "its file names no day of it") if since or until else None
        if is_between(outcome.day, since, until):
            return None
        return "--since" if since and outcome.day < since else "--until", f"it is of {outcome.day}"


def _without(log: Log, outcome: Outcome, found: Found) -> Outcome:
    """An outcome as of a session that was left out, with one finding more."""
    return replace(
        outcome,
        records=[],
        left_out=found.code,
        findings=[*outcome.findings, finding(found, outcome.session, log.shown)],
        account=outcome.account.unwritten(),
        sizes=outcome.sizes.unwritten(),
        cleaned={},
        addresses=0,
    )


Filter = Callable[[Outcome, Record], str | None]
"""Why a record is not wanted; ``None`` for one that is."""


def _filters(options: Options) -> dict[str, Filter]:
    """The filters that the options ask for, by their options, in the order in which they are counted."""
    filters: dict[str, Filter] = {}
    if (least := options.min_turns) is not None:
        filters["--min-turns"] = lambda _, record: _turns(record) if record.usage.assistant_turns < least else None
    if (most := options.max_turns) is not None:
        filters["--max-turns"] = lambda _, record: _turns(record) if record.usage.assistant_turns > most else None
    if (chars := options.max_chars) is not None:
        filters["--max-chars"] = lambda _, record: _too_long(record, chars)
    if options.only_model:
        filters["--only-model"] = lambda _, record: _other_model(record, options.only_model)
    return filters | {f"--drop {code}": _dropper(code) for code in options.drop}


def _turns(record: Record) -> str:
    return f"the assistant has {counted(record.usage.assistant_turns, 'turn')}"


def _too_long(record: Record, most: int) -> str | None:
    if len(record.line) <= most:  # a character takes one byte at least
        return None
    chars = len(record.line.decode())
    return f"the record has {chars:,} characters" if chars > most else None


def _other_model(record: Record, globs: tuple[str, ...]) -> str | None:
    model = record.facts.model if record.facts else None
    if model is None:
        return "the log names no model"
    return None if any(fnmatchcase(model, glob) for glob in globs) else f"the model is {quoted(model)}"


def _dropper(code: str) -> Filter:
    if code == ERRORS:
        return _error
    return lambda outcome, _: f"the session has {code}" if any(f.code == code for f in outcome.findings) else None


def _error(outcome: Outcome, _record: Record) -> str | None:
    code = next((found.code for found in outcome.findings if found.severity == "error"), None)
    return f"the session has the error {code}" if code else None
