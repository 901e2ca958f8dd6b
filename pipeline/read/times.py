"""When something was logged, at the precision of the log."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from decimal import Decimal, DecimalException
from typing import NamedTuple

from pipeline import codec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FRACTION = re.compile(r"[.,](\d+)")
_FIRST = (date.min.toordinal() - _EPOCH.toordinal()) * 86_400 * 10**9
_LAST = (date.max.toordinal() + 1 - _EPOCH.toordinal()) * 86_400 * 10**9
# Epoch numbers by size: seconds until the year 5138, then milli-, micro- and nanoseconds.
_UNITS = ((Decimal(10**17), 1), (Decimal(10**14), 10**3), (Decimal(10**11), 10**6), (Decimal(0), 10**9))


class Moment(NamedTuple):
    """A point in time: nanoseconds since the epoch; ``naive`` where the log names no offset and UTC was assumed."""

    at: int
    naive: bool = False


def moment(raw: bytes) -> Moment | None:
    """The time in a raw JSON value: an ISO 8601 string or an epoch number; ``None`` for all else.

    Raises ``ValueError`` for a string that is no JSON after all.
    """
    if raw[:1] != b'"':
        return _number(raw)
    text = codec.loads(raw)
    try:
        return _iso(text)
    except (ValueError, OverflowError):
        return None


def day(at: int) -> str:
    """The UTC date of nanoseconds since the epoch, as ``YYYY-MM-DD``."""
    return date.fromordinal(_EPOCH.toordinal() + at // (86_400 * 10**9)).isoformat()


def stamp(at: int) -> str:
    """Nanoseconds since the epoch as ISO 8601 in UTC, to the second."""
    time = datetime.fromtimestamp(at // 10**9 % 86_400, UTC).strftime("%H:%M:%S")
    return f"{day(at)}T{time}Z"


def _iso(text: str) -> Moment:
    read = datetime.fromisoformat(text)
    naive = read.tzinfo is None
    since = (read.replace(tzinfo=UTC) if naive else read) - _EPOCH
    # fromisoformat cuts at microseconds; the digits after the time of day have the rest.
    fraction = _FRACTION.search(text, 10)
    below = int(fraction[1][:9].ljust(9, "0")) if fraction else 0
    return Moment((since.days * 86_400 + since.seconds) * 10**9 + below, naive)


def _number(raw: bytes) -> Moment | None:
    try:
        value = Decimal(raw.decode("ascii"))
        unit = next(unit for least, unit in _UNITS if abs(value) >= least)
        at = value * unit
        if _FIRST <= at < _LAST:
            return Moment(int(at.to_integral_value("ROUND_FLOOR")))
    except (ValueError, DecimalException, StopIteration):
        pass
    return None


def is_day(text: str) -> bool:
    """Whether a text is a date written ``YYYY-MM-DD``."""
    try:
        return len(text) == 10 and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
