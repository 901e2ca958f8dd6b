"""One conversation of a file: its messages, tools, and what its lines say of its replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from chatsquash.core.model import Conversation, Json, Message, Origin, OriginReply, Repeated
from chatsquash.core.times import Moment
from chatsquash.formats import view
from chatsquash.formats.agents.claude_code.origins import Place
from chatsquash.formats.agents.claude_code.paths import Path
from chatsquash.formats.agents.claude_code.rows import Row
from chatsquash.formats.agents.claude_code.texts import kinds
from chatsquash.formats.agents.claude_code.tree import Tree
from chatsquash.formats.agents.claude_code.turns import Turn, Turns
from chatsquash.formats.evidence import moment
from chatsquash.formats.providers import anthropic
from chatsquash.formats.providers.anthropic.response import FINISHED
from chatsquash.formats.values import Object, at, count, members, objects, string

_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_UNREAD = Moment(0)
"""What stands for a time that was not looked at; no other is this very one."""


class Snapshot(NamedTuple):
    """What was in force at the end of a conversation."""

    system: list[Json]
    """Blocks of a system prompt."""
    tools: list[Json]
    """Definitions as Anthropic has them."""
    line: int | None
    """The line that holds the system prompt."""


def in_force(tree: Tree, leaf: Row) -> Snapshot:
    """The last system prompt and the last definitions of a chain, up to the compaction that follows a line."""
    system, tools = list[Json](), list[Json]()
    line = None
    for row in tree.snapshots.get(leaf.chain, []):
        if row.era > leaf.era:
            break
        held = row.value["attachment"]
        if isinstance(prompt := held.get("systemPrompt"), list):
            system, line = [block for each in prompt if (block := _block(each))], row.line
        if isinstance(held.get("tools"), list):
            tools = [_tool(tool) for tool in objects(held["tools"]) if string(tool, "name")]
    return Snapshot(system, tools, line)


def _block(value: Json) -> Json:
    """A part of a system prompt, which is a text; ``None`` for what is none."""
    if isinstance(value, str) and value:
        return {"type": "text", "text": value}
    return value if isinstance(at(value, "text"), str) else None


def _tool(tool: Object) -> Object:
    """A definition: its schema may be that of the arguments, or the whole of it again."""
    schema = tool.get("schema")
    if isinstance(schema, dict) and "input_schema" in schema:
        return schema
    if "schema" not in tool:
        return tool
    rest = {name: value for name, value in tool.items() if name != "schema"}
    return {**rest, "input_schema": schema}


def conversation(path: Path, place: Place, snapshot: Snapshot, known: Known) -> Conversation:
    """A conversation of a file."""
    told = known.turns.messages(path.rows)
    system = view.messages(anthropic.system(snapshot.system))
    messages = [*system, *(message for message, _ in told)]
    lines = [*(snapshot.line for _ in system), *(turn.rows[0].line for _, turn in told)]
    spoken = (each for each in enumerate(told, len(system)) if each[1][0]["role"] == "assistant")
    own_rows = [row for row in path.rows if row.key not in path.kept] if path.kept else path.rows
    moments = [(row.line, found) for row in own_rows if (found := known.time(row))]
    origin = Origin(
        id=place.id,
        session_id=string(path.leaf.value, "sessionId") or None,
        kind=place.kind,
        parent=place.parent,
        call=place.call,
        began=place.began,
        started=min((moment.at for _, moment in moments), default=None),
        ended=max((moment.at for _, moment in moments), default=None),
        replies=tuple(known.replies(((at, turn) for at, (_, turn) in spoken), path.kept)),
        found=_found(messages, lines, moments),
        lines=tuple(lines),
    )
    return Conversation(messages, list(anthropic.tools(snapshot.tools).functions), origin=origin)


def _found(
    messages: list[Message], lines: list[int | None], moments: list[tuple[int, Moment]]
) -> tuple[tuple[int | None, Repeated], ...]:
    """Texts that the client wrote in the user's name, and the first time that names no zone."""
    both = zip(messages, lines, strict=True)
    texts = [(line, Repeated("client-text", (kind,))) for message, line in both for kind in kinds(message)]
    naive = [(line, Repeated("naive-timestamp")) for line, moment in moments if moment.naive]
    return (*texts, *naive[:1])


class Known:
    """What was read of the lines of a file, which several conversations may hold."""

    def __init__(self, replies: Iterable[str]) -> None:
        """``replies``: the keys of the lines that begin replies."""
        self.turns = Turns()
        self._replies: dict[str, OriginReply | None] = dict.fromkeys(replies)
        self._times: dict[int, Moment | None] = {}

    def begins(self, row: Row) -> bool:
        """Whether a reply begins with a line."""
        return row.key in self._replies

    def time(self, row: Row) -> Moment | None:
        """When a line was written, as far as it says so."""
        found = self._times.get(row.place, _UNREAD)
        if found is _UNREAD:
            found = self._times[row.place] = moment(row.value.get("timestamp"))
        return found

    def replies(self, spoken: Iterable[tuple[int, Turn]], kept: set[str]) -> Iterator[OriginReply]:
        """What is known of the replies among the assistant's messages, which stand at these places."""
        for index, turn in spoken:
            key = turn.rows[0].key
            if key in self._replies and key not in kept:
                found = self._replies[key] or self._sampled(index, turn)
                self._replies[key] = found
                yield found if found.at == index else found._replace(at=index)

    def _sampled(self, index: int, turn: Turn) -> OriginReply:
        """What the lines of a reply say of it; each repeats the usage, of which the last word is the greatest."""
        bodies = [row.value["message"] for row in turn.rows]
        usage = max([members(body.get("usage")) for body in bodies], key=_given)
        asked = [tokens for name in _PROMPT if (tokens := count(usage.get(name))) is not None]
        stopped = next((reason for body in reversed(bodies) if (reason := string(body, "stop_reason"))), None)
        time = self.time(turn.rows[0])
        return OriginReply(
            at=index,
            line=turn.rows[0].line,
            time=time.at if time else None,
            model=next((model for body in bodies if (model := string(body, "model"))), None),
            prompt_tokens=sum(asked) if asked else None,
            completion_tokens=count(usage.get("output_tokens")),
            finish_reason=FINISHED.get(stopped, stopped) if stopped else None,
            response_id=next((given for body in bodies if (given := string(body, "id"))), None),
        )


def _given(usage: Object) -> int:
    """The tokens of a reply that a line counts."""
    return count(usage.get("output_tokens")) or 0
