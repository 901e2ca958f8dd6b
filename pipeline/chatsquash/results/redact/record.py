"""What is private in one record of a dataset: replaced, or only counted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash.checks import private, stored
from chatsquash.core import jsonio, marks
from chatsquash.core.model import Json, Violation
from chatsquash.core.options import Options
from chatsquash.redact import requests
from chatsquash.redact.hits import Value, value_of
from chatsquash.redact.pieces import Pieces
from chatsquash.redact.placeholders import is_secret
from chatsquash.redact.pseudonyms import anonymizer
from chatsquash.redact.redactor import Redactor

_UNSET = (None, 0, 1)
"""What a flag may be; anything else under its name is no flag.  (False and True are equal to two of them.)"""
_HOLDS = "chatsquash redact replaces"


class Replaced(NamedTuple):
    """A record with placeholders, and what became of it."""

    value: Json
    counts: Counter[Value]
    addresses: int
    unflagged: list[int]
    """The replies with a placeholder for a secret of which nothing can say that they are not trained on."""

    @property
    def is_changed(self) -> bool:
        """Whether anything was replaced."""
        return bool(self.counts or self.addresses)

    @property
    def secrets(self) -> int:
        """How many secrets were replaced, repeated ones each time."""
        return sum(count for value, count in self.counts.items() if is_secret(value.kind))


class Records:
    """Replaces in records what options ask for."""

    def __init__(self, options: Options) -> None:
        key = options.anonymize_key or b""
        self.redactor = requests.redactor(options, key)
        self._anonymizer = anonymizer(options)

    def replaced(self, value: Json, known: Redactor | None = None) -> Replaced:
        """A record, or any JSON, without what is private and what is known; raises ``UnsearchedError``.

        The record that is given is changed in its place.
        """
        pieces = _pieces(value)
        found = self.redactor.replace(pieces.values) if self.redactor else Counter[tuple[int, Value]]()
        if known:
            found += known.replace(pieces.values)
        whole, addresses, passwords = self._anonymized(_whole(value, pieces) if found else value)
        counts = passwords
        for (_, each), count in found.items():
            counts[each] += count
        masked = _pieces(whole)
        unflagged = _unflag(masked, masked.masked_pieces()) if counts else []
        return Replaced(_whole(whole, masked) if counts else whole, counts, addresses, unflagged)

    def _anonymized(self, value: Json) -> tuple[Json, int, Counter[Value]]:
        """A record without addresses, how many there were, and the passwords of URLs that were replaced with them."""
        if not self._anonymizer:
            return value, 0, Counter()
        before = self._anonymizer.count
        value = self._anonymizer.value(value)
        passwords = Counter(map(value_of, self._anonymizer.passwords))
        self._anonymizer.passwords.clear()
        return value, self._anonymizer.count - before, passwords


def look(value: Json, redactor: Redactor) -> Counter[tuple[int, Value]]:
    """What is private in which piece of a record, and how often; raises ``UnsearchedError``."""
    return redactor.look(_pieces(value).values, every=True)


def looked(value: Json, counts: Counter[tuple[int, Value]]) -> Iterator[Violation]:
    """What is private in a record, once for each kind at the first message with it."""
    pieces = _pieces(value)
    kinds: Counter[str] = Counter()
    first: dict[str, int] = {}
    for (at, each), count in counts.items():
        kinds[each.kind] += count
        first[each.kind] = min(at, first.get(each.kind, at))
    for kind, count in sorted(kinds.items()):
        place = pieces.place(first[kind])
        if is_secret(kind):
            yield private.secret_found(kind, count, place, _HOLDS)
        else:
            yield stored.private_found(kind, count, place)


def hides(data: bytes, value: Json) -> bool:
    """Whether JSON has members that its value lacks: of two with one name a parser takes the last."""
    if jsonio.dumps(value) == data.strip():
        return False
    is_hidden = False

    def pairs(members: list[tuple[str, Any]]) -> None:
        nonlocal is_hidden
        is_hidden = is_hidden or len({name for name, _ in members}) < len(members)

    try:
        json.loads(data.decode("utf-8", "surrogatepass"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return True
    return is_hidden


def _pieces(value: Json) -> Pieces:
    return Pieces(value if isinstance(value, dict) else {_ALONE: value})


_ALONE = "text"
"""Under what a value that is no object is searched; it tells nothing."""


def _whole(value: Json, pieces: Pieces) -> Json:
    whole = pieces.whole()
    return whole if isinstance(value, dict) else whole[_ALONE]


def _unflag(pieces: Pieces, masked: list[int]) -> list[int]:
    """Have replies say that they are not trained on; the places of those that have no way to say so."""
    replies = [at for at in masked if pieces.replies([at])]
    if not replies:
        return []
    flags = _flags(pieces)
    for at in replies:
        turn: Any = pieces.values[at]
        turn.update({flag: marks.FLAGS[flag][0] for flag in flags})
    return [] if flags else pieces.replies(replies)


def _flags(pieces: Pieces) -> list[str]:
    """The flags that messages of a record have."""
    turns = [turn for turn in pieces.values[:-1] if isinstance(turn, dict)]
    found = []
    for flag in marks.FLAGS:
        said = [turn[flag] for turn in turns if flag in turn]
        if said and all(isinstance(each, (int, type(None))) and each in _UNSET for each in said):
            found.append(flag)
    return found
