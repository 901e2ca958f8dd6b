"""Phone numbers according to the numbering plans of all countries and the notations of some."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.redaction.encodings import UnescapedText
from chatsquash.redaction.forms import search_unescaped
from chatsquash.redaction.values import Finder, Hit

_BETWEEN = r"[ \t().\u00a0\u2000-\u200a\u202f\u2010-\u2015\u2212\u3000/-]"
_DIGIT = "[0-9]"
_NUMBER = rf"(?:{_BETWEEN}{{0,3}}+{_DIGIT}){{6,24}}+"
_WITH_CODE = re.compile(rf"(?:[+][(]?+|00{_BETWEEN}?)(?=[1-9]){_NUMBER}")
_LOCAL = re.compile(rf"\(?+{_DIGIT}{_NUMBER}")
_GROUP_END = re.compile(rf"(?<={_DIGIT})(?!{_DIGIT})")
_GROUPS = re.compile(rf"{_DIGIT}+")
_JOINED_BEFORE = frozenset("+./-_:#=~")
_PHONE_LABEL = re.compile(
    r"(?:phone|tel|fax|mobil|cell|call|whatsapp|sms|\bt|\bm)[\w.\"']{0,12}[\s:=\"'(]{0,4}\Z", re.IGNORECASE
)
_SIGNED_LINE = re.compile(r"\n[+@-]")
_SIGNED_NUMBER = re.compile(rf"{_DIGIT} -{_DIGIT}")
_FRACTION = re.compile(rf"[+]{_DIGIT}{{1,3}}\.{_DIGIT}{{5}}")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.?[0-9])")
"""An IPv4 address."""
_WIDE = {
    ord(wide): ord(wide) - 0xFEE0
    for wide in "\uff08\uff09\uff0b\uff0d\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19"
}
"""Full-width digits and signs."""
_NATIONAL = re.compile(
    r"(?<![\w.+/#=~-])(?:"
    r"(?:1[ .-])?(?:\([2-9][0-9]{2}\)[ .-]?|[2-9][0-9]{2}[./-])[2-9][0-9]{2}[ .-][0-9]{4}"  # North America
    r"|\((?:0[ ]?)?[1-9][1-9]\)[ ]?9[0-9]{4}[ -][0-9]{4}"  # Brazil
    r"|(?<![0-9] )(?:\(0[1-9][0-9]{0,4}\)[ .-]{0,2}"
    r"|(?:0[1-9][0-9]{0,4}|0 [1-9][0-9]{1,3}(?= ?/))(?: ?/ ?|[ .-]{1,2}|(?=\()))"
    r"(?:\([0-9]{2,4}\)|[0-9]{2,8}+)(?:[ .-]?[0-9]{2,8}+){0,4}"
    r")(?!\w)(?![.-]\w)(?! [0-9])"
)
"""National notations of North America, Brazil, the United Kingdom, Germany, France and Japan.

