"""Hold a session to one id and a clock that goes forward."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from chatsquash.checks import reading
from chatsquash.core.model import Entry, Found, Repeated, Skipped


def validate(
    items: Iterator[Entry | Skipped], *, keep: bool, merge: bool = False, joined: bool = False
) -> Iterator[Entry | Skipped]:
    """Report the first entry with another session id and the first whose clock went back, and count equal times.

    Entries without an id or a readable time are not compared.  ``keep``: a clock that goes back is a warning and the
    session is converted all the same; else it is an error.  ``merge``: so it is with another session id.
    ``joined``: the session was joined of several, each with an id of its own.  Every entry goes on, so that the whole
    log is accounted for.
    """
    named: Entry | None = None
    timed: Entry | None = None
    mixed = backward = False
    for entry in items:
        if isinstance(entry, Skipped):
            yield entry
            continue
        found: list[Found | Repeated] = []
        if entry.session_id is not None:
            if named is None:
                named = entry
            elif entry.session_id != named.session_id and not mixed and not joined:
                mixed = True
                found.append(reading.session_id_mismatch(named.session_id or "", entry.session_id, named.line, merge))
        if entry.at is not None:
            if timed is not None and entry.at == timed.at:
                found.append(Repeated("equal-timestamps"))
            elif timed is not None and entry.at < (timed.at or 0) and not backward:
                backward = True
                found.append(reading.timestamp_order(timed.line, keep))
            timed = entry
        yield replace(entry, found=(*entry.found, *found)) if found else entry
