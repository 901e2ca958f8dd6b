"""Whether a request goes on from the one before it, told from a few of its messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chatsquash.core.model import Entry, Json, Message
from chatsquash.trees.canonical import Canon
from chatsquash.trees.requests import system_prompt
from chatsquash.trees.rewrites import is_reminded
from chatsquash.trees.texts import is_similar_prompt

if TYPE_CHECKING:
    from chatsquash.trees.growth_tracking import Grown


_REMEMBERED = 16


class Growth(Struct):
    """Holds requests to those before them."""

    _canon: Canon = field(default_factory=Canon)
    _users: list[tuple[int, Message]] = field(default_factory=list)
    """What users said last in some requests, with its places."""

    def goes_on(self, last: Entry, entry: Entry) -> bool:
        """Whether a request has the beginning of the last one, the reply to it in its place, and more behind."""
        reply, count = last.reply.message, len(last.messages)
        if reply is None or entry.reply.message is None or len(entry.messages) <= count:
            return False
        if entry.limit != last.limit or bool(entry.tools) != bool(last.tools):
            return False
        if not self.is_same(entry.messages[count], reply):
            return False
        one, other = (next(_others(each.messages), None) for each in (last, entry))
        if one is None or other is None or not (self.is_same(one, other) or is_reminded(one, other, loosely=False)):
            return False
        if not is_similar_prompt(system_prompt(last.messages), system_prompt(entry.messages)):
            return False
        if len(self._users) < _REMEMBERED:
            self._remember(last.messages)
        return True

    def _remember(self, messages: list[Message]) -> None:
        places = range(len(messages) - 1, -1, -1)
        place = next((at for at in places if messages[at]["role"] == "user"), None)
        if place is not None:
            self._users.append((place, messages[place]))

    def rewords(self, last: Entry) -> bool:
        """Whether a request has what users said before in another wording."""
        return any(not self.is_same(last.messages[place], message) for place, message in self._users)

    def holds_all(self, last: Entry, grown: Iterable[Grown]) -> bool:
        """Whether a request has all replies before it in their places."""
        messages = last.messages
        return all(
            self.is_same(messages[each.count], each.message)
            for each in grown
            if each.message is not None and each.line != last.line
        )

    def as_said(self, messages: list[Message], grown: Iterable[Grown]) -> list[Message]:
        """The messages of the last request; the replies as they were logged, where others stand in their places."""
        lost = {
            each.count: each.message
            for each in grown
            if each.message and each.count < len(messages) and not self.is_same(messages[each.count], each.message)
        }
        return [lost.get(at, message) for at, message in enumerate(messages)] if lost else messages

    def is_same(self, one: Message, other: Message) -> bool:
        """Whether messages count as the same."""
        if one["role"] != other["role"]:
            return False
        return _is_spelled_alike(one, other) or self._canon.number(one) == self._canon.number(other)


def _is_spelled_alike(one: Message, other: Message) -> bool:
    """Whether messages say and call the same in one spelling; others may be the same as well."""
    if one.get("content") != other.get("content") or one.get("function_call") != other.get("function_call"):
        return False
    ours, theirs = one.get("tool_calls"), other.get("tool_calls")
    if ours == theirs:
        return True
    if not isinstance(ours, list) or not isinstance(theirs, list) or len(ours) != len(theirs):
        return False
    return all(map(_is_called_alike, ours, theirs))


def _is_called_alike(one: Json, other: Json) -> bool:
    """Whether two calls are one but for their ids."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    return "function" in one and one["function"] == other.get("function")


def _others(messages: list[Message]) -> Iterator[Message]:
    """The messages behind a system prompt."""
    return (message for message in messages if message["role"] not in ("system", "developer"))
