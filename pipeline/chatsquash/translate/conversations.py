"""One conversation, whatever its format: read from JSON values, written as another format, and what that loses."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from chatsquash import formats
from chatsquash.errors import UsageError
from chatsquash.formats import bodies, documents
from chatsquash.formats.base import TurnError
from chatsquash.model import Conversation, Json, Rejected
from chatsquash.translate import losses as comparison


def known() -> tuple[str, ...]:
    """The names of all formats that are read."""
    return (*formats.names(), *documents.names())


def writable() -> tuple[str, ...]:
    """The names of all formats that are written."""
    return tuple(name for name in known() if hasattr(module(name), "dump"))


def module(name: str) -> Any:
    """The module of a format; raises ``UsageError`` for a name that is none."""
    if name in formats.names():
        return formats.named(name)
    if name in documents.names():
        return documents.named(name)
    raise UsageError(f"{name}: no known format; known are {', '.join(known())}")


def load(obj: Json, format: str | None = None) -> Conversation:  # noqa: A002 - the word of the field
    """The conversation in a request's body, a record, an exchange or a document.

    Args:
        obj: A JSON value: a body such as ``{"messages": [...], "tools": [...]}``, a list of its turns, an exchange
            ``{"request": ..., "response": ...}``, or a document such as a client keeps.
        format: Its format, as ``chatsquash formats`` lists them; told from the value by default.

    Returns:
        Its messages as OpenAI chat has them, with what that has no place for in private members, and its tools.  Of a
        document with several conversations the first.

    Raises:
        UsageError: The format is not known or cannot be told, or the value is not of it.

    >>> load([{"role": "user", "content": "hi"}]).messages
    [{'role': 'user', 'content': 'hi'}]
    """
    return load_all([obj], format)[0]


def load_all(
    objects: list[Json],
    format: str | None = None,  # noqa: A002 - as in ``load``
    *,
    every: bool = False,
    lines: list[int] | None = None,
    meta: Json = None,
) -> list[Conversation]:
    """Every conversation in a file, whose lines, or whose one value, these are; raises as ``load``.

    ``lines`` are the numbers of these lines, from 1, where others stand between them; ``meta`` is what lies beside.
    ``every``: of a history also the branches that others go on from, all in the order of the file.
    """
    name = format or recognise(objects)
    form = module(name)
    found: list[Conversation]
    try:
        if name not in documents.names():
            found = [_exchanged(form, each) for each in objects]
        elif every and hasattr(form, "every"):
            found = form.every(objects)
        else:
            found = documents.load(name, objects, lines, meta)
    except TurnError as problem:
        raise UsageError(f"not {name}: {problem}") from None
    if not found:
        raise UsageError(f"{name}: there is no conversation in it")
    return found


def recognise(objects: list[Json]) -> str:
    """The format of a file; raises ``UsageError`` where nothing is known of it, or where it may be of two."""
    try:
        fitting = documents.recognise(objects)
    except TurnError as problem:
        raise UsageError(f"{problem}; choose with --from") from None
    if fitting:
        return fitting.name
    seen = [_recognised(each) for each in objects[:50]]
    whole = formats.recognise_file(seen)
    if whole.name is None:
        raise UsageError(f"{whole.why}; documents that are known: {', '.join(documents.names())}; choose with --from")
    return whole.name


def dump(conversation: Conversation, format: str) -> Json:  # noqa: A002
    """A conversation in a format: a body with turns, system prompt and tools, or a document.

    Raises ``UsageError`` for a format that is not known or not written, and for a conversation that none of its
    documents can stand for.  What the format cannot hold is left out: ``losses`` says what.
    """
    form = _writer(format)
    _refuse_none(conversation)
    try:
        return form.dump(conversation)
    except TurnError as problem:
        raise UsageError(f"{format}: {problem}") from None


def dump_all(branches: list[Conversation], format: str) -> Json:  # noqa: A002
    """The branches of a history as one document, for a format that ``holds_branches``; raises as ``dump``."""
    for conversation in branches:
        _refuse_none(conversation)
    return _writer(format).dump_all(branches)


def holds_branches(format: str) -> bool:  # noqa: A002
    """Whether a document of a format may hold several branches."""
    return hasattr(_writer(format), "dump_all")


def _writer(name: str) -> Any:
    form = module(name)
    if not hasattr(form, "dump"):
        raise UsageError(f"{name}: is read only; written are {', '.join(writable())}")
    return form


def _refuse_none(conversation: Conversation) -> None:
    """Raise ``UsageError`` for what is no conversation."""
    for at, message in enumerate(conversation.messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise UsageError(f"messages[{at}] is no message: one is an object with a role")
    if not isinstance(conversation.tools, list):
        raise UsageError("tools is no list")


def losses(conversation: Conversation, format: str) -> list[str]:  # noqa: A002
    """The paths at which a conversation differs from itself once it was written in a format and read again."""
    return comparison.differences(conversation, load(dump(conversation, format), format))


def _recognised(obj: Json) -> formats.Recognised:
    """The format of an exchange, by both its sides, or of a request."""
    if isinstance(obj, dict) and "request" in obj:
        request = obj["request"]
        return formats.recognise(request if isinstance(request, dict) else None, obj.get("response"), None)
    return bodies.recognise(obj)


def _exchanged(form: Any, obj: Json) -> Conversation:
    if not (isinstance(obj, dict) and isinstance(obj.get("request"), dict)):
        return bodies.load(form, obj)
    conversation = bodies.load(form, obj["request"])
    reply = form.reply(obj.get("response")).message
    return Conversation([*conversation.messages, *([reply] if reply else [])], conversation.tools)


def holds_any(objects: list[Json], forced: str | None) -> bool:
    """Whether one of these holds a conversation of its own."""
    return any(isinstance(each, dict) and _why_none(each, forced) is None for each in objects)


def _why_none(value: Json, form: str | None) -> str | None:
    """Why a value is no conversation of a format, or of any; ``None`` for one."""
    try:
        load_all([value], form)
    except UsageError as problem:
        return str(problem)
    return None


def divided(objects: list[Json], broken: list[Rejected], form: str, data: bytes) -> tuple[list[Json], list[Rejected]]:
    """Of the values of lines those that are conversations, and all lines that are none.

    Where there is none, or the values are those of one document, they are returned as they are.
    """
    places = list(_places(data, {line.line for line in broken}))
    if form in documents.names() or len(objects) < 2 or len(places) != len(objects):
        return objects, broken
    taken, left = list[Json](), list[Rejected]()
    for value, (number, offset, length) in zip(objects, places, strict=True):
        why = _why_none(value, form)
        if why is None:
            taken.append(value)
        else:
            left.append(Rejected(number, offset, length, "bad-entry", why))
    return (taken, sorted(broken + left)) if taken else (objects, broken)


def _places(data: bytes, aside: set[int]) -> Iterator[tuple[int, int, int]]:
    """Number, offset and length of each line but the blank ones and those named."""
    offset = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        if number not in aside and line.removeprefix(b"\xef\xbb\xbf").strip():
            yield number, offset, len(line.removesuffix(b"\n"))
        offset += len(line)
