"""What is told beside records, such as names and paths, with pseudonyms and placeholders as records have them."""

from __future__ import annotations

import hmac
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.redact import requests
from chatsquash.redact.addresses import FILE_ENDINGS
from chatsquash.redact.forms import apart
from chatsquash.redact.hits import Finder, Hit
from chatsquash.redact.pseudonyms import Anonymizer, anonymizer
from chatsquash.redact.redactor import UnsearchedError

_PATH_PURPOSE = "path:"
_LISTS = ("redact_names", "redact_known", "allow", "deny", "write_known")
"""Options whose values are private."""
_GIVEN = "given"
_AHEAD, _NEAR = 1 << 17, 1 << 12
"""Characters of a long text that are searched together with what stands before them, and those in which it is cut."""


def without_addresses(path: str, anonymizer: Anonymizer) -> str:
    """A path, or a text that ends with one; with the ending of a file behind it, no address would be one."""
    named, endings = path, ""
    while (parts := named.rpartition("."))[0] and _is_ending(parts[2]):
        named, endings = parts[0], f".{parts[2]}{endings}"
    return str(anonymizer.counted(named)[0]) + endings


def _is_ending(label: str) -> bool:
    """Whether a last part of a name is none of a domain's."""
    return label.lower() in FILE_ENDINGS or (label.isalnum() and not label.isalpha())


def path_digest(key: bytes, path: str) -> str:
    """Tells paths apart that are not told; nobody without the key can test a guess."""
    return hmac.digest(key, f"{_PATH_PURPOSE}{path}".encode("utf-8", "surrogatepass"), "sha256").hex()[:32]


class Told:
    """Replaces in texts what the options of a run have replaced in records.

    Without a key it replaces nothing, and raises ``UsageError`` for a text in which it would.
    """

    def __init__(self, options: Options) -> None:
        self._key = options.anonymize_key
        key = self._key or b""
        self._anonymizer = anonymizer(options)
        self._redactor = requests.redactor(options, key)

    @property
    def hides(self) -> bool:
        """Whether it replaces anything at all."""
        return bool(self._anonymizer or self._redactor)

    def text(self, text: str, also: Finder | None = None) -> str:
        """A text without what is private and what ``also`` finds; nothing is left of one that cannot be searched."""
        try:
            told = self._redactor.text(text, also) if self._redactor else text
        except UnsearchedError:
            told = ""
        told = without_addresses(told, self._anonymizer) if self._anonymizer else told
        if told != text and self._key is None:
            hint = "name the key of the run with --anonymize-key-file"
            raise UsageError(f"a path or an option holds what is to be replaced, which needs a key; {hint}")
        return told

    def value(self, value: Json) -> Json:
        """A value with nothing private in its texts."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(key): self.value(member) for key, member in value.items()}
        return list(map(self.value, value)) if isinstance(value, list) else value

    def options(self, described: dict[str, object]) -> dict[str, Any]:
        """Options as ``run.json`` and the card hold them; of private values only that they were given."""
        told = {name: self.value(each) for name, each in described.items()}
        lists = {name: _GIVEN for name in _LISTS if described.get(name) is not None}
        patterns: Any = described.get("redact_pattern", ())
        names = [f"{each.partition('=')[0]}={_GIVEN}" for each in patterns]
        return {**told, **lists, **({"redact_pattern": names} if names else {})}

    def digest(self, path: str) -> str:
        """As ``path_digest``, with the key of the run."""
        return path_digest(self._key or b"", path)

    def pieces(self, pieces: Iterable[bytes], also: Finder | None = None) -> Iterator[bytes]:
        """Bytes with nothing private in them, which come in pieces; no more is kept than what may go on."""
        decoder, rest, known = getincrementaldecoder("utf-8")("surrogateescape"), "", list[Hit]()
        for piece in pieces:
            rest += decoder.decode(piece)
            if len(rest) >= 2 * _AHEAD:
                hits = self._hits(rest, also, known)
                cut = _cut(rest, hits)
                yield self._encoded(rest[:cut], [hit for hit in hits if hit.end <= cut])
                # What is found is known by what stood before it, which is gone then.
                known = [hit._replace(start=hit.start - cut, end=hit.end - cut) for hit in hits if hit.start >= cut]
                rest = rest[cut:]
        rest += decoder.decode(b"", final=True)
        yield self._encoded(rest, self._hits(rest, also, known))

    def _hits(self, text: str, also: Finder | None, known: list[Hit]) -> list[Hit]:
        return apart([*known, *self._redactor.found(text, also)]) if self._redactor else []

    def _encoded(self, text: str, hits: list[Hit]) -> bytes:
        told = self._redactor.put(text, hits) if self._redactor else text
        told = self._anonymizer.counted(told)[0] if self._anonymizer else told
        return told.encode("utf-8", "surrogateescape")


def _cut(text: str, hits: list[Hit]) -> int:
    """Where a text may be cut in two, so that neither a hit nor an address, which has no white space, is cut."""
    cut = len(text) - _AHEAD
    space = max(text.rfind(each, cut - _NEAR, cut) for each in ' \n"') + 1
    for place in (space, cut) if space else (cut,):
        crossed = [hit for hit in hits if hit.start < place < hit.end]
        if not crossed:
            return place
    return crossed[0].end
