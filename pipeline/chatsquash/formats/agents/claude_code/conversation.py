"""Build a conversation of a file: its messages, its tools and the origin of its replies."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from itertools import chain, islice
from operator import attrgetter
from typing import NamedTuple

from msgspec import structs

from chatsquash.core import jsonio
from chatsquash.core.model import Conversation, Json, Message, Origin, OriginReply, RepeatedViolation
from chatsquash.formats import view
from chatsquash.formats.agents.claude_code.paths import ConversationPath, Origins
from chatsquash.formats.agents.claude_code.rows import NO_REPLY, FileLines
from chatsquash.formats.agents.claude_code.texts import CLIENT_ROLES, kinds, may_be_client_text
from chatsquash.formats.agents.claude_code.tree import LineTree
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State, named_calls
from chatsquash.formats.providers import anthropic
from chatsquash.formats.providers.anthropic.response import FINISHED
from chatsquash.formats.threads import ROOT
from chatsquash.formats.truncation import TRUNCATED
from chatsquash.formats.values import Object, as_list, at, count, members, objects, string, total

_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class PromptSnapshot(NamedTuple):
    """The system prompt and the tools at the end of a conversation."""

    system: list[Json]
    """The blocks of the system prompt."""
    tools: list[Json]
    """The definitions in Anthropic's form."""
    line: int | None
    """The line that contains the system prompt."""


def in_force(tree: LineTree, leaf: int) -> PromptSnapshot:
    """Return the last system prompt and tools of a chain before the compaction that follows a line."""
    lines = tree.lines
    system, tools = list[Json](), list[Json]()
    prompt_row, tools_row = (tree.last_snapshot(leaf, name) for name in ("systemPrompt", "tools"))
    if prompt_row != ROOT:
        system = [block for each in lines.values[prompt_row]["attachment"]["systemPrompt"] if (block := _block(each))]
    if tools_row != ROOT:
        definitions = objects(lines.values[tools_row]["attachment"]["tools"])
        tools = [_tool(tool) for tool in definitions if string(tool, "name")]
    return PromptSnapshot(system, tools, lines.numbers[prompt_row] if prompt_row != ROOT else None)


def _block(value: Json) -> Json:
    """Convert a part of a system prompt to a text block; return ``None`` for other values."""
    if isinstance(value, str) and value:
        return {"type": "text", "text": value}
    return value if isinstance(at(value, "text"), str) else None


def _tool(tool: Object) -> Object:
    """Return a definition; its ``schema`` may be the schema of the arguments or the complete definition."""
    schema = tool.get("schema")
    if isinstance(schema, dict) and "input_schema" in schema:
        return schema
    if "schema" not in tool:
        return tool
    rest = {name: value for name, value in tool.items() if name != "schema"}
    return {**rest, "input_schema": schema}


def conversation(path: ConversationPath, place: Origins, snapshot: PromptSnapshot, known: FileReplies) -> Conversation:
    """Build a conversation from its path."""
    lines = known.lines
    path_messages, groups = known.turns.messages(path.rows)
    system = view.messages(anthropic.system(snapshot.system))
    messages = [*system, *path_messages]
    line_numbers = [*(snapshot.line for _ in system), *[lines.numbers[rows[0]] for rows in groups]]
    places = [at for at, message in enumerate(path_messages) if message["role"] == "assistant"]
    replies = [(len(system) + at, groups[at]) for at in places]
    own_rows = [row for row in path.rows if row not in path.kept_rows] if path.kept_rows else path.rows
    times = list(filter(None, map(lines.times.__getitem__, own_rows)))
    instants = list(map(attrgetter("at"), times))
    is_naive = any(map(attrgetter("naive"), times))
    origin = Origin(
        id=place.id,
        session_id=string(lines.values[path.leaf], "sessionId") or None,
        kind=place.kind,
        parent=place.parent,
        call=place.call,
        began=place.subagents,
        started_at=min(instants, default=None),
        ended_at=max(instants, default=None),
        replies=tuple(known.replies(replies, path.kept_rows)),
        findings=(*_client_texts(messages, line_numbers), *(_naive_times(lines, own_rows) if is_naive else ())),
        lines=tuple(line_numbers),
    )
    return Conversation(messages, list(anthropic.tools(snapshot.tools).functions), origin=origin)


