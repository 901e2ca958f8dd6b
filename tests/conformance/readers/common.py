"""What readers have in common: blocks as plain objects, members that only a provider knows, results without ids."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

Object = dict[str, Any]
EMPTY: tuple[Any, ...] = (None, "", [], {})
ERROR = "ERROR: "
UNPARSED = "INVALID_JSON"
SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_USUAL = {
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/mp3": "audio/mpeg",
}
_MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"BM": "image/bmp"}
_MAGIC |= {b"II*\x00": "image/tiff", b"MM\x00*": "image/tiff", b"RIFF": "image/webp"}
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?,(.*)", re.DOTALL)


def block(of: str, **fields: Any) -> Object:
    """A block with what it says."""
    told = {key: value for key, value in fields.items() if value is not None}
    return {
        "type": of,
        **{key: value for key, value in told.items() if key in ("arguments", "value") or value not in ("", {})},
    }


def text(said: Any, native: Object | None = None, **more: Any) -> list[Object]:
    """A text; none for an empty one."""
    return [block("text", text=said, native=native, **more)] if said else []


def turn(role: str, blocks: Iterable[Object], **more: Any) -> Object:
    """A turn."""
    held = {key: value for key, value in more.items() if value}
    return {"role": role, "blocks": list(blocks), **held}


def rest(provider: str, holder: Object, *read: str) -> Object:
    """What a holder has that is not read, by its provider."""
    left = {key: value for key, value in holder.items() if key not in read and value not in EMPTY}
    return {provider: left} if left else {}


def both(*natives: Object) -> Object:
    """What several say that only providers know."""
    found: Object = {}
    for native in natives:
        for provider, members in native.items():
            found[provider] = {**found.get(provider, {}), **members}
    return found


def usual(mime: str) -> str:
    """A media type by its usual name."""
    return _USUAL.get(mime, mime)


def linked(kind: str, url: str, **more: Any) -> Object:
    """A medium by its address, which may be its data."""
    if found := _DATA_URL.fullmatch(url):
        return block("media", kind=kind, **{**more, "mime": usual(found[1]), "data": found[2]})
    return block("media", kind=kind, url=url, **more)


def kind_of(mime: str) -> str:
    """What a medium is by its type."""
    family = mime.partition("/")[0]
    return family if family in ("image", "audio", "video") else "file"


def image_type(data: str) -> str:
    """The type of an image by its first bytes; empty for what is no image."""
    head = base64.b64decode(data)[:12]
    return next((mime for magic, mime in _MAGIC.items() if head.startswith(magic)), "")


def compact(value: Any) -> str:
    """JSON as text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def arguments(value: Any) -> str:
    """Arguments that are an object, or those that could not be one."""
    if isinstance(value, dict) and list(value) == [UNPARSED] and isinstance(value[UNPARSED], str):
        return str(value[UNPARSED])
    return "{}" if value is None else value if isinstance(value, str) else compact(value)


def output(value: Any) -> Object:
    """What a tool returned: a text, or JSON."""
    if value is None or isinstance(value, str):
        return {"content": text(value)}
    return {"content": text(compact(value)), "json": True}


class Links:
    """Finds the calls that results without an id answer: by name, else the first that is open."""

    def __init__(self) -> None:
        self.open: list[tuple[str, str]] = []
        self.count = 0
        self.said_last = False

    def next(self, *, by_assistant: bool) -> None:
        """Another turn: only the nearest calls of the assistant are open, whose turns in a row are one."""
        if by_assistant and not self.said_last:
            self.open = []
        self.said_last = by_assistant

    def call(self, logged: str | None, name: str) -> str:
        """The id of a call, which is made up where none was logged."""
        if not logged:
            self.count += 1
            logged = f"call_{self.count}"
        self.open.append((logged, name))
        return logged

    def answer(self, logged: str | None, name: str) -> str:
        """The id of the call that a result answers."""
        fitting = [each for each in self.open if each[0] == logged or (not logged and each[1] == name)]
        fitting = fitting or ([] if logged else self.open[:1])
        if fitting:
            self.open.remove(fitting[0])
            return fitting[0][0]
        return logged or ""


def merged(turns: Iterable[Object]) -> list[Object]:
    """Turns, those of results that follow each other as one."""
    found: list[Object] = []
    for each in turns:
        if each["role"] == "tool" and found and found[-1]["role"] == "tool":
            held = both(each.get("native", {}), found[-1].get("native", {}))
            found[-1] = turn("tool", [*found[-1]["blocks"], *each["blocks"]], native=held)
        else:
            found.append(each)
    return found


def runs(
    blocks: Iterable[Object], is_result: Callable[[Object], bool] = lambda block: block["type"] == "result"
) -> list[Object]:
    """What a user's turn says as turns: results first, with what stood before them behind."""
    held = list(blocks)
    first = next((at for at, each in enumerate(held) if is_result(each)), len(held))
    last = next((at for at in range(first, len(held)) if not is_result(held[at])), len(held))
    found: list[Object] = []
    for each in [*held[first:last], *held[:first], *held[last:]]:
        role = "tool" if is_result(each) else "user"
        if found and found[-1]["role"] == role:
            found[-1]["blocks"].append(each)
        else:
            found.append(turn(role, [each]))
    return found


def tools(document: Any) -> list[Object]:
    """The definitions of tools."""
    return list(document.get("tools", []))
