"""Phrases by which a record is told that should not be trained on as it stands, as those that a client puts in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chatsquash.checks.registry import Fact, rule
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Violation
from chatsquash.core.text import pluralize, quote

_PLAIN = re.compile(r"[ !#-;=-\[\]-~]*")
"""Characters that stand in a record as they stand in a text: those of ASCII that print, but ``"``, ``<`` and ``\\``."""


@rule("warning")
def flagged_phrase(phrase: str, count: int, at: int) -> Fact:
    """Reported when a message contains a phrase of `--flag-phrase`; once per phrase.

    Case is ignored; content, reasoning and calls are searched. Blank phrases are ignored.
    """
    messages = pluralize(count, "message")
    return Fact(f"{quote(phrase)} stands in {messages}: see whether the record should be trained on", at)


class _Phrase(NamedTuple):
    given: str
    spellings: frozenset[str]
    """As a text may have it, also one with JSON in it, in no case."""
    core: bytes
    """What the bytes of a record must have, in lower case: the longest part that no JSON spells otherwise."""
    is_plain: bool
    """Whether that is all of it."""

    def is_in(self, turn: Json) -> bool:
        """Whether a message has it."""
        texts = chat.strings(turn) if self.is_plain else _with_json_strings(chat.strings(turn))
        return any(spelling in text for text in map(str.casefold, texts) for spelling in self.spellings)


class Phrases:
    """Looks for phrases in records; a blank one is none."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = [_phrase(given) for given in dict.fromkeys(phrases) if given.strip()]

    def violations_in(self, record: bytes) -> Iterator[Violation]:
        """What is found in a record, or in messages, as we write them; bytes tell for nearly all that it is nothing."""
        lower = record.lower() if self._phrases else b""
        if any(phrase.core in lower for phrase in self._phrases):
            yield from self.violations(jsonio.loads(record))

    def violations(self, record: Json) -> Iterator[Violation]:
        """What is found in a record of any preset, or in messages."""
        for phrase in self._phrases:
            if places := [at for at, turn in turns(record) if phrase.is_in(turn)]:
                yield flagged_phrase(phrase.given, len(places), places[0])


def turns(record: Json) -> list[tuple[int, Json]]:
    """The messages of a record of any preset with their indices; a system prompt beside them stands at the first."""
    if isinstance(record, list):
        return list(enumerate(record))
    said = record.get("messages", record.get("conversations"))
    aside = record.get("system") if "messages" not in record else None
    return [*([(0, aside)] if aside else []), *enumerate(said if isinstance(said, list) else [])]


def _phrase(given: str) -> _Phrase:
    spellings = frozenset({given.casefold(), json.dumps(given, ensure_ascii=False)[1:-1].casefold()})
    # Letters that only fold to ASCII ones, such as the long s, are no other case of these here.
    core = max(_PLAIN.findall(given), key=len)
    return _Phrase(given, spellings, core.lower().encode(), core == given)


def _with_json_strings(texts: Iterable[str]) -> Iterator[str]:
    """Texts, and what those hold that are JSON, as arguments are: JSON may spell any character as an escape."""
    for text in texts:
        yield text
        if text.startswith(("{", "[")):
            yield from chat.strings(jsonio.value(text))