def _client_texts(messages: list[Message], lines: list[int | None]) -> list[tuple[int | None, RepeatedViolation]]:
    """Return findings for text that the client wrote as the user."""
    return [
        (line, RepeatedViolation("client-text", (kind,)))
        for message, line in zip(messages, lines, strict=True)
        if message["role"] in CLIENT_ROLES and may_be_client_text(message)
        for kind in kinds(message)
    ]


def _naive_times(lines: FileLines, rows: list[int]) -> list[tuple[int | None, RepeatedViolation]]:
    """Return a finding for the first time without a zone."""
    naive = (lines.numbers[row] for row in rows if (time := lines.times[row]) and time.naive)
    return [(line, RepeatedViolation("naive-timestamp")) for line in islice(naive, 1)]


class FileReplies:
    """The replies of a file, which several conversations may share."""

    def __init__(self, lines: FileLines, replies: Iterable[int], truncated: Container[int]) -> None:
        """Args: ``replies`` are the first lines of replies, ``truncated`` the replies that ended early."""
        self.lines = lines
        self._truncated = truncated
        self.turns = MessageTurns(lines)
        self._replies: dict[int, OriginReply | None] = dict.fromkeys(replies)

    def begins(self, row: int) -> bool:
        """Return whether a reply begins with a line."""
        return row in self._replies

    def replies(self, messages: Iterable[tuple[int, list[int]]], kept_rows: set[int]) -> Iterator[OriginReply]:
        """Yield the origins of the replies among the assistant messages at these places."""
        for index, rows in messages:
            first = rows[0]
            # Lines kept by a compaction belong to the conversation before it.
            if first in self._replies and first not in kept_rows:
                reply = self._replies[first] or self._origin_reply(index, rows)
                self._replies[first] = reply
                yield reply if reply.at == index else structs.replace(reply, at=index)

    def _origin_reply(self, index: int, rows: list[int]) -> OriginReply:
        """Combine the metadata in the lines of a reply."""
        lines, first = self.lines, rows[0]
        bodies = [lines.turns[row] or {} for row in rows]
        time = lines.times[first]
        usage = _final_usage(bodies) if len(bodies) > 1 else members(bodies[0].get("usage"))
        stop_reason = _first_text(reversed(bodies), "stop_reason")
        finished = FINISHED.get(stop_reason, stop_reason) if stop_reason else None
        return OriginReply(
            index,
            lines.numbers[first],
            time.at if time else None,
            _first_text(bodies, "model"),
            total(usage, *_PROMPT),
            count(usage.get("output_tokens")),
            TRUNCATED if lines.replies[first] in self._truncated else finished,
            _first_text(bodies, "id"),
            string(lines.values[first], "uuid") or None,
        )


def _final_usage(bodies: list[Object]) -> Object:
    """Return the usage with the most output tokens; each line of a reply repeats the usage at its time."""
    usage, most = Object(), -1
    for body in bodies:
        each = members(body.get("usage"))
        tokens = count(each.get("output_tokens")) or 0
        if tokens > most:
            usage, most = each, tokens
    return usage


def _first_text(bodies: Iterable[Object], name: str) -> str | None:
    """Return the first non-empty string among these members."""
    for body in bodies:
        value = body.get(name)
        if value and type(value) is str:
            return value
    return None


_FEW = 8
"""The maximum number of blocks that are compared as values; more blocks are compared as JSON."""


