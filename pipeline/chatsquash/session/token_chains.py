"""Join the replies of a session whose prompts continue one another, token by token."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from msgspec import Struct, field

from chatsquash.trees.replies import Reply
from chatsquash.trees.token_store import Key, TokenStore


class Break(NamedTuple):
    """A reply whose prompt does not continue the last reply before it with token ids."""

    earlier: Reply
    later: Reply


class TokenChain(NamedTuple):
    """The replies that become one sample: it ends with the last one, and trains on all of them."""

    end: int
    trained: list[int]
    """The numbers of the replies that are trained on, in order."""


class TokenChains(Struct):
    """The replies that other replies continue."""

    before: dict[int, int] = field(default_factory=dict)
    """The reply that each reply continues, by number."""
    breaks: list[Break] = field(default_factory=list)

    def samples(self, trained: Collection[int]) -> list[TokenChain]:
        """Return the fewest samples that train on each of some replies once."""
        continued: set[int] = set()
        for number in trained:
            for each in self._new(self.before.get(number), continued):
                continued.add(each)
        previous: set[int] = set()
        chains = list[TokenChain]()
        for end in sorted(number for number in trained if number not in continued):
            own = [*self._new(end, previous)]
            previous.update(own)
            chains.append(TokenChain(end, [each for each in reversed(own) if each in trained]))
        return chains

    def _new(self, number: int | None, seen: Collection[int]) -> Iterable[int]:
        """Yield a reply and those that it continues, latest first, up to one that was seen before."""
        while number is not None and number not in seen:
            yield number
            number = self.before.get(number)


def key_of(reply: Reply) -> Key:
    """Return the key under which the ids of a reply are stored."""
    return reply.line, reply.choice


def join(replies: Iterable[Reply], store: TokenStore) -> TokenChains:
    """Join replies with the nearest earlier reply that has token ids, if their ids continue it."""
    chains, nearest, known = TokenChains(), dict[int, Reply | None](), _KnownReplies()
    for reply in sorted(replies, key=lambda each: each.number):
        if key_of(reply) not in store:
            continue
        earlier, repetition = _nearest(reply, store, nearest), known.repeated_by(reply)
        known.add(reply)
        if earlier and store.continues(key_of(reply), key_of(earlier)):
            chains.before[reply.number] = earlier.number
        elif earlier:
            chains.breaks.append(Break(earlier, reply))
            continue
        if repetition and not store.continues(key_of(reply), key_of(repetition)):
            chains.breaks.append(Break(repetition, reply))
    return chains


class _KnownReplies(Struct):
    """Finds logged replies that a request repeats in a context that the client changed."""

    by_content: dict[int, Reply] = field(default_factory=dict)
    by_request: dict[tuple[int, ...], Reply] = field(default_factory=dict)

    def add(self, reply: Reply) -> None:
        """Add a reply."""
        self.by_content[reply.content_number] = reply
        self.by_request[_parent_number(reply), *reply.new_numbers] = reply

    def repeated_by(self, reply: Reply) -> Reply | None:
        """Return the reply whose text, or whose request with another text, is in a request after its parent."""
        roles = [message["role"] for message in reply.new_messages]
        if "assistant" not in roles:
            return None
        same_text = (
            self.by_content.get(number)
            for number, role in zip(reversed(reply.new_numbers), reversed(roles), strict=True)
            if role == "assistant"
        )
        request = (_parent_number(reply), *reply.new_numbers[: roles.index("assistant")])
        return next(filter(None, same_text), None) or self.by_request.get(request)


def _parent_number(reply: Reply) -> int:
    return reply.parent.number if reply.parent else -1


def _nearest(reply: Reply, store: TokenStore, nearest: dict[int, Reply | None]) -> Reply | None:
    """Return the nearest reply before another one that has token ids; results are kept in ``nearest``."""
    path: list[int] = []
    each = reply.parent
    while each is not None and key_of(each) not in store:
        if each.number in nearest:
            each = nearest[each.number]
            break
        path.append(each.number)
        each = each.parent
    nearest.update(dict.fromkeys(path, each))
    return each


def shorten(chain: TokenChain, fits: Callable[[int], bool]) -> tuple[TokenChain | None, list[int]]:
    """Return the longest beginning of a chain whose last reply fits, if any, and the numbers of the replies after it.

    If a reply fits, those before it fit as well.
    """
    count = bisect_left(chain.trained, True, key=lambda number: not fits(number))
    rest = chain.trained[count:]
    return (TokenChain(chain.trained[count - 1], chain.trained[:count]) if count else None), rest
