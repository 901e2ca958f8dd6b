"""Codex's rollout files: the items of OpenAI Responses, among events that repeat them."""

from __future__ import annotations

from dataclasses import dataclass, field

from chatsquash.formats import openai_responses
from chatsquash.formats.base import TurnError
from chatsquash.formats.bodies import replayed
from chatsquash.formats.values import Object, at, compact, kind, string
from chatsquash.model import Conversation, Json, Message

NAME = "codex"
HOLDS_TOOLS = False

_KINDS = ("session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state")
_BETWEEN_AGENTS = "inter_agent_communication"
_UNSAID = ("ghost_snapshot", "compaction_trigger", "other")
"""Items that Codex keeps for itself."""
_BARE = ("message", "reasoning", "compaction")
"""Types of items that no call and no output of one has."""

_Turn = tuple[str, Object]
"""An item with its place in the file."""


def fits(found: list[Json]) -> str | None:
    """Most lines have a type of Codex's and a payload; the oldest files have a header, and bare items behind it."""
    count = sum(map(_is_line, found))
    if found and count * 2 > len(found):
        return f"session lines with a payload in {count} of {len(found)} lines"
    is_old = len(found) > 1 and _is_header(found[0]) and all(map(_is_old_line, found[1:]))
    return "a session's id, time and instructions before bare items" if is_old else None


def _is_line(line: Json) -> bool:
    if not isinstance(line, dict) or not isinstance(line.get("payload"), dict):
        return False
    of = string(line, "type")
    return of in _KINDS or of.startswith(_BETWEEN_AGENTS)


def _is_header(line: Json) -> bool:
    return isinstance(line, dict) and line.keys() >= {"id", "timestamp", "instructions"} and "type" not in line


def _is_old_line(line: Json) -> bool:
    return isinstance(line, dict) and (line.get("record_type") == "state" or _is_bare(line))


def _is_bare(line: Object) -> bool:
    of = string(line, "type")
    return of in _BARE or of.endswith(("_call", "_call_output"))


@dataclass(slots=True)
class _Rollout:
    """A session while its lines are read."""

    items: list[_Turn] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Where the user's turns begin in the items."""
    left: list[list[_Turn]] = field(default_factory=list)
    """What the items were before they were replaced or taken back."""
    meta: list[Object] = field(default_factory=list)

    def add(self, place: int, line: Object) -> None:
        """Take one line."""
        payload = line["payload"] if isinstance(line.get("payload"), dict) else {}
        match line.get("type"):
            case "response_item":
                self.item(f"entry {place}", line.get("payload"))
            case "session_meta":
                self.meta.append(payload)
            case "compacted":
                self.compact(f"entry {place}", payload.get("replacement_history"))
            case "event_msg" if payload.get("type") == "user_message":
                self.starts.append(self.last_of_user())
            case "event_msg" if payload.get("type") == "thread_rolled_back":
                self.roll_back(payload.get("num_turns"))
            case str() if _is_bare(line):
                self.item(f"entry {place}", line)
            case None if _is_header(line):
                self.meta.append(line)

    def item(self, place: str, item: Json) -> None:
        """Take one item, unless it is none of the conversation's."""
        if not isinstance(item, dict):
            raise TurnError(f"{place} has a payload that is {kind(item)}, not an item")
        if item.get("type") not in _UNSAID:
            self.items.append((place, _ordinary(item)))

    def compact(self, place: str, history: Json) -> None:
        """What replaces the items starts another conversation; a summary alone replaces nothing."""
        if isinstance(history, list):
            self.leave(0)
            self.items, self.starts = [], []
            for number, item in enumerate(history):
                self.item(f"{place}, replacement_history[{number}]", item)

    def roll_back(self, turns: Json) -> None:
        """The user takes back so many turns."""
        if type(turns) is int and turns > 0 and self.starts:
            start = self.starts[-turns] if turns <= len(self.starts) else self.starts[0]
            self.leave(start)
            self.items = self.items[:start]
            self.starts = self.starts[:-turns]

    def leave(self, start: int) -> None:
        """Keep the items if the assistant said some of those that go."""
        if any(not _is_told(item) for _, item in self.items[start:]):
            self.left.append(self.items)

    def last_of_user(self) -> int:
        """The place of the user's last message: its event comes behind it."""
        places = [place for place, (_, item) in enumerate(self.items) if item.get("role") == "user"]
        return places[-1] if places else len(self.items)


def _ordinary(item: Object) -> Object:
    """An item, with a call of the local shell as any other, since Codex runs it and answers it like that."""
    match item:
        case {"type": "local_shell_call", "action": dict(action)}:
            call_id = string(item, "call_id") or string(item, "id")
            return {"type": "function_call", "call_id": call_id, "name": "local_shell", "arguments": compact(action)}
    return item


def _is_told(item: Object) -> bool:
    return item.get("role") in ("user", "developer", "system") or item.get("type") == "compaction"


def conversations(found: list[Json]) -> list[Conversation]:
    """The conversation as it ended first, then what it was before each compaction and before turns were taken back."""
    rollout = _Rollout()
    for place, line in enumerate(found, 1):
        if not isinstance(line, dict):
            raise TurnError(f"entry {place} is no object")
        rollout.add(place, line)
    told = _instructions(rollout)
    histories = [rollout.items, *rollout.left]
    return [Conversation([*told, *replayed(openai_responses, items)], []) for items in histories if items]


def _instructions(rollout: _Rollout) -> list[Message]:
    """The system prompt, where the session has one; instructions that a message repeats are the user's own."""
    items = [item for history in (rollout.items, *rollout.left) for _, item in history]
    for meta in rollout.meta:
        based = meta.get("base_instructions")
        prompt = string(based, "text") or (based if isinstance(based, str) else "")
        older = string(meta, "instructions")
        if prompt or (older and not _is_repeated(older, items)):
            return list(openai_responses.system(prompt or older))
    return []


def _is_repeated(text: str, items: list[Object]) -> bool:
    """Whether one of the messages holds a text."""
    for item in items:
        content = item.get("content")
        blocks = content if isinstance(content, list) else [{"text": content}]
        if any(text in said for block in blocks if isinstance(said := at(block, "text"), str)):
            return True
    return False
