"""Receipts of forgotten sessions: when each was removed, and digests that recognize it, but never its name."""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import sha256
from pathlib import PurePath

import msgspec
from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.core.text import printable_json
from chatsquash.dataset.claim import FORGOTTEN

_ADVICE = "convert again with --replace"


class Receipt(Struct, frozen=True):
    """A line of ``reports/forgotten.jsonl``. Digests are SHA-256 values of the salt and a text, in hexadecimal."""

    forgotten_at: str
    """The time, as ISO 8601 in UTC."""
    salt: str
    session: str
    """The digest of the session id."""
    log: str
    """The digest of the session id and the name of its log; with folders, if the id is from the name."""
    request: str
    """The digest of the argument that selected the session."""
    records: int
    """The number of its records."""


class Receipts:
    """The receipts of a result. All have the same salt, so that a session is looked up with one digest."""

    def __init__(self, data: bytes = b"") -> None:
        """Read the receipts of a result; raise ``UsageError`` if they are damaged."""
        self.data = data
        try:
            self._receipts = [msgspec.json.decode(line, type=Receipt) for line in data.splitlines()]
        except (ValueError, RecursionError):
            raise UsageError(f"{FORGOTTEN}: invalid content; {_ADVICE}") from None
        self._logs: dict[str, dict[str, Receipt]] = {}
        self._requests: dict[str, dict[str, Receipt]] = {}
        for each in self._receipts:
            self._logs.setdefault(each.salt, {}).setdefault(each.log, each)
            requests = self._requests.setdefault(each.salt, {})
            requests.setdefault(each.request, each)
            requests.setdefault(each.session, each)

    def find(self, session: str, path: str) -> Receipt | None:
        """Return the receipt of a session with the path of its log, or ``None``."""
        return next(filter(None, (logs.get(_log(salt, session, path)) for salt, logs in self._logs.items())), None)

    def find_request(self, argument: str) -> Receipt | None:
        """Return a receipt that an argument of ``forget`` caused, or ``None``."""
        matches = (receipts.get(_digest(salt, argument)) for salt, receipts in self._requests.items())
        return next(filter(None, matches), None)

    def with_more(self, sessions: Iterable[tuple[str, str, str, int]], time: str) -> bytes:
        """Return the receipts as text, with more of them.

        Args:
            sessions: The id, the path of the log, the argument and the number of records of each session.
            time: When they are removed.
        """
        salt = self._receipts[0].salt if self._receipts else os.urandom(16).hex()
        lines = [
            printable_json(
                msgspec.structs.asdict(
                    Receipt(time, salt, _digest(salt, name), _log(salt, name, path), _digest(salt, argument), records)
                )
            )
            for name, path, argument, records in sessions
        ]
        return self.data + b"".join(line + b"\n" for line in lines)


def _log(salt: str, session: str, path: str) -> str:
    name = PurePath(path).name
    # Files of the same name in several folders often have the same id if it is from their name.
    return _digest(salt, f"{session}\0{path if name.startswith(session) else name}")


def _digest(salt: str, text: str) -> str:
    return sha256(f"{salt}:{text}".encode("utf-8", "surrogatepass")).hexdigest()
