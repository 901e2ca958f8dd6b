"""A path through a session: one conversation of a gateway's log or of an agent's file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeVar

from msgspec import Struct

from chatsquash.core.model import ConversationKind

OF_PERSONS = ("main", "branch", "compacted")
"""Kinds of conversations in which a person may have gone back; agents ask several sub-agents the same at once."""


class Path(Struct, eq=False, kw_only=True):
    """A conversation: the replies from a beginning to one that nothing continues."""

    kind: ConversationKind = "main"
    length: int = 0
    """The number of its replies, including those that other conversations have before it."""
    parent: Self | None = None
    """The conversation that it comes from."""

    @property
    def ends(self) -> tuple[int, ...]:
        """Its last reply as numbers: the greater, the later it ends."""
        raise NotImplementedError

    def chain(self) -> list[Self]:
        """Itself and what summaries in it stand for, the last one first; empty if it is neither main nor compacted."""
        chain: list[Self] = []
        seen: set[int] = set()
        path: Self | None = self
        while path and path.kind == "compacted" and id(path) not in seen:
            seen.add(id(path))
            chain.append(path)
            path = path.parent
        return [*chain, path] if path and path.kind == "main" else chain


P = TypeVar("P", bound=Path)


def longest_chain(paths: Sequence[P]) -> list[P]:
    """The chain main, compacted, compacted with the most replies; of equals the one that ends last."""
    earlier = {id(path.parent) for path in paths if path.kind == "compacted" and path.parent}
    chains = [chain for path in paths if id(path) not in earlier and (chain := path.chain())]
    return max(chains, key=lambda chain: (sum(path.length for path in chain), chain[0].ends), default=[])
