"""Filter records and remove duplicates, which are compared with the earlier records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.checks import dataset
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.log import Log, is_elsewhere
from chatsquash.core.model import Violation
from chatsquash.core.options import ERRORS, Options
from chatsquash.core.outcome import Outcome, Record
from chatsquash.records import digest
from chatsquash.session.record_measures import of_records
from chatsquash.session.session import finding
from chatsquash.sources.names import is_between, path_day
from chatsquash.trees.coverage import coverage

if TYPE_CHECKING:
    from chatsquash.dataset.where import Where


class FilterResult(Struct, frozen=True):
    """A session after filters and duplicates, with the reasons for the removed records."""

    outcome: Outcome
    filtered: tuple[str, ...] = ()
    """The option that filtered each filtered record."""
    duplicates: int = 0
    """Number of records that duplicate others."""


class Filters:
    """Removes filtered and duplicate records from outcomes, which must be passed in order."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._filters = of_records(options)
        self._where = _where(options)
        self.duplicates: Duplicates = duplicate_detector(options)
        """The detector of duplicates, for records that pass all filters."""
        compares = options.duplicate_mode != "keep" or options.needs_all_records
        requests = self._filters, self._where, options.drop, compares, options.since, options.until
        self._is_active = any(requests)

    def remaining_records(self, log: Log, outcome: Outcome) -> list[Record]:
        """Return the records of a session that pass all filters, including duplicates."""
        return [record for record in outcome.records if self._reason(log, outcome, record) is None]

    def apply(self, log: Log, outcome: Outcome) -> FilterResult:
        """Remove filtered and duplicate records, and add a finding for each."""
        if not self._is_active:
            return FilterResult(outcome)
        filtered: list[str] = []
        original, duplicates = outcome, 0
        indexes: list[int] = []
        dropped: dict[int, str] = {}
        for number, record in enumerate(outcome.records):
            violation, option = self._reason(log, original, record) or (
                self.duplicates.check(record, log.display_path),
                "",
            )
            if violation is None:
                indexes.append(number)
                continue
            dropped[number] = "filtered" if option else "duplicate"
            filtered += [option] if option else []
            duplicates += not option
            last = replace(violation, conversation=record.conversation)
            outcome = outcome.with_finding(finding(last, outcome.session, log.display_path))
        if dropped:
            outcome = _without(outcome, indexes, dropped, last.code)
        return FilterResult(outcome, tuple(filtered), duplicates)

    def _reason(self, log: Log, outcome: Outcome, record: Record) -> tuple[Violation, str] | None:
        """Return why a record is filtered, and by which option, or ``None`` if it passes."""
        if (log.part is not None or log.unit or record.conversation) and (
            untimely := self._date_reason(_day(log, outcome, record))
        ):
            return dataset.filtered(*untimely), untimely[0]
        for option, find_reason in self._filters.items():
            if why := find_reason(record):
                return dataset.filtered(option, why), option
        if self._where and not self._where.matches(log, outcome, record):
            return dataset.filtered("--where", "the record does not match the condition"), "--where"
        for code in self._options.drop:
            if why := _drop_reason(code, outcome, record):
                return dataset.filtered(f"--drop {code}", why), f"--drop {code}"
        return None

    def _date_reason(self, day: str | None) -> tuple[str, str] | None:
        """Return the date option that excludes one of several conversations, and the reason.

        The dates of complete files are checked before they are read.
        """
        since, until = self._options.since, self._options.until
        option = "--since" if since else "--until"
        if day is None:
            return (option, "its day is unknown") if since or until else None
        if is_between(day, since, until):
            return None
        return "--since" if since and day < since else "--until", f"its day is {day}"


def reject_all(outcome: Outcome, log: Log) -> Outcome:
    """Remove all records of an outcome that the ``filter`` function of the API rejected."""
    violation = dataset.filtered("filter", "the filter function returned false")
    numbers = range(len(outcome.records))
    rejected = outcome.with_finding(finding(violation, outcome.session, log.display_path))
    return _without(rejected, [], dict.fromkeys(numbers, "filtered"), violation.code)


def _where(options: Options) -> Where | None:
    if options.where is None:
        return None
    from chatsquash.dataset.where import Where  # rarely needed, and slow to import

    return Where(options.where)


