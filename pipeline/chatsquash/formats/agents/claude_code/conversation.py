"""One conversation of a file: its messages, tools, and what its lines say of its replies."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from chatsquash import jsonio, times
from chatsquash.formats import anthropic
from chatsquash.formats.agents.claude_code.origins import Place
from chatsquash.formats.agents.claude_code.paths import Path
from chatsquash.formats.agents.claude_code.rows import Row
from chatsquash.formats.agents.claude_code.snapshots import Snapshot
from chatsquash.formats.anthropic.response import FINISHED
from chatsquash.formats.bodies import placed
from chatsquash.formats.client_texts import kinds
from chatsquash.formats.values import Object, at, listed, string
from chatsquash.model import Conversation, Found, Json, Message, Origin, Repeated, Sampled

_PROMPT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_MOST = 1 << 53
"""More tokens than this nobody counts."""

Noted = tuple[int | None, Found | Repeated]


class _Turn(NamedTuple):
    """A turn, and the lines that hold it."""

    value: Object
    rows: list[Row]


def conversation(path: Path, place: Place, snapshot: Snapshot, sampled: dict[str, Sampled | None]) -> Conversation:
    """A conversation of a file; ``sampled`` are the lines that begin replies, by their keys, with what is known."""
    turns = _turns(path.rows)
    loaded = placed(anthropic, [(f"entry {turn.rows[0].place}", turn.value) for turn in turns])
    told = [(message, turns[indices.start]) for message, indices in loaded]
    system = anthropic.system(snapshot.system)
    messages = [*system, *(message for message, _ in told)]
    lines = [*(snapshot.line for _ in system), *(turn.rows[0].line for _, turn in told)]
    spoken = [each for each in enumerate(told, len(system)) if each[1][0]["role"] == "assistant"]
    firsts = ((index, turn, turn.rows[0].key) for index, (_, turn) in spoken)
    replies = [(index, turn) for index, turn, key in firsts if key in sampled and key not in path.kept]
    own_rows = [row for row in path.rows if row.key not in path.kept]
    moments = [moment for row in own_rows if (moment := _time(row)) is not None]
    origin = Origin(
        id=place.id,
        session_id=string(path.leaf.value, "sessionId") or None,
        kind=place.kind,
        parent=place.parent,
        call=place.call,
        began=place.began,
        started=min(moments, default=None),
        ended=max(moments, default=None),
        replies=tuple(_known(sampled, index, turn) for index, turn in replies),
        found=(*_client_texts(messages, lines), *_naive(own_rows)),
        lines=tuple(lines),
    )
    return Conversation(messages, list(anthropic.tools(snapshot.tools).functions), origin=origin)


def _client_texts(messages: list[Message], lines: list[int | None]) -> Iterator[Noted]:
    """Texts that the client wrote in the user's name."""
    for message, line in zip(messages, lines, strict=True):
        yield from ((line, Repeated("client-text", (kind,))) for kind in kinds(message))


def _naive(rows: list[Row]) -> Iterator[Noted]:
    """The first time that names no zone."""
    moments = ((row.line, times.read(row.value.get("timestamp"))) for row in rows)
    naive = (line for line, moment in moments if moment and moment.naive)
    yield from ((line, Repeated("naive-timestamp")) for line in islice(naive, 1))


# Turns


def _turns(rows: list[Row]) -> list[_Turn]:
    """The turns of lines, with the blocks of one message together, where its first one stands."""
    turns: dict[object, _Turn] = {}
    blocks: dict[object, _Blocks] = {}
    for row in rows:
        assert row.turn is not None
        key = row.message if row.by_assistant else row.key
        turn = turns.setdefault(key, _Turn(dict(row.turn), []))
        if turn.rows:
            held = blocks.setdefault(key, _Blocks(turn.value.get("content")))
            held.join(_listed(row.turn.get("content")))
            turn.value["content"] = held.blocks
        turn.rows.append(row)
    return list(turns.values())


def _listed(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)


class _Blocks:
    """The blocks of a message while its lines are joined."""

    def __init__(self, content: Json) -> None:
        self.blocks = list(_listed(content))
        self._seen = set(map(jsonio.dumps, self.blocks))

    def join(self, more: list[Json]) -> None:
        """Add the blocks of a line, which may repeat those of earlier ones, or have grown from them."""
        if len(more) >= len(self.blocks) and all(map(_has_grown, self.blocks, more)):
            self.blocks = list(more)
            self._seen.update(map(jsonio.dumps, more))
            return
        for block in more:
            spelled = jsonio.dumps(block)
            if spelled not in self._seen:
                self._seen.add(spelled)
                self.blocks.append(block)


def _has_grown(before: Json, after: Json) -> bool:
    """Whether a block is one that was there before, or what that became."""
    if before == after:
        return True
    if not (isinstance(before, dict) and isinstance(after, dict)) or before.get("type") != after.get("type"):
        return False
    members = [name for name in ("text", "thinking") if isinstance(before.get(name), str)]
    return bool(members) and all(string(after, name).startswith(before[name]) for name in members)


# Replies


def _known(known: dict[str, Sampled | None], index: int, turn: _Turn) -> Sampled:
    """What the lines of a reply say of it, which is read once for all conversations that hold it."""
    key = turn.rows[0].key
    found = known[key] or _sampled(index, turn)
    known[key] = found
    return found._replace(at=index)


def _sampled(index: int, turn: _Turn) -> Sampled:
    """What the lines of a reply say of it; each repeats the usage, of which the last word is the greatest."""
    bodies = [row.value["message"] for row in turn.rows]
    usage = max((at(body, "usage") for body in bodies), key=lambda usage: _count(usage, "output_tokens") or 0)
    asked = [count for name in _PROMPT if (count := _count(usage, name)) is not None]
    stopped = next((reason for body in reversed(bodies) if (reason := string(body, "stop_reason"))), None)
    return Sampled(
        at=index,
        line=turn.rows[0].line,
        time=_time(turn.rows[0]),
        model=next((model for body in bodies if (model := string(body, "model"))), None),
        prompt_tokens=sum(asked) if asked else None,
        completion_tokens=_count(usage, "output_tokens"),
        finish_reason=FINISHED.get(stopped, stopped) if stopped else None,
        response_id=next((given for body in bodies if (given := string(body, "id"))), None),
    )


def _count(usage: Json, name: str) -> int | None:
    count = at(usage, name)
    return count if type(count) is int and 0 <= count < _MOST else None


def _time(row: Row) -> int | None:
    found = times.read(row.value.get("timestamp"))
    return found.at if found else None
