"""Parse the lines of a file: their places in the tree, and their turns, calls and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core.model import Json
from chatsquash.core.times import Moment
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import entries, line_numbers, moment
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
ReplyKey = tuple[Chain, int, str]
"""The key shared by the lines of a reply: the chain, the number of its compactions so far, and a name."""


class LogLine(Struct, frozen=True, eq=False, gc=False):
    """A line of the tree."""

    place: int
    """The 1-based number among the objects of the file."""
    line: int
    """The 1-based line number."""
    key: str
    parent: str
    """The key of the previous line; empty for the first line of a conversation."""
    chain: Chain
    era: int
    """The number of earlier compactions in its chain."""
    value: Object
    turn: Object | None
    """Its turn in Anthropic's form, which may have more members and no role; ``None`` if it is not part of a
    conversation.
    """
    is_queued: bool = False
    """Whether it is a prompt that was sent while the agent was working."""
    message: ReplyKey | None = None
    """The key of the reply that it belongs to; ``None`` if it is not part of a reply."""
    calls: Sequence[str] = ()
    """The ids of its calls."""
    results: Sequence[str] = ()
    """The ids of the calls that it answers."""
    is_thought: bool = False
    """Whether it contains only reasoning."""
    time: Moment | None = None
    """Its time, if it has a turn."""

    @property
    def is_synthetic(self) -> bool:
        """Whether the client wrote it as the assistant."""
        return self.message is None and self.value.get("type") == "assistant"

    @property
    def is_summary(self) -> bool:
        """Whether it is a compaction summary."""
        return self.value.get("isCompactSummary") is True


class Gap(NamedTuple):
    """Consecutive lines that are missing because they could not be read."""

    line: int
    """The number of the first missing line."""
    lines: int


class FileContents(Struct, frozen=True):
    """The lines of a file."""

    tree: dict[str, LogLine]
    """The lines of the tree by key, in file order; only the first of repeated lines."""
    others: list[tuple[int, Object]]
    """The other lines, with their places."""
    gaps: list[Gap]
    """The missing lines, in order."""
    is_uniform: bool
    """Whether all lines belong to one chain without compactions."""


def is_boundary(value: Object) -> bool:
    """Return whether a line marks a compaction of all earlier lines."""
    return value.get("type") == "system" and value.get("subtype") == BOUNDARY


def rows(values: list[Json], lines: list[int] | None) -> FileContents:
    """Return the lines of a file; message lines without an id follow the previous line."""
    neighbours = pairwise([0, *(lines or [])])
    gaps = [Gap(before + 1, line - before - 1) for before, line in neighbours if line > before + 1]
    # Nearly all files are in order, so sorting is only tried after a line that precedes its parent.
    contents, is_in_order = _read(values, lines or None, gaps)
    return contents if is_in_order else _read(*_in_order(values, lines or None), gaps)[0]


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


def _read(values: list[Json], lines: list[int] | None, gaps: list[Gap]) -> tuple[FileContents, bool]:
    """Parse the lines in file order, and return them with whether each line follows its parent."""
    queued = cache(partial(_attached_prompts, values))  # computed only for files that need it
    tree: dict[str, LogLine] = {}
    others: list[tuple[int, Object]] = []
    eras, ids = _EraCounts(), MessageIds()
    before = ""
    chains = set[Chain]()
    missing, is_in_order = set[str](), True
    for place, line, value in entries(values, lines):
        turn, is_reply, is_queued = _turn(value, place, queued)
        key, parent = value.get("uuid"), value.get("parentUuid")
        if type(key) is not str:
            key = ""
        if type(parent) is not str or not parent:
            parent = _logical_parent(value)
        if not key and turn is not None:
            key, parent = f"entry {place}", "" if is_queued else before
        if not key or key in tree:
            others += [] if key else [(place, value)]  # lines with repeated keys are copies of the first line
            continue
        chain = (True, string(value, "agentId")) if value.get("isSidechain") is True else MAIN
        chains.add(chain)
        is_usual = turn is not None and not eras.counts and "isCompactSummary" not in value
        era, starts_era = (0, False) if is_usual else eras.of(chain, value, has_turn=turn is not None)
        reply_key = (chain, era, string(turn, "id") or key) if is_reply else None
        if starts_era:
            parent = ""
        calls, results, is_thought = _NO_BLOCKS if turn is None else _blocks(turn)
        time = None if turn is None else moment(value.get("timestamp"))
        row = tree[key] = LogLine(
            place, line, key, parent, chain, era, value, turn, is_queued, reply_key, calls, results, is_thought, time
        )
        if turn is not None:
            ids.add(row)
        before = before if is_queued else key
        if parent and parent not in tree:
            missing.add(parent)
        if missing and key in missing:
            is_in_order = False
    is_uniform = len(chains) == 1 and not eras.counts
    return FileContents(ids.distinguish(tree), others, gaps, is_uniform), is_in_order


_NO_BLOCKS: tuple[Sequence[str], Sequence[str], bool] = (), (), False


def _blocks(turn: Object) -> tuple[Sequence[str], Sequence[str], bool]:
    """Return the ids of the calls and of the results in a turn, and whether it contains only reasoning."""
    content = turn.get("content")
    if type(content) is not list:
        return _NO_BLOCKS
    calls: list[str] = []
    results: list[str] = []
    is_thought = bool(content)
    for block in content:
        block_type = block.get("type") if type(block) is dict else None
        if block_type == "tool_use":
            if call_id := string(block, "id"):
                calls.append(call_id)
        elif block_type == "tool_result":
            if call_id := string(block, "tool_use_id"):
                results.append(call_id)
        elif block_type in _THOUGHTS:
            continue
        is_thought = False
    return calls or (), results or (), is_thought


class _EraCounts:
    """The counts of compactions in each chain while lines are read."""

    def __init__(self) -> None:
        self.counts: dict[Chain, int] = {}
        """The number of compactions by chain, for chains with at least one."""
        self._at_start: set[Chain] = set()
        """The chains without content since the last compaction, except summaries."""

    def of(self, chain: Chain, value: Object, *, has_turn: bool) -> tuple[int, bool]:
        """Return the era of a line, and whether the line starts it (a boundary, or a summary without a boundary)."""
        is_summary = "isCompactSummary" in value and value["isCompactSummary"] is True
        starts_era = (not has_turn and is_boundary(value)) or (is_summary and chain not in self._at_start)
        if starts_era:
            self.counts[chain] = self.counts.get(chain, 0) + 1
            self._at_start.add(chain)
        elif self._at_start and has_turn and not is_summary:
            self._at_start.discard(chain)
        return self.counts.get(chain, 0), starts_era


class MessageIds:
    """A detector for message ids that several replies share, as produced by some proxies."""

    def __init__(self) -> None:
        self._prompts: dict[Chain, int] = {}
        self._known: dict[ReplyKey | None, tuple[int, LogLine]] = {}
        """The number of prompts before each message, and its last line."""
        self._ambiguous: set[ReplyKey | None] = set()

    def add(self, row: LogLine) -> None:
        """Compare a line of a reply with the earlier lines of its message, or count a prompt."""
        if row.message is None:
            self._add_prompt(row)
            return
        # A prompt between the lines of a message makes its id ambiguous.
        prompts = self._prompts.get(row.chain, 0)
        known = self._known.get(row.message)
        self._known[row.message] = prompts, row
        if known and known[1].key != row.parent and (known[0] != prompts or _differ(known[1], row)):
            self._ambiguous.add(row.message)

    def _add_prompt(self, row: LogLine) -> None:
        """Count a prompt between two replies."""
        if not row.results and row.value.get("type") == "user" and row.value.get("isMeta") is not True:
            self._prompts[row.chain] = self._prompts.get(row.chain, 0) + 1

    def distinguish(self, tree: dict[str, LogLine]) -> dict[str, LogLine]:
        """Return the lines with separate keys for replies that share an id; consecutive lines form a reply."""
        if not self._ambiguous:
            return tree
        rows: dict[str, LogLine] = {}
        last_turns: dict[str, LogLine | None] = {}
        names = set[ReplyKey]()
        for key, row in tree.items():
            before = last_turns.get(row.parent)
            is_shared = row.message in self._ambiguous
            rows[key] = replace(row, message=_distinct(row, before, names)) if is_shared else row
            last_turns[key] = rows[key] if row.turn is not None else before
        return rows


def _distinct(row: LogLine, before: LogLine | None, names: set[ReplyKey]) -> ReplyKey:
    """Return a unique key for a reply, from its request id or start time, which copies of its lines share.

    ``before`` is the previous line, and ``names`` are the keys so far.
    """
    if before and before.message and message_id(row) == message_id(before) and not _differ(row, before):
        return before.message
    start = string(row.value, "requestId") or string(row.value, "timestamp") or row.key
    name = row.chain, row.era, f"{message_id(row)} {start}"
    if name in names:
        name = row.chain, row.era, f"{message_id(row)} {row.key}"
    names.add(name)
    return name


def _differ(one: LogLine, other: LogLine) -> bool:
    """Return whether two lines have different request ids or different stop reasons."""
    requests = {string(each.value, "requestId") for each in (one, other)}
    reasons = {string(each.value.get("message"), "stop_reason") for each in (one, other)}
    return len(requests - {""}) > 1 or len(reasons - {""}) > 1


def message_id(row: LogLine) -> str:
    """Return the message id of a line, or an empty string."""
    return string(row.value.get("message"), "id")


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