See www.nanpa.com, www.anatel.gov.br, www.ofcom.org.uk, www.bundesnetzagentur.de and DIN 5008, www.arcep.fr,
www.soumu.go.jp.
"""
_DIGIT_COUNTS = range(9, 14)
"""The possible numbers of digits if only the notation indicates a phone number."""
_OTHER_NUMBER = re.compile(
    r"(?<![a-z])(?:account|amount|article|batch|bestellung|bug|build|case|chapter|claim|code|commande|commit|contract|"
    r"customer|document|dur[e\u00e9]e|error|facture|hash|id|index|invoice|isbn|issn|issue|item|job|"
    r"kundennummer|lines?|lot|model|offset|order|page|pages|part|patent|pedido|policy|position|price|ranges?|rechnung|"
    r"record|ref|reference|revision|rfc|rows?|score|section|seed|serial|sku|steps?|ticket|times?|timings?|"
    r"tracking|version|vorgang|zeilen?)s?"
    r"(?: (?:no|nr|num|number|nummer|code|id)\b)?[.:#= \"']{0,4}\Z",
    re.IGNORECASE,
)
"""Labels of other numbers, up to the number."""
_BRAZIL = re.compile(r"\((?:0[ ]?)?[1-9][1-9]\)[ ]?9[0-9]{4}")
_PAIRS = re.compile(r"[0-9]{2}(?:([ .-])[0-9]{2})(?:\1[0-9]{2}){3}")
_BYTE_AFTER = re.compile(r" ?(?:[0-9][0-9a-fA-F]|[a-fA-F][0-9])(?![0-9A-Za-z])")
_BYTE_BEFORE = re.compile(r"(?<![0-9A-Za-z])(?:[0-9][0-9a-fA-F]|[a-fA-F][0-9]):? \Z|[0-9a-fA-F]{4}: \Z")
_LABEL = re.compile(
    r"(?:(?:phone|fone|tel[e\u00e9]fono|t[e\u00e9]l[e\u00e9]phone|telefax|m[o\u00f3][bv]il(?:e|fon|telefon)?|telefon[eo]?|"
    r"rufnummer|handy|cellulare|celular|whatsapp|msisdn|hotline|portable|(?<![a-z])(?:tel|t\u00e9l|fax|cell|sms|ph))"
    r"s?(?:[ _-]?(?:number|nummer|num[e\u00e9]ro|num|no|nr|home|work|private?|privat|[0-9]))?"
    r"|\u96fb\u8a71(?:\u756a\u53f7)?|\u643a\u5e2f(?:\u96fb\u8a71)?(?:\u756a\u53f7)?|\u30d5\u30a1\u30c3\u30af\u30b9|\uff34\uff25\uff2c"
    r"|\u7535\u8bdd|\u624b\u673a\u53f7?|\uc804\ud654(?:\ubc88\ud638)?|\ud734\ub300\ud3f0"  # Chinese, Korean
    r"|\u092b\u093c?\u094b\u0928|\u095e\u094b\u0928|\u092e\u094b\u092c\u093e\u0907\u0932|"  # Hindi
    r"\u0442\u0435\u043b(?:\u0435\u0444\u043e\u043d)?|"  # Russian
    r"(?<![a-z])(?:ll\u00e1ma(?:me|nos)|llama(?:me|nos)|chiama(?:mi|ci)|appelez(?:-(?:moi|nous))?|ligue|rufen? sie)"
    r"(?: (?:al|allo|au|para|unter|an))?|"
    r"(?<![a-z_.])(?:call(?:ed|ing)?|dial|ring|reach|text|contact)(?: (?:me|us|him|her|them|you|back))?"
    r"(?: (?:at|on|under|from))?|"
    r"(?<![a-z_.])(?:contact (?:no|nr|number)\b|(?:my|our|his|her|their) number is)|(?<![a-z])[tmf](?=[.:]))"
    r"(?:;[\w=,]{1,40}){0,3}(?:[. :=\uff1a>(\[\t\u3000|]|\\{0,8}[\"']){0,6}\Z",
    re.IGNORECASE,
)
"""A label or field name in several languages, up to its number."""
_LABEL_WINDOW = 48
_ROW, _TABLE = 1 << 10, 1 << 14
"""The maximum length of a row before a cell, and of the text before it that contains the header."""
_COLUMN = re.compile(
    r"(?:[\w ]{0,20}[_ ])?(?:phone|tel|telephone|mobile|cell|fax|telefon|mobil|handy|telefono|tel\u00e9fono|m\u00f3vil|"
    r"t\u00e9l\u00e9phone|portable|celular|whatsapp|\u96fb\u8a71\u756a\u53f7)(?:[_ ]?(?:number|no|nr|nummer|[0-9]))?",
    re.IGNORECASE,
)
_LABELLED_ONLY = ("ES", "IT", "IN", "BR", "AU", "CN", "NL", "PL", "RU", "KR")
"""The countries whose notations are also used for other numbers."""
_FICTIONAL = (
    "+447700900",
    "+441632960",
    "+44306999",
    "+3363998",
    "+3319900",
    "+3326191",
    "+3335301",
    "+3346571",
    "+3353649",
)
"""The ranges that Ofcom and ARCEP reserve for fiction, used in place of real numbers."""
_WINDOW, _MOST_DIGITS, _MOST_GROUPS = 24, 15, 5
_DATE = re.compile(r"(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.]|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d(?!\d)")


def phones(region: str | None) -> Finder:
    """Create a finder for phone numbers with a country code, or with a national notation or label.

    Numbers without a country code are searched for in several countries by default, or only in ``region``.

    Raises:
        UsageError: The library is not installed, or the region is unknown.
    """
    try:
        import phonenumbers
    except ModuleNotFoundError:
        hint = "pip install 'chatsquash[redact]'"
        raise UsageError(f"--redact phones requires the phonenumbers package: {hint}") from None
    if region is not None and region not in phonenumbers.SUPPORTED_REGIONS:
        raise UsageError(f"--phone-region {region}: unknown region; use two capital letters, for example DE")

    def search(reading: UnescapedText) -> Iterator[Hit]:
        text = reading.text if reading.text.isascii() else reading.text.translate(_WIDE)
        for start, end, regions in _candidates(text, region):
            candidate = text[start:end]
            if _ADDRESS.match(candidate):
                continue
            if number := _valid_in(phonenumbers, candidate, regions, is_labelled=_is_labelled(text, start)):
                length, value = number
                yield Hit(*reading.span(start, start + length), "PHONE", "phone", value)

    return lambda text: search_unescaped(text, search)


def _candidates(text: str, region: str | None) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
    """Yield candidates with the countries whose plan they may follow, or with ``None`` for that of the country code."""
    for match in _WITH_CODE.finditer(text):
        candidate = _without_date(match[0])
        if _has_code(text, match.start(), candidate) and not (
            candidate.startswith("00")
            and _OTHER_NUMBER.search(text, max(0, match.start() - _LABEL_WINDOW), match.start())
        ):
            yield match.start(), match.start() + len(candidate), (None,)
    for match in _LOCAL.finditer(text):
        candidate = _without_date(match[0])
        opening = len(candidate) - len(candidate.lstrip("(")) - candidate.count(")")
        start, candidate = match.start() + max(0, opening), candidate[max(0, opening) :]
        if region and _is_local(text, start, candidate):
            yield start, start + len(candidate), (region,)
        elif not region and _is_labelled(text, start):
            yield start, start + len(candidate), (*_regions(candidate), *_LABELLED_ONLY)
        elif not region:
            yield from _national(text, match.start(), match.end())


def _national(text: str, start: int, end: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield candidates in national notations, in text that only contains digits and separators."""
    for match in _NATIONAL.finditer(text, start, end):
        candidate = match[0]
        if sum(map(str.isdigit, candidate)) not in _DIGIT_COUNTS or _is_other_number(text, *match.span()):
            continue
        yield *match.span(), _regions(candidate)


