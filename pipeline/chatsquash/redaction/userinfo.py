r"""The userinfo of URLs: users and their passwords, which are replaced while the host is kept.

It ends at the last at sign before the path (RFC 3986, 3.2.1). In JSON, slashes and signs may be escaped, as in
``https:\/\/me:word\u0040host``; a URL within another one is percent-encoded: ``https%3A%2F%2Fme%3Aword%40host``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import AnyStr
from urllib.parse import unquote

from msgspec import Struct

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction.values import Hit

RULE = "url-userinfo"
_FEW, _NEAR = 1000, 256
"""The maximum number of at signs that are checked individually, and of the characters before each."""
_SHORTEST = 20
"""The minimum length of a user that may be a token."""

AGAIN = "(?:25){0,3}"
"""Up to three further levels of encoding after a ``%``; deeper ones are not decoded."""
_BYTE = lazy_compile(rf"%{AGAIN}([0-9A-Fa-f]{{2}})")
_BYTES = lazy_compile(rf"(?:%{AGAIN}[0-9A-Fa-f]{{2}})++")
LONGEST_ENCODED = 24
"""An upper bound for the length of one encoded letter (two bytes of UTF-8)."""
_SLASH = r"(?:/|\\{1,8}+(?:/|u002[fF]))"
_BRACKETED = r"<[^\s<>@/\\\"']{1,80}+>"
_ESCAPED = (  # in JSON: printable characters except those that end a URL, and placeholders in angle brackets
    r"\\{1,8}+u00(?:2[14-689a-eA-E]|3[0-9abdABD]|4[1-9a-fA-F]|5[0-9abdefABDEF]|6[1-9a-fA-F]|7[0-9a-eA-E])"
    r"|\\{1,8}+u003[cC][^\s<>@/\\\"']{1,80}+\\{1,8}+u003[eE]"
)
_PLAIN = r"[^\s\x00-\x1f@/?#\\\"'`<>%s]++"
_LITERAL = rf":{_SLASH}{_SLASH}(?P<info>(?:(?:{_PLAIN % ''}|{_BRACKETED}|{_ESCAPED})*+(?P<sign>@|\\{{1,8}}+u0040))++)"
_NESTED = (
    rf"%(?P<again>{AGAIN})3[aA](?:/|%(?P=again)2[fF]){{2}}"
    rf"(?P<inner>(?:(?:{_PLAIN % '%'}|{_BRACKETED}|%(?P=again)(?![01]|2[0237fF]|3[cCeEfF]|40|5[cC])[0-9a-fA-F]{{2}})*+"
    r"(?P<mark>%(?P=again)40))++)"
)
_USERINFO = f"{_LITERAL}|{_NESTED}"
_IN_JSON = lazy_compile(rb":(?:\\*+/\\*+/|\\++u002[fF]\\++u002[fF])(?:[^\s/@\"u]|u(?!002[fF]))*+@")
"""Two slashes and an at sign in JSON, with nothing between them that ends the userinfo."""
_JSON_ESCAPE = lazy_compile(r"\\{1,8}+u00([0-9a-fA-F]{2})")
_PORT = lazy_compile(r"[0-9]{1,5}+[^\w.~!$*%+-]", re.ASCII)
_PUBLIC_KEY, _PROJECT = (
    lazy_compile(r"[0-9a-f]{32}"),
    lazy_compile(r"[A-Za-z0-9.-]{1,255}+(?::[0-9]{1,5}+)?/[0-9]++(?!\w)"),
)
"""Public keys of Sentry projects, which can only be used to send error reports."""
_UUID = lazy_compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_TOKEN = lazy_compile(r"[A-Za-z0-9_~-]{20,255}={0,2}")
_PART = lazy_compile(r"[A-Za-z0-9]{12,}+")

_REFERENCE = (
    r"\$\{[^{}]{1,200}\}|\$\([^()]{1,200}\)|\$(?:[A-Z_][A-Z0-9_]*+|[A-Za-z_]++)|\{{1,3}[^{}]{1,200}\}{1,3}"
    r"|%\([^()]{1,80}\)s|%[sdrv@]|%[A-Za-z_][A-Za-z0-9_]*+%|<[^<>]{1,80}>|\[[A-Za-z_-]++\]"
)
_MASK = r"[*•…]++|[xX]{3,}+|\.{2,}+|-{2,}+|_{2,}+|#{2,}+"
_EXAMPLE = (
    r"(?i:(?:your|my|the|some|an?|example|sample|dummy|fake|db|user|test)?[-_]?"
    r"(?:password|passwd|passphrase|pass|pwd|secret|token|key|credentials?|(?:api|access|auth)[-_]?(?:key|token))"
    r"(?:[-_]?(?:goes[-_]?)?here)?"
    r"|change[-_]?(?:me|it)|redacted|hidden|removed|filtered|masked|omitted|example|placeholder|x-oauth-basic"
    r"|postgres|root|admin|administrator|guest|user|username|test|mysql|minioadmin)"
)
_compiled = cache(re.compile)  # compiled on first use
_NOT_A_PASSWORD = f"(?:(?:{_REFERENCE})[-_.]?){{1,8}}|{_MASK}|{_EXAMPLE}"


class Userinfo(Struct, frozen=True):
    """The userinfo of a URL."""

    start: int
    user: int
    """The end of the user, which may be an address; its start if the user is a secret."""
    end: int
    """The offset after the at sign."""
    secrets: tuple[Hit, ...]


def may_contain_userinfo(data: bytes) -> bool:
    """Return whether JSON with unescaped letters may contain userinfo with a literal at sign."""
    return _may_follow(data, b"@", (b"://", b"\\/", b"u002")) and bool(_IN_JSON.search(data))


def may_have_userinfo(text: str) -> bool:
    """Return whether a text may contain userinfo; most texts with an at sign contain none."""
    is_escaped = ("\\" in text and "u0040" in text) or ("%" in text and ("3A" in text or "3a" in text))
    return is_escaped or _may_follow(text, "@", ("://", "\\/", "u002"))


def userinfos(text: str) -> Iterator[Userinfo]:
    """Yield userinfo that is certainly not an address: a user with a password, or a token."""
    for match in _compiled(_USERINFO).finditer(text):
        parts = _plain_parts(match) if match["info"] else _inner_parts(match)
        if user := _classify(text, *parts):
            yield user


# Starting at the sign is faster than searching for all slashes.
def _may_follow(text: AnyStr, sign: AnyStr, slashes: tuple[AnyStr, ...]) -> bool:
    """Return whether slashes precede a sign without white space between them."""
    floor, at = 0, text.find(sign)
    colon, escaped, encoded = slashes
    for _ in range(_FEW):
        if at < 0:
            return False
        near = text[max(floor, at - _NEAR) : at]
        if near and not near[-1:].isspace():
            word = near.rsplit(None, 1)[-1]
            if colon in word or escaped in word or encoded in word or len(word) == _NEAR:
                return True
        floor, at = at, text.find(sign, at + 1)
    return True


def passwords(text: str) -> list[Hit]:
    """Return the passwords and tokens in the userinfo of URLs; a ``Finder``."""
    infos = userinfos(text) if may_have_userinfo(text) else ()
    return [secret for info in infos for secret in info.secrets]


class _UrlPart(Struct, frozen=True):
    """A user or a password: its span and its decoded value."""

    start: int
    end: int
    value: str


def _plain_parts(match: re.Match[str]) -> tuple[_UrlPart, _UrlPart | None, int]:
    """Return the user, the optional password, and the end of the sign."""
    start, sign = match.start("info"), match.start("sign")
    text = match.string
    colon = text.find(":", start, sign)
    user = _UrlPart(start, sign if colon < 0 else colon, _value(text[start : sign if colon < 0 else colon]))
    return user, None if colon < 0 else _UrlPart(colon + 1, sign, _value(text[colon + 1 : sign])), match.end()


def _inner_parts(match: re.Match[str]) -> tuple[_UrlPart, _UrlPart | None, int]:
    """Return the parts of a URL within another one, like ``_plain_parts``."""
    start, sign, again = match.start("inner"), match.start("mark"), match["again"]
    text, times = match.string, 2 + len(again) // 2
    colon = _compiled(f":|%{again}3[aA]").search(text, start, sign)
    end = colon.start() if colon else sign
    user = _UrlPart(start, end, _value(text[start:end], times))
    return user, _UrlPart(colon.end(), sign, _value(text[colon.end() : sign], times)) if colon else None, match.end()


def _classify(text: str, user: _UrlPart, password: _UrlPart | None, end: int) -> Userinfo | None:
    """Classify userinfo, or return ``None`` if it may be an address or something else."""
    is_token = _is_token(user.value) and not (password is None and _is_public(text, user, end))
    if password is None:
        if not is_token and not _is_public(text, user, end):
            return None
    elif "." in user.value and _PORT.match(text, password.start, password.end):
        return None  # https://corp.com:80,jane@corp.com
    secret = [user] if is_token else []
    if password and password.value and not _is_no_password(password.value):
        secret.append(password)
    hits = tuple(Hit(part.start, part.end, _kind(part.value), RULE, part.value) for part in secret)
    return Userinfo(user.start, user.start if is_token else user.end, end, hits)


def _value(text: str, times: int = 1) -> str:
    """Decode JSON escapes, and percent-encoding the given number of times."""
    if "\\" in text:
        text = _JSON_ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    for _ in range(times if "%" in text else 0):
        text = unquote(text, errors="surrogateescape")
    return text


def _is_no_password(value: str) -> bool:
    """Return whether a password is only a reference, a mask, a pattern or an example."""
    return "***" in value or "[^" in value or bool(_compiled(_NOT_A_PASSWORD).fullmatch(value))


def _is_token(value: str) -> bool:
    """Return whether a user is a secret: a known shape, or a long mix of letters and digits."""
    if len(value) < _SHORTEST:
        return False
    if _kind(value) != "SECRET" or _UUID.fullmatch(value):
        return True
    return bool(_TOKEN.fullmatch(value)) and any(_is_mixed(match[0]) for match in _PART.finditer(value))


def _is_mixed(part: str) -> bool:
    return not part.isalpha() and not part.isdigit() and len(set(part)) > 6


def _is_public(text: str, user: _UrlPart, end: int) -> bool:
    """Return whether a user is a public key: 32 digits before a host and a project number."""
    return bool(_PUBLIC_KEY.fullmatch(user.value) and _PROJECT.match(text, end))


def _kind(value: str) -> str:
    """Return the kind of a secret, which depends only on its value."""
    from chatsquash.redaction.secrets import kind_of  # whose rules are rarely needed

    return kind_of(value)


# Percent-encoding


def percent_decoded(text: str, start: int, end: int) -> tuple[str, list[int]]:
    """Decode percent-encoding in a part of a text, and return it with the offsets of each character and of the end."""
    pieces: list[str] = []
    places: list[int] = []
    done = start
    for match in _BYTES.finditer(text, start, end):
        pieces.append(text[done : match.start()])
        places += range(done, match.start())
        for at, character in _characters(text, *match.span()):
            pieces.append(character)
            places.append(at)
        done = match.end()
    pieces.append(text[done:end])
    places += range(done, end + 1)
    return "".join(pieces), places


def _characters(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the characters of a run of percent-encoded UTF-8 with their offsets; an invalid byte is one character."""
    escapes = [(match.start(), int(match[1], 16)) for match in _BYTE.finditer(text, start, end)]
    data, at = bytes(code for _, code in escapes), 0
    while at < len(data):
        character = _character(data[at : at + _size(data[at])])
        yield escapes[at][0], character
        at += _size(data[at]) if character != "\ufffd" else 1


def _size(first: int) -> int:
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _character(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "\ufffd"
