"""Which records are wanted: filters, and duplicates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import dataset
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.log import Log, is_elsewhere
from chatsquash.core.model import Violation
from chatsquash.core.options import ERRORS, Options
from chatsquash.core.outcome import Outcome, Record
from chatsquash.dataset.duplicates import Duplicates, streamed
from chatsquash.session.record_filters import of_records
from chatsquash.session.session import finding
from chatsquash.sources.names import is_between, path_day
from chatsquash.trees.coverage import coverage

if TYPE_CHECKING:
    from chatsquash.dataset.where import Where


class FilterResult(NamedTuple):
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
        self._filters = of_records(options)
        self._where = _where(options)
        self.duplicates: Duplicates = streamed(options)
        """What tells apart the records that no filter leaves out."""
        tells = options.duplicate_mode != "keep" or options.needs_all_records
        requests = self._filters, self._where, options.drop, tells, options.since, options.until
        self._is_asked = any(requests)

    def remaining_records(self, log: Log, outcome: Outcome) -> list[Record]:
        """The records of a session that no filter leaves out, those that others stand for among them."""
        return [record for record in outcome.records if self._reason(log, outcome, record) is None]

    def apply(self, log: Log, outcome: Outcome) -> FilterResult:
        """An outcome without the records that are filtered or were there before; a finding says so of each."""
        if not self._is_asked:
            return FilterResult(outcome)
        filtered: list[str] = []
        original, duplicates = outcome, 0
        indexes: list[int] = []
        gone: dict[int, str] = {}
        for number, record in enumerate(outcome.records):
            violation, option = self._reason(log, original, record) or (
                self.duplicates.look(record, log.display_path),
                "",
            )
            if violation is None:
                indexes.append(number)
                continue
            gone[number] = "filtered" if option else "duplicate"
            filtered += [option] if option else []
            duplicates += not option
            last = violation._replace(conversation=record.conversation)
            outcome = outcome.with_finding(finding(last, outcome.session, log.display_path))
        if gone:
            outcome = _without(outcome, indexes, gone, last.code)
        return FilterResult(outcome, tuple(filtered), duplicates)

    def _reason(self, log: Log, outcome: Outcome, record: Record) -> tuple[Violation, str] | None:
        """Why a record is filtered, and the option that says so."""
        if (log.part is not None or log.unit or record.conversation) and (
            untimely := self._untimely(_day(log, outcome, record))
        ):
            return dataset.filtered(*untimely), untimely[0]
        for option, unwanted in self._filters.items():
            if why := unwanted(record):
                return dataset.filtered(option, why), option
        if self._where and not self._where.holds(log, outcome, record):
            return dataset.filtered("--where", "the record does not fulfil the condition"), "--where"
        for code in self._options.drop:
            if why := _has(code, outcome, record):
                return dataset.filtered(f"--drop {code}", why), f"--drop {code}"
        return None

    def _untimely(self, day: str | None) -> tuple[str, str] | None:
        """The option by which one of several conversations is not wanted, and why: its file was, as a whole."""
        since, until = self._options.since, self._options.until
        option = "--since" if since else "--until"
        if day is None:
            return (option, "its file names no day of it") if since or until else None
        if is_between(day, since, until):
            return None
        return "--since" if since and day < since else "--until", f"it is of {day}"


def unwanted(outcome: Outcome, log: Log) -> Outcome:
    """An outcome none of whose records is wanted by the program that asked for them."""
    violation = dataset.filtered("filter", "the function that was given does not want it")
    numbers = range(len(outcome.records))
    rejected = outcome.with_finding(finding(violation, outcome.session, log.display_path))
    return _without(rejected, [], dict.fromkeys(numbers, "filtered"), violation.code)


def _where(options: Options) -> Where | None:
    if options.where is None:
        return None
    from chatsquash.dataset.where import Where  # which few runs need, and takes time to import

    return Where(options.where)


def _day(log: Log, outcome: Outcome, record: Record) -> str | None:
    """The day of a record: that of its path, else that on which its conversation began."""
    started = record.entry.started_at if record.entry else None
    return path_day(log.name) or (started[:10] if started and record.conversation else outcome.output.day)


def _without(outcome: Outcome, indexes: list[int], gone: dict[int, str], code: str) -> Outcome:
    """An outcome with some of its records, and as of a session that was left out where there are none."""
    places = {number: place for place, number in enumerate(indexes)}
    if outcome.replies.rows:
        rows = [_move(row, places, gone) for row in outcome.replies.rows]
        sums, before = coverage(rows), outcome.replies.coverage
        covered = replace(sums, conversations=before.conversations, not_chosen=before.not_chosen)
    else:
        rows, covered = [], outcome.replies.coverage.without_record(gone[0])
    records = [outcome.records[number] for number in indexes]
    addresses = sum(record.addresses for record in records)
    left = replace(
        outcome.with_records(records),
        replies=replace(outcome.replies, rows=rows, coverage=covered),
        privacy=replace(outcome.privacy, addresses=addresses),
    )
    if indexes:
        sizes = _sizes(outcome.records[number] for number in gone)
        for line in _sizes(records):
            sizes.pop(line, None)  # of which another record is made
        counts, size = outcome.account.counts.without(len(sizes)), outcome.account.sizes.without(sum(sizes.values()))
        return replace(left, account=replace(outcome.account, counts=counts, sizes=size))
    return replace(left, report=replace(left.report, left_out=code), account=outcome.account.unwritten())


def _sizes(records: Iterable[Record]) -> dict[int | None, int]:
    """The bytes of the lines that records are made of."""
    lines = ((record.entry.line if record.entry else None, record.size) for record in records)
    return {line: size for line, size in lines if line is None or not is_elsewhere(line)}


def _move(row: ReplyOutcome, places: dict[int, int], gone: dict[int, str]) -> ReplyOutcome:
    """A reply's row once some records are gone; it stands in the first one that is left of those that hold it."""
    left = tuple(place._replace(record=places[place.record]) for place in row.others if place.record in places)
    if row.record is None:
        return row
    if row.record in places:
        return replace(row, record=places[row.record], others=left)
    return row.in_others(left) if left else row.without_record(gone[row.record])


def _has(code: str, outcome: Outcome, record: Record) -> str | None:
    """Whether a finding that is to be dropped is about a record, or about all of its session."""
    about = [each for each in outcome.findings if each.conversation in ("", record.conversation)]
    if code == ERRORS:
        grave = next((each.code for each in about if each.severity == "error"), None)
        return f"the session has the error {grave}" if grave else None
    return f"the session has {code}" if any(each.code == code for each in about) else None
