"""Files of model messages, and of what tools gave."""

from __future__ import annotations

import re

from msgspec.structs import replace

from chatsquash.core.blocks import Media, Medium, Native
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.calls import EMPTY
from chatsquash.formats.clients.pydantic_ai.media import kind_of, octets
from chatsquash.formats.clients.vercel_ai.media import address, mime_of, opened, plain
from chatsquash.formats.clients.vercel_ai.metadata import PROVIDER, metadata, native
from chatsquash.formats.values import Object, at, string, without

OPTIONS = "providerOptions"
"""What model messages call the metadata of providers."""
_OWN = "model_messages"
"""Whose the members are that only model messages have."""
_IDS = ("fileId", "providerReference")
_PLACES = ("image", "data", "url", *_IDS)
_FILE_ID = re.compile(r"file[-_][\w-]+")
"""What the AI SDK 5 and 6 take for the id of a file, where the data are."""
_URL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)


def known(options: Json, rest: Object, **more: Json) -> Native:
    """What is native to a part or a message; ``more`` is what UI messages have, too."""
    own = {key: value for key, value in rest.items() if value not in EMPTY}
    return {**native(options, more), **({_OWN: own} if own else {})}


def with_options(made: Object, native_members: Native) -> Object:
    """A part or a message with what is native to it."""
    if not native_members:
        return made
    options = metadata(native_members, mirrored=False)
    return {**native_members.get(_OWN, {}), **made, **({OPTIONS: options} if options else {})}


def read(part: Object) -> Media | None:
    """A ``file`` or ``image`` part of a message or of a result; ``None`` for what is none."""
    of: Medium | None = "image" if part["type"].startswith("image") else None
    mime = string(part, "mediaType") or string(part, "mimeType") or (f"{of}/*" if of else "")
    place = next((name for name in _PLACES if name in part), "")
    names = _references(part.get(place))
    provider, reference = next(iter(names.items()), ("", ""))
    made = _opened(mime, part.get(place), reference, is_id=place in _IDS)
    if made is None:
        return None
    more = without(part, "type", "mediaType", "mimeType", "filename", OPTIONS, place)
    extra = known(part.get(OPTIONS), more, providerReference=names)
    return replace(made, name=string(part, "filename"), provider=provider, native=extra)


def _references(given: Json) -> Object:
    """The ids of a file by provider."""
    references = at(given, "reference") if at(given, "type") == "reference" else given
    if not isinstance(references, dict) or not references or octets(references) or "type" in references:
        return {}
    return references if all(isinstance(each, str) and each for each in references.values()) else {}


def _opened(mime: str, given: Json, reference: str, *, is_id: bool) -> Media | None:
    """A medium by its data, its address, or its id, in whichever spelling."""
    match given:
        case {"type": "data", "data": inner} | {"type": "url", "url": inner}:
            return _opened(mime, inner, "", is_id=False)
        case str(text) if text and (is_id or (_FILE_ID.fullmatch(text) and parts.decoded(text) is None)):
            return Media(kind_of(mime), plain(mime), file_id=text)
        case str(url) if _URL.match(url):
            return opened(mime, url)
    if reference:
        return Media(kind_of(mime), plain(mime), file_id=reference)
    data = octets(given)
    return Media(kind_of(mime), "" if mime.endswith("/*") else parts.usual_type(mime), data) if data else None


def write(block: Media) -> Object | None:
    """The ``file`` part of a medium; ``None`` for one that has no address."""
    reference = at(block.native, PROVIDER, "providerReference")
    place: Json = {"type": "reference", "reference": reference} if reference else block.data or block.file_id
    if not place and not (place := address(block)):
        return None
    return _named({"type": "file", "data": place, "mediaType": mime_of(block)}, block)


def write_given(block: Media) -> Object | None:
    """A medium among what a tool gave; ``None`` for one that has no address."""
    of = "image" if block.kind == "image" and not block.name else "file"
    if block.data:
        return _named({"type": f"{of}-data", "data": block.data, "mediaType": mime_of(block)}, block)
    if block.file_id:
        reference = at(block.native, PROVIDER, "providerReference") or block.file_id
        of = "image-file" if block.kind == "image" else of
        return _named({"type": f"{of}-id", "fileId": reference}, block)
    if not address(block):
        return None
    if of == "image" and not block.mime:
        return _named({"type": "image-url", "url": block.url}, block)
    return _named({"type": "file-url", "url": block.url, "mediaType": mime_of(block)}, block)


def _named(made: Object, block: Media) -> Object:
    return with_options({**made, **({"filename": block.name} if block.name else {})}, block.native)
