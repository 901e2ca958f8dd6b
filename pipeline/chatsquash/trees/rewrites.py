"""Whether a request holds what was said before in another wording."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain as chained
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.model import Entry, Json, Message
from chatsquash.trees.canonical import NOTHING, Canon, is_long, is_rewritten, is_similar_prompt, share_ends
from chatsquash.trees.paths import GrowingRequest
from chatsquash.trees.replies import Reply, Requests, system_prompt


class SpokenMessage(NamedTuple):
    """A message, as far as that tells whether a history is rewritten."""

    number: int
    """What it is the same by."""
    user: Message | None
    """Itself, if it is the user's."""
    is_reply: bool = False
    is_result: bool = False


def said_in(requests: Requests, first: int, last: int) -> list[SpokenMessage]:
    """The messages of a request from one place to another, of which the last is taken for a reply."""
    places = (at for at in range(first, last + 1) if requests.numbers[at] != NOTHING)
    return [_speech(requests.numbers[at], requests.messages[at], is_reply=at == last) for at in places]


def _speech(number: int, message: Message, *, is_reply: bool = False) -> SpokenMessage:
    role = message["role"]
    return SpokenMessage(number, message if role == "user" else None, is_reply, role == "tool")


def between(first: Reply | None, last: Reply) -> list[Reply] | None:
    """The replies behind one on the path to another one, and this; ``None`` where that does not lead there."""
    replies: list[Reply] = []
    for each in last.back():
        if each is first:
            break
        if first and each.number < first.number:
            return None
        replies.append(each)
    else:
        if first:
            return None
    replies.reverse()
    return replies


def of_path(path: list[Reply]) -> Iterator[SpokenMessage]:
    """What was said before each of some replies, and these."""
    for each in path:
        for number, message in zip(each.added, each.behind, strict=True):
            yield _speech(number, message)
        yield SpokenMessage(each.said, None, is_reply=True)


Pair = tuple[str, str]
"""What a user says, and what stood in its place before."""
_MORE = 40
"""Characters in which a summary may differ from another one."""


def _is_much_new(one: str, other: str) -> bool:
    """Whether a text contains enough between the ends that it shares with another one to be a summary."""
    return len(one) * (1 - share_ends(one, other)) > _MORE if len(one) >= len(other) else True


class Segment(Struct):
    """What others say before an assistant does."""

    numbers: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    """What is not the user's: results, and in requests also what assistants say that was not logged."""
    users: list[Message] = field(default_factory=list)

    def is_same(self, other: Segment) -> bool:
        """Whether both have the same messages, results in whatever order and perhaps repeated."""
        return self.numbers == other.numbers or (self.has_same_others(other) and self._said() == other._said())

    def has_same_others(self, other: Segment) -> bool:
        """Whether both have the same messages that are not the user's."""
        return self.others == other.others or {*self.others} == {*other.others}

    def _said(self) -> list[int]:
        others = {*self.others}
        return [number for number in self.numbers if number not in others]

    def is_rewritten(self, other: Segment, *, loosely: bool) -> bool:
        """Whether what users say is the other's, rewritten or with messages that came or went."""
        if len(self.users) == len(other.users):
            return all(is_rewritten(*pair, loosely=loosely) for pair in self._pairs(other))
        less, more = sorted((self.numbers, other.numbers), key=len)
        rest = iter(more)
        return all(number in rest for number in less)

    def more(self, other: Segment) -> list[Pair]:
        """What users say that the other has not, or in which much is new."""
        if len(self.users) == len(other.users):
            return [pair for pair in self._pairs(other) if _is_much_new(*pair)]
        known = {chat.text(user) for user in other.users}
        return [(text, "") for user in self.users if (text := chat.text(user)) and text not in known]

    def _pairs(self, other: Segment) -> list[Pair]:
        return [(chat.text(one) or "", chat.text(two) or "") for one, two in zip(self.users, other.users, strict=True)]


def words(message: Message) -> str:
    """What an assistant says and gives to tools, as one text."""
    given = (chat.strings([call.get("function"), call.get("custom")]) for call in chat.calls(message))
    return " ".join([chat.text(message) or "", *chained.from_iterable(given)])


