"""The turns that lines are, and the messages that turns are: most at once, others as Anthropic's requests are read."""

from __future__ import annotations

from itertools import chain

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Message
from chatsquash.formats import view
from chatsquash.formats.agents.claude_code.rows import Row
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State, named_calls
from chatsquash.formats.providers import anthropic
from chatsquash.formats.values import Object, listed, string

_FEW = 8
"""Blocks of a message that are compared with each other; of more the spellings are."""


class Turn(Struct, eq=False):
    """A turn, and the lines that hold it."""

    value: Object
    rows: list[Row]
    plain: list[Message] | None = None
    """Its messages, where these follow from nothing but itself."""


class Turns:
    """The turns of a file; what several conversations hold is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, ...], Turn] = {}

    def messages(self, rows: list[Row]) -> list[tuple[Message, Turn]]:
        """The messages that lines give, with the turn of each; raises ``TurnError`` that names the place."""
        told: list[tuple[Message, Turn]] = []
        replay = _Replay()
        for group in _grouped(rows):
            turn = self._turn(group)
            loaded = turn.plain
            if loaded is None:
                loaded = replay.load(turn)
            else:
                replay.passed.append(loaded)
            told += [(message, turn) for message in loaded]
        return told

    def _turn(self, rows: list[Row]) -> Turn:
        """The turn that lines are together."""
        key = tuple([row.place for row in rows])
        turn = self._known.get(key)
        if turn is None:
            value = _joined(rows)
            turn = self._known[key] = Turn(value, rows, anthropic.plain(value))
        return turn


def _grouped(rows: list[Row]) -> list[list[Row]]:
    """Lines with those of the same message together, where its first one stands."""
    found: list[list[Row]] = []
    messages: dict[object, list[Row]] = {}
    for row in rows:
        if row.message is None:
            found.append([row])
        elif row.message in messages:
            messages[row.message].append(row)
        else:
            messages[row.message] = [row]
            found.append(messages[row.message])
    return found


def _joined(rows: list[Row]) -> Object:
    """The turn of lines, of which each has one block of a message, or more."""
    first = rows[0].turn or {}
    if len(rows) == 1:
        return first
    held = _Blocks(first.get("content"))
    for row in rows[1:]:
        held.join(_listed((row.turn or {}).get("content")))
    return {**first, "content": held.blocks}


def _listed(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else listed(content)


class _Blocks:
    """The blocks of a message while its lines are joined."""

    def __init__(self, content: Json) -> None:
        self.blocks = list(_listed(content))
        self._passed = list(self.blocks)
        """All that were met, as long as they are few."""
        self._seen: set[bytes] = set()
        """The spellings of all, once they are more."""

    def join(self, more: list[Json]) -> None:
        """Add the blocks of a line, which may repeat those of earlier ones, or have grown from them."""
        if len(more) >= len(self.blocks) and all(map(_has_grown, self.blocks, more)):
            self.blocks = list(more)
            for block in more:
                self._is_new(block)
            return
        self.blocks += [block for block in more if self._is_new(block)]

    def _is_new(self, block: Json) -> bool:
        """Whether a block was not met before; it is now."""
        if not self._seen and len(self._passed) < _FEW and block not in self._passed:
            self._passed.append(block)
            return True
        if not self._seen:
            self._seen.update(map(jsonio.dumps, self._passed))
        spelled = jsonio.dumps(block)
        is_new = spelled not in self._seen
        self._seen.add(spelled)
        return is_new


def _has_grown(before: Json, after: Json) -> bool:
    """Whether a block is one that was there before, or what that became."""
    if before == after:
        return True
    if not (isinstance(before, dict) and isinstance(after, dict)) or before.get("type") != after.get("type"):
        return False
    members = [name for name in ("text", "thinking") if isinstance(before.get(name), str)]
    return bool(members) and all(string(after, name).startswith(before[name]) for name in members)


# Messages


class _Replay:
    """Reads turns as those of a request, with what the turns before them leave open."""

    def __init__(self) -> None:
        self.passed: list[list[Message]] = []
        """The messages of the turns since the last one that was read here."""
        self._state = State()

    def load(self, turn: Turn) -> list[Message]:
        """The messages of a turn."""
        try:
            loaded, self._state = anthropic.load(turn.value, self._behind())
        except TurnError as problem:
            raise TurnError(f"entry {turn.rows[0].place} {problem}") from None
        self.passed.clear()
        return view.messages(loaded)

    def _behind(self) -> State:
        """The state behind the turns so far."""
        answered, state = set[str](), self._state
        for message in chain.from_iterable(map(reversed, reversed(self.passed))):
            if message["role"] == "assistant":
                state = state.but(open=named_calls(message.get("tool_calls") or []))
                break
            answered.add(message.get("tool_call_id", ""))
        return state.without(answered)
