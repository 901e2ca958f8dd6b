"""Detectors of duplicate records, which compare each record with the earlier ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from chatsquash.checks import dataset
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.records.line import digest


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
