"""Hold a session to one id and a clock that goes forward."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.checks import reading
from chatsquash.ledger import Ledger
from chatsquash.model import Entry


def validate(entries: Iterator[Entry], ledger: Ledger, *, keep: bool, merge: bool = False) -> Iterator[Entry]:
    """Note the first entry with another session id and the first whose clock went back, and count equal times.

    Entries without an id or a readable time are not compared.  ``keep``: a clock that goes back is a warning and the
    session is converted all the same; else it is marked invalid.  ``merge``: so it is with another session id.  Every
    entry goes on, so that the whole log is accounted for.
    """
    named: Entry | None = None
    timed: Entry | None = None
    mixed = backward = False
    for entry in entries:
        if entry.session_id is not None:
            if named is None:
                named, ledger.session_id = entry, entry.session_id
            elif entry.session_id != named.session_id and not mixed:
                mixed = True
                found = reading.session_id_mismatch(named.session_id or "", entry.session_id, named.line, merge)
                ledger.note(found, entry.line)
        if entry.at is not None:
            if timed is not None and entry.at == timed.at:
                ledger.count(entry.line, "equal-timestamps")
            elif timed is not None and entry.at < (timed.at or 0) and not backward:
                backward = True
                ledger.note(reading.timestamp_order(timed.line, keep), entry.line)
            timed = entry
        ledger.invalid = (mixed and not merge) or (backward and not keep)
        yield entry
