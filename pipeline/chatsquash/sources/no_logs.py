"""The error for arguments that lead to no session log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from chatsquash.core.text import escape, frequent_kinds
from chatsquash.sources.compression import KINDS
from chatsquash.sources.find import Discovery
from chatsquash.sources.names import ARCHIVES, DOCUMENTS, LOGS

_NAMED = 5
"""Paths that the error names."""

_HINTS = {
    ".pb": "Antigravity encrypts its conversations (.pb): convert its transcripts, "
    "brain/*/.system_generated/logs/*.jsonl.",
}
"""What to read instead of files with these suffixes."""


def nothing_to_read(roots: list[str], discovered: Discovery, shown: Callable[[str], str] = str) -> str:
    """What was seen instead of session logs, and all that would be read; ``shown`` spells what was found."""
    others = Counter({shown(kind): count for kind, count in discovered.others.items()})
    beside = [", ".join(f"{count:,} {kind}" for kind, count in frequent_kinds(others))] if others else []
    beside += [f"{discovered.passed_over:,} passed over by options"] if discovered.passed_over else []
    seen = ", ".join(beside) or "no files"
    problems = "".join(f"; {escape(shown(each.file))} is {shown(each.text)}" for each in discovered.findings[:_NAMED])
    where = ", ".join([*roots[:_NAMED], *(["..."] if len(roots) > _NAMED else [])])
    said = f"{where}: no session logs to read; seen: {seen}{problems}."
    if discovered.passed_over:
        return f"{said} Widen --include, --exclude, --since or --until"
    hints = [hint for suffix, hint in _HINTS.items() if any(suffix in what for what in discovered.others)]
    return " ".join([said, *hints, what_is_read()])


def what_is_read() -> str:
    """The suffixes and the sources that are read."""
    from chatsquash.formats import documents  # which takes time to import

    return (
        f"chatsquash reads {' and '.join(LOGS)}; {', '.join(DOCUMENTS)} where it recognises the content; all of these "
        f"compressed ({', '.join(KINDS)}) and in archives ({', '.join(ARCHIVES)}); and any file that you name. "
        f"It recognises requests with responses, and files of {', '.join(documents.names())}: "
        "`chatsquash formats` says what these are, `chatsquash sources` what agents keep on this machine"
    )
