"""Phone numbers, as the numbering plans of all countries and the notations of a few of them have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.redaction.encodings import UnescapedText
from chatsquash.redaction.forms import unescaped
from chatsquash.redaction.hits import Finder, Hit

_BETWEEN = r"[ \t().\u00a0\u2000-\u200a\u202f\u2010-\u2015\u2212\u3000/-]"
_DIGIT = "[0-9]"
_NUMBER = rf"(?:{_BETWEEN}{{0,3}}+{_DIGIT}){{6,24}}+"
_WITH_CODE = re.compile(rf"(?:[+][(]?+|00{_BETWEEN}?)(?=[1-9]){_NUMBER}")
_LOCAL = re.compile(rf"\(?+{_DIGIT}{_NUMBER}")
_GROUP_END = re.compile(rf"(?<={_DIGIT})(?!{_DIGIT})")
_GROUPS = re.compile(rf"{_DIGIT}+")
_LEFT = frozenset("+./-_:#=~")
_SAYS = re.compile(
    r"(?:phone|tel|fax|mobil|cell|call|whatsapp|sms|\bt|\bm)[\w.\"']{0,12}[\s:=\"'(]{0,4}\Z", re.IGNORECASE
)
_SIGNED_LINE = re.compile(r"\n[+@-]")
_SIGNED_NUMBER = re.compile(rf"{_DIGIT} -{_DIGIT}")
_FRACTION = re.compile(rf"[+]{_DIGIT}{{1,3}}\.{_DIGIT}{{5}}")
_ADDRESS = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}(?!\.?[0-9])")
"""Of a machine."""
_WIDE = {
    ord(wide): ord(wide) - 0xFEE0
    for wide in "\uff08\uff09\uff0b\uff0d\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff19"
}
"""The digits and signs of numbers in their wide forms."""
_NATIONAL = re.compile(
    r"(?<![\w.+/#=~-])(?:"
    r"(?:1[ .-])?(?:\([2-9][0-9]{2}\)[ .-]?|[2-9][0-9]{2}[./-])[2-9][0-9]{2}[ .-][0-9]{4}"  # North America
    r"|\((?:0[ ]?)?[1-9][1-9]\)[ ]?9[0-9]{4}[ -][0-9]{4}"  # Brazil
    r"|(?<![0-9] )(?:\(0[1-9][0-9]{0,4}\)[ .-]{0,2}"
    r"|(?:0[1-9][0-9]{0,4}|0 [1-9][0-9]{1,3}(?= ?/))(?: ?/ ?|[ .-]{1,2}|(?=\()))"
    r"(?:\([0-9]{2,4}\)|[0-9]{2,8}+)(?:[ .-]?[0-9]{2,8}+){0,4}"
    r")(?!\w)(?![.-]\w)(?! [0-9])"
)
"""Numbers as the plans of North America, Brazil, the United Kingdom, Germany, France and Japan write them.

