"""Detect sub-agents that only later requests reveal: forks of a history, and sub-agents logged before their call."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.trees.calls import ARGUMENTS, MOST, CallSite, arguments, contains, equal_calls, returning
from chatsquash.trees.canonical import is_long, prompt_text
from chatsquash.trees.links import Link
from chatsquash.trees.replies import Reply, follow_links


def is_fork(reply: Reply) -> bool:
    """Return whether a reply is the first one of a sub-agent that received the history of its caller."""
    return reply.parent is not None and reply.parent.tree != reply.tree


def separate_forks(replies: list[Reply], links: list[Link]) -> None:
    """Give each path that forks from another one with the argument of a call there its own tree."""
    calls = _LongArguments()
    new_trees: dict[int, int] = {}
    forks: dict[tuple[int, int], list[int]] = {}
    for reply in replies:
        parent = reply.parent
        if parent is None or is_fork(reply):
            continue
        # Some agents give a sub-agent their complete history, followed by the argument of the call as its prompt.
        if parent.children > 1 and (caller := _fork_caller(reply, calls)):
            alike = forks.setdefault((parent.number, reply.request_chain), [])
            if len(alike) < equal_calls(caller):  # otherwise the request was repeated
                alike.append(len(links))
                links.append(Link(caller=caller, is_exact=True))
            new_trees[reply.number] = alike[-1]
        elif parent.number in new_trees:
            new_trees[reply.number] = new_trees[parent.number]
    for reply in replies:
        reply.tree = new_trees.get(reply.number, reply.tree)


class _LongArguments(Struct):
    """The arguments of calls that are long enough to be recognized, computed once per reply."""

    _known: dict[int, list[tuple[int, str]]] = field(default_factory=dict)

    def find(self, reply: Reply, text: str, *, exactly: bool = False) -> CallSite | None:
        """Return the call of a reply with an argument that equals a text or is contained in it."""
        if (known := self._known.get(reply.number)) is None:
            calls = enumerate(chat.calls(reply.message)[:ARGUMENTS], 1)
            known = [(place, each) for place, call in calls for each in arguments(call) if is_long(each)]
            self._known[reply.number] = known
        for place, argument in known:
            if argument == text or (not exactly and contains(text, argument)):
                return CallSite(reply, place)
        return None


def _fork_caller(reply: Reply, calls: _LongArguments) -> CallSite | None:
    """Return the call whose argument is the last user text before a reply.

    The call is in the parent reply, or in a sibling that continues the same parent.
    """
    text = reply.last_prompt()
    if not text or reply.parent is None or _is_answer(reply):
        return None
    if (caller := calls.find(reply.parent, text, exactly=True)) and _continues_without_argument(reply, text):
        return caller
    if (caller := calls.find(reply.parent, text)) and any(_is_answer(each) for each in _siblings(reply)):
        return caller
    siblings = (each for each in _siblings(reply) if each.number < reply.number and each.last_prompt() != text)
    return next((caller for each in siblings if (caller := calls.find(each, text, exactly=True))), None)


def _is_answer(reply: Reply) -> bool:
    """Return whether a request ends with results."""
    return bool(reply.new_messages) and reply.new_messages[-1]["role"] == "tool"


def _siblings(reply: Reply) -> list[Reply]:
    """Return the other replies that continue the same parent."""
    assert reply.parent
    return [each for each in islice(follow_links(reply.parent.last_child, "before"), MOST) if each is not reply]


def _continues_without_argument(reply: Reply, text: str) -> bool:
    """Return whether the conversation also continues without the argument of the call."""
    return any(each.last_prompt() != text or _is_answer(each) for each in _siblings(reply))


# Such trees were logged before the reply with their call.
def find_later_calls(replies: list[Reply], links: list[Link]) -> None:
    """Link trees that started before the reply with their call was complete."""
    firsts = [reply for reply in replies if reply.parent is None and not _has_origin(links[reply.tree])]
    if len(firsts) < 2:
        return
    numbers, calls = [first.number for first in firsts], _LongArguments()
    for reply in replies:
        end = bisect_right(numbers, reply.number)
        recent = firsts[max(0, end - MOST) : end]
        since = reply.parent.number if reply.parent else -1
        for first in (each for each in recent if each.number > since and each.tree != reply.tree):
            link = links[first.tree]
            caller = calls.find(reply, _first_prompt(first)) if link.caller is None else None
            if caller and returning([caller], _answers(first), is_strict=True):
                link.caller, link.is_exact = caller, True


def _has_origin(link: Link) -> bool:
    return bool(link.summary or link.caller or link.copies)


def _first_prompt(first: Reply) -> str:
    prompt = next(first.users(), None)
    return prompt_text(prompt[1]) if prompt else ""


def _answers(first: Reply) -> Iterator[Reply]:
    """Return the replies without calls that continue a first reply, including itself."""
    path = follow_links(first, "last_child")
    return islice((reply for reply in path if not chat.calls(reply.message)), MOST)
