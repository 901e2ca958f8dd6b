"""Locate the beginning of a rollout that continues another file; forks are stored without their parents' lines."""

from __future__ import annotations

from glob import escape

from chatsquash.core.model import Json
from chatsquash.formats.base import Continuation
from chatsquash.formats.values import at, is_plain_name

Earlier = list[list[Json]] | None
"""The lines of the files in which a session begins, oldest file first; ``None`` if a file was not found."""

_DAY = ("[0-9]" * 4, "[0-9]" * 2, "[0-9]" * 2)
"""Globs for the folder names of a year, a month and a day."""


def continues_from(path: str, values: list[Json]) -> Continuation | None:
    """Return the location of a session's beginning, or ``None`` if it is in this file."""
    header = next((each for each in values if at(each, "type") == "session_meta"), None)  # unknown lines may precede it
    base = at(header, "payload", "history_base")
    thread, end = at(base, "thread_id"), at(base, "end_ordinal_exclusive")
    if not isinstance(base, dict):
        return None
    # The beginning cannot be located, but is known to be in another file.
    if not is_plain_name(thread) or type(end) is not int:
        return Continuation((), 0, _ordinal)
    name = f"rollout-*-{thread}.jsonl*"
    folder = path.rpartition("/")[0]
    return Continuation(tuple(f"{each}/{name}" for each in _folders(folder)), end, _ordinal, thread)


def _folders(folder: str) -> list[str]:
    """Return globs for the folders to search: the same folder, the folders of other days, and the archive."""
    parts = folder.split("/")
    is_dated = len(parts) > len(_DAY) and all(part.isdigit() for part in parts[-len(_DAY) :])
    root = escape("/".join(parts[: -len(_DAY)]) if is_dated else folder)
    folders = [escape(folder), *(["/".join((root, *_DAY))] if is_dated else [])]
    above, _, last = root.rpartition("/")
    others = {"sessions": f"{above}/archived_sessions", "archived_sessions": "/".join((above, "sessions", *_DAY))}
    return [*folders, *([others[last]] if last in others else [])]


def _ordinal(line: Json, place: int, thread: str) -> int | None:
    """Return the number of a line in its session, or ``None`` for the header of another session."""
    if place == 0:
        return 0 if at(line, "payload", "id") == thread else None
    ordinal = at(line, "ordinal")
    return ordinal if type(ordinal) is int else place
