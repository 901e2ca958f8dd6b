"""Which records are wanted: filters, and duplicates."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.checks import dataset
from chatsquash.log import Log
from chatsquash.model import Found
from chatsquash.options import ERRORS, Options
from chatsquash.outcome import LoggedReply, Outcome, Record
from chatsquash.records.line import digest
from chatsquash.sources.days import is_between
from chatsquash.stages.session import finding
from chatsquash.text import counted, quoted
from chatsquash.tree.coverage import coverage


class Filtered(NamedTuple):
    """What is left of a session, and why its other records are not wanted."""

    outcome: Outcome
    filtered: tuple[str, ...] = ()
    """The options that filtered records, one for each."""
    duplicates: int = 0
    """How many records were those of others."""


class Filters:
    """Takes outcomes in order, and removes the records that are not wanted."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._filters = _filters(options)
        self._seen: dict[bytes, str] = {}

    def apply(self, log: Log, outcome: Outcome) -> Filtered:
        """An outcome without the records that are filtered or were there before; a finding says so of each."""
        filtered: list[str] = []
        duplicates = 0
        kept: list[int] = []
        gone: dict[int, str] = {}
        for number, record in enumerate(outcome.records):
            found, option = self._unwanted(log, outcome, record)
            if found is None:
                kept.append(number)
                continue
            gone[number] = "filtered" if option else "duplicate"
            filtered += [option] if option else []
            duplicates += not option
            outcome = replace(outcome, findings=[*outcome.findings, finding(found, outcome.session, log.shown)])
            last = found
        if gone:
            outcome = _left(outcome, kept, gone, last.code)
        return Filtered(outcome, tuple(filtered), duplicates)

    def _unwanted(self, log: Log, outcome: Outcome, record: Record) -> tuple[Found | None, str]:
        """Why a record is not wanted, and the option that says so; none where it is there already."""
        if log.part is not None and (untimely := self._untimely(outcome)):
            return dataset.filtered(*untimely), untimely[0]
        for option, unwanted in self._filters.items():
            if why := unwanted(outcome, record):
                return dataset.filtered(option, why), option
        if self._options.unique:
            equal = record.unflagged or digest(record.line)
            if equal in self._seen:
                return dataset.duplicate_record(self._seen[equal]), ""
            self._seen[equal] = log.shown
        return None, ""

    def _untimely(self, outcome: Outcome) -> tuple[str, str] | None:
        """The option by which a session of a document with several is not wanted, and why: its file was, as a whole."""
        since, until = self._options.since, self._options.until
        option = "--since" if since else "--until"
        if outcome.day is None:
            return (option, "its file names no day of it") if since or until else None
        if is_between(outcome.day, since, until):
            return None
        return "--since" if since and outcome.day < since else "--until", f"it is of {outcome.day}"


def _left(outcome: Outcome, kept: list[int], gone: dict[int, str], code: str) -> Outcome:
    """An outcome with some of its records, and as of a session that was left out where there are none."""
    places = {number: place for place, number in enumerate(kept)}
    if outcome.replies:
        rows = [_moved(row, places, gone) for row in outcome.replies]
        sums, before = coverage(rows), outcome.coverage
        covered = replace(sums, conversations=before.conversations, not_chosen=before.not_chosen)
    else:
        rows, covered = [], outcome.coverage.gone(gone[0])
    records = [outcome.records[number] for number in kept]
    addresses = sum(record.addresses for record in records)
    left = replace(outcome, records=records, replies=rows, coverage=covered, addresses=addresses)
    if kept:
        return left
    return replace(
        left,
        left_out=code,
        account=outcome.account.unwritten(),
        sizes=outcome.sizes.unwritten(),
        cleaned={},
    )


def _moved(row: LoggedReply, places: dict[int, int], gone: dict[int, str]) -> LoggedReply:
    """A reply's row once some records are gone."""
    if row.record is None:
        return row
    return row.gone(gone[row.record]) if row.record in gone else replace(row, record=places[row.record])


Filter = Callable[[Outcome, Record], str | None]
"""Why a record is not wanted; ``None`` for one that is."""
RecordFilter = Callable[[Record], str | None]
"""The same of a filter that looks at nothing else."""


def of_records(options: Options) -> dict[str, RecordFilter]:
    """The filters that look at records alone, by their options, in the order in which they are counted."""
    filters: dict[str, RecordFilter] = {}
    if (least := options.min_turns) is not None:
        filters["--min-turns"] = lambda record: _turns(record) if record.usage.assistant_turns < least else None
    if (most := options.max_turns) is not None:
        filters["--max-turns"] = lambda record: _turns(record) if record.usage.assistant_turns > most else None
    if (chars := options.max_chars) is not None:
        filters["--max-chars"] = lambda record: _too_long(record, chars)
    if options.only_model:
        filters["--only-model"] = lambda record: _other_model(record, options.only_model)
    return filters


def _filters(options: Options) -> dict[str, Filter]:
    """The filters that the options ask for, by their options, in the order in which they are counted."""
    filters = {option: _of_record(unwanted) for option, unwanted in of_records(options).items()}
    return filters | {f"--drop {code}": _dropper(code) for code in options.drop}


def _of_record(unwanted: RecordFilter) -> Filter:
    return lambda _, record: unwanted(record)


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
