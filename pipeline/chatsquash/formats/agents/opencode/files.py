"""The tree of files that older versions kept: a session, its messages, and their parts, each in a file of its own."""

from __future__ import annotations

import re
from glob import escape

from chatsquash.core.model import Json, Origin
from chatsquash.core.outcome import EACH
from chatsquash.formats.agents.opencode.rows import order
from chatsquash.formats.evidence import Unread
from chatsquash.formats.values import Object, at, is_plain_name, string

_SESSION = re.compile(r"(ses_[0-9A-Za-z]{1,100})\.json")
_PART = re.compile(r"(?:.*/)?storage/(?:message/ses_[^/]+/msg_|part/msg_[^/]+/prt_)[^/]+\.json", re.DOTALL)


def is_session(value: Json) -> bool:
    """Whether a value is the file of a session."""
    is_named = string(value, "id").startswith("ses_") and isinstance(at(value, "time"), dict)
    return is_named and isinstance(value["id"], str) and isinstance(value.get("projectID"), str)


def beside(name: str) -> str | None:
    """Globs for the messages of a session, in a folder of its name, and for their parts, in folders of theirs."""
    found = _SESSION.fullmatch(name)
    return f"../../message/{found[1]}/msg_*.json{EACH}../../part/{EACH}/prt_*.json" if found else None


def home(path: str, origin: Origin) -> str | None:
    """The session that began a sub-agent lies beside its own."""
    folder, _, name = path.rpartition("/")
    is_known = _SESSION.fullmatch(name) and is_plain_name(origin.parent)
    return f"{escape(folder)}/{origin.parent}.json" if is_known else None


def owner(path: str) -> str | None:
    """The folder with the sessions, of one of which a file holds a message or a part."""
    path = path.replace("\\", "/")
    return f"{path[: path.rindex('storage/')]}storage/session" if _PART.fullmatch(path) else None


def joined(session: Object, held: Json, unread: Unread) -> Object:
    """A session as its export; ``held`` are its messages and their parts in any order."""
    messages, parts = list[Object](), dict[str, list[Object]]()
    for value in held if isinstance(held, list) else []:
        if isinstance(value, dict) and isinstance(value.get("role"), str):
            messages.append(value)
        elif isinstance(value, dict) and isinstance(value.get("messageID"), str):
            parts.setdefault(value["messageID"], []).append(value)
        else:
            unread.one("file beside it that cannot be read")
    messages.sort(key=lambda each: (order(_created(each)), order(string(each, "id"))))
    for each in parts.values():
        each.sort(key=lambda part: string(part, "id").encode("utf-8", "surrogatepass"))
    taken = [{"info": each, "parts": parts.pop(string(each, "id"), [])} for each in messages]
    for left in parts.values():
        for _ in left:
            unread.one("part of a message that is not there")
    return {"info": session, "messages": taken}


def _created(message: Object) -> Json:
    value = at(message, "time", "created")
    return value if isinstance(value, int | float | str) else None
