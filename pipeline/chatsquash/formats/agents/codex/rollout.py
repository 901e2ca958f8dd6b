"""The state of a rollout while its lines are read: its items, compactions and rollbacks."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.model import ConversationKind, Json
from chatsquash.core.times import Moment
from chatsquash.formats.agents.codex.items import (
    between_agents,
    is_bare,
    is_input,
    is_of_model,
    is_prompt,
    ordinary,
)
from chatsquash.formats.agents.codex.rollout_history import RolloutHistory
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Evidence, LoggedTurn, Unread, member_path, moment
from chatsquash.formats.threads import EntryBudget
from chatsquash.formats.values import Object, at, count, kind, string, texts

_REPEATING = frozenset(("agent_message", "agent_reasoning", "agent_reasoning_raw_content"))
"""The types of events that only repeat items."""
_LINE = frozenset(("timestamp", "ordinal", "type", "payload"))
_FREQUENT = ("response_item", "event_msg")
"""The most frequent types of lines."""
_META = (
    *("id", "timestamp", "base_instructions", "instructions", "dynamic_tools"),
    *("history_base", "source", "forked_from_id", "parent_thread_id"),
)
_BEGINNING = ("task_started", "turn_started")
_REVIEWED = ("exited_review_mode", "ExitedReviewMode")
"""The types of events that end a review, which is stored in a separate file."""
_TURNS = (*_BEGINNING, "task_complete", "turn_complete", "turn_aborted")
"""The types of events at the beginning or end of a turn."""


class Meta(NamedTuple):
    """The metadata of a session, with its line and time."""

    line: int | None
    time: Moment | None
    payload: Object


@dataclass(slots=True)
class Rollout:
    """A session while its lines are read."""

    has_events: bool
    """Whether events mark the user's turns."""
    budget: EntryBudget
    has_records: bool = False
    """Whether each complete reply is followed by a line with its usage."""
    has_all: bool = False
    """Whether the files in which the session begins were found."""
    now: RolloutHistory = field(default_factory=lambda: RolloutHistory("1"))
    earlier: list[RolloutHistory] = field(default_factory=list)
    """The histories before compactions and rollbacks."""
    meta: list[Meta] = field(default_factory=list)
    inherited: list[Meta] = field(default_factory=list)
    """The metadata in the files in which the session begins."""
    model: str | None = None
    turn: str | None = None
    """The id of the turn, which copies in the files of forks and sub-agents share."""
    unread: Unread = field(default_factory=Unread)
    event_names: dict[str, str] = field(default_factory=dict)
    """The names of unread events by type."""
    histories: int = 1
    is_inherited: bool = False
    """Whether the lines come from a file in which the session begins."""
    uncounted: list[str] = field(default_factory=list)
    """The places of the model's items since the last complete reply."""
    truncated: set[str] = field(default_factory=set)
    """The places of items in truncated replies."""
    breaks: set[str] = field(default_factory=set)
    """The places of items that start a reply."""
    is_divided: bool = False
    """Whether the model's next item starts a new reply."""
    is_reviewed: bool = False
    """Whether a review has just ended; Codex adds its result as an assistant message."""
    has_turns: bool = False
    """Whether events mark the beginnings of turns."""
    is_prompted: bool = False
    """Whether the prompt of the current turn is known."""

    @property
    def kind(self) -> ConversationKind:
        """The kind of the session: started by the user, by an agent, or by Codex for its own purposes."""
        payload = self.meta[0].payload if self.meta else {}
        source = payload.get("source")
        agent = at(source, "subagent")
        if agent:
            return "subagent" if at(agent, "thread_spawn") else "side"
        if at(source, "internal") or payload.get("thread_source") == "memory_consolidation":
            return "side"
        return "subagent" if payload.get("thread_source") == "subagent" else "main"

    @property
    def is_continued(self) -> bool:
        """Whether the session begins in another file."""
        return bool(self.meta) and isinstance(self.meta[0].payload.get("history_base"), dict)

    @property
    def parent(self) -> str | None:
        """The id of the session whose agent started this session."""
        payload = self.meta[0].payload if self.meta else {}
        spawned = at(payload.get("source"), "subagent", "thread_spawn")
        return string(spawned, "parent_thread_id") or string(payload, "parent_thread_id") or None

    def begin(self, meta: Meta) -> None:
        """Read the metadata of a session."""
        self.meta.append(meta)  # in a fork, the metadata of the repeated session follows
        self.unread.count_members("session_meta", meta.payload, *_META)

    def header(self, number: int | None, line: Object) -> None:
        """Read the first line of a file in the oldest format."""
        self.meta.append(Meta(number, moment(line.get("timestamp")), line))
        self.unread.count_members("header", line, *_META)

    def read(
        self, prefix: str, rows: Iterable[tuple[int, int | None, Object]], gaps: Container[int | None] = ()
    ) -> None:
        """Read lines, each with its place and number; items after ``gaps`` belong to a new reply.

        ``prefix`` and the place are used in errors.
        """
        for place, number, line in rows:
            if number in gaps:
                self.skip()
            line_type = line.get("type")
            if not _LINE.issuperset(line) and line_type is not None and (line_type in _FREQUENT or not is_bare(line)):
                self.unread.count_members("line", line, *_LINE)
            if line_type == "event_msg":
                event_type = string(payload := line.get("payload"), "type")
                if event_type not in _REPEATING:
                    self.event(event_type, payload)
            elif line_type == "response_item":
                self.item(f"{prefix}{place}", line.get("payload"), number, moment(line.get("timestamp")))
            elif not self.is_inherited and is_header(line):
                self.header(number, line)
            else:
                self.read_rare_line(f"{prefix}{place}", number, moment(line.get("timestamp")), line)

    def read_rare_line(self, place: str, number: int | None, time: Moment | None, line: Object) -> None:
        """Read a line of a rare type."""
        payload = _payload(line)
        match line.get("type"):
            case "session_meta":
                self.begin(Meta(number, time or moment(payload.get("timestamp")), payload))
            case "turn_context":
                self.model = string(payload, "model") or self.model
                self.turn = string(payload, "turn_id") or None
                self.unread.count_members("turn_context", payload, "model", "turn_id")
            case "token_usage_record":
                self.count_reply(payload)
                self.unread.count("token_usage_record")
            case "compacted":
                self.compact(place, payload, number, time)
            case "inter_agent_communication" if payload.get("content"):
                self.item(place, between_agents(payload["content"]), number, time)
            case str() if is_bare(line):
                self.item(place, line, number, time)
            case line_type:
                self.unread.count(line_type if isinstance(line_type, str) else "line without a type")

    def item(self, place: str, item: Json, number: int | None, time: Moment | None, *, is_copied: bool = False) -> None:
        """Read an item, unless it is not part of the conversation."""
        if type(item) is not dict:
            raise TurnError(f"{place}: payload is {kind(item)}, expected an item")
        converted = ordinary(item, self.unread)
        if converted is None:
            return
        is_sampled = False
        if is_of_model(converted):
            if self.is_divided:
                self.is_divided = False
                self.breaks.add(place)
            is_result, self.is_reviewed = self.is_reviewed, False
            # Copies, inherited items and review results were not produced by a request of this session.
            is_sampled = not (is_copied or self.is_inherited or is_result)
            if self.has_records and not (is_copied or is_result):
                self.uncounted.append(place)
        elif self.uncounted and string(converted, "type").endswith("_output"):
            self.truncate()  # the usage of a complete reply would have been logged before the results of its calls
        evidence = (
            Evidence(number, time, is_sampled=True, model=self.model, logged_id=self.turn)
            if is_sampled
            else Evidence(number, time)
        )
        self.now.add(LoggedTurn(place, converted, evidence))
        if not (self.has_events or is_copied or self.is_prompted) and is_prompt(converted):
            self.now.starts.append(len(self.now.items) - 1)
            self.is_prompted = self.has_turns

    def event(self, event_type: str, payload: Json) -> None:
        """Read an event that does not repeat an item."""
        if event_type == "token_count":
            if self.has_records:
                self.truncate()
            else:
                self.use(at(payload, "info", "last_token_usage"))
        elif event_type == "user_message":
            self.now.starts.append(self.now.users[-1] if self.now.users else len(self.now.items))
        elif event_type == "thread_rolled_back":
            self.roll_back(at(payload, "num_turns"))
        else:
            if event_type not in self.event_names:
                self.event_names[event_type] = member_path("event_msg", event_type)
            self.unread.count(self.event_names[event_type])
            if event_type in _REVIEWED or (event_type == "item_completed" and at(payload, "item", "type") in _REVIEWED):
                self.is_reviewed = True
            if event_type in _TURNS:
                self.begin_turn(is_new=event_type in _BEGINNING, failed=bool(at(payload, "error")))

    def begin_turn(self, *, is_new: bool, failed: bool = False) -> None:
        """End the last turn, and start a new turn if ``is_new``; the last reply of a failed turn is truncated."""
        self.truncate()
        for each in reversed(self.now.items if failed else ()):
            if not is_of_model(each.turn):
                break
            self.truncated.add(each.place)
            if each.place in self.breaks:
                break
        self.is_divided = True
        if is_new:
            self.has_turns, self.is_prompted = True, False

    def use(self, usage: Json, response_id: str | None = None) -> None:
        """Assign token counts, which are logged after the items of a reply, to the last reply."""
        if self.now.reply_places and isinstance(usage, dict):
            place = self.now.reply_places[-1]
            each = self.now.items[place]
            prompt_tokens, words = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
            evidence = replace(
                each.evidence, prompt_tokens=prompt_tokens, completion_tokens=words, response_id=response_id
            )
            self.now.items[place] = LoggedTurn(each.place, each.turn, evidence)

    def count_reply(self, payload: Object) -> None:
        """Read the line that follows the items of a complete reply."""
        if self.uncounted:
            self.use(payload.get("usage"), string(payload, "response_id") or None)
        self.uncounted = []
        self.is_divided = True

    def truncate(self) -> None:
        """Mark the items since the last complete reply as a truncated reply."""
        if self.uncounted:
            self.truncated.update(self.uncounted)
            self.uncounted = []
            self.is_divided = True

    def skip(self) -> None:
        """Skip an unreadable line; the following items belong to a new reply."""
        self.uncounted = []
        self.is_divided = True

    def inherit(self, place: str, lines: list[Json]) -> None:
        """Read the lines of a file in which the session begins; ``place`` is used in errors."""
        self.is_inherited, unread = True, self.unread
        self.unread = Unread()
        self.read(
            f"{place}, entry ", [(number, None, line) for number, line in enumerate(lines, 1) if type(line) is dict]
        )
        self.inherited += self.meta
        # Unread content in the other file is counted when that file is converted.
        self.meta, self.unread, self.is_inherited = [], unread, False
        self.skip()

    def compact(self, place: str, payload: Object, number: int | None, time: Moment | None) -> None:
        """Start a new history with the logged replacement, or with the input items and the summary."""
        before, history = self.now, payload.get("replacement_history")
        self.unread.count_members("compacted", payload, "message", "replacement_history")
        messages = list[LoggedTurn]()
        if not isinstance(history, list):
            if not string(payload, "message"):
                return
            messages = [each for each in before.items if is_input(each.turn)]
            # Older versions log only the summary, and keep the input items.
            history = [{"type": "message", "role": "user", "content": payload["message"]}]
        summary = self.summary_of(string(payload, "message") or _last_text(history))
        # The summary is the reply to a separate request, whose context is the earlier items.
        side = before.split_off(summary, self.next_id()) if summary is not None else None
        self.leave(before, 0)
        if side:
            self.leave(side, summary or 0)
        self.uncounted = []
        ident = self.next_id()
        parent = before.id if before.has_reply() else before.parent
        self.now = RolloutHistory(ident, "compacted" if parent else before.kind, parent, begins_here=False)
        for each in messages:
            self.now.add(replace(each, evidence=Evidence(each.evidence.line, time)))
        for index, item in enumerate(history):
            self.item(f"{place}, replacement_history[{index}]", item, number, time, is_copied=True)

    def next_id(self) -> str:
        """Return the id for a new history."""
        self.histories += 1
        return str(self.histories)

    def summary_of(self, message: str) -> int | None:
        """Return the start of the reply with the summary at the end of a message; ``None`` if it is not in the file."""
        items = self.now.items
        last = items[-1].turn if items else {}
        words = "".join(texts(last.get("content"))).strip() if is_of_model(last) else ""
        before = message.rstrip().removesuffix(words) if words else message
        if not words or len(before) == len(message.rstrip()) or (before and not before.endswith(("\n", " "))):
            return None
        start = len(items) - 1
        while start and items[start].place not in self.breaks and items[start - 1].turn.get("type") == "reasoning":
            start -= 1
        return start

    def roll_back(self, turns: Json) -> None:
        """Remove the user's last turns."""
        if type(turns) is int and turns > 0 and self.now.starts:
            start, ident = self.now.start_of_last(turns), self.next_id()
            if self.now.has_reply(start) and self._has_room(len(self.now.items)):
                self.earlier.append(self.now.branch(ident))
            self.now.remove_last(turns)

    def leave(self, history: RolloutHistory, start: int) -> None:
        """Store a history if it contains a reply after ``start``; inherited histories are in another file."""
        if history.has_reply(start) and self._has_room(len(history.items)):
            self.earlier.append(history)

    def _has_room(self, items: int) -> bool:
        """Return whether the budget allows a history of this size; otherwise, count it as unread."""
        if self.is_inherited:
            self.unread.count("copied conversation")
            return False
        if not self.budget.take(items):
            self.unread.count("history over the limit")
            return False
        return True


def is_header(line: Json) -> bool:
    """Return whether a line is the first line of a file in the oldest format."""
    return isinstance(line, dict) and line.keys() >= {"id", "timestamp", "instructions"} and "type" not in line


def _payload(line: Object) -> Object:
    payload = line.get("payload")
    return payload if isinstance(payload, dict) else {}


def _last_text(history: Json) -> str:
    """Return the text of the last replacement item if its role is user; otherwise, it is not the summary."""
    last = history[-1] if isinstance(history, list) and history else None
    return "".join(texts(at(last, "content"))) if at(last, "role") == "user" else ""
