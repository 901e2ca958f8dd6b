"""What the first objects of an agent's file say about the session that it belongs to, and the one that it repeats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.evidence import moment
from chatsquash.formats.values import Object, at, string

_BODIES: tuple[tuple[str, ...], ...] = (("message",), ("payload",), ("data",), ())
"""Where the objects of files have a message with a role; otherwise the object is one."""
_LISTS = ("messages", "history")
"""Members with the messages of a file that is a single object."""
_TIMES: tuple[tuple[str, ...], ...] = (("timestamp",), ("ts",), ("message", "timestamp"), ("time", "created"))
_IDS = ("uuid", "id")
_USERS = frozenset(("user", "user.message"))
"""Roles of messages, and types of objects, that are the user's."""
_SESSIONS: tuple[tuple[str, ...], ...] = (("sessionId",), ("session_id",), ("payload", "id"))
_HEADERS = ("session", "session_meta")
"""Types of objects whose id is that of the session."""
_PARENTS: tuple[tuple[str, ...], ...] = (
    ("forkedFrom", "sessionId"),
    ("payload", "forked_from_id"),
    ("parentSession",),
)
"""Where files of Claude Code, Qwen Code, Codex and Pi name the session that they repeat; the last is a path."""


class Ancestry(NamedTuple):
    """Where a file comes from."""

    keys: tuple[int, ...] = ()
    """Numbers of its first message: those with its time and with its id.  Copies of a session have one in common."""
    session: str = ""
    parents: tuple[str, ...] = ()
    """The ids of the sessions whose messages it may repeat, as it names them."""
    begun: int | None = None
    """The first time in it, in nanoseconds since the epoch, which in a copy may be later than its first message."""


def of_objects(objects: Iterable[Json]) -> Ancestry:
    """Return the ancestry by the first objects of a file, up to the first message of the user."""
    session, begun = "", None
    parents: dict[str, None] = {}
    for value in _first_level(objects):
        if begun is None and (time := _time(value)):
            begun = time
        name = _session(value)
        if name and value.get("type") in _HEADERS and session and name != session:
            parents[name] = None  # the lines of that session follow
        session = session or name
        parents.update(dict.fromkeys(_parents(value)))
        if keys := _keys(value):
            return Ancestry(keys, session, tuple(each for each in parents if each != session), begun)
    return Ancestry()


def _first_level(objects: Iterable[Json]) -> Iterator[Object]:
    """Yield the lines of a file, or the messages of its single object."""
    for value in objects:
        if not isinstance(value, dict):
            return
        yield value
        for name in _LISTS:
            if isinstance(inner := value.get(name), list):
                yield from (each for each in inner if isinstance(each, dict))


def _time(value: Object) -> int | None:
    times = (moment(at(value, *place)) for place in _TIMES)
    return next((time.at for time in times if time), None)


def _session(value: Object) -> str:
    names = (at(value, *place) for place in _SESSIONS)
    name = next((each for each in names if isinstance(each, str) and each), "")
    return name or (string(value, "id") if value.get("type") in _HEADERS else "")


def _parents(value: Object) -> Iterator[str]:
    if at(value, "payload", "history_base"):
        return  # a fork of Codex without copies
    for place in _PARENTS:
        name = at(value, *place)
        if isinstance(name, str) and name:
            file = name.replace("\\", "/").rpartition("/")[2]
            yield name if file == name else file.removesuffix(".jsonl").rpartition("_")[2]


def _keys(value: Object) -> tuple[int, ...]:
    """Return the numbers of a message of the user; none for any other object, and without a time and an id."""
    for place in _BODIES:
        body = at(value, *place)
        if isinstance(body, dict) and not _USERS.isdisjoint(map(str, (body.get("role"), value.get("type")))):
            content = body.get("content", body.get("parts", body.get("text")))
            said = jsonio.dumps(content)
            known = [_time(value), *(value.get(name) for name in _IDS)]
            return tuple(_number(said, index, each) for index, each in enumerate(known) if each)
    return ()


def _number(said: bytes, index: int, known: object) -> int:
    return xxh3_64_intdigest(b"%d %s\n%s" % (index, str(known).encode("utf-8", "surrogatepass"), said)) or 1
