"""Detect whether a request contains the earlier history in different words."""

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


class HistoryMessage(NamedTuple):
    """The parts of a message that matter for detecting rewritten histories."""

    number: int
    """Its canonical number."""
    user: Message | None
    """The message itself, if the user wrote it."""
    is_reply: bool = False
    is_result: bool = False


def messages_between(requests: Requests, first: int, last: int) -> list[HistoryMessage]:
    """Return the messages of a request between two indices; the last one counts as a reply."""
    places = (at for at in range(first, last + 1) if requests.numbers[at] != NOTHING)
    return [_history_message(requests.numbers[at], requests.messages[at], is_reply=at == last) for at in places]


def _history_message(number: int, message: Message, *, is_reply: bool = False) -> HistoryMessage:
    role = message["role"]
    return HistoryMessage(number, message if role == "user" else None, is_reply, role == "tool")


def replies_after(first: Reply | None, last: Reply) -> list[Reply] | None:
    """Return the replies after ``first`` up to ``last``, or ``None`` if ``first`` is not on the path to it."""
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


def messages_of_path(path: list[Reply]) -> Iterator[HistoryMessage]:
    """Yield the messages before each of the given replies, and the replies."""
    for each in path:
        for number, message in zip(each.new_numbers, each.new_messages, strict=True):
            yield _history_message(number, message)
        yield HistoryMessage(each.content_number, None, is_reply=True)


Pair = tuple[str, str]
"""A user's text, and the text that it replaced."""
_MORE = 40
"""The minimum difference between summaries in characters."""


def _is_much_new(one: str, other: str) -> bool:
    """Return whether the difference between two texts is large enough to be a summary."""
    return len(one) * (1 - share_ends(one, other)) > _MORE if len(one) >= len(other) else True


class Segment(Struct):
    """The messages between two assistant messages."""

    numbers: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    """The numbers of messages not written by the user: results, and in requests also replies that were not logged."""
    users: list[Message] = field(default_factory=list)

    def is_same(self, other: Segment) -> bool:
        """Return whether both contain the same messages; results may be repeated and in any order."""
        if self.numbers == other.numbers:
            return True
        return self.has_same_others(other) and self._user_numbers() == other._user_numbers()

    def has_same_others(self, other: Segment) -> bool:
        """Return whether both contain the same messages apart from the user's."""
        return self.others == other.others or {*self.others} == {*other.others}

    def _user_numbers(self) -> list[int]:
        others = {*self.others}
        return [number for number in self.numbers if number not in others]

    def is_rewritten(self, other: Segment, *, loosely: bool) -> bool:
        """Return whether the user's messages are those of the other segment: reworded, extended or partly missing."""
        if len(self.users) == len(other.users):
            return all(is_rewritten(*pair, loosely=loosely) for pair in self._pairs(other))
        less, more = sorted((self.numbers, other.numbers), key=len)
        rest = iter(more)
        return all(number in rest for number in less)

    def more(self, other: Segment) -> list[Pair]:
        """Return the user's texts that are new or largely new compared to the other segment."""
        if len(self.users) == len(other.users):
            return [pair for pair in self._pairs(other) if _is_much_new(*pair)]
        known = {chat.text(user) for user in other.users}
        return [(text, "") for user in self.users if (text := chat.text(user)) and text not in known]

    def _pairs(self, other: Segment) -> list[Pair]:
        return [(chat.text(one) or "", chat.text(two) or "") for one, two in zip(self.users, other.users, strict=True)]


def words(message: Message) -> str:
    """Return an assistant's text and the arguments of its calls as one string."""
    arguments = (chat.strings([call.get("function"), call.get("custom")]) for call in chat.calls(message))
    return " ".join([chat.text(message) or "", *chained.from_iterable(arguments)])


def is_long_reply(message: Message) -> bool:
    """Return whether the words of an assistant's message are so long that equal ones are not a coincidence."""
    if is_long(chat.text(message) or ""):
        return True
    functions = (call.get("function") for call in chat.calls(message))
    # The arguments of most calls are long enough without their names.
    if any(isinstance(each, dict) and _is_long_string(each.get("arguments")) for each in functions):
        return True
    return is_long(words(message))


def _is_long_string(value: Json) -> bool:
    return isinstance(value, str) and is_long(value)


def segments(messages: Iterable[HistoryMessage]) -> list[Segment]:
    """Return the messages before each reply, grouped by reply."""
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
    """Return whether a message is a reworded reply: it calls the same tools and has a similar text."""
    calls = [[chat.call_name(call) for call in chat.calls(each)] for each in (reply, message)]
    one, other = (chat.text(each) or "" for each in (reply, message))
    if calls[0] != calls[1]:
        return False
    if not one.strip() or not other.strip():
        return bool(calls[0])
    return is_rewritten(one, other) or share_ends(one, other) >= 0.6


def is_resent(earlier: Reply, reply: Reply, *, loosely: bool) -> bool:
    """Return whether a request was repeated with another reminder, after an interruption or with an equal reply."""
    if earlier.is_ended and not (
        earlier.content_number == reply.content_number and (loosely or is_long_reply(reply.message))
    ):
        return False
    if len(earlier.new_numbers) != len(reply.new_numbers) or not is_similar_prompt(earlier.system, reply.system):
        return False
    pairs = zip(earlier.new_numbers, earlier.new_messages, reply.new_numbers, reply.new_messages, strict=True)
    return all(one == two or is_reworded_prompt(first, second, loosely=loosely) for one, first, two, second in pairs)


