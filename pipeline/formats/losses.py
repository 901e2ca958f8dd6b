"""What a format cannot hold of a conversation: told by writing it and reading it back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pipeline import chat, codec
from pipeline.chat import PRIVATE, Private
from pipeline.model import Conversation, Json, Message

_INDEX = re.compile(r"\[\d+\]")
_SPELLED = ("from", "content_list", "reasoning_key", "synthetic_id")
_ABSENT = object()


def differences(before: Conversation, after: Conversation) -> list[str]:
    """The paths at which a conversation lost or changed something, in order: ``messages[2].tool_calls[0].id``.

    What a format only adds is no difference where it says nothing new: private members, and the name of a result that
    its call tells.
    """
    messages = _differences("messages", _plain(before.messages), _plain(after.messages))
    return [*messages, *_differences("tools", before.tools, after.tools)]


def kind(path: str) -> str:
    """A path without its indices, by which losses are counted."""
    return _INDEX.sub("[]", path)


def is_private(path: str) -> bool:
    """Whether a path leads to what a record does not show anyway."""
    return f".{PRIVATE}" in path


def _plain(messages: list[Message]) -> list[Json]:
    """The messages without names of results that their calls tell."""
    calls = [call for message in messages for call in chat.calls(message)]
    told = {(call["id"], chat.call_name(call)) for call in calls if isinstance(call.get("id"), str)}
    return [
        {key: value for key, value in message.items() if key != "name"} if _ends(message) in told else message
        for message in messages
    ]


def _ends(message: Message) -> tuple[str, str | None] | None:
    """The id and the name by which a result is known."""
    call_id, name = message.get("tool_call_id"), message.get("name")
    if message.get("role") != "tool" or not isinstance(call_id, str) or not isinstance(name, str):
        return None
    return call_id, name


def _differences(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        added = () if isinstance(before, Private) else after.keys() - before.keys() - {PRIVATE}
        for key in [*before, *sorted(added)]:
            if key == PRIVATE:
                yield from _differences(f"{path}.{key}", _meaning(before), _meaning(after))
            else:
                yield from _differences(f"{path}.{key}", before.get(key, _ABSENT), after.get(key, _ABSENT))
    elif isinstance(before, list) and isinstance(after, list):
        for at in range(max(len(before), len(after))):
            yield from _differences(f"{path}[{at}]", _item(before, at), _item(after, at))
    elif not _same(before, after):
        yield path


def _meaning(holder: dict[str, Any]) -> Private:
    """What is held privately, without how a document spelled what canonical messages spell in one way only."""
    return Private({key: value for key, value in chat.private(holder).items() if key not in _SPELLED})


def _same(before: Any, after: Any) -> bool:
    """Whether two values say the same; a member that is null says no more than one that is not there."""
    before, after = (None if value is _ABSENT else value for value in (before, after))
    return codec.dumps(before) == codec.dumps(after)


def _item(items: list[Json], at: int) -> Any:
    return items[at] if at < len(items) else _ABSENT
