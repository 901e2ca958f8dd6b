"""Sessions for a folder from which ``forget`` removed some; these are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chatsquash.conversion.inputs import SessionInputs
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.outcome import LinePlace, Outcome
from chatsquash.core.text import quote
from chatsquash.results.receipts import Receipts
from chatsquash.session.private_texts import with_log_names


class RefusingInputs:
    """The sessions of other inputs, unless one of them has a receipt; see ``SessionInputs``."""

    def __init__(self, inputs: SessionInputs, receipts: bytes) -> None:
        self._inputs, self._receipts = inputs, Receipts(receipts)
        self.acknowledge = inputs.acknowledge
        self.fill = inputs.fill

    @property
    def logs(self) -> Sequence[Log]:
        """See ``SessionInputs``."""
        return self._inputs.logs

    @property
    def size(self) -> int:
        """See ``SessionInputs``."""
        return self._inputs.size

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        return self._inputs.ahead()

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``; raise ``UsageError`` for a session with a receipt."""
        for log, outcome in self._inputs.sessions():
            path = with_log_names(log, outcome.privacy.log_names).display_path
            if receipt := self._receipts.find(outcome.session, path):
                when = f"was removed by chatsquash forget on {receipt.forgotten_at[:10]}"
                hint = "skip its log with --exclude, or write it again with --replace"
                raise UsageError(f"{path}: session {quote(outcome.session)} {when}; nothing was written: {hint}")
            yield log, outcome

    def inputs(self) -> Iterable[tuple[Log, str]]:
        """See ``SessionInputs``."""
        return self._inputs.inputs()

    def descriptor(self, place: LinePlace) -> int:
        """See ``SessionInputs``."""
        return self._inputs.descriptor(place)

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """See ``SessionInputs``."""
        return self._inputs.rejected(log, outcome)