def is_reworded_prompt(one: Message, other: Message, *, loosely: bool) -> bool:
    """Return whether a user's message is a reworded version of another one."""
    if one["role"] != "user" or other["role"] != "user":
        return False
    first, second = chat.text(one) or "", chat.text(other) or ""
    return bool(first.strip() and second.strip()) and is_rewritten(first, second, loosely=loosely)


_MOST_COMPARISONS = 64
"""The number of user messages whose wordings are compared to detect a history with missing messages."""


def is_part(messages: list[HistoryMessage], reply: Reply, *, loosely: bool) -> list[Pair] | None:
    """Return the reworded user texts if messages are an ordered part of the path to a reply; otherwise ``None``."""
    remaining = _with_sorted_results(messages)
    # A short reply may occur several times, so the message before it must be the same as well.
    last = len(remaining) - 1 if not is_long_reply(reply.message) else 0
    reworded: list[Pair] = []
    budget = _MOST_COMPARISONS
    for each in reply.back():
        for original in reversed(_with_sorted_results(messages_of_path([each]))):
            if not remaining:
                return reworded
            user = remaining[-1].user
            if remaining[-1].number == original.number:
                remaining.pop()
            elif user and original.user and budget:
                budget -= 1
                if is_reworded_prompt(user, original.user, loosely=loosely):
                    reworded.append((chat.text(user) or "", chat.text(original.user) or ""))
                    remaining.pop()
            if last and last == len(remaining) and original.number != reply.content_number:
                return None
    return None if remaining else reworded


def _with_sorted_results(messages: Iterable[HistoryMessage]) -> list[HistoryMessage]:
    """Return messages with consecutive results in a fixed order."""
    # Clients may send results in any order.
    runs = groupby(messages, lambda each: each.is_result)
    return [each for is_result, run in runs for each in (sorted(run, key=_number) if is_result else run)]


_number = attrgetter("number")


_REMEMBERED = 16


class Growth(Struct):
    """Compares requests with earlier ones of a session that only grows."""

    _canon: Canon = field(default_factory=Canon)
    _users: list[tuple[int, Message]] = field(default_factory=list)
    """The last user message of some requests, with its index."""

    def continues(self, last: Entry, entry: Entry) -> bool:
        """Return whether a request begins like the last one and continues with its reply and more messages."""
        reply, count = last.reply.message, len(last.messages)
        if reply is None or entry.reply.message is None or len(entry.messages) <= count + 1:
            return False  # the reply to a request that ends with the last reply may continue it
        if entry.limit != last.limit or bool(entry.tools) != bool(last.tools):
            return False
        if not self.is_same(entry.messages[count], reply):
            return False
        one, other = (next(_others(each.messages), None) for each in (last, entry))
        if (
            one is None
            or other is None
            or not (self.is_same(one, other) or is_reworded_prompt(one, other, loosely=False))
        ):
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
        """Return whether a request contains earlier user messages in different words."""
        return any(not self.is_same(last.messages[place], message) for place, message in self._users)

    def contains_all(self, last: Entry, requests: Iterable[GrowingRequest]) -> bool:
        """Return whether a request contains all earlier replies in their places."""
        messages = last.messages
        return all(
            self.is_same(messages[each.count], each.message)
            for each in requests
            if each.message is not None and each.line != last.line
        )

    def with_logged_replies(self, messages: list[Message], requests: Iterable[GrowingRequest]) -> list[Message]:
        """Return the messages of the last request with the replies as they were logged."""
        originals = {
            each.count: each.message
            for each in requests
            if each.message and each.count < len(messages) and not self.is_same(messages[each.count], each.message)
        }
        return [originals.get(at, message) for at, message in enumerate(messages)] if originals else messages

    def is_same(self, one: Message, other: Message) -> bool:
        """Return whether two messages count as the same."""
        if one["role"] != other["role"]:
            return False
        return _is_spelled_alike(one, other) or self._canon.number(one) == self._canon.number(other)


def _is_spelled_alike(one: Message, other: Message) -> bool:
    """Return whether two messages have literally the same content and calls."""
    if one.get("content") != other.get("content") or one.get("function_call") != other.get("function_call"):
        return False
    ours, theirs = one.get("tool_calls"), other.get("tool_calls")
    if ours == theirs:
        return True
    if not isinstance(ours, list) or not isinstance(theirs, list) or len(ours) != len(theirs):
        return False
    return all(map(_is_called_alike, ours, theirs))


def _is_called_alike(one: Json, other: Json) -> bool:
    """Return whether two calls are equal apart from their ids."""
    if not isinstance(one, dict) or not isinstance(other, dict):
        return False
    return "function" in one and one["function"] == other.get("function")


def _others(messages: list[Message]) -> Iterator[Message]:
    """Return the messages other than system prompts."""
    return (message for message in messages if message["role"] not in ("system", "developer"))