def _is_other_number(text: str, start: int, end: int) -> bool:
    """Return whether digits are a date, bytes, or according to their label another number."""
    candidate = text[start:end]
    if _DATE.search(candidate) or _OTHER_NUMBER.search(text, max(0, start - _LABEL_WINDOW), start):
        return True
    return bool(_PAIRS.fullmatch(candidate)) and _is_among_bytes(text, start, end)


def _is_among_bytes(text: str, start: int, end: int) -> bool:
    """Return whether digits are bytes of a hex dump, with other bytes next to them."""
    return bool(_BYTE_AFTER.match(text, end) or _BYTE_BEFORE.search(text, max(0, start - 4), start))


def _regions(candidate: str) -> tuple[str, ...]:
    """Return the countries whose notation fits a number, the most likely one first."""
    if _BRAZIL.match(candidate):
        return ("BR",)
    if not candidate.lstrip("(").startswith("0"):
        return ("US",)
    if _PAIRS.fullmatch(candidate):
        return ("FR", "DE")
    if "-" in candidate:
        return ("JP", "GB", "DE", "FR")
    return ("GB", "FR", "DE", "JP") if candidate.isdigit() else ("GB", "DE", "JP", "FR")


def _is_labelled(text: str, start: int) -> bool:
    """Return whether a label, field name or column name identifies a phone number."""
    last = text[start - 1 : start]
    if (last.isalnum() and last.isascii()) or last in _JOINED_BEFORE - {":", "=", "."}:
        return False
    return bool(_LABEL.search(text, max(0, start - _LABEL_WINDOW), start)) or _is_in_column(text, start)


