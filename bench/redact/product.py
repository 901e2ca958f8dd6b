"""The redaction as it is used: all that the bench knows of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import orjson

from chatsquash.core.options import Options
from chatsquash.redaction import lists, requests
from chatsquash.redaction.pseudonyms import Anonymizer
from chatsquash.redaction.redactor import UnsearchedError

KEY = b"a key for the bench"

Redact = Callable[[bytes], bytes | None]
"""A record as it is written; ``None`` where it is left out."""


def redacts(kinds: str, earlier: Iterable[bytes] = ()) -> Redact:
    """Replaces these kinds in records, each a session of its own, and what earlier ones have."""
    addresses = Anonymizer(KEY) if "emails" in kinds.split(",") else None
    redactor = requests.redactor(Options(redact=kinds, redact_known=_known(kinds, earlier)), KEY)

    def redacted(line: bytes) -> bytes | None:
        record: Any = orjson.loads(line)
        try:
            if redactor:
                redactor.replace([record])
        except UnsearchedError:
            return None
        return orjson.dumps(addresses.value(record) if addresses else record)

    return redacted


def _known(kinds: str, earlier: Iterable[bytes]) -> bytes | None:
    finder = requests.redactor(Options(redact=kinds))
    hashes = {
        lists.digest(value.value) for line in earlier if finder for _, value in finder.count([orjson.loads(line)])
    }
    return lists.hash_list(hashes) if hashes else None


def looks(kinds: str = "") -> Callable[[bytes], int]:
    """Says how much is found in a record, -1 where it cannot be searched.

    Without kinds it does so as every run that replaces no secrets.
    """
    finder = requests.redactor(Options(redact=kinds)) if kinds else requests.secret_finder(Options())
    assert finder

    def looked(line: bytes) -> int:
        try:
            return sum(finder.count([orjson.loads(line)]).values())
        except UnsearchedError:
            return -1

    return looked
