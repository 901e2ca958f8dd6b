"""Parse the lines of a file: their places in the tree, and their turns, calls and results."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from chatsquash.core.model import Json
from chatsquash.core.times import Moment
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import entries, line_numbers, moment
from chatsquash.formats.threads import ROOT
from chatsquash.formats.values import Object, at, objects, string

BOUNDARY = "compact_boundary"
SYNTHETIC = "<synthetic>"
"""The model name in lines that the client wrote as the assistant."""
_THOUGHTS = ("thinking", "redacted_thinking")
ABSORBED = "absorbed_mid_turn"
"""The logged reason for a queued prompt that was sent to the model in the middle of a turn."""

Chain = tuple[bool, str]
"""Whether a chain is a sidechain, and the id of its agent."""
MAIN: Chain = (False, "")
Era = tuple[Chain, int]
"""A chain, and the number of its compactions so far."""
ReplyName = tuple[Era, str]
"""The name shared by the lines of a reply, which is unique in its era."""
NO_REPLY = -1


class Gap(NamedTuple):
    """Consecutive lines that are missing because they could not be read."""

    line: int
    """The number of the first missing line."""
    lines: int


class FileLines(Struct):
    """The lines of the tree in file order, as one list per property; a row is an index into these lists.

    Repeated lines have no row, except for the first.
    """

    gaps: list[Gap]
    """The missing lines, in order."""
    others: list[Object] = []
    """The objects that are not part of the tree."""
    skipped: list[int] = []
    """The number of rows before each object without a row."""
    index: dict[str, int] = {}
    """The rows by key."""
    keys: list[str] = []
    numbers: list[int] = []
    """The 1-based line numbers."""
    values: list[Object] = []
    parents: dict[int, int] = {}
    """The parents of the rows that do not follow the row before them in the same era.

    The parent is ``ROOT`` for the first line of a conversation, and if it is missing.
    """
    missing: dict[int, str] = {}
    """The keys of the missing parents, by row."""
    eras: list[Era] = []
    turns: list[Object | None] = []
    """The turns in Anthropic's form, which may have more members and no role; ``None`` for lines that are not part of
    a conversation.
    """
    times: list[Moment | None] = []
    """The times of the lines with turns."""
    queued: set[int] = set()
    """The prompts that were sent while the agent was working."""
    replies: list[int] = []
    """The numbers of the replies that the lines belong to, or ``NO_REPLY``."""
    names: dict[ReplyName, int] = {}
    """The numbers of the replies by name."""
    blocks: list[list[int]] = []
    """The rows of each reply."""
    starts: dict[Era, int] = {}
    """The rows at which the eras after compactions start: the boundaries, or the summaries without a boundary."""
    summaries: dict[Era, int] = {}
    """The first compaction summaries of these eras."""
    calls: dict[int, list[str]] = {}
    """The ids of the calls in lines."""
    prompts: dict[int, list[tuple[str, str]]] = {}
    """The prompts in the arguments of calls, with the ids of the calls."""
    results: dict[int, list[str]] = {}
    """The ids of the calls that lines answer."""
    notes: list[int] = []
    """The notes that Claude Code adds to continue a truncated reply."""
    thoughts: set[int] = set()
    """The lines that contain only reasoning."""

    def place(self, row: int) -> int:
        """Return the 1-based number of a row among the objects of the file."""
        return row + 1 + bisect_right(self.skipped, row)

    def parent(self, row: int) -> int:
        """Return the row of the previous line, or ``ROOT``."""
        return self.parents.get(row, row - 1)

    def is_synthetic(self, row: int) -> bool:
        """Return whether the client wrote a line as the assistant."""
        return self.replies[row] == NO_REPLY and self.values[row].get("type") == "assistant"

    def message_id(self, row: int) -> str:
        """Return the message id of a line, or an empty string."""
        return string(self.values[row].get("message"), "id")


def is_boundary(value: Object) -> bool:
    """Return whether a line marks a compaction of all earlier lines."""
    return value.get("type") == "system" and value.get("subtype") == BOUNDARY


def rows(values: list[Json], lines: list[int] | None) -> FileLines:
    """Return the lines of a file; message lines without an id follow the previous line."""
    neighbours = pairwise([0, *lines]) if lines and lines[-1] != len(lines) else ()
    gaps = [Gap(before + 1, line - before - 1) for before, line in neighbours if line > before + 1]
    # Nearly all files are in order, so sorting is only tried after a line that precedes its parent.
    contents, is_in_order = _LineReader(values, gaps).read(lines or None)
    if not is_in_order:
        values, lines = _in_order(values, lines or None)
        contents, _ = _LineReader(values, gaps).read(lines)
    return contents


def _in_order(values: list[Json], lines: list[int] | None) -> tuple[list[Json], list[int]]:
    """Sort the lines so that each follows its parent, without moving any line across a compaction."""
    # In terminal sessions, Claude Code writes some lines late.
    known = {string(value, "uuid") for value in values}
    written_ids, waiting, order = set[str](), dict[str, list[int]](), list[int]()

    def write(place: int) -> None:
        ready = [place]
        while ready:
            order.append(ready.pop())
            key = string(values[order[-1]], "uuid")
            written_ids.add(key)
            ready += waiting.pop(key, [])[::-1]

    def write_waiting() -> None:
        remaining = sorted(place for places in waiting.values() for place in places)
        waiting.clear()
        order.extend(remaining)
        written_ids.update(string(values[place], "uuid") for place in remaining)

    for place, value in enumerate(values):
        if is_boundary(value) or at(value, "isCompactSummary") is True:
            write_waiting()  # no line may cross a compaction
        parent = string(value, "parentUuid")
        if parent and parent in known and parent not in written_ids:
            waiting.setdefault(parent, []).append(place)
        else:
            write(place)
    write_waiting()
    numbers = line_numbers(values, lines)
    return [values[place] for place in order], [numbers[place] for place in order]


class _LineReader:
    """A reader for the lines in file order."""

    def __init__(self, values: list[Json], gaps: list[Gap]) -> None:
        self._values = values
        self._lines = FileLines(gaps)
        self._last_prompts: dict[Chain, int] = {}
        self._ambiguous: set[int] = set()
        """The replies that share an id with another reply, as produced by some proxies."""

    def read(self, numbers: list[int] | None) -> tuple[FileLines, bool]:
        """Parse the lines, and return them with whether each line follows its parent."""
        queued = cache(partial(_attached_prompts, self._values))  # computed only for files that need it
        lines, eras = self._lines, _Eras(self._lines)
        index = lines.index
        before = previous = ""
        previous_era = None
        for place, number, value in entries(self._values, numbers):
            turn, is_reply, is_queued = _turn(value, place, queued)
            key, parent = value.get("uuid"), value.get("parentUuid")
            if type(parent) is not str or not parent:
                parent = _logical_parent(value)
            if type(key) is not str or not key:
                key, parent = f"entry {place}" if turn is not None else "", "" if is_queued else before
            row = len(index)
            if not key or key in index:
                lines.others += [] if key else [value]  # lines with repeated keys are copies of the first line
                lines.skipped.append(row)
                continue
            index[key] = row
            is_usual = turn is not None and value.get("isSidechain") is False and "isCompactSummary" not in value
            if is_usual and not eras.at_start:
                era = eras.main
            else:
                era, starts_era = eras.of(row, value, has_turn=turn is not None)
                parent = "" if starts_era else parent
            if parent != previous or era is not previous_era:
                self._link(row, parent)
            previous, previous_era = key, era
            lines.numbers.append(number)
            lines.values.append(value)
            lines.eras.append(era)
            lines.turns.append(turn)
            lines.times.append(None if turn is None else moment(value.get("timestamp")))
            lines.replies.append(NO_REPLY if turn is None else self._reply(row, turn, key if is_reply else ""))
            if is_queued:
                lines.queued.add(row)
            else:
                before = key
        return lines, self._finish()

    def _link(self, row: int, parent: str) -> None:
        """Add the parent of a line."""
        lines = self._lines
        lines.parents[row] = lines.index.get(parent, ROOT) if parent else ROOT
        if parent and lines.parents[row] == ROOT:
            lines.missing[row] = parent

    def _finish(self) -> bool:
        """Link the lines that precede their parents, and return whether there are none."""
        lines = self._lines
        lines.keys = list(lines.index)
        late = [row for row, parent in lines.missing.items() if parent in lines.index]
        for row in late:
            lines.parents[row] = lines.index[lines.missing.pop(row)]
        self._distinguish()
        return not late

    def _reply(self, row: int, turn: Object, key: str) -> int:
        """Return the number of the reply that a turn belongs to, and add its calls and results.

        ``key`` is empty for other turns than those of replies.
        """
        lines = self._lines
        content = turn.get("content")
        if type(content) is list:
            _add_blocks(lines, row, content)
        if not key:
            value = lines.values[row]
            if value.get("turnCompanion") is True:
                lines.notes.append(row)
            if row not in lines.results and value.get("type") == "user" and value.get("isMeta") is not True:
                self._last_prompts[lines.eras[row][0]] = row
            return NO_REPLY
        message_id = turn.get("id")
        name = lines.eras[row], message_id if message_id and type(message_id) is str else key
        reply = lines.names.get(name)
        if reply is None:
            reply = lines.names[name] = len(lines.blocks)
            lines.blocks.append([row])
            return reply
        before = lines.blocks[reply][-1]
        lines.blocks[reply].append(row)
        # A prompt between the lines of a message makes its id ambiguous.
        if lines.parent(row) != before and (
            self._last_prompts.get(name[0][0], ROOT) > before or _differ(lines, before, row)
        ):
            self._ambiguous.add(reply)
        return reply

    def _distinguish(self) -> None:
        """Give separate numbers to replies that share an id; consecutive lines form a reply."""
        if not self._ambiguous:
            return
        lines = self._lines
        last_turns: list[int] = []
        names = set[ReplyName]()
        for row in range(len(lines.keys)):
            parent = lines.parent(row)
            before = last_turns[parent] if parent < row and parent != ROOT else ROOT
            if lines.replies[row] in self._ambiguous:
                lines.replies[row] = _distinct(lines, row, before, names)
            last_turns.append(before if lines.turns[row] is None else row)
        lines.blocks = [[] for _ in lines.names]
        for row, reply in enumerate(lines.replies):
            if reply != NO_REPLY:
                lines.blocks[reply].append(row)


def _add_blocks(lines: FileLines, row: int, content: list[Json]) -> None:
    """Add the ids of the calls and of the results in a turn, and whether it contains only reasoning."""
    is_thought = bool(content)
    for block in content:
        block_type = block.get("type") if type(block) is dict else None
        if block_type in _THOUGHTS:
            continue
        is_thought = False
        if block_type == "tool_use":
            if type(call_id := block.get("id")) is str and call_id:
                lines.calls.setdefault(row, []).append(call_id)
                if prompt := string(block.get("input"), "prompt"):
                    lines.prompts.setdefault(row, []).append((prompt, call_id))
        elif block_type == "tool_result" and type(call_id := block.get("tool_use_id")) is str and call_id:
            lines.results.setdefault(row, []).append(call_id)
    if is_thought:
        lines.thoughts.add(row)


class _Eras:
    """The current era of each chain while lines are read."""

    def __init__(self, lines: FileLines) -> None:
        self._lines = lines
        self.main: Era = MAIN, 0
        self._current: dict[Chain, Era] = {MAIN: self.main}
        self.at_start: set[Chain] = set()
        """The chains without content since the last compaction, except summaries."""

    def of(self, row: int, value: Object, *, has_turn: bool) -> tuple[Era, bool]:
        """Return the era of a line, and whether the line starts it (a boundary, or a summary without a boundary)."""
        chain = (True, string(value, "agentId")) if value.get("isSidechain") is True else MAIN
        era = self._current.setdefault(chain, (chain, 0))
        is_summary = value.get("isCompactSummary") is True
        starts_era = (not has_turn and is_boundary(value)) or (is_summary and chain not in self.at_start)
        if starts_era:
            self.at_start.add(chain)
            era = self._current[chain] = chain, era[1] + 1
            self.main = self._current[MAIN]
            self._lines.starts[era] = row
        elif self.at_start and has_turn and not is_summary:
            self.at_start.discard(chain)
        if is_summary:
            self._lines.summaries.setdefault(era, row)
        return era, starts_era


def _distinct(lines: FileLines, row: int, before: int, names: set[ReplyName]) -> int:
    """Return the number of a reply, from its request id or start time, which copies of its lines share.

    ``before`` is the previous line, and ``names`` are the names so far.
    """
    message_id = lines.message_id(row)
    if (
        before != ROOT
        and lines.replies[before] != NO_REPLY
        and message_id == lines.message_id(before)
        and not _differ(lines, row, before)
    ):
        return lines.replies[before]
    value = lines.values[row]
    start = string(value, "requestId") or string(value, "timestamp") or lines.keys[row]
    name = lines.eras[row], f"{message_id} {start}"
    if name in names:
        name = lines.eras[row], f"{message_id} {lines.keys[row]}"
    names.add(name)
    return lines.names.setdefault(name, len(lines.names))


def _differ(lines: FileLines, one: int, other: int) -> bool:
    """Return whether two lines have different request ids or different stop reasons."""
    values = lines.values[one], lines.values[other]
    requests = {string(value, "requestId") for value in values}
    reasons = {string(value.get("message"), "stop_reason") for value in values}
    return len(requests - {""}) > 1 or len(reasons - {""}) > 1


def _logical_parent(value: Object) -> str:
    """Return the key of the previous line for a line without ``parentUuid``."""
    # The logical parent of a compaction may come later in the file.
    return "" if is_boundary(value) else string(value, "logicalParentUuid")


# Turns


def _turn(value: Object, place: int, queued: Callable[[], Counter[str]]) -> tuple[Object | None, bool, bool]:
    """Return the turn of a line, and whether it is a reply or a queued prompt.

    Lines that the model neither produced nor received have no turn: the client's errors and notes to the user.
    """
    line_type = value.get("type")
    if line_type == "assistant":
        message, is_error = value.get("message"), value.get("isApiErrorMessage")
        if isinstance(message, dict) and message.get("model") == SYNTHETIC:
            # Except for errors, later requests contain what the client wrote as the assistant.
            return message if is_error is False else None, False, False
        return (None, False, False) if is_error is True else (_message(value, place), True, False)
    if line_type == "user":
        is_sent = value.get("isVisibleInTranscriptOnly") is not True or value.get("isCompactSummary") is True
        return _message(value, place) if is_sent else None, False, False
    if line_type == "system" and value.get("subtype") == "local_command" and isinstance(value.get("content"), str):
        return {"role": "user", "content": value["content"]}, False, False
    prompt = _attached_prompt(value) if line_type == "attachment" else _absorbed(value, queued)
    return None if prompt is None else {"role": "user", "content": prompt}, False, prompt is not None


def _message(value: Object, place: int) -> Object:
    message = value.get("message")
    if not isinstance(message, dict):
        raise TurnError(f"entry {place} has no message")
    return message


def _attached_prompts(values: list[Json]) -> Counter[str]:
    """Count how often each text is attached as a queued prompt."""
    prompts = (_attached_prompt(value) for value in objects(values))
    return Counter(prompt for prompt in prompts if isinstance(prompt, str))


def _attached_prompt(value: Object) -> Json:
    """Return the prompt in an attachment, as a string or as blocks, or ``None`` for other attachments."""
    if at(value, "attachment", "type") != "queued_command":
        return None
    prompt = at(value, "attachment", "prompt")
    is_prompt = (isinstance(prompt, str) and prompt.strip()) or (isinstance(prompt, list) and prompt)
    return prompt if is_prompt else None


def _absorbed(value: Object, queued: Callable[[], Counter[str]]) -> str | None:
    """Return a prompt that left the queue in the middle of a turn, unless an attachment also contains it.

    ``queued`` returns the counts of attached prompts, which are decremented.
    """
    if value.get("type") != "queue-operation" or value.get("reason") != ABSORBED:
        return None
    prompt = string(value, "content")
    is_attached = queued()[prompt] > 0
    queued()[prompt] -= is_attached
    return prompt if not is_attached and prompt.strip() else None
