"""The tree of a file's lines: parents, compactions, and the ends of conversations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterator
from functools import cached_property

from msgspec import Struct

from chatsquash.core.model import RepeatedViolation
from chatsquash.formats.agents.claude_code.rows import Chain, FileContents, Gap, LogLine, ReplyKey
from chatsquash.formats.base import TurnError
from chatsquash.formats.values import at, string

_Era = tuple[Chain, int]
_NEAR = 100
"""The number of lines before a line with a missing parent that are searched."""


class Compaction(Struct, frozen=True):
    """The beginning of a conversation after a compaction."""

    row: LogLine
    """The boundary, or the summary if there is no boundary."""
    anchor: LogLine
    """The line that precedes the kept lines."""
    kept_rows: dict[str, LogLine]
    """The lines that were kept unchanged, by key, in order."""


def _certain_predecessor(row: LogLine, earlier: list[LogLine]) -> LogLine | None:
    """Return the predecessor of a line whose parent is missing, or ``None`` if it is uncertain.

    Prompts follow the previous line since the last compaction, results follow their call, and the lines of a reply
    follow each other.
    """
    for before in earlier[: -_NEAR - 1 : -1]:
        if before.era != row.era or row.turn is None or row.is_queued:
            break
        if before.turn is None or before.is_queued:
            continue
        if row.results and not before.results and set(before.calls).isdisjoint(row.results):
            break
        if row.message is not None and row.message != before.message:
            break
        if not row.results or before.calls:
            return before
    return None


class LineTree:
    """The lines of a file, linked to the previous lines."""

    def __init__(self, contents: FileContents) -> None:
        self.rows = contents.tree
        self.turn_lines = [row for row in self.rows.values() if row.turn is not None]
        self.replies = [row for row in self.turn_lines if row.message is not None]
        self.findings: list[tuple[int, RepeatedViolation]] = []
        """The findings for lines whose parents are missing."""
        self.joined: set[str] = set()
        """The keys of the lines whose missing parents were replaced."""
        self._parents = self._resolve_parents(contents.gaps)
        self.compactions = {} if contents.is_uniform else self._compactions()
        self._above = self._parents if contents.is_uniform else self._resolve_above()
        self._messages: dict[ReplyKey | None, list[LogLine]] = {}
        self.snapshots: dict[Chain, list[LogLine]] = {}
        """The lines that contain a system prompt or tool definitions, by chain."""
        self._index_rows()
        self._before = self._nearest()
        self.leaves, self.queued_prompts = self._ends()
        """The last lines of conversations, and the queued prompts that no line follows, by the line before them."""

    def _index_rows(self) -> None:
        for row in self.rows.values():
            if "attachment" in row.value and at(row.value, "attachment", "type") == "prompt_snapshot":
                self.snapshots.setdefault(row.chain, []).append(row)
        for row in self.replies:
            if (known := self._messages.get(row.message)) is None:
                self._messages[row.message] = [row]
            else:
                known.append(row)

    # Parents

    def _resolve_parents(self, gaps: list[Gap]) -> dict[str, LogLine | None]:
        rows = self.rows
        parents = {key: rows.get(row.parent) for key, row in rows.items()}
        missing = {rows[key].parent for key, parent in parents.items() if parent is None} - {""}
        substitutes: dict[str, LogLine | None] = {}
        earlier: dict[Chain, list[LogLine]] = {}
        ahead, gaps_before = gaps[::-1], list[Gap]()
        for row in rows.values() if missing else ():
            while ahead and ahead[-1].line < row.line:
                gaps_before.append(ahead.pop())
            if row.parent in missing:
                if row.parent not in substitutes:
                    substitutes[row.parent] = self._substitute(row, gaps_before, earlier.get(row.chain, []))
                parents[row.key] = substitutes[row.parent]
                self.joined.add(row.key)
            earlier.setdefault(row.chain, []).append(row)
        return parents

    def _substitute(self, row: LogLine, gaps_before: list[Gap], earlier: list[LogLine]) -> LogLine | None:
        """Return the line that replaces a missing parent, or ``None`` if the line starts a conversation.

        Each unreadable line accounts for one missing parent, and is replaced by the line before it.  If the parent was
        never written, it is replaced by the predecessor if that is certain.
        """
        before = 0
        if gaps_before:
            gap = gaps_before.pop()
            gaps_before.extend([Gap(gap.line, gap.lines - 1)] if gap.lines > 1 else [])
            before = bisect_left(earlier, gap.line, key=lambda each: each.line)
        parent = earlier[before - 1] if before else _certain_predecessor(row, earlier)
        how = "unreadable" if before else "unwritten" if parent else "unknown"
        self.findings.append((row.line, RepeatedViolation("missing-parent", (how,))))
        return parent

    def _resolve_above(self) -> dict[str, LogLine | None]:
        """Return the previous line of each line's chain, or the anchor of the compaction that kept this line."""
        above = dict(self._parents)
        for key, row in self.rows.items():
            parent = above[key]
            if parent is None:
                continue
            if parent.chain is not row.chain and parent.chain != row.chain:
                above[key] = None
            elif parent.era < row.era:
                compaction = self.compactions.get((row.chain, row.era))
                if compaction and parent.key in compaction.kept_rows:
                    above[key] = compaction.anchor
        return above

    def upward(self, row: LogLine) -> Iterator[LogLine]:
        """Yield a line and all lines before it, last first."""
        path: set[str] = set()
        above: LogLine | None = row
        # The lines of a malformed file may form a cycle.
        while above and above.key not in path:
            path.add(above.key)
            yield above
            above = self._above[above.key]

    def fresh_lines(self, leaf: LogLine, visited: Container[str]) -> tuple[list[LogLine], LogLine | None]:
        """Return a leaf with the lines above it that were not visited, and the next line, which was (or ``None``)."""
        fresh: list[LogLine] = []
        above_of = self._above
        above: LogLine | None = leaf
        for _ in range(len(self.rows) + 1):
            if above is None:
                return fresh, None
            key = above.key
            if key in visited:
                return fresh, above
            fresh.append(above)
            above = above_of[key]
        # More lines than the file has are a cycle.
        return list(self.upward(leaf)), None

    # Compactions

    def _compactions(self) -> dict[_Era, Compaction]:
        compactions: dict[_Era, Compaction] = {}
        eras: dict[_Era, list[LogLine]] = {}
        for row in self.rows.values():
            if row.era:
                eras.setdefault((row.chain, row.era), []).append(row)
        for era, rows in eras.items():
            compactions[era] = self._compaction(rows)
        return compactions

    def _compaction(self, rows: list[LogLine]) -> Compaction:
        """Return the compaction at the beginning of an era."""
        first = rows[0]
        summary = next((row for row in rows if row.is_summary), first)
        metadata = at(first.value, "compactMetadata")
        anchor_id = at(metadata, "preservedMessages", "anchorUuid") or at(metadata, "preservedSegment", "anchorUuid")
        anchor = self.rows.get(anchor_id) if isinstance(anchor_id, str) else None
        is_own = anchor is not None and (anchor.chain, anchor.era) == (first.chain, first.era)
        kept_lines = {row.key: row for row in self._kept_lines(metadata) if row.chain == first.chain}
        return Compaction(first, anchor if anchor and is_own else summary, kept_lines)

    def _kept_lines(self, metadata: object) -> list[LogLine]:
        """Return the lines that a compaction kept; its metadata lists all of them, or only the first and the last."""
        kept_ids = at(metadata, "preservedMessages", "allUuids") or at(metadata, "preservedMessages", "uuids")
        if isinstance(kept_ids, list):
            return [self.rows[key] for key in kept_ids if isinstance(key, str) and key in self.rows]
        head, tail = (string(at(metadata, "preservedSegment"), name) for name in ("headUuid", "tailUuid"))
        kept_lines: dict[str, LogLine] = {}
        row = self.rows.get(tail)
        while row and row.key not in kept_lines:
            kept_lines[row.key] = row
            if row.key == head:
                return list(kept_lines.values())[::-1]
            row = self._parents[row.key]
        return []

    # Lines with turns

    def _ends(self) -> tuple[list[LogLine], dict[str, list[LogLine]]]:
        """Return the last lines of conversations, and the queued prompts by the line that they follow."""
        nearest = self._before
        queued_lines = [row for row in self.turn_lines if row.is_queued]
        others = [row for row in self.turn_lines if not row.is_queued] if queued_lines else self.turn_lines
        followed_keys = {before.key for row in others if (before := nearest[row.key])}
        # A queued prompt counts as a successor only if another line follows it.
        for row in reversed(queued_lines):
            if row.key in followed_keys and (before := nearest[row.key]):
                followed_keys.add(before.key)
        ends = [row for row in self.turn_lines if row.key not in followed_keys]
        leaves = [row for row in ends if not row.is_queued]
        if others and not leaves:
            raise TurnError(f"entry {self.turn_lines[-1].place} is its own ancestor according to parentUuid")
        return leaves, self._queued_prompts({row.key for row in ends if row.is_queued})

    def _queued_prompts(self, meanwhile: set[str]) -> dict[str, list[LogLine]]:
        """Return the queued prompts that no line follows, by the key of the line that they follow."""
        riders: dict[str, list[LogLine]] = {}
        if not meanwhile:
            return riders
        anchors: dict[str, LogLine] = {}
        last: dict[Chain | None, LogLine] = {}
        for row in self.turn_lines:
            if row.key not in meanwhile:
                last[row.chain] = last[None] = row
                continue
            before = self._before[row.key] or last.get(row.chain) or last.get(None)
            anchor = anchors.get(before.key, before) if before else None
            if anchor:
                anchors[row.key] = anchor
                riders.setdefault(anchor.key, []).append(row)
        return riders

    def _nearest(self) -> dict[str, LogLine | None]:
        """Return, for each line with a turn, the nearest line with a turn above it."""
        known: dict[str, LogLine | None] = {}
        for row in self.turn_lines:
            above = self._above[row.key]
            if above is None or above.turn is not None:  # the usual case
                known[row.key] = above if above is not row else None
                continue
            between = [row.key]
            while above and above.turn is None and above.key not in known and len(between) <= len(self.rows):
                between.append(above.key)
                above = self._above[above.key]
            nearest = above if above is None or above.turn is not None else known.get(above.key)
            for key in between:
                known[key] = nearest if nearest is not row else None
        return known

    def nearest(self, row: LogLine) -> LogLine | None:
        """Return the nearest line with a turn above a line with a turn."""
        return self._before[row.key]

    @cached_property
    def _reply_lines(self) -> dict[Chain, list[LogLine]]:
        reply_lines: dict[Chain, list[LogLine]] = {}
        for row in self.replies:
            reply_lines.setdefault(row.chain, []).append(row)
        return reply_lines

    def last_reply(self, row: LogLine) -> LogLine | None:
        """Return the last reply line before a line of the same chain."""
        reply_lines = self._reply_lines.get(row.chain, [])
        before = bisect_left(reply_lines, row.place, key=lambda each: each.place)
        return reply_lines[before - 1] if before else None

    def blocks(self, row: LogLine) -> list[LogLine]:
        """Return the lines of the reply that a line belongs to."""
        return self._messages[row.message] if row.message else []

    def blocks_of(self, reply: ReplyKey) -> list[LogLine]:
        """Return the lines of a reply."""
        return self._messages[reply]

    @cached_property
    def _results(self) -> dict[tuple[_Era, str], LogLine]:
        """The first lines with results, by call id."""
        return {
            ((row.chain, row.era), call_id): row
            for row in reversed(self.turn_lines)
            for call_id in reversed(row.results)
        }

    def answer(self, row: LogLine, call_id: str) -> LogLine | None:
        """Return the line that contains the result of a call, or ``None``."""
        return self._results.get(((row.chain, row.era), call_id))
