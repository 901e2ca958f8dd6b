"""Phone numbers, as the numbering plans of all countries have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.redact.encodings import UnescapedText
from chatsquash.redact.forms import unescaped
from chatsquash.redact.hits import Finder, Hit

_BETWEEN = r"[ \t().\u00a0\u2000-\u200a\u202f\u2010-\u2015\u2212\u3000\uff08\uff09\uff0d/-]"
_DIGIT = r"[0-9\uff10-\uff19]"
_NUMBER = rf"(?:{_BETWEEN}{{0,3}}+{_DIGIT}){{6,24}}+"
_WITH_CODE = re.compile(rf"(?:[+\uff0b][(\uff08]?+|00{_BETWEEN}?)(?=[1-9\uff11-\uff19]){_NUMBER}")
_LOCAL = re.compile(rf"\(?+{_DIGIT}{_NUMBER}")
_GROUP_END = re.compile(rf"(?<={_DIGIT})(?!{_DIGIT})")
_GROUPS = re.compile(rf"{_DIGIT}+")
_LEFT = frozenset("+./-_:#=~")
_SAYS = re.compile(
    r"(?:phone|tel|fax|mobil|cell|call|whatsapp|sms|\bt|\bm)[\w.\"']{0,12}[\s:=\"'(]{0,4}\Z", re.IGNORECASE
)
_SIGNED_LINE = re.compile(r"\n[+@-]")
_FRACTION = re.compile(rf"[+\uff0b]{_DIGIT}{{1,3}}\.{_DIGIT}{{5}}")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?![0-9])")
"""Of a machine."""
_WINDOW, _MOST_DIGITS, _MOST_GROUPS = 24, 15, 5
_DATE = re.compile(r"(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.]|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d(?!\d)")


def phones(region: str | None) -> Finder:
    """Finds phone numbers with a country code, and with a region those of that country without one, too.

    Raises ``UsageError`` without the library, and for an unknown region.
    """
    try:
        import phonenumbers
    except ModuleNotFoundError:
        hint = "pip install 'chatsquash[redact]'"
        raise UsageError(f"--redact phones: needs the library phonenumbers; {hint}") from None
    if region is not None and region not in phonenumbers.SUPPORTED_REGIONS:
        raise UsageError(f"--phone-region {region}: not known; write two capital letters, as in DE")

    def search(reading: UnescapedText) -> Iterator[Hit]:
        for start, end, is_local in _candidates(reading.text, region):
            spelled = reading.text[start:end]
            if _ADDRESS.match(spelled):
                continue
            if number := _valid(phonenumbers, spelled, region if is_local else None):
                length, value = number
                yield Hit(*reading.span(start, start + length), "PHONE", "phone", value)

    return lambda text: unescaped(text, search)


def _candidates(text: str, region: str | None) -> Iterator[tuple[int, int, bool]]:
    """What may be a number, with whether it has no country code."""
    for match in _WITH_CODE.finditer(text):
        spelled = _without_date(match[0])
        if _has_code(text, match.start(), spelled):
            yield match.start(), match.start() + len(spelled), False
    for match in _LOCAL.finditer(text) if region else ():
        spelled = _without_date(match[0])
        opening = len(spelled) - len(spelled.lstrip("(")) - spelled.count(")")
        start, spelled = match.start() + max(0, opening), spelled[max(0, opening) :]
        if _is_local(text, start, spelled):
            yield start, start + len(spelled), True


def _without_date(spelled: str) -> str:
    """What looks like a number up to the date behind it."""
    date = _DATE.search(spelled, 7)
    return spelled[: date.start()] if date and not spelled[date.start() - 1].isdigit() else spelled


def _has_code(text: str, start: int, spelled: str) -> bool:
    """Whether what looks like a number with a country code stands and is grouped as one."""
    last, groups = text[start - 1 : start], _GROUPS.findall(spelled)
    if (last.isalnum() and last.isascii()) or last in _LEFT - {":", "="}:
        return False
    says = bool(_SAYS.search(text[max(0, start - _WINDOW) : start]))
    if spelled.startswith("00") and all(len(group) == 2 for group in groups):
        return False  # bytes as digits
    if _FRACTION.match(spelled):
        return says
    if len(groups) == 1 and last in ("", "\n") and not says:
        return not _is_in_diff(text, start)
    return True


def _is_in_diff(text: str, start: int) -> bool:
    """Whether a line begins with a sign because the lines around it do."""
    before = text.rfind("\n", 0, max(0, start - 1))
    after = text.find("\n", start)
    return bool(_SIGNED_LINE.match(text, max(0, before)) or (after >= 0 and _SIGNED_LINE.match(text, after)))


def _is_local(text: str, start: int, spelled: str) -> bool:
    """Whether what looks like a number without a country code is grouped as one, or is said to be one."""
    last = text[start - 1 : start]
    if last.isalnum() or last in _LEFT - {":", "="}:
        return False
    if _SAYS.search(text[max(0, start - _WINDOW) : start]):
        return True
    groups = _GROUPS.findall(spelled)
    return 2 <= len(groups) <= _MOST_GROUPS and spelled.count(".") < 2 and not _DATE.match(spelled)


def _valid(library: Any, spelled: str, region: str | None) -> tuple[int, str] | None:
    """How much of what looks like a number is one by the plan of its country, with that number; the longest."""
    for end in reversed([match.start() for match in _GROUP_END.finditer(spelled)]):
        digits = sum(map(str.isdigit, spelled[:end]))
        if digits > _MOST_DIGITS + 2:
            continue
        if digits < 7:
            return None
        written = spelled[:end] if region else re.sub(r"\A00", "+", spelled[:end])
        try:
            number = library.parse(written, region)
        except library.NumberParseException:
            continue
        if library.is_valid_number(number):
            return end, library.format_number(number, library.PhoneNumberFormat.E164)
    return None
