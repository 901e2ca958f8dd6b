"""Keys of what stands before a reply, which tell replies apart that say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chatsquash.core.model import Message
from chatsquash.session.join.files import View
from chatsquash.session.join.keys import said
from chatsquash.trees.replies import Reply

_BITS = (1 << 64) - 1

Context = tuple[int, ...]
"""Numbers by which a reply is known, the most telling one first: what assistants said before, what it answers, and what
it says."""
LEVELS = 3


def of_logged(replies: list[Reply]) -> Iterator[Context]:
    """The context of each of a session's replies."""
    chains: dict[int, int] = {}
    for reply in replies:
        way: list[Reply] = []
        above: Reply | None = reply
        while above and above.number not in chains:
            way.append(above)
            above = above.parent
        chain = chains[above.number] if above else 0
        for each in reversed(way):
            chain = _chain(chain, [*each.behind, each.message])
            chains[each.number] = chain
        yield _context(chains[reply.number], reply.behind, reply.message)


def of_view(view: View) -> dict[int, Context]:
    """The contexts of a conversation's own replies, by their numbers."""
    found: dict[int, Context] = {}
    own, chain, begin = frozenset(view.place.own), 0, 0
    places = ((view.reply(number).at, number) for number in range(view.place.length))
    for at, number in sorted((at, number) for at, number in places if at is not None):
        chain = _chain(chain, view.messages[begin : at + 1])
        begin = max(begin, at + 1)
        if number in own:
            found[number] = _context(chain, view.messages[max(0, at - 1) : at], view.messages[at])
    return found


def _chain(chain: int, messages: Iterable[Message]) -> int:
    for message in messages:
        if message["role"] == "assistant":
            chain = _both(chain, said(message))
    return chain


def _context(chain: int, before: list[Message], reply: Message) -> Context:
    told = said(reply)
    answers = _both(said(before[-1]), told) if before else told
    return _both(chain, answers), answers, told


def _both(one: int, other: int) -> int:
    return hash((one, other)) & _BITS
