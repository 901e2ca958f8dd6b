"""Detect the session of an agent's file, and the parent session whose messages it repeats, from its first objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.evidence import moment
from chatsquash.formats.values import Object, at, objects, string

_BODIES = ("message", "payload", "data", "info")
"""Members that may contain the message of an object; otherwise the object itself is the message."""
_LISTS = ("messages", "history")
"""Members that contain the messages if the file is a single object."""
_USERS = ("user", "user.message")
"""The roles and types of the user's messages."""
_IDS = ("uuid", "id")
LONG_ID = 16
"""The minimum length of a call id that is assumed to be unique across sessions."""


class Ancestry(NamedTuple):
    """The origin of a file."""

    keys: tuple[int, ...] = ()
    """Hashes of its first message, combined with its time, with its id, or else with the id of a later call.
    Copies of a session share at least one hash."""
    session: str = ""
    parents: tuple[str, ...] = ()
    """The ids of the sessions whose messages it may repeat, as written in the file."""
    started: int | None = None
    """The first time in the file, in nanoseconds since the epoch; in a copy, it may be later than the first message."""
    summary: str = ""
    """The id of its first message if that is a compaction summary, which occurs later in the parent."""


def of_objects(values: Iterable[Json]) -> Ancestry:
    """Return the ancestry of a file from its objects up to the first user message.

    If the file begins with a summary, the lines up to the first reply are also checked for the parent.
    """
    session, started, summary = "", None, ""
    parents: dict[str, None] = {}
    keys: tuple[int, ...] = ()
    prompt: bytes | None = None
    for value in _first_level(values):
        if started is None:
            started = _time(value)
        name, is_header = _session(value)
        if is_header and session and name and name != session:
            parents[name] = None  # a second header precedes the lines copied from that session
        session = session or name
        if parent := _parent(value):
            parents[parent] = None
        if summary and value.get("type") == "assistant":
            break  # no line after the first reply identifies the parent
        if not keys and (keys := _keys(value)):
            if value.get("isCompactSummary") is not True:
                break
            summary = string(value, "uuid")
        elif not keys and prompt is None:
            prompt = _content(value) if _is_prompt(value) else None
        elif not keys and prompt is not None and (call := _call_id(value)):
            # Without a time and an id, the prompts would be equal in unrelated sessions.
            keys = (_number(prompt, len(_IDS) + 1, call),)
            break
    return (
        Ancestry(keys, session, tuple(each for each in parents if each != session), started, summary)
        if keys
        else Ancestry()
    )


def _first_level(values: Iterable[Json]) -> Iterator[Object]:
    """Yield the lines of a file, or the messages of its single object."""
    for value in values:
        if not isinstance(value, dict):
            return
        yield value
        for name in _LISTS:
            if isinstance(inner := value.get(name), list):
                yield from (each for each in inner if isinstance(each, dict))


def _time(value: Object) -> int | None:
    inner = at(value, "message", "timestamp"), at(value, "info", "time", "created"), at(value, "time", "created")
    for each in (value.get("timestamp"), value.get("ts"), *inner):
        if each is not None and (time := moment(each)):
            return time.at
    return None


def _session(value: Object) -> tuple[str, bool]:
    """Return the id of the session, and whether the object is its header."""
    match value.get("type"):
        case "session_meta":
            return string(value.get("payload"), "id"), True
        case "session":
            return string(value, "id"), True
    return string(value, "sessionId") or string(value, "session_id"), False


def _parent(value: Object) -> str:
    """Return the id of the parent session in a line of Claude Code, Qwen Code, Codex or Pi."""
    if "requestSessionId" in value:
        return string(value, "requestSessionId")
    if "forkedFrom" in value:
        return string(value["forkedFrom"], "sessionId")
    if "parentSession" in value:
        # Pi stores the path of the parent's file, whose name ends with the session id.
        file = string(value, "parentSession").replace("\\", "/").rpartition("/")[2]
        return file.removesuffix(".jsonl").rpartition("_")[2]
    payload = value.get("payload")
    if isinstance(payload, dict) and "forked_from_id" in payload and not payload.get("history_base"):
        return string(payload, "forked_from_id")
    return ""


def _keys(value: Object) -> tuple[int, ...]:
    """Return the hashes of a user message; empty for other objects, and for messages with neither time nor id."""
    if not _is_prompt(value):
        return ()
    content = _content(value)
    known = [_time(value), *(value.get(name) for name in _IDS)]
    return tuple(_number(content, index, each) for index, each in enumerate(known) if each)


def _body(value: Object) -> Object:
    return next((inner for name in _BODIES if isinstance(inner := value.get(name), dict)), value)


def _is_prompt(value: Object) -> bool:
    return _body(value).get("role") in _USERS or value.get("type") in _USERS


def _content(value: Object) -> bytes:
    body = _body(value)
    return jsonio.dumps(body.get("content", body.get("parts", body.get("text"))))


def _call_id(value: Object) -> str:
    """Return the id of a reply's first call if it is long enough to be unique; otherwise an empty string."""
    body = _body(value)
    calls = objects(body.get("toolCalls", body.get("tool_calls")))
    name = string(calls[0], "id") if calls else ""
    return name if len(name) >= LONG_ID else ""


def _number(content: bytes, index: int, known: object) -> int:
    # ``Index`` does not accept zero as a key.
    return xxh3_64_intdigest(b"%d %s\n%s" % (index, str(known).encode("utf-8", "surrogatepass"), content)) or 1
