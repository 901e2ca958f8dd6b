"""Whether a request holds what was said before in another wording."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain as chained
from typing import NamedTuple

from msgspec import Struct, field

from chatsquash import chat
from chatsquash.model import Message
from chatsquash.tree.replies import Reply
from chatsquash.tree.texts import is_rewritten, share_ends


class Spoken(NamedTuple):
    """A message, as far as that tells whether a history is rewritten."""

    number: int
    """What it is the same by."""
    user: Message | None
    """Itself, if it is the user's."""
    is_reply: bool = False


def of_path(reply: Reply) -> Iterator[Spoken]:
    """What was said on the path to a reply, and it."""
    for each in reply.path():
        for number, message in zip(each.added, each.behind, strict=True):
            yield Spoken(number, message if message["role"] == "user" else None)
        yield Spoken(each.said, None, is_reply=True)


class Segment(Struct):
    """What others say before an assistant does."""

    numbers: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    """What is not the user's: results, and in requests also what assistants say that was not logged."""
    users: list[Message] = field(default_factory=list)

    def is_rewritten(self, other: Segment) -> bool:
        """Whether what users say is the other's, rewritten or with messages that came or went."""
        if len(self.users) == len(other.users):
            pairs = zip(self.users, other.users, strict=True)
            return all(is_rewritten(chat.text(one) or "", chat.text(two) or "") for one, two in pairs)
        less, more = sorted((self.numbers, other.numbers), key=len)
        rest = iter(more)
        return all(number in rest for number in less)

    def more(self, other: Segment) -> list[str]:
        """The texts of users that the other has not, where it has fewer."""
        if len(self.users) <= len(other.users):
            return []
        known = {chat.text(user) for user in other.users}
        return [text for user in self.users if (text := chat.text(user)) and text not in known]


def words(message: Message) -> str:
    """What an assistant says and gives to tools, as one text."""
    given = (chat.strings([call.get("function"), call.get("custom")]) for call in chat.calls(message))
    return " ".join([chat.text(message) or "", *chained.from_iterable(given)])


def segments(messages: Iterator[Spoken]) -> list[Segment]:
    """What others say before each reply."""
    found = [Segment()]
    for number, user, is_reply in messages:
        found[-1].numbers.append(number)
        if is_reply:
            found[-1].others.append(number)
            found.append(Segment())
        elif user is None:
            found[-1].others.append(number)
        else:
            found[-1].users.append(user)
    return found[:-1]


def is_reworded(reply: Message, message: Message) -> bool:
    """Whether a message is a reply in another wording: the same tools are called, and the texts are alike."""
    calls = [[chat.call_name(call) for call in chat.calls(each)] for each in (reply, message)]
    one, other = (chat.text(each) or "" for each in (reply, message))
    if calls[0] != calls[1]:
        return False
    if not one.strip() or not other.strip():
        return bool(calls[0])
    return is_rewritten(one, other) or share_ends(one, other) >= 0.6
