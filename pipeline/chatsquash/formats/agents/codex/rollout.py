"""A rollout: its items as OpenAI Responses has them, what replaced them, and what was rolled back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from chatsquash.core.model import ConversationKind, Json
from chatsquash.core.times import Moment
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import custom_input
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, moment
from chatsquash.formats.values import Object, at, compact, count, kind, objects, string, texts

_REPEATING = ("user_message", "agent_message", "agent_reasoning", "agent_reasoning_raw_content")
"""Events that tell what items tell."""
_LINE = frozenset(("timestamp", "ordinal", "type", "payload"))
_HOLDING = ("response_item", "event_msg")
"""Types of most lines."""
_META = (
    *("id", "timestamp", "base_instructions", "instructions", "dynamic_tools"),
    *("history_base", "source", "forked_from_id"),
)


class Meta(NamedTuple):
    """What a file says about its session, and where."""

    line: int | None
    time: Moment | None
    payload: Object


@dataclass(slots=True)
class RolloutHistory:
    """The items that the model saw from a beginning on."""

    id: str
    kind: ConversationKind = "main"
    parent: str | None = None
    items: list[LoggedTurn] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    """Where the user's turns begin in the items."""
    users: list[int] = field(default_factory=list)
    """Where the user's messages stand in the items."""
    sampled: list[int] = field(default_factory=list)
    """Where the items stand that the model gave here."""

    def add(self, turn: LoggedTurn) -> None:
        """Add an item."""
        if turn.turn.get("role") == "user":
            self.users.append(len(self.items))
        if turn.evidence.is_sampled:
            self.sampled.append(len(self.items))
        self.items.append(turn)

    def without_last(self, turns: int) -> RolloutHistory:
        """Return the history without the user's last turns."""
        start = self.starts[-turns] if turns <= len(self.starts) else self.starts[0]
        cut = RolloutHistory(self.id, self.kind, self.parent, starts=self.starts[:-turns])
        for each in self.items[:start]:
            cut.add(each)
        return cut

    def has_reply(self, start: int = 0) -> bool:
        """Whether the assistant produced any of the items from a place on."""
        return any(not is_input(each.turn) for each in self.items[start:])


@dataclass(slots=True)
class Rollout:
    """A session while its lines are read."""

    has_events: bool
    """Whether events mark the user's turns."""
    now: RolloutHistory = field(default_factory=lambda: RolloutHistory("1"))
    left: list[RolloutHistory] = field(default_factory=list)
    """What the items were before they were replaced or taken back."""
    meta: list[Meta] = field(default_factory=list)
    model: str | None = None
    turn: str | None = None
    """The id of the turn, which its copies in the files of forks and sub-agents share."""
    unread: Unread = field(default_factory=Unread)
    histories: int = 1

    @property
    def parent(self) -> str | None:
        """The session whose agent started this one."""
        source = self.meta[0].payload.get("source") if self.meta else None
        return string(at(source, "subagent", "thread_spawn"), "parent_thread_id") or None

    @property
    def is_continued(self) -> bool:
        """Whether the session begins in another file."""
        return bool(self.meta) and isinstance(self.meta[0].payload.get("history_base"), dict)

    def begin(self, meta: Meta) -> None:
        """Read the metadata of a session; a fork's own precedes that of the session whose lines it repeats."""
        self.meta.append(meta)
        self.unread.rest("session_meta", meta.payload, *_META)

    def header(self, number: int, line: Object) -> None:
        """Read the first line of one of the oldest files."""
        self.meta.append(Meta(number, moment(line.get("timestamp")), line))
        self.unread.rest("header", line, *_META)

    def add(self, place: int, number: int, line: Object) -> None:
        """Read a line; its place among the lines of the file is named in errors."""
        time = moment(line.get("timestamp"))
        of = line.get("type")
        if not _LINE.issuperset(line) and of is not None and (of in _HOLDING or not is_bare(line)):
            self.unread.rest("line", line, *_LINE)
        if of == "response_item":
            self.item(f"entry {place}", line.get("payload"), Evidence(number, time))
        elif of == "event_msg":
            self.event(_payload(line))
        else:
            self.read_rare_line(f"entry {place}", line, Evidence(number, time))

    def read_rare_line(self, place: str, line: Object, evidence: Evidence) -> None:
        """Read a line of a rare type."""
        payload = _payload(line)
        match line.get("type"):
            case "session_meta":
                self.begin(Meta(evidence.line, evidence.time or moment(payload.get("timestamp")), payload))
            case "turn_context":
                self.model = string(payload, "model") or self.model
                self.turn = string(payload, "turn_id") or None
                self.unread.rest("turn_context", payload, "model", "turn_id")
            case "compacted":
                self.compact(place, payload, evidence)
            case "inter_agent_communication" if is_readable(payload.get("content")):
                self.item(place, {"type": "message", "role": "user", "content": payload["content"]}, evidence)
            case str() if is_bare(line):
                self.item(place, line, evidence)
            case of:
                self.unread.one(of if isinstance(of, str) else "line without a type")

    def item(self, place: str, item: Json, evidence: Evidence, *, is_copied: bool = False) -> None:
        """Read an item, unless it is not part of the conversation."""
        if not isinstance(item, dict):
            raise TurnError(f"{place} has a payload that is {kind(item)}, not an item")
        taken = ordinary(item, self.unread)
        if taken is None:
            return
        if not is_copied and is_of_model(taken):
            line, time = evidence[:2]
            evidence = Evidence(line, time, is_sampled=True, model=self.model, logged_id=self.turn)
        self.now.add(LoggedTurn(place, taken, evidence))
        if not (self.has_events or is_copied) and is_prompt(taken):
            self.now.starts.append(len(self.now.items) - 1)

    def event(self, payload: Object) -> None:
        """Read an event; most repeat items."""
        of = string(payload, "type")
        if of == "user_message":
            self.now.starts.append(self.now.users[-1] if self.now.users else len(self.now.items))
        elif of == "thread_rolled_back":
            self.roll_back(payload.get("num_turns"))
        elif of == "token_count":
            self.use(at(payload, "info", "last_token_usage"))
        elif of not in _REPEATING:
            self.unread.one(f"event_msg.{of}")

    def use(self, used: Json) -> None:
        """Apply the token counts of the last reply, which follow its items."""
        if self.now.sampled and isinstance(used, dict):
            place = self.now.sampled[-1]
            each = self.now.items[place]
            sent, said = count(used.get("input_tokens")), count(used.get("output_tokens"))
            evidence = each.evidence._replace(prompt_tokens=sent, completion_tokens=said)
            self.now.items[place] = LoggedTurn(each.place, each.turn, evidence)

    def compact(self, place: str, payload: Object, evidence: Evidence) -> None:
        """Start another conversation with the replacement of the items, or with the user's items and the summary."""
        before, history = self.now, payload.get("replacement_history")
        self.unread.rest("compacted", payload, "message", "replacement_history")
        messages = list[LoggedTurn]()
        if not isinstance(history, list):
            if not string(payload, "message"):
                return
            messages = [each for each in before.items if is_input(each.turn)]
            history = [{"type": "message", "role": "user", "content": payload["message"]}]
        self.leave(before, 0)
        self.histories += 1
        parent = before.id if before.has_reply() else before.parent
        self.now = RolloutHistory(str(self.histories), "compacted" if parent else before.kind, parent)
        for each in messages:
            self.now.add(each._replace(evidence=Evidence(each.evidence.line, evidence.time)))
        for number, item in enumerate(history):
            self.item(f"{place}, replacement_history[{number}]", item, evidence, is_copied=True)

    def roll_back(self, turns: Json) -> None:
        """Remove the user's last turns."""
        if type(turns) is int and turns > 0 and self.now.starts:
            without_last = self.now.without_last(turns)
            self.histories += 1
            aside = replace(self.now, id=str(self.histories), kind="branch", parent=self.now.id)
            self.leave(aside, len(without_last.items))
            self.now = without_last

    def leave(self, history: RolloutHistory, start: int) -> None:
        """Keep a history if the assistant produced removed items."""
        if history.has_reply(start):
            self.left.append(history)


