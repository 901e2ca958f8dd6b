"""Recognize the placeholders in a text that an earlier run wrote."""

from __future__ import annotations

import re
from functools import lru_cache

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction.shapes import kind_of
from chatsquash.redaction.values import is_secret

_REMEMBERED = 8192
PLACEHOLDER = lazy_compile(
    r"<(?P<kind>[A-Z][A-Z0-9_]{0,63})_[0-9a-f]{10}>|(?<![0-9a-z])(?:user-|name_)[0-9a-f]{10}(?![0-9a-z])"
    r"|(?<![0-9a-z])[0-9a-z]{16}(?:@|%40)[0-9a-z]{8}\.example"
)
"""Placeholders of secrets, users and names, and pseudonyms of addresses."""


def blank_placeholders(text: str) -> str:
    """Replace the placeholders of an earlier run with NUL characters, so that they are not detected."""
    return PLACEHOLDER.sub(_blank, text)


def contains_secret(text: str) -> bool:
    """Return whether a text contains a placeholder of a secret."""
    matches = (each for each in PLACEHOLDER.finditer(text) if each["kind"])
    return any(_is_kind(each["kind"]) and is_secret(each["kind"]) for each in matches)


def _blank(match: re.Match[str]) -> str:
    is_one = match["kind"] is None or _is_kind(match["kind"])
    return "\0" * len(match[0]) if is_one else match[0]


@lru_cache(maxsize=_REMEMBERED)
def _is_kind(name: str) -> bool:
    """Return whether a name may be a kind, rather than a secret itself."""
    return kind_of(name) == "SECRET"
