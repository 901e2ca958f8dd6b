"""The parts of Gemini's contents, read one by one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from chatsquash.formats import parts
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import Object, listed, without
from chatsquash.model import Json

_NAMES = """blockReason boolValue citationMetadata createTime displayName fileData fileUri finishReason functionCall
functionDeclarations functionResponse groundingMetadata inlineData jsonPath mimeType modelVersion nullValue numberValue
parametersJsonSchema partMetadata partialArgs promptFeedback responseId stringValue thoughtSignature
urlContextMetadata usageMetadata willContinue"""
_CAMEL = {re.sub("(?=[A-Z])", "_", name).lower(): name for name in _NAMES.split()}
_SNAKE = frozenset(_CAMEL)
KINDS: dict[str, type] = {
    "text": str,
    "inlineData": dict,
    "fileData": dict,
    "functionCall": dict,
    "functionResponse": dict,
}
_AUDIO = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
WAS_SYSTEM = {"role": "system"}
"""The metadata of parts that are a system message among the contents, where Gemini has no role for it."""
_MIMES = {
    **{name: f"image/{name}" for name in ("bmp", "gif", "heic", "heif", "jpeg", "png", "webp")},
    "jpg": "image/jpeg",
    "csv": "text/csv",
    "htm": "text/html",
    "html": "text/html",
    "mp3": "audio/mp3",
    "mp4": "video/mp4",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "wav": "audio/wav",
}
"""Types by the ends of addresses."""
_DATA = {"inlineData": "data", "fileData": "fileUri"}


def camel(value: Json) -> Object:
    """The members of an object that are not null, known ones in camel case; a bare string is a part's text."""
    if isinstance(value, str):
        return {"text": value}
    if type(value) is dict and _SNAKE.isdisjoint(value) and None not in value.values():
        return value.copy()
    items: Any = value.items() if isinstance(value, dict) else ()
    return {_CAMEL.get(key, key): member for key, member in items if member is not None}


def opened(turn: Object) -> tuple[list[Json], list[Json]]:
    """The parts of a turn, and what else it has but its role."""
    rest, held = without(turn, "role", "parts"), turn.get("parts")
    if held is None and rest:
        raise TurnError("has no parts")
    if not isinstance(held, list | dict | str | None):
        raise TurnError("has parts that are no list")
    return listed(held), [rest] if rest else []


class Piece(Struct, frozen=True, gc=False):
    """One of the things that a part may hold."""

    kind: str
    value: Any
    thought: bool
    signature: Json
    part: Json
    """As logged."""


def pieces(held: list[Json], native: list[Json]) -> Iterator[Piece]:
    """What can be read of parts; anything else goes to ``native``, as logged."""
    for part in held:
        kind, value = next(iter(part.items())) if type(part) is dict and len(part) == 1 else ("", None)
        if isinstance(value, KINDS.get(kind, ())):  # as most are
            yield Piece(kind, value, False, None, part)
        else:
            yield from _pieces_of(part, native)


def _pieces_of(part: Json, native: list[Json]) -> Iterator[Piece]:
    known = camel(part)
    flags = known.pop("thought", None), known.pop("thoughtSignature", None)
    kinds = [kind for kind, wanted in KINDS.items() if isinstance(known.get(kind), wanted)]
    if not known and flags != (None, None):
        yield Piece("text", "", flags[0] is True, flags[1], part)
    elif not kinds:
        native += [part] if known or not isinstance(part, dict) else []
    elif rest := {key: value for key, value in known.items() if key not in kinds}:
        native.append(rest)
    for kind in kinds:
        yield Piece(kind, known[kind], flags[0] is True, flags[1], part)


def was_system(held: list[Json]) -> list[Json]:
    """The parts of a system message among the contents, out of their tags; none of a turn that is not marked as one."""
    known = [camel(part) for part in held]
    if any(part.pop("partMetadata", None) != WAS_SYSTEM for part in known):
        return []
    for part in known:
        if isinstance(part.get("text"), str):
            part["text"] = part["text"].removeprefix("<system>").removesuffix("</system>")
    return list(known)


def rest_of(kind: str, value: Object, *read: str) -> list[Json]:
    """The members of a part's value that the canonical form has no place for."""
    rest = {
        key: member
        for key, member in value.items()
        if key not in read and not (key in ("id", "name") and isinstance(member, str))
    }
    return [{kind: rest}] if rest else []


def joined(content: list[Json]) -> Json:
    """Content: one text is a string, and an empty one is none beside others."""
    filled = [part for part in content if part.get("text") != ""]
    text = parts.alone(filled)
    return text if text is not None else filled or ""


def shown(said: Iterable[Piece], native: list[Json]) -> list[Json]:
    """Texts and media as parts of content, where nobody thinks and a signature has no place."""
    found = []
    for piece in said:
        if part := visible(piece, native):
            found.append(part)
            native += [{"thoughtSignature": piece.signature}] if piece.signature is not None else []
    return found


def visible(piece: Piece, native: list[Json]) -> Json:
    """A text or a medium as a part of content; ``None`` if it is neither."""
    if piece.kind == "text" and not piece.thought:
        return parts.text(piece.value)
    medium = None if piece.thought else _medium(piece.kind, camel(piece.value), native)
    if medium is None:
        native.append(piece.part)
    return medium


def _medium(kind: str, value: Object, native: list[Json]) -> Json:
    """An image, a sound or a document as a part of content; ``None`` for what is none."""
    mime = value.get("mimeType", "" if kind == "fileData" else None)
    data = value.get(_DATA.get(kind, ""))
    if not isinstance(data, str) or not isinstance(mime, str):
        return None
    if kind == "fileData":
        part, read = _linked(mime, data), ["fileUri"]
        read += ["mimeType"] if mime == mime_of(data, is_image=part["type"] == "image_url") else []
    else:
        part, read = _inline(mime, parts.standard(data), value.get("displayName")), ["data", "mimeType"]
        read += ["displayName"] if "filename" in part.get("file", {}) else []
    native += rest_of(kind, value, *read)
    return part


def _linked(mime: str, uri: str) -> Object:
    return parts.image(uri) if mime.startswith("image/") else parts.file(file_url=uri)


def mime_of(uri: str, *, is_image: bool) -> str:
    """The type that the end of an address tells; empty if it tells none, which for an image is that it is one."""
    mime = _MIMES.get(re.split(r"[?#]", uri)[0].rpartition(".")[2].lower(), "")
    if mime.startswith("image/") == is_image:
        return mime
    return "image/*" if is_image else ""


def _inline(mime: str, data: str, name: Json) -> Object:
    if mime.startswith("image/"):
        return parts.image(parts.data_url(mime, data))
    if mime in _AUDIO:
        return {"type": "input_audio", "input_audio": {"data": data, "format": _AUDIO[mime]}}
    return parts.file(file_data=parts.data_url(mime, data), filename=name if isinstance(name, str) else None)
