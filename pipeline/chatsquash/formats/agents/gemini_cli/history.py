"""The state of a Gemini CLI session while its lines add, replace and undo messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from msgspec import Struct

from chatsquash.core.model import ConversationKind, Json
from chatsquash.formats.base import TurnError, expect_list
from chatsquash.formats.evidence import Unread
from chatsquash.formats.providers.gemini.blocks import camel
from chatsquash.formats.threads import BRANCH_BEYOND, EntryBudget
from chatsquash.formats.values import Object, as_list, objects, string, without
from chatsquash.formats.values import at as member

KINDS = ("user", "gemini", "info", "error", "warning")
_OTHERS = frozenset(("$rewindTo", "$set", "sessionId"))
"""Members of which lines that are not messages have at least one."""
_SESSION = ("sessionId", "startTime", "lastUpdated", "messages", "kind")


_Key = tuple[str, str]
"""The id and the type of a message; ids are ambiguous, because resuming a session repeats results with reply ids."""


class ChatRecord(Struct, frozen=True, gc=False):
    """A message and its place."""

    place: str
    line: int
    record: Object
    is_sampled: bool = True
    """Whether a model produced it; false for messages without token counts that occur only in a replaced history."""


class SessionPath(NamedTuple):
    """The messages of a conversation in the session."""

    records: list[ChatRecord]
    era: int = 0
    """The number of earlier compressions."""
    is_branch: bool = False
    """Whether its last messages were undone."""
    id: str = ""
    parent: str | None = None

    @property
    def kind(self) -> ConversationKind | None:
        """The kind of the conversation, or ``None`` if it is the kind of the session."""
        return "branch" if self.is_branch else "compacted" if self.era else None

    def began(self) -> dict[str, str]:
        """Return the ids of the calls that started sub-agents, by agent id."""
        calls = (call for each in self.records for call in objects(each.record.get("toolCalls")))
        return {agent: string(call, "id") for call in calls if (agent := string(call, "agentId"))}


_Records = dict[_Key, ChatRecord]


@dataclass(slots=True)
class SessionState:
    """A session while its lines are read."""

    budget: EntryBudget
    records: _Records = field(default_factory=dict)
    known: _Records = field(default_factory=dict)
    """All messages so far, including removed messages; messages in a replaced history have fewer members."""
    kinds: dict[str, set[str]] = field(default_factory=dict)
    """The types of the messages so far, by id."""
    before_replacement: _Records | None = None
    """The messages before a history was replaced, until another message follows."""
    earlier: list[SessionPath] = field(default_factory=list)
    """The conversations before replies were undone or compressed."""
    era: int = 0
    header: Object = field(default_factory=dict)
    unread: Unread = field(default_factory=Unread)

    def paths(self) -> list[SessionPath]:
        """Return the conversation at the end, then those before compressions, then those with undone messages."""
        self.settle()
        ends = [each for each in reversed(self.earlier) if not each.is_branch]
        branches = [each for each in self.earlier if each.is_branch]
        paths = [SessionPath([*self.records.values()], self.era), *ends, *branches]
        with_ids = [each._replace(id=str(number)) for number, each in enumerate(paths, 1)]
        by_era = {each.era: each.id for each in with_ids if not each.is_branch}
        return [each._replace(parent=by_era.get(each.era if each.is_branch else each.era - 1)) for each in with_ids]

    def add(self, place: str, number: int, line: Object) -> None:
        """Read a line."""
        name, kind = line.get("id"), line.get("type")
        if type(name) is str and kind in KINDS and _OTHERS.isdisjoint(line):  # the usual line
            self.put((name, kind), place, number, line)
            return
        match line:
            case {"$rewindTo": str(name)}:
                self.settle()
                self.rewind(name)
            case {"$set": dict(members)}:
                self.set(place, number, members, is_complete=False)
            case {"sessionId": _, "projectHash": _}:
                self.set(place, number, line, is_complete=True)
            case {"type": "message_update", "id": str(name)}:
                key = next((key for key in ((name, kind) for kind in KINDS) if key in self.records), None)
                if key:
                    self.put(key, place, number, {**self.records[key].record, **without(line, "type")})
            case {"id": str(name)}:
                self.put((name, string(line, "type")), place, number, line)
            case {"type": "user" | "gemini" as of}:
                self.put((place, of), place, number, line)
            case _:
                self.unread.count_members("line", line)

    def rewind(self, name: str) -> None:
        """Undo the first message with an id and all later messages; if no message has the id, undo all messages."""
        first = {key for kind in self.kinds.get(name, ()) if (key := (name, kind)) in self.records}
        removed = list[_Key]()
        for key in reversed(self.records):
            removed.append(key)
            if first and key in first:
                first.remove(key)
                if not first:
                    break
        if any(self.records[key].record.get("type") == "gemini" for key in removed):
            if self.budget.take(len(self.records)):
                self.earlier.append(SessionPath([*self.records.values()], self.era, is_branch=True))
            else:
                self.unread.count(BRANCH_BEYOND)
        for key in removed:
            del self.records[key]
            self.kinds[key[0]].discard(key[1])

    def put(self, key: _Key, place: str, number: int, record: Object) -> None:
        """Add a message, or replace the message with the same key."""
        if self.before_replacement is not None:
            self.settle()
        before = self.records.get(key)
        if before:
            place, number = before.place, before.line
        self.kinds.setdefault(key[0], set()).add(key[1])
        is_sampled = before.is_sampled if before else True
        self.records[key] = self.known[key] = ChatRecord(place, number, record, is_sampled)

    def set(self, place: str, number: int, members: Object, *, is_complete: bool) -> None:
        """Set session members, which may include all messages; ``is_complete`` means that the messages are complete."""
        self.header = {**self.header, **members}
        self.unread.count_members("session", members, *_SESSION)
        messages = members.get("messages")
        if not messages:
            return
        expect_list(messages, f"{place}: messages is")
        records: _Records = {}
        for index, record in enumerate(messages):
            where = f"{place}, messages[{index}]"
            if not isinstance(record, dict):
                raise TurnError(f"{where} is not an object")
            name, kind = string(record, "id") or where, string(record, "type")
            if kind == "user" and (name, "gemini") in records:
                continue  # results that are already stored with the reply
            is_sampled = is_complete or member(record, "tokens") is not None
            first = self.known.get((name, kind))
            is_same = first is not None and _text(first.record) == _text(record)
            self.kinds.setdefault(name, set()).add(kind)
            records[name, kind] = first if first and is_same else ChatRecord(where, number, record, is_sampled)
        self.before_replacement = self.records if self.before_replacement is None else self.before_replacement
        self.records = records

    def settle(self) -> None:
        """Detect whether a replaced history is a resume (all messages are known) or a compression."""
        before, self.before_replacement = self.before_replacement, None
        if before is None:
            return
        after, self.records = self.records, before
        # A compression adds a summary, which is a new message.
        if after.keys() <= self.known.keys() or not _has_reply(before, after):
            self.leave(after)
        else:
            self.earlier.append(SessionPath([*before.values()], self.era))
            self.era, self.records = self.era + 1, after
        for key, record in after.items():
            self.known.setdefault(key, record)

    def leave(self, records: _Records) -> None:
        """Replace the messages; if this removes replies, store the previous messages as a branch."""
        if _has_reply(self.records, records):
            self.earlier.append(SessionPath([*self.records.values()], self.era, is_branch=True))
        self.records = records


def _text(record: Object) -> Json:
    """Return the text and the results of a message, but not its thoughts and calls."""
    parts = [camel(part) for part in parts_of(record.get("content"))]
    answers = [answer for part in parts if (answer := response(part)) is not None]
    return "".join(string(part, "text") for part in parts if not part.get("thought")), answers


def _has_reply(before: _Records, after: _Records) -> bool:
    """Return whether the removed messages include a reply."""
    return any(before[key].record.get("type") == "gemini" for key in before.keys() - after.keys())


def parts_of(content: Json) -> list[Json]:
    """Convert a string, a part, or a list of both to parts; empty strings are dropped."""
    if type(content) is str:
        return [{"text": content}] if content else []
    return [{"text": part} if isinstance(part, str) else part for part in as_list(content) if part != ""]


def response(part: Json) -> Any:
    """Return the result in a part, or ``None``."""
    is_usual = type(part) is dict and "function_response" not in part
    answer = part.get("functionResponse") if is_usual else camel(part).get("functionResponse")
    return answer if isinstance(answer, dict) else None
