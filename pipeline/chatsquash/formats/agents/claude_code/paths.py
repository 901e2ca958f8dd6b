"""The conversations of a file: which lines each of them holds."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from chatsquash.formats.agents.claude_code.rows import Row
from chatsquash.formats.agents.claude_code.tree import Compaction, Tree

_Place = tuple[int, int, int]


class Path(Struct, frozen=True):
    """The lines of a conversation."""

    leaf: Row
    begun: Row
    """The line that it begins with, which may say nothing."""
    rows: list[Row]
    """What is said in it, in order."""
    kept: set[str]
    """The keys of lines that a compaction kept; they are another conversation's."""
    is_branch: bool
    """Whether another one that begins with the same line is in use."""
    compaction: Compaction | None
    """The compaction that it begins with."""


def paths(tree: Tree) -> list[Path]:
    """That of the last line first, then those in which the assistant said something that no later one has."""
    taken: list[Path] = []
    passed: set[str] = set()
    begun: set[str] = set()
    leaves = sorted(tree.leaves, key=lambda row: (row.chain[0], -row.place))
    for leaf in leaves:
        if _says_more(tree, leaf, passed):
            path = _path(tree, leaf, begun)
            taken.append(path)
            begun.add(path.begun.key)
            passed.update(row.key for row in path.rows if row.key not in path.kept)
    return taken or [_path(tree, leaf, begun) for leaf in leaves[:1]]


def _says_more(tree: Tree, leaf: Row, passed: set[str]) -> bool:
    """Whether the assistant says anything between a leaf and the lines that were passed, which these join."""
    is_more = False
    for row in tree.upward(leaf):
        if row.key in passed:
            break
        passed.add(row.key)
        is_more = is_more or row.message is not None
    return is_more


def _path(tree: Tree, leaf: Row, others: set[str]) -> Path:
    """The conversation that ends with a line."""
    walk = list(tree.upward(leaf))[::-1]
    begun = walk[0]
    found = tree.compactions.get((begun.chain, begun.era))
    compaction = found if found and found.row.key == begun.key else None
    on_walk = {row.key for row in walk}
    left = [row for row in compaction.kept.values() if row.key not in on_walk] if compaction else []
    whole = _Whole(tree, [*walk, *left])
    for row in left:
        whole.add(row, compaction.anchor if compaction else None)
    kept = set(whole.found)
    for row in walk:
        whole.add(row, None)
    return Path(leaf, begun, whole.ordered(), kept, begun.key in others, compaction)


class _Whole:
    """The lines of a conversation while they are found; what forks the tree is brought together."""

    def __init__(self, tree: Tree, rows: Iterable[Row]) -> None:
        self.found: dict[str, tuple[_Place, Row]] = {}
        self._tree = tree
        self._messages: set[object] = set()
        self._answered = {call_id for row in rows for call_id in row.results}

    def add(self, row: Row, anchor: Row | None) -> None:
        """Add a line that is said, and what belongs to it: blocks of its message, results of its calls, prompts.

        ``anchor``: the line behind which it stands, if that is not its own place.
        """
        if row.turn is None or row.message in self._messages:
            return
        blocks = [row]
        if row.message is not None:
            self._messages.add(row.message)
            blocks = self._tree.blocks(row)
        for block in [*blocks, *self._answers(blocks)]:
            for each in (block, *self._tree.meanwhile(block)):
                place = (anchor.place, 1, each.place) if anchor else (each.place, 0, 0)
                self.found.setdefault(each.key, (place, each))

    def _answers(self, blocks: list[Row]) -> list[Row]:
        """The results of calls of which no line of the path has one."""
        calls = [(block, call_id) for block in blocks for call_id in block.calls]
        open_calls = [self._tree.answer(block, call_id) for block, call_id in calls if call_id not in self._answered]
        self._answered.update(call_id for _, call_id in calls)
        return [answer for answer in open_calls if answer]

    def ordered(self) -> list[Row]:
        """All of them, in order."""
        return [row for _, row in sorted(self.found.values(), key=lambda each: each[0])]
