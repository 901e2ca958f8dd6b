"""The events of ``codex exec --json``: the displayed items of each turn, without prompts and the system prompt."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from chatsquash.core.model import Conversation, Json, RepeatedViolation
from chatsquash.formats.agents.codex.messages import load_items
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, entries, member_path, origin
from chatsquash.formats.values import Object, at, compact, string, without

_EVENTS = ("thread.started", "turn.started", "turn.completed", "turn.failed", "error")
_ITEM = "item."
_ITEM_MEMBERS = ("id", "type", "status", "exit_code")
"""The members of items that belong to neither a call nor its result."""
_RESULTS: dict[str, tuple[str, ...]] = {
    "command_execution": ("aggregated_output",),
    "mcp_tool_call": ("result", "error"),
    "collab_tool_call": ("receiver_thread_ids", "agents_states"),
    "file_change": (),
    "web_search": (),
}
"""The members that form the result of a call, by item type."""
_NAME_MEMBERS = ("server", "tool", "sender_thread_id")


def find_evidence(values: list[Json]) -> str | None:
    """Check for the beginning of a thread, and whether most lines are thread events."""
    if not (values and at(values[0], "type") == "thread.started" and string(values[0], "thread_id")):
        return None
    count = sum(map(_is_event, values))
    return f"events of a thread in {count} of {len(values)} lines" if count * 2 > len(values) else None


def _is_event(line: Json) -> bool:
    event_type = string(line, "type")
    return event_type in _EVENTS or (event_type.startswith(_ITEM) and isinstance(line.get("item"), dict))


def conversations(values: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the replies of each thread, which are never trained on because the requests are not logged."""
    threads: dict[str, _Thread] = {}
    unread = Unread()
    thread = _Thread("")
    for place, number, line in entries(values, lines):
        event_type = string(line, "type")
        if event_type == "thread.started":
            thread.end(is_complete=False)
            ident = string(line, "thread_id")
            thread = threads.setdefault(ident, _Thread(ident))
        elif event_type == "item.completed" and isinstance(line.get("item"), dict):
            thread.add(f"entry {place}", line["item"], Evidence(number, is_sampled=True), unread)
        # The completed item repeats the content of the started item.
        elif event_type != "item.started":
            unread.count(event_type or "line without a type")
        if event_type in _EVENTS:
            thread.end(is_complete=event_type == "turn.completed")
    thread.end(is_complete=False)
    read = [each for each in threads.values() if each.items]
    return [_conversation(each, unread, place) for place, each in enumerate(read)]


def _conversation(thread: _Thread, unread: Unread, place: int) -> Conversation:
    logged_messages = load_items(thread.items, [], Evidence(), thread.breaks, thread.truncated)
    missing = ((logged_messages.evidence[0].line, RepeatedViolation("missing-history")),)
    known = {"id": str(place + 1), "session_id": thread.id, "unread": unread.counts_for(place)}
    return Conversation(
        logged_messages.messages, [], origin=origin(logged_messages, lacks_context=True, findings=missing, **known)
    )


class _CalledTool(NamedTuple):
    name: str
    arguments: Object
    result: Json


@dataclass(slots=True)
class _Thread:
    """The items of a thread in the form of OpenAI Responses."""

    id: str
    items: list[LoggedTurn] = field(default_factory=list)
    breaks: set[str] = field(default_factory=set)
    """The places of items that start a reply."""
    truncated: set[str] = field(default_factory=set)
    """The places of items in interrupted replies."""
    open: list[str] = field(default_factory=list)
    """The places of the items since the last result or turn end."""
    calls: set[str] = field(default_factory=set)
    is_divided: bool = False

    def add(self, place: str, item: Object, evidence: Evidence, unread: Unread) -> None:
        """Add an item; calls include their results."""
        item_type = string(item, "type")
        if self.is_divided:
            self.breaks.add(place)
            self.is_divided = False
        if item_type == "reasoning":
            summary = [{"type": "summary_text", "text": string(item, "text")}]
            self._add(place, {"type": "reasoning", "summary": summary}, evidence)
        elif item_type == "agent_message":
            content = [{"type": "output_text", "text": string(item, "text")}]
            self._add(place, {"type": "message", "role": "assistant", "content": content}, evidence)
        elif item_type in _RESULTS:
            self._call(place, item, evidence)
        else:
            unread.count(member_path("item", str(item_type)))

    def _add(self, place: str, item: Object, evidence: Evidence) -> None:
        self.items.append(LoggedTurn(place, item, evidence))
        self.open.append(place)

    def _call(self, place: str, item: Object, evidence: Evidence) -> None:
        ident = string(item, "id") or place
        while ident in self.calls:  # each process restarts the numbering of its items
            ident += "+"
        self.calls.add(ident)
        tool_call = _tool_of(item)
        arguments = compact(tool_call.arguments)
        call = {"type": "function_call", "call_id": ident, "name": tool_call.name, "arguments": arguments}
        self._add(place, call, evidence)
        result = tool_call.result if isinstance(tool_call.result, str) else compact(tool_call.result)
        # A completed item contains both the call and its result.
        output = {"type": "function_call_output", "call_id": ident, "output": result}
        self.items.append(LoggedTurn(place, output, Evidence(evidence.line)))
        self.open = []

    def end(self, *, is_complete: bool) -> None:
        """End a turn; if it failed or was interrupted, its last reply is truncated."""
        if not is_complete:
            self.truncated.update(self.open)
        self.open = []
        self.is_divided = True


def _tool_of(item: Object) -> _CalledTool:
    """Return the call of an item, with the name of its tool or else its type as the name."""
    item_type = string(item, "type")
    result_members = _RESULTS[item_type]
    names = [name for name in (string(item, "server"), string(item, "tool")) if name]
    result = without({name: item.get(name) for name in result_members})
    plain = next(iter(result.values())) if len(result) == 1 else result or string(item, "status")
    arguments = item.get("arguments") if item_type == "mcp_tool_call" else None
    if not isinstance(arguments, dict):
        arguments = without(item, *_ITEM_MEMBERS, *_NAME_MEMBERS, *result_members)
    return _CalledTool("__".join(names) or item_type, arguments, plain or "")