See www.nanpa.com, www.anatel.gov.br, www.ofcom.org.uk, www.bundesnetzagentur.de and DIN 5008, www.arcep.fr,
www.soumu.go.jp."""
_DIGIT_COUNTS = range(9, 14)
"""Digits of a number that only its notation shows."""
_OTHER_NUMBER = re.compile(
    r"(?<![a-z])(?:account|amount|article|batch|bestellung|bug|build|case|chapter|claim|code|commande|commit|contract|"
    r"customer|document|dur[e\u00e9]e|error|facture|hash|id|index|invoice|isbn|issn|issue|item|job|"
    r"kundennummer|lines?|lot|model|offset|order|page|pages|part|patent|pedido|policy|position|price|ranges?|rechnung|"
    r"record|ref|reference|revision|rfc|rows?|score|section|seed|serial|sku|steps?|ticket|times?|timings?|"
    r"tracking|version|vorgang|zeilen?)s?"
    r"(?: (?:no|nr|num|number|nummer|code|id)\b)?[.:#= \"']{0,4}\Z",
    re.IGNORECASE,
)
"""What other numbers are called, up to one of them."""
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
"""A label, or the name of a field, in a few languages, up to its number."""
_LABEL_WINDOW = 48
_ROW, _TABLE = 1 << 10, 1 << 14
"""Characters of a line before a cell, and those of the lines before it with the names of the columns."""
_COLUMN = re.compile(
    r"(?:[\w ]{0,20}[_ ])?(?:phone|tel|telephone|mobile|cell|fax|telefon|mobil|handy|telefono|tel\u00e9fono|m\u00f3vil|"
    r"t\u00e9l\u00e9phone|portable|celular|whatsapp|\u96fb\u8a71\u756a\u53f7)(?:[_ ]?(?:number|no|nr|nummer|[0-9]))?",
    re.IGNORECASE,
)
_LABELLED_ONLY = ("ES", "IT", "IN", "BR", "AU", "CN", "NL", "PL", "RU", "KR")
"""Countries whose notations other numbers have, too."""
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
"""Numbers that Ofcom and ARCEP reserve for fiction, which people write where a real one would be."""
_WINDOW, _MOST_DIGITS, _MOST_GROUPS = 24, 15, 5
_DATE = re.compile(r"(?:19|20)\d\d[-/.](?:0?[1-9]|1[0-2])[-/.]|\d{1,2}[-/.]\d{1,2}[-/.](?:19|20)\d\d(?!\d)")


def phones(region: str | None) -> Finder:
    """Finds phone numbers with a country code, and those without one where their notation or a label shows it.

    Those without one are of a few countries by default, and with a region of that country only.  Raises
    ``UsageError`` without the library, and for an unknown region.
    """
    try:
        import phonenumbers
    except ModuleNotFoundError:
        hint = "pip install 'chatsquash[redact]'"
        raise UsageError(f"--redact phones: needs the library phonenumbers; {hint}") from None
    if region is not None and region not in phonenumbers.SUPPORTED_REGIONS:
        raise UsageError(f"--phone-region {region}: not known; write two capital letters, as in DE")

    def search(reading: UnescapedText) -> Iterator[Hit]:
        text = reading.text if reading.text.isascii() else reading.text.translate(_WIDE)
        for start, end, regions in _candidates(text, region):
            spelled = text[start:end]
            if _ADDRESS.match(spelled):
                continue
            if number := _valid_in(phonenumbers, spelled, regions, is_labelled=_is_labelled(text, start)):
                length, value = number
                yield Hit(*reading.span(start, start + length), "PHONE", "phone", value)

    return lambda text: unescaped(text, search)


def _candidates(text: str, region: str | None) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
    """What may be a number, with the countries whose plan it may follow: ``None`` for that of its country code."""
    for match in _WITH_CODE.finditer(text):
        spelled = _without_date(match[0])
        if _has_code(text, match.start(), spelled) and not (
            spelled.startswith("00")
            and _OTHER_NUMBER.search(text, max(0, match.start() - _LABEL_WINDOW), match.start())
        ):
            yield match.start(), match.start() + len(spelled), (None,)
    for match in _LOCAL.finditer(text):
        spelled = _without_date(match[0])
        opening = len(spelled) - len(spelled.lstrip("(")) - spelled.count(")")
        start, spelled = match.start() + max(0, opening), spelled[max(0, opening) :]
        if region and _is_local(text, start, spelled):
            yield start, start + len(spelled), (region,)
        elif not region and _is_labelled(text, start):
            yield start, start + len(spelled), (*_regions(spelled), *_LABELLED_ONLY)
        elif not region:
            yield from _national(text, match.start(), match.end())


def _national(text: str, start: int, end: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """What is written as numbers of a few countries are, in text that has only digits and what may be between them."""
    for match in _NATIONAL.finditer(text, start, end):
        spelled = match[0]
        if sum(map(str.isdigit, spelled)) not in _DIGIT_COUNTS or _is_other_number(text, *match.span()):
            continue
        yield *match.span(), _regions(spelled)


def _is_other_number(text: str, start: int, end: int) -> bool:
    """Whether digits are a date, bytes, or what the word before them says."""
    spelled = text[start:end]
    if _DATE.search(spelled) or _OTHER_NUMBER.search(text, max(0, start - _LABEL_WINDOW), start):
        return True
    return bool(_PAIRS.fullmatch(spelled)) and _is_among_bytes(text, start, end)


def _is_among_bytes(text: str, start: int, end: int) -> bool:
    """Whether digits are bytes of a dump: other ones are next to them."""
    return bool(_BYTE_AFTER.match(text, end) or _BYTE_BEFORE.search(text, max(0, start - 4), start))


def _regions(spelled: str) -> tuple[str, ...]:
    """The countries whose notation a number has, the likeliest first."""
    if _BRAZIL.match(spelled):
        return ("BR",)
    if not spelled.lstrip("(").startswith("0"):
        return ("US",)
    if _PAIRS.fullmatch(spelled):
        return ("FR", "DE")
    if "-" in spelled:
        return ("JP", "GB", "DE", "FR")
    return ("GB", "FR", "DE", "JP") if spelled.isdigit() else ("GB", "DE", "JP", "FR")


def _is_labelled(text: str, start: int) -> bool:
    """Whether a label, or the name of a field or a column says that a number follows."""
    last = text[start - 1 : start]
    if (last.isalnum() and last.isascii()) or last in _LEFT - {":", "=", "."}:
        return False
    return bool(_LABEL.search(text, max(0, start - _LABEL_WINDOW), start)) or _is_in_column(text, start)


def _is_in_column(text: str, start: int) -> bool:
    """Whether a number is a cell of comma-separated values whose first line calls its column one of numbers."""
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
    if _FRACTION.match(spelled) or _SIGNED_NUMBER.search(spelled):
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


def _valid_in(
    library: Any, spelled: str, regions: tuple[str | None, ...], *, is_labelled: bool
) -> tuple[int, str] | None:
    """How much of what looks like a number is one in the first country that has it, with that number.

    One with a label and a country code need not be in a range that the country has assigned: the library's are older.
    """
    is_sure = is_labelled and regions == (None,)
    return next((number for region in regions if (number := _valid(library, spelled, region, is_sure=is_sure))), None)


def _valid(library: Any, spelled: str, region: str | None, *, is_sure: bool) -> tuple[int, str] | None:
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
        value = library.format_number(number, library.PhoneNumberFormat.E164)
        may_be_unassigned = is_sure or value.startswith(_FICTIONAL)
        if library.is_valid_number(number) or (may_be_unassigned and library.is_possible_number(number)):
            return end, value
    return None
