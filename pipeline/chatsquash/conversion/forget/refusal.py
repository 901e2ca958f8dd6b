"""Sessions for a folder from which ``forget`` removed some; these are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.conversion.inputs import Converting
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import quote
from chatsquash.results.receipts import Receipts
from chatsquash.session.private_texts import with_log_names


class RefusingInputs(Converting):
    """Sessions that are converted unless one of them has a receipt."""

    def __init__(self, receipts: bytes, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._receipts = Receipts(receipts)

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``; raise ``UsageError`` for a session with a receipt."""
        for log, outcome in super().sessions():
            path = with_log_names(log, outcome.privacy.log_names).display_path
            if receipt := self._receipts.find(outcome.session, path):
                when = f"was removed by chatsquash forget on {receipt.forgotten_at[:10]}"
                hint = "skip its log with --exclude, or write it again with --replace"
                raise UsageError(f"{path}: session {quote(outcome.session)} {when}; nothing was written: {hint}")
            yield log, outcome
