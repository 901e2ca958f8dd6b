"""The error for arguments that contain no session log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from chatsquash.core.errors import NothingToReadError
from chatsquash.core.text import escape, frequent_kinds
from chatsquash.sources.find import Discovery
from chatsquash.sources.names import LOGS

_MAX_PATHS = 5
"""The maximum number of paths and findings in the error."""

_HINTS = {
    ".pb": "Antigravity encrypts its conversations (.pb): convert its transcripts, "
    "brain/*/.system_generated/logs/*.jsonl",
}
"""Hints on what to convert instead of files with these suffixes."""
READ = f"{', '.join(LOGS)} and files of agents and clients (chatsquash formats) are supported, including in archives"
NEXT = "pass the path of a file to read it regardless of its suffix; chatsquash sources lists agents' files"


def nothing_to_read(roots: list[str], discovery: Discovery, display: Callable[[str], str] = str) -> NothingToReadError:
    """Return the error with the skipped files, the supported files and the next step, one per line.

    ``display`` formats names and messages.
    """
    others = Counter({display(kind): count for kind, count in discovery.others.items()})
    counts = [", ".join(f"{count:,} {kind}" for kind, count in frequent_kinds(others))] if others else []
    counts += [f"{discovery.passed_over:,} excluded by options"] if discovery.passed_over else []
    seen = ", ".join(counts) or "no files"
    problems = "".join(f"; {display(each.file)} is {display(each.text)}" for each in discovery.findings[:_MAX_PATHS])
    where = ", ".join([*roots[:_MAX_PATHS], *(["..."] if len(roots) > _MAX_PATHS else [])])
    message = escape(f"{where}: no session logs to read; found: {seen}{problems}")
    if discovery.passed_over:
        return NothingToReadError(f"{message}\nwiden --include, --exclude, --since or --until")
    hints = [hint for suffix, hint in _HINTS.items() if any(suffix in what for what in discovery.others)]
    return NothingToReadError("\n".join([message, *(hints or [READ]), NEXT]))
