"""Values that users list: those that stay, those that are secrets, and those that an earlier run found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise

from chatsquash.core.errors import UsageError
from chatsquash.redact import patterns
from chatsquash.redact.forms import apart, texts
from chatsquash.redact.hits import Finder, Hit
from chatsquash.redact.known import values
from chatsquash.redact.placeholders import SHORTEST

__all__ = ["Listed", "Lists", "digest", "values", "written"]

_LONGEST = 1 << 12
"""Characters of a value that is found by its hash."""
_HASH, _PATTERN = "sha256:", "re:"
_HEX = re.compile(r"[0-9a-f]{64}")
_REMEMBERED = 4096
_TOKENS = (
    re.compile(r"[^\s\0\"'`<>]{6,}+"),
    re.compile(r"[^\s\0\"'`<>,;|(){}\[\]]{6,}+"),
    re.compile(r"[^\s\0\"'`<>,;|(){}\[\]=&?]{6,}+"),
    re.compile(r"[^\s\0\"'`<>,;|(){}\[\]=&?:@]{6,}+"),
    re.compile(r"[\w-]{6,}+"),
)
"""Words, by more and more of what may stand between them."""
_AT_ENDS = ".,;:!?\\"
_SIGNS = " \t+>|#*-"
_QUOTES = "\"'`"
_BLOCK = re.compile(r"-----BEGIN (?P<what>[A-Z0-9 ]{1,60}+)-----[^-]{1,4000}+-----END (?P=what)-----")
_USER = re.compile(r"://[^\s/:@]{0,100}+:(?P<password>[^\s/?#]{6,600}+)")


class Listed:
    r"""What a file lists: a value a line, plain, as ``re:...`` or ``sha256:...``; ``#`` begins a comment.

    White space around a value is no part of it, and ``\n`` in it is a break of the line, as in JSON.
    """

    def __init__(self, data: bytes | None, option: str) -> None:
        self.values: set[str] = set()
        self.hashes: set[str] = set()
        self.patterns: list[str] = []
        for number, line in enumerate(_text(data or b"", option).split("\n"), 1):
            self._add(line.strip(), f"{option}, line {number}")

    def _add(self, line: str, place: str) -> None:
        if not line or line.startswith("#"):
            return
        if line.startswith(_HASH):
            told = line.removeprefix(_HASH).strip().lower()
            if not _HEX.fullmatch(told):
                raise UsageError(f"{place}: is no SHA-256 of 64 hexadecimal digits")
            self.hashes.add(told)
        elif line.startswith(_PATTERN):
            regex = line.removeprefix(_PATTERN)
            if not regex:
                raise UsageError(f"{place}: the pattern is empty")
            patterns.refuse_pattern(regex, place)
            self.patterns.append(regex)
        else:
            self.values.add(line)

    def holds(self, value: str) -> bool:
        """Whether a value is listed in any way."""
        if value in self.values or (self.hashes and digest(value) in self.hashes):
            return True
        return any(patterns.is_all(regex, value) for regex in self.patterns)


class Lists:
    """What the lists of a run say of values: what is denied is not allowed."""

    def __init__(self, allow: bytes | None = None, deny: bytes | None = None, known: bytes | None = None) -> None:
        self._allow = Listed(allow, "--allow")
        self._secret = {"known": Listed(known, "--redact-known"), "deny": Listed(deny, "--deny")}
        told = {value: rule for rule, listed in self._secret.items() for value in listed.values}
        self._values = _finder(told)
        self.allows = lru_cache(maxsize=_REMEMBERED)(self._is_allowed)
        """Whether a value stays."""

    def found(self, text: str) -> list[Hit]:
        """The values that are secrets by a list, in every form; in order, none within another."""
        hits = self._values(text)
        told: dict[str, str] = {}
        for rule, listed in self._secret.items():
            for regex in listed.patterns:
                fitting = [(start, end, text[start:end]) for start, end in patterns.spans(regex, text)]
                hits += [Hit(start, end, _kind(value), rule, value) for start, end, value in fitting]
            if listed.patterns or listed.hashes:
                told |= dict.fromkeys(_in_any_form(text, listed), rule)
        return apart([*hits, *_finder(told)(text)])

    def _is_allowed(self, value: str) -> bool:
        return self._allow.holds(value) and not self._secret["deny"].holds(value)


def digest(value: str) -> str:
    """The SHA-256 of a value."""
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def written(hashes: Iterable[str]) -> bytes:
    """A list of the hashes of values, for ``--redact-known``."""
    lines = sorted(f"{_HASH}{each}\n" for each in set(hashes))
    return "".join(
        ["# SHA-256 of secrets that were found; whoever can guess one can test the guess.\n", *lines]
    ).encode()


def _finder(told: dict[str, str]) -> Finder:
    """Finds values, told with their rule; their kind is that of the rule whose shape they have."""
    if not told:
        return lambda text: []  # noqa: ARG005
    find = values({value: ("", rule) for value, rule in told.items()})
    return lambda text: [hit._replace(kind=_kind(hit.value)) for hit in find(text)]


def _kind(value: str) -> str:
    from chatsquash.redact.secrets import kind_of  # whose rules not every list needs

    return kind_of(value)


def _in_any_form(text: str, listed: Listed) -> Iterator[str]:
    """What fits a pattern or has a hash that is listed, in any form of a text."""
    for form in texts(text):
        for regex in listed.patterns:
            yield from (form[start:end] for start, end in patterns.spans(regex, form) if end - start >= SHORTEST)
        if listed.hashes:
            yield from (value for value in _candidates(form) if digest(value) in listed.hashes)


def _candidates(text: str) -> set[str]:
    """What is hashed of a text, in time linear in it.

    These are words between spaces, quotes, brackets, commas and so on, and between more and more other signs; all of a
    line, and what stands in it behind the first colon or equals sign; all between two quotes; blocks of keys; and the
    password of a URL.  A value that no such sign stands next to, or that is broken over more than two lines, is not
    found by its hash.
    """
    lines = text.splitlines()
    words = "\n".join([text, *_over_breaks(lines)])
    found = {word for pattern in _TOKENS for word in re.findall(pattern, words)}
    found |= {word.strip(_AT_ENDS) for word in found}
    for line in lines:
        found |= {line.strip(), *(line.partition(sign)[2].strip().rstrip(",;").strip(_QUOTES) for sign in "=:")}
    for quote in _QUOTES:
        found.update(text.split(quote))
    found |= {block[0] for block in _BLOCK.finditer(text)}
    found |= {user["password"].rpartition("@")[0] for user in _USER.finditer(text)}
    return {value for value in found if SHORTEST <= len(value) <= _LONGEST}


def _over_breaks(lines: list[str]) -> Iterator[str]:
    """The last word of each line with the first one of the next, with and without the sign of a diff before it."""
    for line, after in pairwise(lines):
        last, first = line[-_LONGEST:].split()[-1:], after[:_LONGEST].split()[:1]
        if last and first:
            yield last[0] + first[0]
            rest = after[:_LONGEST].lstrip(_SIGNS).split()[:1]
            yield from (last[0] + each for each in rest if each != first[0])


def _text(data: bytes, option: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{option}: the file is no UTF-8") from None
