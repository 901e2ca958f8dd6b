"""What the dataset of a run lacks and why, as the last line of its summary says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from chatsquash.core.text import pluralize

_UNREADABLE = ("bad-line", "bad-entry")
"""The findings of which each is a line that could not be read."""
_NOT_READ = {
    "cut-short": ("the rest of ", "log"),
    "archive-member": ("", "archive member"),
    "cut-archive": ("the rest of ", "archive"),
    "unreadable-archive": ("", "archive"),
}
"""Errors about what was not read, and is no session that was left out; what each is one of."""


class Lack(NamedTuple):
    """What is missing, and why."""

    what: str
    """With its number."""
    why: Mapping[str, int]
    """The codes of the findings that say why, with their numbers."""

    def __str__(self) -> str:
        """As the last line of a summary says it."""
        return f"{self.what}{_reasons(self.why)}"


def lacks(counts: Mapping[str, Any]) -> list[Lack]:
    """What was left out, by the counts of ``run.json``; what filters took out was asked for, and is not missing."""
    return list(_lacks(counts))


def _lacks(counts: Mapping[str, Any]) -> Iterator[Lack]:
    sessions, unreadable = counts["sessions"]["left_out"], counts["lines"]["unreadable"]
    if sessions:
        yield Lack(pluralize(sum(sessions.values()), "session"), sessions)
    if unreadable:
        yield Lack(pluralize(unreadable, "line"), {code: _errors(counts, code) for code in _UNREADABLE})
    for code, (of, one) in _NOT_READ.items():
        if found := _errors(counts, code):
            yield Lack(f"{of}{pluralize(found, one)}", {code: found})


def last_line(counts: Mapping[str, Any]) -> str:
    """What was left out and why, and the command that explains it; empty where every session was written.

    Where no record is left, it names the filters, too.
    """
    missing = lacks(counts)
    said = [f"left out: {', '.join(map(str, missing))}"] if missing else []
    sessions = counts["sessions"]
    if sessions["seen"] and not counts["conversations"]["written"]:
        filtered = sessions["filtered"]
        aside = [f"filtered: {pluralize(sum(filtered.values()), 'session')}{_reasons(filtered)}"] if filtered else []
        said = ["no record was written", *said, *aside]
    code = explained(missing)
    return "; ".join(said) + (f": chatsquash explain {code}" if code else "")


def explained(missing: list[Lack]) -> str:
    """The code of the finding that the last line explains: the most frequent one of what it names first."""
    return next((code for lack in missing for code in _most_first(lack.why)), "")


def _errors(counts: Mapping[str, Any], code: str) -> int:
    found = (counts[where].get("error", {}).get(code, 0) for where in ("findings", "filtered_findings"))
    return sum(found)


def _most_first(why: Mapping[str, int]) -> list[str]:
    return sorted((code for code, count in why.items() if code and count), key=lambda code: (-why[code], code))


def _reasons(why: Mapping[str, int]) -> str:
    """Codes in brackets; their numbers stand there where they differ from that of all."""
    codes = _most_first(why)
    told = codes if len(codes) == 1 else [f"{why[code]:,} {code}" for code in codes]
    return f" ({', '.join(told)})" if told else ""
