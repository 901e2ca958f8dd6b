"""Detected values, and their placeholders: typed, keyed, and equal for equal values."""

# No ``from __future__ import annotations``: tuples compile annotations that are texts.
import hashlib
import hmac
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from chatsquash.core.outcome import Redaction

_TAG = 10
"""The number of hexadecimal digits in a placeholder."""
SHORTEST = 6
"""The minimum length of a value whose hash is written; shorter ones could be guessed."""
_PERSONAL = frozenset(("USER", "NAME", "PHONE", "IP_ADDRESS"))
_ATTEMPTS = 4
"""The number of attempts to draw digits that differ from the original."""
_REMEMBERED = 8192
_BARE = {"USER": "user-", "NAME": "name_"}
"""The prefixes for kinds within paths and identifiers, where angle brackets are invalid."""
_VALUE_PURPOSE, _DIGITS_PURPOSE = "value:", "digits:"


class Hit(NamedTuple):
    """A value to replace, and its position."""

    start: int
    end: int
    """The offsets of the characters to replace; for an encoded value, those of its encoded form."""
    kind: str
    """The kind in the placeholder, in upper case: ``AWS_ACCESS_KEY_ID``."""
    rule: str
    """The name of the rule: ``aws-access-key-id``."""
    value: str
    """The decoded value; equal values get the same placeholder however they are written."""


class Value(NamedTuple):
    """A detected value without its position."""

    kind: str
    rule: str
    value: str


def value_of(hit: Hit) -> Value:
    """Return the value of a hit."""
    return Value(hit.kind, hit.rule, hit.value)


class UnsearchedError(Exception):
    """The error for a text that cannot be searched."""


Finder = Callable[[str], list[Hit]]
"""A function that returns the values in a text, sorted and not nested, in time linear in the text."""


def _free_digits(count: int) -> int:
    """Return the number of digits to draw; the remaining ones are computed from them."""
    return max(2, count - 4) if count > 7 else max(2, count - 3)


def is_secret(kind: str) -> bool:
    """Return whether a kind is a secret, as opposed to personal data."""
    return kind not in _PERSONAL


class Placeholders:
    """Creates keyed placeholders; guesses can only be verified with the key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.tag = lru_cache(maxsize=_REMEMBERED)(self._make_tag)

    def of(self, hit: Hit) -> str:
        """Return the placeholder of a value: ``<API_KEY_7f3a9c01d2>``, or ``user-7f3a9c01d2`` within a path."""
        tag = self.tag(hit.value)
        return f"{_BARE[hit.kind]}{tag}" if hit.kind in _BARE else f"<{hit.kind}_{tag}>"

    def number(self, number: str, *, is_listed: bool = False) -> str:
        """Return a number with the same length and punctuation but other digits.

        The last digits are a function of the others, so that a replaced number is recognized: it stays unchanged,
        unless it is listed.
        """
        if number.endswith(".0"):  # an integer written as a float
            return self.number(number[:-2], is_listed=is_listed) + ".0"
        mantissa, mark, exponent = number.partition("e")
        digits = "".join(filter(str.isdigit, mantissa))
        count = len(digits)
        if digits == self._complete(digits[: _free_digits(count)], count) and not is_listed:
            return number
        for attempt in range(_ATTEMPTS):
            replacement = self._complete(self._draw_digits(f"{attempt or ''}{digits}", _free_digits(count)), count)
            if replacement != digits:
                break
        remaining = iter(replacement)
        return "".join(next(remaining) if each.isdigit() else each for each in mantissa) + mark + exponent

    def _draw_digits(self, digits: str, count: int) -> str:
        """Draw digits for a number; the first two are small relative to its length."""
        number = int.from_bytes(self._sign(_DIGITS_PURPOSE + digits), "big")
        return (str(10 + number % 8) + str(number)[2:])[:count]

    def _complete(self, first: str, length: int) -> str:
        number = int.from_bytes(self._sign(f"{_DIGITS_PURPOSE}{first} of {length}"), "big")
        return (first + str(number))[:length].ljust(length, "0")

    def _make_tag(self, value: str) -> str:
        return self._sign(_VALUE_PURPOSE + value).hex()[:_TAG]

    def _sign(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")


def redaction(value: Hit | Value, count: int, placeholders: Placeholders | None, *, hashes: bool) -> Redaction:
    """Return the record of a replaced value with its count, and its hash only if requested."""
    tag = placeholders.tag(value.value) if placeholders else ""
    has_hash = hashes and is_secret(value.kind) and len(value.value) >= SHORTEST
    digest = hashlib.sha256(value.value.encode("utf-8", "surrogatepass")).hexdigest() if has_hash else ""
    return Redaction(value.kind, value.rule, tag, count, digest)


def words(kind: str) -> str:
    """Return a kind as words."""
    return kind.lower().replace("_", " ")
