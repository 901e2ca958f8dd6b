"""What the logs of sessions hold, where they are still there: roles, sizes and times of each entry, and no texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from chatsquash.errors import ChatsquashError
from chatsquash.options import Options
from chatsquash.report.files.rejected import REJECTED
from chatsquash.report.files.replies import REPLIES
from chatsquash.report.page.data import Entries
from chatsquash.run.described import as_described
from chatsquash.run.inspect import inspect_as_json
from chatsquash.run.page.choose import Key
from chatsquash.run.result import Input, ResultFolder
from chatsquash.run.verify_logs import differences, spelled
from chatsquash.urls import is_remote

_LARGEST = 64 << 20
"""Bytes of a log that is read."""
_ALL = 512 << 20
"""Bytes of all logs that are read."""
_LAST, _OTHERS = 40, 20
"""Entries that are shown: the last ones, and others that are not in the record."""
_READING = ("cleaning", "reading", "bounds", "sessions")
"""The groups of options that say how a log was read."""
_ROLES = ("system", "user", "tool", "function", "A", "Ac", "At", "Act")
_ASK = "chatsquash inspect shows them"


def entries(result: ResultFolder, keys: Iterable[Key]) -> dict[Key, Entries]:
    """The entries of sessions; of those that cannot be told, why."""
    by_log: dict[str, list[str]] = defaultdict(list)
    for log, session in keys:
        by_log[log].append(session)
    traced, reasons = _traced(result, set(by_log)), _reasons(result, set(by_log))
    asked = Options(**as_described(result.options, _READING), anonymize=False)
    inputs, left = result.inputs(by_log), _ALL
    found: dict[Key, Entries] = {}
    for log, sessions in by_log.items():
        path, size, why = _readable(log, inputs[log], asked, left)
        told: dict[str, list[dict[str, Any]]] = {}
        if path:
            left -= size
            told, why = _inspected(path, asked, set(sessions))
        for session in sessions:
            rows = [_row(log, each, traced, reasons) for each in told.get(session, [])]
            kept = _kept(rows)
            found[log, session] = Entries(kept, len(rows) - len(kept), why or "The log does not hold this session.")
    return found


def _readable(log: str, inputs: list[Input], asked: Options, left: int) -> tuple[str, int, str]:
    """The path of a log that can be read, and its bytes; empty where it cannot, and why."""
    if is_remote(log):
        return "", 0, f"The log is in a store: {_ASK}."
    if not inputs or any(each.path_digest for each in inputs):
        return "", 0, f"The run does not tell the path of the log: {_ASK}."
    path = Path(spelled(log))
    if not path.is_file():
        return "", 0, "The log is not there any more, seen from this folder."
    size = path.stat().st_size
    if size > min(left, _LARGEST):
        return "", 0, f"The log is large: {_ASK}."
    if any(differences(log, [each.xxh3_128 for each in inputs], asked)):
        return "", 0, "The log is not what it was when it was converted."
    return str(path), size, ""


def _inspected(path: str, asked: Options, sessions: set[str]) -> tuple[dict[str, list[dict[str, Any]]], str]:
    """The entries of these sessions of a log."""
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        for told in inspect_as_json([path], asked):
            if told["session"] in sessions:
                found[told["session"]] = told["entries"]
            if len(found) == len(sessions):
                break
    except (ChatsquashError, OSError) as problem:
        return found, f"The log cannot be read ({problem})."
    return found, ""


def _row(
    log: str, told: dict[str, Any], traced: dict[tuple[str, int], str], reasons: dict[tuple[str, int], str]
) -> dict[str, Any]:
    line = told["line"]
    roles = " ".join(each if each.partition("*")[0] in _ROLES else "other" for each in told["roles"])
    reply = told["reply"] if told["reply"] in (None, *_ROLES) else "other"
    return {
        **told,
        "at": f"{log.rpartition('/')[2]}:{line}",
        "roles": roles,
        "reply": reply,
        "traced": traced.get((log, line)),
        "reason": reasons.get((log, line)),
    }


def _kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries that are shown: the last ones, and before them those that are not simply in the record."""
    first, last = rows[:-_LAST], rows[-_LAST:]
    others = [each for each in first if each["outcome"] != "superseded" or (each["traced"] or "carried") != "carried"]
    return [*others[:_OTHERS], *last]


def _traced(result: ResultFolder, logs: set[str]) -> dict[tuple[str, int], str]:
    """What became of the replies of logs, where that was traced."""
    return {
        (each["file"], each["line"]): " ".join(filter(None, (each["status"], each["why"])))
        for each in result.lines(REPLIES, "file", "line", "status", "why")
        if each["file"] in logs
    }


def _reasons(result: ResultFolder, logs: set[str]) -> dict[tuple[str, int], str]:
    """Why lines of logs could not be read."""
    return {
        (each["file"], each["line"]): each["reason"]
        for each in result.lines(REJECTED, "file", "line", "reason")
        if each["file"] in logs
    }
