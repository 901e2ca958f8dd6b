"""What stands in the place of a value: typed, keyed, and the same for the same value."""

from __future__ import annotations

import hashlib
import hmac
import re
from functools import lru_cache

from chatsquash.core.outcome import Redaction
from chatsquash.redaction.hits import Hit, Value

_TAG = 10
"""Hexadecimal digits of a placeholder that tell values apart."""
SHORTEST = 6
"""Characters of a value whose hash is written, since a shorter one is guessed."""
_PERSONAL = frozenset(("USER", "NAME", "PHONE", "IP_ADDRESS"))
_ATTEMPTS = 4
"""To find digits that are others than those of a number."""
_REMEMBERED = 8192
_BARE = {"USER": "user-", "NAME": "name_"}
"""Kinds that stand within paths and identifiers, where angle brackets would break them."""
_VALUE_PURPOSE, _DIGITS_PURPOSE = "value:", "digits:"
PLACEHOLDER = re.compile(
    r"<(?P<kind>[A-Z][A-Z0-9_]{0,63})_[0-9a-f]{10}>|(?<![0-9a-z])(?:user-|name_)[0-9a-f]{10}(?![0-9a-z])"
    r"|(?<![0-9a-z])[0-9a-z]{16}(?:@|%40)[0-9a-z]{8}\.example"
)
"""Those of secrets, of users and names, and the pseudonyms of addresses."""


def _free(count: int) -> int:
    """Of so many digits those from which the last ones follow: of more than seven all but four."""
    return max(2, count - 4) if count > 7 else max(2, count - 3)


def is_secret(kind: str) -> bool:
    """Whether what has a kind of placeholder is a secret: neither somebody's name nor where somebody is."""
    return kind not in _PERSONAL


class Placeholders:
    """Makes placeholders with a key; nobody without it can test a guess."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self.tag = lru_cache(maxsize=_REMEMBERED)(self._make_tag)

    def of(self, hit: Hit) -> str:
        """The placeholder of a value: ``<API_KEY_7f3a9c01d2>``, or ``user-7f3a9c01d2`` within a path."""
        tag = self.tag(hit.value)
        return f"{_BARE[hit.kind]}{tag}" if hit.kind in _BARE else f"<{hit.kind}_{tag}>"

    def number(self, number: str, *, is_listed: bool = False) -> str:
        """A number of the same length with other digits; signs and points stay where they are.

        The last digits follow from those before them, so that it is known once more: digits of this form stay as they
        are, unless they stand on a list of values.
        """
        if number.endswith(".0"):  # which is a whole one
            return self.number(number[:-2], is_listed=is_listed) + ".0"
        mantissa, mark, exponent = number.partition("e")
        digits = "".join(filter(str.isdigit, mantissa))
        count = len(digits)
        if digits == self._completed(digits[: _free(count)], count) and not is_listed:
            return number
        for attempt in range(_ATTEMPTS):
            made = self._completed(self._draw_digits(f"{attempt or ''}{digits}", _free(count)), count)
            if made != digits:
                break
        left = iter(made)
        return "".join(next(left) if each.isdigit() else each for each in mantissa) + mark + exponent

    def _draw_digits(self, digits: str, count: int) -> str:
        """So many digits, of which the first two are those of a number that is small for its length."""
        number = int.from_bytes(self._sign(_DIGITS_PURPOSE + digits), "big")
        return (str(10 + number % 8) + str(number)[2:])[:count]

    def _completed(self, first: str, length: int) -> str:
        number = int.from_bytes(self._sign(f"{_DIGITS_PURPOSE}{first} of {length}"), "big")
        return (first + str(number))[:length].ljust(length, "0")

    def _make_tag(self, value: str) -> str:
        return self._sign(_VALUE_PURPOSE + value).hex()[:_TAG]

    def _sign(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")


def redaction(value: Hit | Value, count: int, placeholders: Placeholders | None, *, hashes: bool) -> Redaction:
    """What is told of a value that was found so often; its hash only where that is asked for."""
    tag = placeholders.tag(value.value) if placeholders else ""
    is_told = hashes and is_secret(value.kind) and len(value.value) >= SHORTEST
    hashed = hashlib.sha256(value.value.encode("utf-8", "surrogatepass")).hexdigest() if is_told else ""
    return Redaction(value.kind, value.rule, tag, count, hashed)


def blanked(text: str) -> str:
    """A text with NULs in the place of the placeholders of an earlier run, which are nothing to be found."""
    return PLACEHOLDER.sub(_blank, text)


def holds_secret(text: str) -> bool:
    """Whether a placeholder of a secret stands in a text."""
    matches = (each for each in PLACEHOLDER.finditer(text) if each["kind"])
    return any(_is_kind(each["kind"]) and is_secret(each["kind"]) for each in matches)


def words(kind: str) -> str:
    """A kind in words."""
    return kind.lower().replace("_", " ")


def _blank(match: re.Match[str]) -> str:
    is_one = match["kind"] is None or _is_kind(match["kind"])
    return "\0" * len(match[0]) if is_one else match[0]


@lru_cache(maxsize=_REMEMBERED)
def _is_kind(name: str) -> bool:
    """Whether a name may be that of a kind, and is no secret itself."""
    from chatsquash.redaction.secrets import kind_of  # whose rules few texts need

    return kind_of(name) == "SECRET"