def _payload(line: Object) -> Object:
    payload = line.get("payload")
    return payload if isinstance(payload, dict) else {}


_UNSAID = ("ghost_snapshot", "compaction_trigger", "other")
"""Items that Codex keeps for itself."""
_OWN = ("local_shell_call", "custom_tool_call", "custom_tool_call_output", "agent_message")
"""Those that are written otherwise than items of OpenAI Responses."""
_BARE = ("message", "reasoning", "compaction")
"""Types of items that no call and no output of one has."""
_SPOKEN = ("type", "role", "content", "id", "status", "phase", "name")
_CALLED = ("call_id", "arguments", "input", "output", "action", "namespace", "caller", "execution", "tools")
_THOUGHT = ("summary", "encrypted_content")
_BETWEEN_AGENTS = ("author", "recipient")
_READ = frozenset((*_SPOKEN, *_CALLED, *_THOUGHT, *_BETWEEN_AGENTS))
_INJECTED = ("<environment_context>", "<user_instructions>", "<codex_internal_context", "<goal_context>")


def is_bare(line: Object) -> bool:
    """Whether a line is an item without anything around it."""
    of = string(line, "type")
    return of in _BARE or of.endswith(("_call", "_call_output"))


def ordinary(item: Object, unread: Unread) -> Object | None:
    """Return an item of OpenAI Responses, or ``None`` for one that is not part of the conversation.

    Calls of the local shell and of tools that take a text are as any others, since Codex runs and answers them so, and
    not every format of records has a place for them.
    """
    of = string(item, "type")
    if of in _UNSAID:
        unread.one(f"response_item.{of}")
        return None
    if not _READ.issuperset(item):
        unread.rest(f"response_item.{of}", item, *_READ)
    return _rewrite(item) if of in _OWN else item


def _rewrite(item: Object) -> Object:
    call_id = string(item, "call_id") or string(item, "id")
    match item:
        case {"type": "local_shell_call", "action": dict(action)}:
            return _call(call_id, "local_shell", action)
        case {"type": "custom_tool_call", "name": str(name), "input": str(given)}:
            return _call(call_id, name, custom_input(given))
        case {"type": "custom_tool_call_output"}:
            return {**item, "type": "function_call_output"}
        case {"type": "agent_message", "content": content} if is_readable(content):
            return {"type": "message", "role": "user", "content": content}
    return item


def _call(call_id: str, name: str, arguments: Object) -> Object:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": compact(arguments)}


def is_readable(content: object) -> bool:
    """Whether a message between agents is readable text."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(block.get("text"), str) for block in objects(content))
    return isinstance(content, str)


def is_of_model(item: Object) -> bool:
    """Whether an item is the assistant's: a message, reasoning or a call."""
    of = string(item, "type")
    if of in ("", "message"):
        return item.get("role") == "assistant"
    return of == "reasoning" or of.endswith("_call")


def is_input(item: Object) -> bool:
    """Whether an item is no reply: someone else's message, or a summary."""
    return item.get("role") in ("user", "developer", "system") or item.get("type") == "compaction"


def is_prompt(item: Object) -> bool:
    """Whether an item is the user's own, not injected by Codex."""
    return item.get("role") == "user" and not any(text.startswith(_INJECTED) for text in texts(item.get("content")))
