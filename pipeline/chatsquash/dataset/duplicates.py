"""Which records another one stands for, told as they come in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from chatsquash.checks import dataset
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.records.line import digest


class Duplicates(Protocol):
    """Looks at the records that no filter leaves out, in order."""

    def look(self, record: Record, log: str) -> Violation | None:
        """That another record stands for this one of a log; ``None`` where it is written."""


class NoDuplicates:
    """Every record is written."""

    def look(self, record: Record, log: str) -> None:
        """As ``Duplicates`` has it."""


class Equal:
    """Of records that have something alike, by a rule, the first one is written."""

    def __init__(self, rule: str, alike: Callable[[Record], bytes]) -> None:
        self._rule, self._alike = rule, alike
        self._seen: dict[bytes, str] = {}

    def look(self, record: Record, log: str) -> Violation | None:
        """As ``Duplicates`` has it."""
        key = self._alike(record)
        if key in self._seen:
            return dataset.duplicate_record(self._seen[key], self._rule)
        self._seen[key] = log
        return None


def streamed(options: Options) -> Duplicates:
    """What tells records apart as they come, where nothing has to be known of those behind them."""
    rule = options.duplicate_mode
    if rule == "exact":
        return Equal(rule, lambda record: record.unflagged or digest(record.line))
    if rule == "ids":
        from chatsquash.session.fingerprints import of_record  # which few runs need

        return Equal(rule, lambda record: of_record(record, options).same)
    if rule == "near":
        from chatsquash.dataset.near_duplicates import Near

        return Near(options)
    return NoDuplicates()