class MessageTurns:
    """The turns of a file; turns that several conversations share are built only once."""

    def __init__(self, lines: FileLines) -> None:
        self._lines = lines
        self._known: dict[tuple[int, ...], list[Message] | None] = {}

    def messages(self, rows: list[int]) -> tuple[list[Message], list[list[int]]]:
        """Return the messages of lines, and the lines of each; ``TurnError`` includes the place."""
        messages: list[Message] = []
        groups: list[list[int]] = []
        replay = _Replay()
        known = self._known
        for group in self._groups(rows):
            key = tuple(group)
            if key in known:
                turn_messages = known[key]
            else:
                turn_messages = known[key] = anthropic.plain(self._turn(group))
            if turn_messages is None:
                turn_messages = replay.load(self._turn(group), self._lines.place(group[0]))
            else:
                replay.plain_messages.append(turn_messages)
            messages += turn_messages
            groups += [group] * len(turn_messages)
        return messages, groups

    def _groups(self, rows: list[int]) -> list[list[int]]:
        """Group lines by message, at the place of the message's first line."""
        groups: list[list[int]] = []
        replies: dict[int, list[int]] = {}
        numbers = self._lines.replies
        for row in rows:
            reply = numbers[row]
            if reply == NO_REPLY:
                groups.append([row])
            elif reply in replies:
                replies[reply].append(row)
            else:
                replies[reply] = group = [row]
                groups.append(group)
        return groups

    def _turn(self, rows: list[int]) -> Object:
        """Combine lines that each contain one or more blocks of a message into a turn."""
        turns = self._lines.turns
        first = turns[rows[0]] or {}
        role = first.get("role") or self._lines.values[rows[0]]["type"]
        if len(rows) > 1:
            return {
                "role": role,
                "content": _join_blocks([_as_blocks((turns[row] or {}).get("content")) for row in rows]),
            }
        return {"role": role, "content": first["content"]} if "content" in first else {"role": role}


def _as_blocks(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content)


def _join_blocks(lines: list[list[Json]]) -> list[Json]:
    """Join the blocks of lines, each of which may repeat or extend the blocks before it."""
    all_blocks = list(chain.from_iterable(lines))
    if len(set(map(_block_type, all_blocks))) == len(all_blocks):
        return all_blocks  # only blocks of the same type repeat or extend each other
    blocks = list(lines[0])
    known = _KnownBlocks(blocks)
    for more in lines[1:]:
        # A line contains either all blocks of the message so far or only new blocks.
        new = [block for block in more if known.add(block)]
        if len(more) >= len(blocks) and all(map(_has_grown, blocks, more)):
            blocks = list(more)
        else:
            blocks += new
    return blocks


class _KnownBlocks:
    """The blocks of a message so far."""

    def __init__(self, blocks: list[Json]) -> None:
        self._compared_blocks = list(blocks)
        """All blocks so far, up to a maximum."""
        self._seen: set[bytes] = set()
        """The JSON of all blocks, if there are more."""

    def add(self, block: Json) -> bool:
        """Remember a block, and return whether it is new."""
        if not self._seen and len(self._compared_blocks) < _FEW and block not in self._compared_blocks:
            self._compared_blocks.append(block)
            return True
        if not self._seen:
            self._seen.update(map(jsonio.dumps, self._compared_blocks))
        spelled = jsonio.dumps(block)
        is_new = spelled not in self._seen
        self._seen.add(spelled)
        return is_new


def _block_type(block: Json) -> str | None:
    kind = block.get("type") if type(block) is dict else None
    return kind if type(kind) is str else None


def _has_grown(before: Json, after: Json) -> bool:
    """Return whether a block equals an earlier block or extends its text."""
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return bool(before == after)
    if before.get("type") != after.get("type"):
        return False
    if before == after:
        return True
    members = [name for name in ("text", "thinking") if isinstance(before.get(name), str)]
    return bool(members) and all(string(after, name).startswith(before[name]) for name in members)


# Messages


class _Replay:
    """A loader for turns that depend on earlier turns, with the calls that are still open."""

    def __init__(self) -> None:
        self.plain_messages: list[list[Message]] = []
        """The messages of the independent turns since the last dependent turn."""
        self._state = State()

    def load(self, turn: Object, place: int) -> list[Message]:
        try:
            result = anthropic.load(turn, self._current_state())
        except TurnError as problem:
            raise TurnError(f"entry {place}: {problem}") from None
        self._state = result.state
        self.plain_messages.clear()
        return view.messages(result.turns)

    def _current_state(self) -> State:
        """Return the state after the turns so far, including independent turns."""
        answered_ids, state = set[str](), self._state
        for message in chain.from_iterable(map(reversed, reversed(self.plain_messages))):
            if message["role"] == "assistant":
                # Only the calls of the last assistant message can be open.
                state = state.evolve(open=named_calls(message.get("tool_calls") or []))
                break
            answered_ids.add(message.get("tool_call_id", ""))
        return state.without(answered_ids)
