"""What is private in translated conversations, and in what is told of them, replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.redact import requests
from chatsquash.redact.hits import Value
from chatsquash.redact.placeholders import words
from chatsquash.redact.privacy import Privacy
from chatsquash.redact.pseudonyms import anonymizer

if TYPE_CHECKING:
    from chatsquash.translate.work import Done

_COUNTED = ("lost", "kept", "fitted", "passed_over", "options", "unlinked")


class Private:
    """Replaces what options ask for."""

    def __init__(self, options: Options) -> None:
        key = options.anonymize_key or b""
        self._anonymizer = anonymizer(options)
        self._redactor = requests.redactor(options, key)
        self._told = Privacy(options)
        self._found: set[Value] = set()
        """What was found in the documents of a piece."""

    def document(self, document: Json, name: str | None, counts: Counter[str]) -> tuple[Json, str | None]:
        """A document and the name of its session without what is private, which is counted by kind.

        What is found in one of them is replaced in both.  Raises ``UnsearchedError``.
        """
        if self._redactor:
            # A copy, since parts of it may be those of other documents.
            values = [jsonio.loads(jsonio.dumps(document)), [name or ""]]
            for (at, value), count in self._redactor.replace(values).items():
                self._found.add(value)
                counts[words(value.kind)] += count if at == 0 else 0
            document, name = values[0], name and values[1][0]
        if self._anonymizer:
            document = self._anonymizer.value(document)
            counts.update(words(hit.kind) for hit in self._anonymizer.passwords)
            self._anonymizer.passwords.clear()
            name = name and self._anonymizer.counted(name)[0]
        return document, name

    def told(self, done: Done, *, is_whole: bool) -> Done:
        """What came of a piece, with nothing private in what is told of it.

        A name goes without what is found in the documents where the piece is the whole file: all of it has one name.
        """
        also = self._redactor.remembered(sorted(self._found)) if self._redactor else None
        self._found.clear()

        def hide(text: str) -> str:
            return self._told.text(text, also)

        name = self._told.text(done.piece.name, also if is_whole else None)
        before, shown = done.piece.shown, hide(done.piece.shown)
        done.piece = replace(done.piece, shown=shown, name=name)

        def hide_all(text: str) -> str:
            return hide(text.replace(before, shown))

        for each in _COUNTED:
            setattr(done, each, _hidden(getattr(done, each), hide_all))
        done.bad_lines = list(map(hide_all, done.bad_lines))
        done.empty, done.refused, done.failure = hide_all(done.empty), hide_all(done.refused), hide_all(done.failure)
        return done


def _hidden(counts: Counter[str], hide: Callable[[str], str]) -> Counter[str]:
    hidden: Counter[str] = Counter()
    for text, count in counts.items():
        hidden[hide(text)] += count
    return hidden