def _is_in_column(text: str, start: int) -> bool:
    """Return whether a number is in a phone column of comma-separated values with a header."""
    if text[start - 1 : start] not in (",", ";", "\t", '"', "\n"):
        return False
    low = max(0, start - _ROW)
    row = text.rfind("\n", low, start) + 1
    if row <= low:
        return False
    first = max(0, row - _TABLE)
    head = text.rfind("\n\n", first, row - 1) + 2 if "\n\n" in text[first : row - 1] else first
    names = text[head : text.find("\n", head)].split(sign := _separator(text[row:start]))
    column = text.count(sign, row, start)
    return column < len(names) and bool(_COLUMN.fullmatch(names[column].strip(' "\r')))


def _separator(row: str) -> str:
    return next((sign for sign in "\t;," if sign in row), ",")


def _without_date(candidate: str) -> str:
    """Cut a candidate at a date that follows."""
    date = _DATE.search(candidate, 7)
    return candidate[: date.start()] if date and not candidate[date.start() - 1].isdigit() else candidate


def _has_code(text: str, start: int, candidate: str) -> bool:
    """Return whether the context and grouping of a candidate with a country code fit a phone number."""
    last, groups = text[start - 1 : start], _GROUPS.findall(candidate)
    if (last.isalnum() and last.isascii()) or last in _JOINED_BEFORE - {":", "="}:
        return False
    is_called_phone = bool(_PHONE_LABEL.search(text[max(0, start - _WINDOW) : start]))
    if candidate.startswith("00") and all(len(group) == 2 for group in groups):
        return False  # a dump of bytes
    if _FRACTION.match(candidate) or _SIGNED_NUMBER.search(candidate):
        return is_called_phone
    if len(groups) == 1 and last in ("", "\n") and not is_called_phone:
        return not _is_in_diff(text, start)
    return True


def _is_in_diff(text: str, start: int) -> bool:
    """Return whether a line starts with a sign because it is part of a diff."""
    before = text.rfind("\n", 0, max(0, start - 1))
    after = text.find("\n", start)
    return bool(_SIGNED_LINE.match(text, max(0, before)) or (after >= 0 and _SIGNED_LINE.match(text, after)))


def _is_local(text: str, start: int, candidate: str) -> bool:
    """Return whether a candidate without a country code is grouped or labeled like a phone number."""
    last = text[start - 1 : start]
    if last.isalnum() or last in _JOINED_BEFORE - {":", "="}:
        return False
    if _PHONE_LABEL.search(text[max(0, start - _WINDOW) : start]):
        return True
    groups = _GROUPS.findall(candidate)
    return 2 <= len(groups) <= _MOST_GROUPS and candidate.count(".") < 2 and not _DATE.match(candidate)


def _valid_in(
    library: Any, candidate: str, regions: tuple[str | None, ...], *, is_labelled: bool
) -> tuple[int, str] | None:
    """Return the length and value of the valid number in a candidate, for the first country that has it."""
    # A labeled number with a country code need not be in an assigned range, because the library may be outdated.
    is_sure = is_labelled and regions == (None,)
    return next((number for region in regions if (number := _valid(library, candidate, region, is_sure=is_sure))), None)


def _valid(library: Any, text: str, region: str | None, *, is_sure: bool) -> tuple[int, str] | None:
    """Return the length and value of the longest valid number at the start of a candidate."""
    for end in reversed([match.start() for match in _GROUP_END.finditer(text)]):
        digits = sum(map(str.isdigit, text[:end]))
        if digits > _MOST_DIGITS + 2:
            continue
        if digits < 7:
            return None
        candidate = text[:end] if region else re.sub(r"\A00", "+", text[:end])
        try:
            number = library.parse(candidate, region)
        except library.NumberParseException:
            continue
        value = library.format_number(number, library.PhoneNumberFormat.E164)
        may_be_unassigned = is_sure or value.startswith(_FICTIONAL)
        if library.is_valid_number(number) or (may_be_unassigned and library.is_possible_number(number)):
            return end, value
    return None
