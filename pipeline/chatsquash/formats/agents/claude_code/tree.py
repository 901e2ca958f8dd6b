"""The tree of a file's lines: parents, compactions, and the ends of conversations."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterator
from functools import cached_property
from itertools import chain as concatenate
from itertools import compress, repeat
from operator import is_not

from msgspec import Struct

from chatsquash.core.model import RepeatedViolation
from chatsquash.formats.agents.claude_code.rows import NO_REPLY, Chain, Era, FileLines, Gap
from chatsquash.formats.base import TurnError
from chatsquash.formats.threads import ROOT, EntryBudget
from chatsquash.formats.values import at, string

_NEAR = 100
"""The number of lines before a line with a missing parent that are searched."""
_SEGMENT = ("headUuid", "tailUuid")
_SNAPSHOT = ("systemPrompt", "tools")


class Compaction(Struct, frozen=True):
    """The beginning of a conversation after a compaction."""

    row: int
    """The boundary, or the summary if there is no boundary."""
    anchor: int
    """The line that precedes the kept lines."""
    kept_rows: dict[int, None]
    """The lines that were kept unchanged, in order."""
    is_beyond: bool
    """Whether the compactions of the file keep too many lines, so that these lines were not determined."""


class LineTree:
    """The lines of a file, linked to the previous lines."""

    def __init__(self, lines: FileLines) -> None:
        self.lines = lines
        self.turn_rows = list(compress(range(len(lines.turns)), map(is_not, lines.turns, repeat(None))))
        self.reply_rows = sorted(concatenate.from_iterable(lines.blocks))
        self._snapshots = self._snapshot_rows()
        self.findings: list[tuple[int, RepeatedViolation]] = []
        """The findings for lines whose parents are missing."""
        self._parents = self._with_substitutes() if lines.missing else lines.parents
        chains_and_eras = set(lines.eras)
        is_uniform = len(chains_and_eras) == 1 and not lines.eras[0][1]
        self.compactions = {} if is_uniform else self._compactions()
        self._above = self._parents if is_uniform else self._resolve_above()
        self._starts = list(self._above)
        """The first rows of the runs of lines in which each line follows the line before it."""
        self._nearest_above: dict[int, int] = {}
        self.leaves, self.queued_prompts = self._ends()
        """The last lines of conversations, and the queued prompts that no line follows, by the line before them."""

    # Parents

    def _with_substitutes(self) -> dict[int, int]:
        """Return the parents of the lines, with substitutes for those that are missing."""
        lines = self.lines
        parents = dict(lines.parents)
        substitutes: dict[str, int] = {}
        earlier: dict[Chain, list[int]] = {}
        ahead, gaps_before = lines.gaps[::-1], list[Gap]()
        for row, (chain, _) in enumerate(lines.eras):
            while ahead and ahead[-1].line < lines.numbers[row]:
                gaps_before.append(ahead.pop())
            if (key := lines.missing.get(row)) is not None:
                if key not in substitutes:
                    substitutes[key] = self._substitute(row, gaps_before, earlier.get(chain, []))
                parents[row] = substitutes[key]
            earlier.setdefault(chain, []).append(row)
        return parents

    def _substitute(self, row: int, gaps_before: list[Gap], earlier: list[int]) -> int:
        """Return the line that replaces a missing parent, or ``ROOT`` if the line starts a conversation.

        Each unreadable line accounts for one missing parent, and is replaced by the line before it.  If the parent was
        never written, it is replaced by the predecessor if that is certain.
        """
        before = 0
        if gaps_before:
            gap = gaps_before.pop()
            gaps_before.extend([Gap(gap.line, gap.lines - 1)] if gap.lines > 1 else [])
            before = bisect_left(earlier, gap.line, key=self.lines.numbers.__getitem__)
        parent = earlier[before - 1] if before else self._certain_predecessor(row, earlier)
        how = "unreadable" if before else "unwritten" if parent != ROOT else "unknown"
        self.findings.append((self.lines.numbers[row], RepeatedViolation("missing-parent", (how,))))
        return parent

    def _certain_predecessor(self, row: int, earlier: list[int]) -> int:
        """Return the predecessor of a line whose parent is missing, or ``ROOT`` if it is uncertain.

        Prompts follow the previous line since the last compaction, results follow their call, and the lines of a reply
        follow each other.
        """
        lines = self.lines
        results = lines.results.get(row, ())
        for before in earlier[: -_NEAR - 1 : -1]:
            if lines.eras[before] != lines.eras[row] or lines.turns[row] is None or row in lines.queued:
                break
            if lines.turns[before] is None or before in lines.queued:
                continue
            calls = lines.calls.get(before, ())
            if results and before not in lines.results and set(calls).isdisjoint(results):
                break
            if lines.replies[row] not in (NO_REPLY, lines.replies[before]):
                break
            if not results or calls:
                return before
        return ROOT

    def _resolve_above(self) -> dict[int, int]:
        """Return the previous line of each line's chain, or the anchor of the compaction that kept this line."""
        above = dict(self._parents)
        eras = self.lines.eras
        for row, parent in self._parents.items():
            if parent == ROOT or eras[parent] is eras[row]:
                continue
            (parent_chain, parent_era), (chain, era) = eras[parent], eras[row]
            if parent_chain != chain:
                above[row] = ROOT
            elif parent_era < era:
                compaction = self.compactions.get(eras[row])
                if compaction and parent in compaction.kept_rows:
                    above[row] = compaction.anchor
        return above

    def upward(self, row: int) -> Iterator[int]:
        """Yield a line and all lines before it, last first."""
        path: set[int] = set()
        # The lines of a malformed file may form a cycle.
        while row != ROOT and row not in path:
            path.add(row)
            yield row
            row = self._above.get(row, row - 1)

    def fresh_rows(self, leaf: int, visited: Container[int]) -> tuple[list[int], int]:
        """Return a leaf with the lines above it that were not visited, and the next line, which was (or ``ROOT``)."""
        fresh: list[int] = []
        starts: set[int] = set()
        row = leaf
        while row != ROOT:
            start = self._start(row)
            if start in starts:  # a cycle
                return list(self.upward(leaf)), ROOT
            starts.add(start)
            fork = next(filter(visited.__contains__, range(row, start - 1, -1)), start - 1)
            fresh += range(row, fork, -1)
            if fork >= start:
                return fresh, fork
            row = self._above[start]
        return fresh, ROOT

    def _start(self, row: int) -> int:
        """Return the first row of the run that contains a row."""
        return self._starts[bisect_right(self._starts, row) - 1]

    # Compactions

    def _compactions(self) -> dict[Era, Compaction]:
        budget = EntryBudget(len(self.lines.keys))
        # Later conversations are more important if the budget is insufficient.
        return {era: self._compaction(era, row, budget) for era, row in reversed(self.lines.starts.items())}

    def _compaction(self, era: Era, first: int, budget: EntryBudget) -> Compaction:
        """Return the compaction at the beginning of an era."""
        lines = self.lines
        summary = lines.summaries.get(era, first)
        metadata = at(lines.values[first], "compactMetadata")
        anchor_id = at(metadata, "preservedMessages", "anchorUuid") or at(metadata, "preservedSegment", "anchorUuid")
        anchor = lines.index.get(anchor_id, ROOT) if isinstance(anchor_id, str) else ROOT
        is_own = anchor != ROOT and lines.eras[anchor] == era
        kept_rows = self._kept_rows(metadata, budget)
        own_rows = dict.fromkeys(row for row in kept_rows or () if lines.eras[row][0] == era[0])
        return Compaction(first, anchor if is_own else summary, own_rows, is_beyond=kept_rows is None)

    def _kept_rows(self, metadata: object, budget: EntryBudget) -> list[int] | None:
        """Return the lines that a compaction kept; its metadata lists all of them, or only the first and the last.

        ``None`` if the budget is insufficient.
        """
        index = self.lines.index
        kept_ids = at(metadata, "preservedMessages", "allUuids") or at(metadata, "preservedMessages", "uuids")
        if isinstance(kept_ids, list):
            known_rows = list(dict.fromkeys(index[key] for key in kept_ids if isinstance(key, str) and key in index))
            return known_rows if budget.take(len(known_rows)) else None
        head, tail = (index.get(string(at(metadata, "preservedSegment"), name), ROOT) for name in _SEGMENT)
        kept_rows: dict[int, None] = {}
        while ROOT not in (head, tail) and tail not in kept_rows:
            if not budget.take(1):
                return None
            kept_rows[tail] = None
            if tail == head:
                return list(kept_rows)[::-1]
            tail = self._parents.get(tail, tail - 1)
        return []

    # System prompts and tool definitions

    def _snapshot_rows(self) -> dict[tuple[Chain, str], list[int]]:
        """Return the lines with a system prompt or tool definitions, by chain and name of the member."""
        snapshots: dict[tuple[Chain, str], list[int]] = {}
        for row, value in enumerate(self.lines.values):
            if "attachment" in value and at(value, "attachment", "type") == "prompt_snapshot":
                for name in _SNAPSHOT:
                    if isinstance(value["attachment"].get(name), list):
                        snapshots.setdefault((self.lines.eras[row][0], name), []).append(row)
        return snapshots

    def last_snapshot(self, row: int, name: str) -> int:
        """Return the last line with a member of snapshots in the chain of a line up to its era, or ``ROOT``."""
        eras = self.lines.eras
        chain, era = eras[row]
        rows = self._snapshots.get((chain, name), [])
        after = bisect_right(rows, era, key=lambda each: eras[each][1])
        return rows[after - 1] if after else ROOT

    # Lines with turns

    def _ends(self) -> tuple[list[int], dict[int, list[int]]]:
        """Return the last lines of conversations, and the queued prompts by the line that they follow."""
        turn_rows, queued = self.turn_rows, self.lines.queued
        # In a run, each line with a turn is followed by the next.
        stops = [bisect_left(turn_rows, start) for start in self._starts]
        heads = {turn_rows[stop] for stop in stops if stop < len(turn_rows)}
        tails = {turn_rows[stop - 1] for stop in (*stops, len(turn_rows)) if stop}
        for row in {*queued, *map(self.nearest, queued)}:
            tails.add(row)
            stop = bisect_right(turn_rows, row)
            heads.update(turn_rows[stop : stop + 1])
        followed_rows = {self.nearest(row) for row in heads - queued}
        # A queued prompt counts as a successor only if another line follows it.
        for row in sorted(queued, reverse=True):
            if row in followed_rows:
                followed_rows.add(self.nearest(row))
        ends = sorted(tails - followed_rows - {ROOT})
        leaves = [row for row in ends if row not in queued]
        if len(turn_rows) > len(queued) and not leaves:
            raise TurnError(f"entry {self.lines.place(turn_rows[-1])} is its own ancestor according to parentUuid")
        return leaves, self._queued_prompts(queued.intersection(ends))

    def _queued_prompts(self, meanwhile: set[int]) -> dict[int, list[int]]:
        """Return the queued prompts that no line follows, by the line that they follow."""
        riders: dict[int, list[int]] = {}
        if not meanwhile:
            return riders
        anchors: dict[int, int] = {}
        last: dict[Chain | None, int] = {}
        for row in self.turn_rows:
            chain = self.lines.eras[row][0]
            if row not in meanwhile:
                last[chain] = last[None] = row
                continue
            before = self.nearest(row)
            if before == ROOT:
                before = last.get(chain, last.get(None, ROOT))
            if before != ROOT:
                anchor = anchors[row] = anchors.get(before, before)
                riders.setdefault(anchor, []).append(row)
        return riders

    def nearest(self, row: int) -> int:
        """Return the nearest line with a turn above a line with a turn, or ``ROOT``."""
        start = self._start(row)
        before = self._last_turn(start, row - 1)
        nearest = self._above_run(start) if before == ROOT else before
        return nearest if nearest != row else ROOT

    def _last_turn(self, start: int, row: int) -> int:
        """Return the last line with a turn between two lines, or ``ROOT``."""
        before = bisect_right(self.turn_rows, row) - 1
        return self.turn_rows[before] if before >= 0 and self.turn_rows[before] >= start else ROOT

    def _above_run(self, start: int) -> int:
        """Return the nearest line with a turn above the first line of a run, or ``ROOT``."""
        known = self._nearest_above
        nearest, starts = ROOT, dict[int, None]()
        while nearest == ROOT and start not in known and start not in starts:
            starts[start] = None
            row = self._above[start]
            if row == ROOT:
                break
            start = self._start(row)
            nearest = self._last_turn(start, row)
        if nearest == ROOT:
            nearest = known.get(start, ROOT)
        known.update(dict.fromkeys(starts, nearest))
        return nearest

    @cached_property
    def _rows_of_replies(self) -> dict[Chain, list[int]]:
        """The lines of replies by chain."""
        rows_of_replies: dict[Chain, list[int]] = {}
        for row in self.reply_rows:
            rows_of_replies.setdefault(self.lines.eras[row][0], []).append(row)
        return rows_of_replies

    def last_reply(self, row: int) -> int:
        """Return the last reply line before a line of the same chain, or ``ROOT``."""
        rows = self._rows_of_replies.get(self.lines.eras[row][0], [])
        before = bisect_left(rows, row)
        return rows[before - 1] if before else ROOT

    @cached_property
    def _answers(self) -> dict[tuple[Era, str], int]:
        """The first lines with results, by call id."""
        answers: dict[tuple[Era, str], int] = {}
        for row, call_ids in self.lines.results.items():
            for call_id in call_ids:
                answers.setdefault((self.lines.eras[row], call_id), row)
        return answers

    def answer(self, row: int, call_id: str) -> int | None:
        """Return the line that contains the result of a call, or ``None``."""
        return self._answers.get((self.lines.eras[row], call_id))

    def is_answered(self, row: int) -> bool:
        """Return whether any call of a line has a result."""
        return any(self.answer(row, call_id) is not None for call_id in self.lines.calls.get(row, ()))
