"""Search records for phrases that make them unsuitable for training, such as text inserted by a client."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from msgspec import Struct

from chatsquash.checks.registry import Fact, rule
from chatsquash.core import chat, jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json, Violation
from chatsquash.core.text import pluralize, quote

_PLAIN = lazy_compile(r"[ !#-;=-\[\]-~]*")
"""Characters that JSON and markup never escape: printable ASCII other than ``"``, ``<`` and ``\\``."""


@rule("warning")
def flagged_phrase(phrase: str, count: int, at: int) -> Fact:
    """Reported when a message contains a phrase given with `--flag-phrase`; reported once per phrase.

    Content, reasoning and calls are searched, ignoring case. Blank phrases are ignored.
    """
    messages = pluralize(count, "message")
    return Fact(f"{quote(phrase)} is in {messages}: check whether to train on the record", at)


class _Phrase(Struct, frozen=True):
    text: str
    spellings: frozenset[str]
    """Its casefolded spellings in text, or in JSON within text."""
    core: bytes
    """Its longest part that is never escaped, in lower-case bytes, which a matching record must contain."""
    is_plain: bool
    """Whether ``core`` is the entire phrase."""
    foldings: list[tuple[bytes, bytes]]
    """The characters other than ASCII that may match a part of ``core``, each with its casefolding."""

    def may_be_in(self, text: bytes) -> bool:
        """Return whether lower-case text in UTF-8 may contain the phrase."""
        for char, folding in self.foldings:
            if char[:1] in text:  # a single byte is found much faster than several
                text = text.replace(char, folding)
        return self.core in text

    def is_in(self, turn: Json) -> bool:
        """Return whether a message contains the phrase."""
        texts = chat.strings(turn) if self.is_plain else _with_json_strings(chat.strings(turn))
        return any(spelling in text for text in map(str.casefold, texts) for spelling in self.spellings)


class Phrases:
    """Searches records for phrases; blank phrases are ignored."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = [_phrase(phrase) for phrase in dict.fromkeys(phrases) if phrase.strip()]

    def violations_in(self, record: bytes) -> list[Violation]:
        """Return violations in the bytes of a record or of messages; most are ruled out without parsing."""
        return list(self.violations(jsonio.loads(record))) if self.may_be_in([record]) else []

    def may_be_in(self, messages: Iterable[bytes]) -> bool:
        """Return whether any JSON of messages may contain a phrase."""
        for piece in messages if self._phrases else ():
            lower = piece.lower()
            for phrase in self._phrases:
                if phrase.core in lower:
                    return True
        return False

    def may_match(self, encoded: bytes) -> bool:
        """Return whether a record, as encoded by ``jsonio``, may have any violations."""
        if not self._phrases:
            return False
        lower = encoded.lower()
        if any(phrase.may_be_in(lower) for phrase in self._phrases):
            return True
        # Texts that are JSON may contain further escapes.
        return not all(phrase.is_plain for phrase in self._phrases) and rb"\\" in encoded

    def violations(self, record: Json) -> Iterator[Violation]:
        """Yield violations in a record of any preset, or in messages."""
        for phrase in self._phrases:
            if places := [at for at, turn in turns(record) if phrase.is_in(turn)]:
                yield flagged_phrase(phrase.text, len(places), places[0])


def turns(record: Json) -> list[tuple[int, Json]]:
    """Return the messages of a record in any preset, with their indices; a separate system prompt has index 0."""
    if isinstance(record, list):
        return list(enumerate(record))
    messages = record.get("messages", record.get("conversations"))
    aside = record.get("system") if "messages" not in record else None
    return [*([(0, aside)] if aside else []), *enumerate(messages if isinstance(messages, list) else [])]


def _phrase(text: str) -> _Phrase:
    spellings = frozenset({text.casefold(), json.dumps(text, ensure_ascii=False)[1:-1].casefold()})
    # Letters that casefold to ASCII letters, such as the long s, do not match those letters.
    core = max(_PLAIN.findall(text), key=len)
    lower = core.lower()
    foldings = [(char.encode(), char.casefold()) for char in _FOLDING_TO_ASCII]
    parts = [(char, folding.encode()) for char, folding in foldings if _may_overlap(folding, lower)]
    return _Phrase(text, spellings, lower.encode(), core == text, parts)


_FOLDING_TO_ASCII = "ßİŉſǰẖẗẘẙẚẞ\u212aﬀﬁﬂﬃﬄﬅﬆ"
"""The characters other than ASCII whose casefolding contains ASCII."""


def _may_overlap(folding: str, core: str) -> bool:
    """Return whether a text that contains ``core`` may have at least a part of ``folding`` in its place."""
    if folding in core or core in folding:
        return True
    return any(core.startswith(folding[at:]) or core.endswith(folding[:at]) for at in range(1, len(folding)))


def _with_json_strings(texts: Iterable[str]) -> Iterator[str]:
    """Yield texts, and the strings in texts that are JSON."""
    for text in texts:
        yield text
        # In arguments, for example, any character may be escaped.
        if text.startswith(("{", "[")):
            yield from chat.strings(jsonio.value(text))
