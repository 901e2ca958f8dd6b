"""What one message says, as presets for training have it: a string, and the text of its reasoning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from chatsquash.core import chat
from chatsquash.core import reasoning as thoughts
from chatsquash.core.model import Json, Message
from chatsquash.core.shape_options import Media
from chatsquash.formats import parts
from chatsquash.formats.providers.openai_chat.members import is_empty
from chatsquash.records import media
from chatsquash.records.notes import Notes

_MEMBERS = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", *thoughts.MEMBERS}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_ODD = frozenset(thoughts.MEMBERS[1:])


def text(message: Message, role: str, notes: Notes, wanted: Media = "refuse") -> str | list[Any]:
    """The content as a string: text parts are joined, other parts go; members that no preset has are noted.

    Where media are to be kept, a content with images is a list of texts and images; raises ``RefusedMediaError``.
    """
    if rest := message.keys() - _MEMBERS[role]:
        holder: dict[str, Any] = message  # type: ignore[assignment]
        if wanted != "drop":
            _refuse(message, content=False)
        notes.dropped.update(f"member {key} of {role} messages" for key in sorted(rest) if not is_empty(holder[key]))
    content = message.get("content")
    if type(content) is str:
        return content
    if content is None:
        return ""
    if type(content) is list and any(map(chat.medium, content)):
        if wanted == "keep":
            return _with_pictures(content, role, notes)
        if wanted == "refuse":
            _refuse(message)
    notes.dropped.update(f"parts of type {kind}" for kind in _kinds(content, role))
    return chat.joined(message) or ""


class RefusedMediaError(Exception):
    """A medium that is not kept and not to be dropped; the text says which."""


def _refuse(message: Message, *, content: bool = True) -> None:
    """Raise ``RefusedMediaError`` for media of a message, of its own members alone where those in parts are kept."""
    kinds = Counter(media.of(message) if content else media.of({**message, "content": ""}))
    if kinds:
        listed = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
        raise RefusedMediaError(f"the preset has no place for media: {listed}")


def _with_pictures(content: list[Any], role: str, notes: Notes) -> str | list[Any]:
    """Texts and images in their order."""
    found: list[Any] = []
    for is_medium, run in groupby(content, key=lambda part: chat.medium(part) is not None):
        held = list(run)
        if is_medium:
            found += map(_picture, held)
            if role == "tool":
                raise RefusedMediaError("a result has an image, and trainers count only those that are said")
            continue
        notes.dropped.update(f"parts of type {kind}" for kind in _kinds(held, role))
        if said := chat.join(held, role == "assistant"):
            found.append(parts.text(said))
    return found


def _picture(part: Json) -> media.Picture:
    if isinstance(part, media.Picture):  # of a system message that became the user's
        return part
    try:
        return media.picture(part)
    except media.NoPictureError as problem:
        raise RefusedMediaError(str(problem)) from None


def reasoning(message: Message) -> str:
    """The text of the reasoning, in whichever spelling; empty if there is none."""
    said = message.get(thoughts.MEMBER)
    if isinstance(message.get("content"), list) or not _ODD.isdisjoint(message) or not isinstance(said, str | None):
        return thoughts.text(message)
    return said or ""


def _kinds(content: Json, role: str) -> Iterator[str]:
    """The types of parts that are no text, but for reasoning, which has a place of its own."""
    for part in chat.other_parts({"role": role, "content": content}):
        if not thoughts.is_part(part) or role != "assistant":
            kind = part.get("type") if isinstance(part, dict) else None
            yield kind if isinstance(kind, str) else type(part).__name__