def _day(log: Log, outcome: Outcome, record: Record) -> str | None:
    """Return the day of a record: from its path, or else the day on which its conversation began."""
    started = record.entry.started_at if record.entry else None
    return path_day(log.name) or (started[:10] if started and record.conversation else outcome.output.day)


def _without(outcome: Outcome, indexes: list[int], dropped: dict[int, str], code: str) -> Outcome:
    """Return an outcome with only some of its records; if none remain, the session counts as skipped."""
    places = {number: place for place, number in enumerate(indexes)}
    if outcome.replies.rows:
        rows = [_move(row, places, dropped) for row in outcome.replies.rows]
        sums, before = coverage(rows), outcome.replies.coverage
        new_totals = replace(sums, conversations=before.conversations, not_chosen=before.not_chosen)
    else:
        rows, new_totals = [], outcome.replies.coverage.without_record(dropped[0])
    records = [outcome.records[number] for number in indexes]
    addresses = sum(record.addresses for record in records)
    result = replace(
        outcome.with_records(records),
        replies=replace(outcome.replies, rows=rows, coverage=new_totals),
        privacy=replace(outcome.privacy, addresses=addresses),
    )
    if indexes:
        sizes = _sizes(outcome.records[number] for number in dropped)
        for line in _sizes(records):
            sizes.pop(line, None)  # a remaining record is made from the same line
        counts, size = outcome.account.counts.without(len(sizes)), outcome.account.sizes.without(sum(sizes.values()))
        return replace(result, account=replace(outcome.account, counts=counts, sizes=size))
    return replace(result, report=replace(result.report, left_out=code), account=outcome.account.unwritten())


def _sizes(records: Iterable[Record]) -> dict[int | None, int]:
    """Return the size in bytes of each line that records are made from."""
    lines = ((record.entry.line if record.entry else None, record.size) for record in records)
    return {line: size for line, size in lines if line is None or not is_elsewhere(line)}


def _move(row: ReplyOutcome, places: dict[int, int], dropped: dict[int, str]) -> ReplyOutcome:
    """Update the row of a reply after records were removed: it moves to the first remaining record that contains it."""
    others = tuple(replace(place, record=places[place.record]) for place in row.others if place.record in places)
    if row.record is None:
        return row
    if row.record in places:
        return replace(row, record=places[row.record], others=others)
    return row.in_others(others) if others else row.without_record(dropped[row.record])


def _drop_reason(code: str, outcome: Outcome, record: Record) -> str | None:
    """Return why a record is dropped: a finding with the code concerns the record or its complete session."""
    about = [each for each in outcome.findings if each.conversation in ("", record.conversation)]
    if code == ERRORS:
        error = next((each.code for each in about if each.severity == "error"), None)
        return f"the session has the error {error}" if error else None
    return f"the session has {code}" if any(each.code == code for each in about) else None


class Duplicates(Protocol):
    """Checks the records that pass all filters, in order."""

    def check(self, record: Record, log: str) -> Violation | None:
        """Return a violation if a record duplicates another one."""


class NoDuplicates:
    """Accepts every record."""

    def check(self, record: Record, log: str) -> None:
        """See ``Duplicates``."""


class ExactDuplicates:
    """Accepts the first of the records with equal keys."""

    def __init__(self, rule: str, alike: Callable[[Record], bytes]) -> None:
        self._rule, self._alike = rule, alike
        self._seen: dict[bytes, str] = {}

    def check(self, record: Record, log: str) -> Violation | None:
        """See ``Duplicates``."""
        key = self._alike(record)
        if key in self._seen:
            return dataset.duplicate_record(self._seen[key], self._rule)
        self._seen[key] = log
        return None


def duplicate_detector(options: Options) -> Duplicates:
    """Return the detector for the duplicate mode of the options, unless it needs a pre-pass over all records."""
    rule = options.duplicate_mode
    if rule == "exact":
        return ExactDuplicates(rule, lambda record: record.unflagged or digest(record.line))
    if rule == "ids":
        from chatsquash.session.fingerprints import of_record  # rarely needed

        return ExactDuplicates(rule, lambda record: of_record(record, options).same)
    if rule == "near":
        from chatsquash.dataset.near_duplicates import NearDuplicates

        return NearDuplicates(options)
    return NoDuplicates()
