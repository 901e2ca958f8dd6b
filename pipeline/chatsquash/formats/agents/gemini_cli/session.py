"""The lines of a session: its messages, and what became of them when it was edited."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from chatsquash.core.model import ConversationKind
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Unread, moment
from chatsquash.formats.values import Object, kind, objects, string, without

KINDS = ("user", "gemini", "info", "error", "warning")
_SESSION = ("sessionId", "startTime", "lastUpdated", "messages", "kind")


class Record(NamedTuple):
    """A message, and where it stands."""

    place: str
    line: int
    record: Object


class Way(NamedTuple):
    """The messages of one conversation of the session."""

    id: str
    kind: ConversationKind | None
    """``None``: the kind of the session."""
    parent: str | None
    records: list[Record]

    def began(self) -> dict[str, str]:
        """The sub-agents that its calls began, with the ids of the calls."""
        calls = (call for each in self.records for call in objects(each.record.get("toolCalls")))
        return {agent: string(call, "id") for call in calls if (agent := string(call, "agentId"))}


@dataclass(slots=True)
class Session:
    """A session while its lines are read."""

    records: dict[str, Record] = field(default_factory=dict)
    left: list[list[Record]] = field(default_factory=list)
    """What the messages were before some that the model gave were taken back or replaced."""
    header: Object = field(default_factory=dict)
    unread: Unread = field(default_factory=Unread)

    @property
    def kind(self) -> ConversationKind:
        """Whether a sub-agent wrote it."""
        return "subagent" if self.header.get("kind") == "subagent" else "main"

    def known(self) -> Object:
        """What the session says of itself."""
        first, last = moment(self.header.get("startTime")), moment(self.header.get("lastUpdated"))
        times = {"started": first.at, "ended": (last or first).at} if first else {}
        return {"session_id": string(self.header, "sessionId") or None, **times}

    def ways(self) -> list[Way]:
        """The messages as they ended first, then those that were left."""
        left = [Way(str(number), "branch", "1", records) for number, records in enumerate(self.left, 2)]
        return [Way("1", None, None, list(self.records.values())), *left]

    def add(self, place: str, number: int, line: Object) -> None:
        """Take one line."""
        match line:
            case {"$rewindTo": str(key)}:
                keys = list(self.records)
                self.leave(keys[: keys.index(key) if key in self.records else 0])
            case {"$set": dict(members)}:
                self.set(place, number, members)
            case {"sessionId": _, "projectHash": _}:
                self.set(place, number, line)
            case {"type": "message_update", "id": str(key)}:
                if key in self.records:
                    before = self.records[key]
                    self.records[key] = before._replace(record={**before.record, **without(line, "type")})
            case {"id": str(key)}:
                before = self.records.get(key) or Record(place, number, {})
                self.records[key] = before._replace(record=line)
            case {"type": "user" | "gemini"}:
                self.records[place] = Record(place, number, line)
            case _:
                self.unread.rest("line", line)

    def set(self, place: str, number: int, members: Object) -> None:
        """Members of the session: all its messages, and what it says of itself."""
        self.header = {**self.header, **members}
        self.unread.rest("session", members, *_SESSION)
        held = members.get("messages")
        if not held:
            return
        if not isinstance(held, list):
            raise TurnError(f"{place} has messages that are {kind(held)}, not a list")
        records: dict[str, Record] = {}
        for index, record in enumerate(held):
            where = f"{place}, messages[{index}]"
            if not isinstance(record, dict):
                raise TurnError(f"{where} is no object")
            records[string(record, "id") or where] = Record(where, number, record)
        self.leave(list(records))
        self.records = records

    def leave(self, kept: list[str]) -> None:
        """Only these messages stay; what was there is kept, if the model gave any that go."""
        gone = self.records.keys() - set(kept)
        if any(self.records[key].record.get("type") == "gemini" for key in gone):
            self.left.append(list(self.records.values()))
        self.records = {key: self.records[key] for key in kept if key in self.records}
