"""What is told beside records, such as names and paths, with pseudonyms and placeholders as records have them."""

from __future__ import annotations

import hmac
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from chatsquash.errors import UsageError
from chatsquash.model import Json
from chatsquash.options import Options
from chatsquash.redact import asked
from chatsquash.redact.addresses import FILE_ENDINGS
from chatsquash.redact.hits import Finder
from chatsquash.redact.pseudonyms import anonymizer
from chatsquash.redact.redactor import UnsearchedError

_PATH_PURPOSE = "path:"
_LISTS = ("redact_names", "redact_known", "allow", "deny")
"""Options whose values are private."""
_GIVEN = "given"
_AHEAD = 1 << 17
"""Characters of a long text that are searched together with what stands before them."""


def hidden_path(path: str, hide: Callable[[str], str]) -> str:
    """A path with nothing private in it; with the ending of a file behind it, no address in it would be one."""
    named, endings = path, ""
    while (parts := named.rpartition("."))[0] and _is_ending(parts[2]):
        named, endings = parts[0], f".{parts[2]}{endings}"
    return hide(named) + endings


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
        self._redactor = asked.redactor(options, key)

    @property
    def hides(self) -> bool:
        """Whether it replaces anything at all."""
        return bool(self._anonymizer or self._redactor)

    def text(self, text: str, also: Finder | None = None) -> str:
        """A text with nothing private in it; nothing is left of one that cannot be searched."""
        told = text
        try:
            told = self._redactor.text(told, also) if self._redactor else told
        except UnsearchedError:
            told = ""
        told = self._anonymizer.counted(told)[0] if self._anonymizer else told
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
        """Options as ``run.json`` and the card hold them; of lists of private values only that they were given."""
        lists = {name: _GIVEN for name in _LISTS if described.get(name) is not None}
        return {**described, **{name: self.value(each) for name, each in described.items()}, **lists}

    def digest(self, path: str) -> str:
        """As ``path_digest``, with the key of the run."""
        return path_digest(self._key or b"", path)

    def pieces(self, pieces: Iterable[bytes], also: Finder | None = None) -> Iterator[bytes]:
        """Bytes with nothing private in them, which come in pieces; no more is kept than what may go on."""
        decoder, rest = getincrementaldecoder("utf-8")("surrogateescape"), ""
        for piece in pieces:
            rest += decoder.decode(piece)
            if len(rest) >= 2 * _AHEAD and (cut := self._cut(rest, also)):
                yield self._encoded(rest[:cut], also)
                rest = rest[cut:]
        yield self._encoded(rest + decoder.decode(b"", final=True), also)

    def _cut(self, text: str, also: Finder | None) -> int:
        """Where a text may be cut in two without anything being found in neither; 0: nowhere yet."""
        cut = len(text) - _AHEAD
        hits = self._redactor.hits(text) if self._redactor else []
        hits += also(text) if also else []
        for hit in sorted(hits, reverse=True):
            cut = hit.start if hit.start < cut < hit.end else cut
        # An address has no white space in it, so a cut behind some goes through none.
        space = max(text.rfind(" ", 0, cut), text.rfind("\n", 0, cut), text.rfind('"', 0, cut))
        free = space + 1 if space >= cut - _AHEAD // 2 else cut
        return free if all(not hit.start < free < hit.end for hit in hits) else cut

    def _encoded(self, text: str, also: Finder | None) -> bytes:
        return self.text(text, also).encode("utf-8", "surrogateescape")