def segments(messages: Iterable[SpokenMessage]) -> list[Segment]:
    """What others say before each reply."""
    runs = [Segment()]
    for number, user, is_reply, _ in messages:
        runs[-1].numbers.append(number)
        if is_reply:
            runs[-1].others.append(number)
            runs.append(Segment())
        elif user is None:
            runs[-1].others.append(number)
        else:
            runs[-1].users.append(user)
    return runs[:-1]


def is_reworded(reply: Message, message: Message) -> bool:
    """Whether a message is a reply in another wording: the same tools are called, and the texts are alike."""
    calls = [[chat.call_name(call) for call in chat.calls(each)] for each in (reply, message)]
    one, other = (chat.text(each) or "" for each in (reply, message))
    if calls[0] != calls[1]:
        return False
    if not one.strip() or not other.strip():
        return bool(calls[0])
    return is_rewritten(one, other) or share_ends(one, other) >= 0.6


def is_resent(earlier: Reply, reply: Reply, *, loosely: bool) -> bool:
    """Whether a request was sent again with another reminder, since what came broke off, or so that the same came."""
    if earlier.is_ended and not (earlier.said == reply.said and (loosely or is_long(words(reply.message)))):
        return False
    if len(earlier.added) != len(reply.added) or not is_similar_prompt(earlier.system, reply.system):
        return False
    pairs = zip(earlier.added, earlier.behind, reply.added, reply.behind, strict=True)
    return all(one == two or is_reminded(first, second, loosely=loosely) for one, first, two, second in pairs)


def is_reminded(one: Message, other: Message, *, loosely: bool) -> bool:
    """Whether a user's message is another one in another wording."""
    if one["role"] != "user" or other["role"] != "user":
        return False
    first, second = chat.text(one) or "", chat.text(other) or ""
    return bool(first.strip() and second.strip()) and is_rewritten(first, second, loosely=loosely)


_COMPARED = 64
"""Messages of users whose wordings are compared to tell whether a history lacks messages of another."""


def is_part(messages: list[SpokenMessage], reply: Reply, *, loosely: bool) -> list[Pair] | None:
    """What users say that is worded otherwise on the path to a reply, where messages are some of that path's.

    They are to stand there in the same order; ``None`` where they do not.  What stands before a short reply, which may
    be said more than once, is to stand right before it.
    """
    wanted = _with_sorted_results(messages)
    last = len(wanted) - 1 if not is_long(words(reply.message)) else 0
    reworded: list[Pair] = []
    left = _COMPARED
    for each in reply.back():
        for said in reversed(_with_sorted_results(of_path([each]))):
            if not wanted:
                return reworded
            user = wanted[-1].user
            if wanted[-1].number == said.number:
                wanted.pop()
            elif user and said.user and left:
                left -= 1
                if is_reminded(user, said.user, loosely=loosely):
                    reworded.append((chat.text(user) or "", chat.text(said.user) or ""))
                    wanted.pop()
            if last and last == len(wanted) and said.number != reply.said:
                return None
    return None if wanted else reworded


def _with_sorted_results(messages: Iterable[SpokenMessage]) -> list[SpokenMessage]:
    """Messages of which neighbouring results are in one order, since clients may send them in any."""
    runs = groupby(messages, lambda each: each.is_result)
    return [each for is_result, run in runs for each in (sorted(run, key=_number) if is_result else run)]


_number = attrgetter("number")


_REMEMBERED = 16


class Growth(Struct):
    """Holds requests to those before them."""

    _canon: Canon = field(default_factory=Canon)
    _users: list[tuple[int, Message]] = field(default_factory=list)
    """What users said last in some requests, with its places."""

    def goes_on(self, last: Entry, entry: Entry) -> bool:
        """Whether a request has the beginning of the last one, the reply to it in its place, and more behind."""
        reply, count = last.reply.message, len(last.messages)
        if reply is None or entry.reply.message is None or len(entry.messages) <= count + 1:
            return False  # one that ends with the reply may have it continued
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

    def holds_all(self, last: Entry, grown: Iterable[GrowingRequest]) -> bool:
        """Whether a request has all replies before it in their places."""
        messages = last.messages
        return all(
            self.is_same(messages[each.count], each.message)
            for each in grown
            if each.message is not None and each.line != last.line
        )

    def as_said(self, messages: list[Message], grown: Iterable[GrowingRequest]) -> list[Message]:
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
