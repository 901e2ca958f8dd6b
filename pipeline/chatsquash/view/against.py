"""Another result with which the one on display is compared."""

from __future__ import annotations

from itertools import islice
from threading import Lock
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.core.text import escape
from chatsquash.records import NotARecordError, StoredRecord
from chatsquash.records.places import read
from chatsquash.records.reading import native, parse, record
from chatsquash.results.diff.comparison import Comparison, Difference
from chatsquash.view.conversation import Conversation

_MOST = 1_000
"""The number of differences that are listed."""


class Against:
    """An earlier result, and its differences from the result on display; safe for use by several threads."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._lock = Lock()
        self.title = escape(comparison.sides[0].path)
        self.options = comparison.options
        self.counts: dict[str, Any] = comparison.counts()
        self.differences: list[Difference] = list(islice(comparison.differences(), _MOST))

    def refuse_other(self, tag: str) -> None:
        """Raise ``UsageError`` if another result than the one that was compared is on display."""
        if tag != self._comparison.sides[1].result.tag:
            raise UsageError("the result was replaced since it was compared; start chatsquash view again")

    def record(self, conversation: Conversation) -> tuple[StoredRecord | None, str]:
        """Return the earlier version of a record, or ``None`` if there is none, and its place."""
        with self._lock:
            place = self._comparison.place_before(conversation.at)
            if place is None:
                return None, ""
            data = read(self._comparison.sides[0].result.folder, place)
        try:
            return native(record(parse(data))), str(place)
        except NotARecordError as problem:
            raise UsageError(f"{place}: {problem}") from None
