"""What is noted about one session on its way through the stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from chatsquash.checks import reading
from chatsquash.model import Finding, Found, Rejected, Seen, WrongType


class Ledger(Struct):
    """Counts and facts of one session; every line that is read is counted here exactly once at the end."""

    stem: str
    """The file's name without its suffix, the session's name where the log gives none."""
    lines: int = 0
    blank: int = 0
    rejected: list[Rejected] = field(default_factory=list)
    cleaned: int = 0
    """Entries that cleaning dropped whole."""
    size: int = 0
    """Bytes of all lines, with their line feeds."""
    blank_size: int = 0
    rejected_size: int = 0
    cleaned_size: int = 0
    session_id: str | None = None
    loaded: bool = False
    """Whether any line was loaded from a format that needs it, so that messages may carry something privately."""
    seen: Seen | None = None
    """What the log's first lines told; ``None`` for an empty reading."""
    document: Any = None
    """The document that it is a conversation of, if that is so, as ``read.documents`` has it."""
    ended: str | None = None
    """Why the rest of the log was not read."""
    without_tools: str = ""
    """The log's format, where files of that hold no tools and the record has none."""
    invalid: bool = False
    """Validation failed and the session is to be left out."""
    images: dict[str, bytes] = field(default_factory=dict)
    """The images that the record names."""
    facts: list[tuple[int | None, Found]] = field(default_factory=list)
    _once: dict[tuple[str, ...], tuple[int, int]] = field(default_factory=dict)

    def forget(self) -> None:
        """Begin anew: what was noted came of a wrong guess."""
        fresh = Ledger(self.stem)
        for name in self.__struct_fields__:
            setattr(self, name, getattr(fresh, name))

    def note(self, found: Found, line: int | None = None) -> None:
        """A fact, and the line it was met at."""
        self.facts.append((line, found))

    def refuse(self, found: Found, line: int) -> None:
        """A fact for which there is no record: the last one, once, also where a check has noted it."""
        self.facts = [*(fact for fact in self.facts if fact != (line, found)), (line, found)]

    def reject(self, rejected: Rejected, size: int) -> None:
        """A line that could not be read, and its bytes with the line feed."""
        self.rejected.append(rejected)
        self.rejected_size += size
        make = reading.bad_line if rejected.code == "bad-line" else reading.bad_entry
        self.note(make(rejected.reason), rejected.line)

    def count(self, line: int, *key: str) -> None:
        """Something that is reported once per session, at its first line, with a count."""
        first, times = self._once.get(key, (line, 0))
        self._once[key] = (first, times + 1)

    def clean(self, size: int) -> None:
        """An entry that cleaning drops whole, and the bytes of its line."""
        self.cleaned += 1
        self.cleaned_size += size

    def wrong(self, line: int, wrong: WrongType) -> None:
        """A member of the wrong type, which counts as missing."""
        self.count(line, "wrong-type", wrong.what, wrong.seen)

    def findings(self, file: str) -> list[Finding]:
        """Everything noted, in the order of the lines as far as they are known."""
        counted = [(first, _counted(key, times)) for key, (first, times) in self._once.items()]
        facts = sorted([*self.facts, *counted], key=lambda fact: fact[0] or 0)
        name = self.session_id or self.stem
        return [Finding(f.code, f.severity, name, file, line, f.at, f.text) for line, f in facts]


_MAKERS: dict[str, Callable[..., Found]] = {
    "missing-session-id": reading.missing_session_id,
    "missing-timestamp": reading.missing_timestamp,
    "equal-timestamps": reading.equal_timestamps,
    "naive-timestamp": reading.naive_timestamp,
    "missing-history": reading.missing_history,
    "hosted-tools": reading.hosted_tools,
    "mixed-formats": reading.mixed_formats,
    "wrong-type": reading.wrong_type,
}


def _counted(key: tuple[str, ...], times: int) -> Found:
    code, *values = key
    return _MAKERS[code](*values, times)
