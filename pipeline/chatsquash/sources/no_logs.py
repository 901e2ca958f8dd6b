"""The error for arguments that lead to no session log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from chatsquash.core.errors import NothingToReadError
from chatsquash.core.text import escape, frequent_kinds
from chatsquash.sources.find import Discovery
from chatsquash.sources.names import LOGS

_NAMED = 5
"""Paths that the error names."""

_HINTS = {
    ".pb": "Antigravity encrypts its conversations (.pb): convert its transcripts, "
    "brain/*/.system_generated/logs/*.jsonl",
}
"""What to read instead of files with these suffixes."""
READ = f"read are {' and '.join(LOGS)}, and the files of agents and clients (chatsquash formats), also in archives"
NEXT = "name a file to read it whatever its suffix; chatsquash sources lists what agents keep on this machine"


def nothing_to_read(roots: list[str], discovered: Discovery, shown: Callable[[str], str] = str) -> NothingToReadError:
    """The error with what was seen instead of session logs, what is read, and what to do, on a line each.

    ``shown`` spells what was found.
    """
    others = Counter({shown(kind): count for kind, count in discovered.others.items()})
    beside = [", ".join(f"{count:,} {kind}" for kind, count in frequent_kinds(others))] if others else []
    beside += [f"{discovered.passed_over:,} passed over by options"] if discovered.passed_over else []
    seen = ", ".join(beside) or "no files"
    problems = "".join(f"; {shown(each.file)} is {shown(each.text)}" for each in discovered.findings[:_NAMED])
    where = ", ".join([*roots[:_NAMED], *(["..."] if len(roots) > _NAMED else [])])
    said = escape(f"{where}: no session logs to read; seen: {seen}{problems}")
    if discovered.passed_over:
        return NothingToReadError(f"{said}\nwiden --include, --exclude, --since or --until")
    hints = [hint for suffix, hint in _HINTS.items() if any(suffix in what for what in discovered.others)]
    return NothingToReadError("\n".join([said, *(hints or [READ]), NEXT]))
