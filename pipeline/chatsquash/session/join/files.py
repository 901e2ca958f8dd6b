"""The replies of the agents' files that a session is joined with, and the keys by which a reply is recognised."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from chatsquash.core import chat, jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import Message, OriginReply
from chatsquash.core.options import Options
from chatsquash.core.outcome import Relative
from chatsquash.core.reasoning import is_part
from chatsquash.formats.base import TurnError
from chatsquash.reading.identify import document_in
from chatsquash.sources import relatives
from chatsquash.sources.open import open_file
from chatsquash.trees.canonical import is_long, spelled
from chatsquash.trees.documents import FilePath, Key, paths_of


class View(Struct, eq=False):
    """A conversation in an agent's file."""

    number: int
    """Which of the agents of the session it is."""
    file: int
    """The number of the first conversation of its file."""
    place: FilePath

    @property
    def messages(self) -> list[Message]:
        """What is said in it."""
        return self.place.conversation.messages

    @property
    def own(self) -> list[int]:
        """Which of its replies belong to it."""
        own = set(self.place.own)
        return [number for number, reply in enumerate(self.place.replies) if reply in own]

    def key(self, number: int) -> tuple[int, Key]:
        """What tells one of its replies from all others, whichever conversations of its file hold it."""
        return self.file, self.place.replies[number].key

    def reply(self, number: int) -> OriginReply:
        """What the file says of one of its replies."""
        return self.place.origin.replies[number]

    def said(self, number: int) -> Message | None:
        """The message of one of its replies."""
        at = self.reply(number).at
        return self.messages[at] if at is not None else None

    def keys(self, number: int) -> Keys | None:
        """By what a reply is known in other files."""
        message = self.said(number)
        return keys(message, self.reply(number).response_id) if message is not None else None

    def results(self) -> Iterator[tuple[str, Message]]:
        """The results in it, by the ids of their calls."""
        for message in self.messages:
            if call_id := answered_call_id(message):
                yield call_id, message


def views(agents: Iterable[Log], options: Options) -> list[View]:
    """The conversations that are joined; of a file that cannot be read any more there are none."""
    joined: list[View] = []
    numbered = enumerate(agents)
    for _, group in groupby(numbered, key=lambda each: (each[1].path, each[1].unit)):
        logs = [*group]
        number, log = logs[0]
        places = _places(log, options)
        parts = ((at, each.part or 0) for at, each in logs)
        joined += [View(at, number, places[part]) for at, part in parts if part < len(places)]
    return joined


def looked_at(agents: Iterable[Log]) -> list[Relative]:
    """The files of agents, as they are now."""
    paths = dict.fromkeys(relatives.absolute(each.shown) for each in agents)
    return [relatives.look(glob.escape(path)) for path in paths]


def _places(log: Log, options: Options) -> list[FilePath]:
    try:
        with open_file(log.path, options) as file:
            document = document_in(file, options, log.unit)
    except (OSError, TurnError):
        return []
    return paths_of(document) if document else []


_LONG_ID = 16
"""Characters from which on an id of a call is one that no other session has."""


class Keys(NamedTuple):
    """Numbers of 64 bits by which a reply is known."""

    ids: tuple[int, ...]
    """Those of its response and of its calls; sessions have none of them in common."""
    said: int
    """That of what it says and calls, without its reasoning."""
    is_telling: bool
    """Whether no other session says that by chance."""


def keys(message: Message, response: str | None) -> Keys:
    """The keys of a reply, given the id of its response, if that has one."""
    text, calls = _text(message).strip(), [*_calls(message)]
    content = [text, [[name, arguments] for _, name, arguments in calls]]
    ids = [response or "", *(call_id for call_id, _, _ in calls if len(call_id) >= _LONG_ID)]
    return Keys(tuple(map(_number, filter(None, ids))), _digest(jsonio.dumps(content)), bool(calls) or is_long(text))


def said(message: Message) -> int:
    """The number of what a message says and calls."""
    return keys(message, None).said


def call_ids(message: Message) -> Iterator[str]:
    """The ids of a message's calls."""
    return (call_id for call_id, _, _ in _calls(message) if call_id)


def answered_call_id(message: Message) -> str:
    """The id of the call that a message is the result of; empty for none."""
    call_id = message.get("tool_call_id") if message["role"] == "tool" else None
    return call_id if isinstance(call_id, str) else ""


def _text(message: Message) -> str:
    content = message.get("content")
    if not isinstance(content, list):
        return chat.text(message) or ""
    return "".join(chat.part_text(part) or "" for part in content if not is_part(part))


def _calls(message: Message) -> Iterator[tuple[str, str | None, str]]:
    for call in chat.calls(message):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else call
        call_id = call.get("id")
        yield (
            call_id if isinstance(call_id, str) else "",
            chat.call_name(call),
            spelled(arguments).decode("utf-8", "replace"),
        )


def _number(name: str) -> int:
    return _digest(name.encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> int:
    return xxh3_64_intdigest(data) or 1
