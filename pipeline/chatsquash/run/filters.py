"""Which records are wanted: filters, and duplicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import NamedTuple

from chatsquash.checks import dataset
from chatsquash.model import Found, Log, Outcome, Record
from chatsquash.options import ERRORS, Options
from chatsquash.stages.session import finding
from chatsquash.text import counted, quoted

_NO_MODEL = "the log names no model"


class Sifted(NamedTuple):
    """What is left of a session, and for what its record is not wanted."""

    outcome: Outcome
    filtered: str = ""
    """The option that filtered it."""
    duplicate: bool = False


class Sieve:
    """Takes outcomes in order, and the records that are not wanted out of them."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._filters = _filters(options)
        self._seen: dict[bytes, str] = {}

    def sift(self, log: Log, outcome: Outcome) -> Sifted:
        """An outcome without its record, where that is filtered or was there before; a finding says so."""
        if not outcome.records:
            return Sifted(outcome)
        record = outcome.records[0]
        for option, unwanted in self._filters.items():
            if why := unwanted(outcome, record):
                return Sifted(_without(log, outcome, dataset.filtered(option, why)), filtered=option)
        if self._options.unique:
            digest = sha256(record.line).digest()[:16]
            if digest in self._seen:
                return Sifted(_without(log, outcome, dataset.duplicate_record(self._seen[digest])), duplicate=True)
            self._seen[digest] = log.shown
        return Sifted(outcome)


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
    asked: dict[str, tuple[object, Filter]] = {
        "--min-turns": (options.min_turns, lambda _, record: _turns(record, least=options.min_turns)),
        "--max-turns": (options.max_turns, lambda _, record: _turns(record, most=options.max_turns)),
        "--max-chars": (options.max_chars, lambda _, record: _too_long(record, options.max_chars or 0)),
        "--only-model": (options.only_model, lambda _, record: _other_model(record, options.only_model)),
        **{f"--drop {code}": (code, _dropper(code)) for code in options.drop},
    }
    return {option: unwanted for option, (value, unwanted) in asked.items() if value not in (None, ())}


def _turns(record: Record, least: int | None = None, most: int | None = None) -> str | None:
    turns = record.usage.assistant_turns
    wrong = (least is not None and turns < least) or (most is not None and turns > most)
    return f"the assistant has {counted(turns, 'turn')}" if wrong else None


def _too_long(record: Record, most: int) -> str | None:
    if len(record.line) <= most:  # a character takes one byte at least
        return None
    chars = len(record.line.decode())
    return f"the record has {chars:,} characters" if chars > most else None


def _other_model(record: Record, globs: tuple[str, ...]) -> str | None:
    model = record.facts.model if record.facts else None
    if model is None:
        return _NO_MODEL
    return None if any(fnmatchcase(model, glob) for glob in globs) else f"the model is {quoted(model)}"


def _dropper(code: str) -> Filter:
    if code == ERRORS:
        return _error
    return lambda outcome, _: f"the session has {code}" if any(f.code == code for f in outcome.findings) else None


def _error(outcome: Outcome, _record: Record) -> str | None:
    code = next((found.code for found in outcome.findings if found.severity == "error"), None)
    return f"the session has the error {code}" if code else None
