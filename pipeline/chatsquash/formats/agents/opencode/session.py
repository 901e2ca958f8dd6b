"""Convert sessions to conversations, and link them."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.core.model import Conversation, ConversationKind, Json
from chatsquash.formats.agents.opencode import newer, older
from chatsquash.formats.agents.opencode.turns import ModelTurn, SessionMessage
from chatsquash.formats.base import expect_list, expect_object
from chatsquash.formats.clients.model_messages.read import read
from chatsquash.formats.evidence import Evidence, Unread, conversation, span
from chatsquash.formats.threads import EntryBudget, with_unread
from chatsquash.formats.values import Object, at, members, string

_SESSION = ("id", "parentID", "time", "revert")


class SessionView(NamedTuple):
    """The turns of a conversation."""

    turns: list[ModelTurn]
    kind: ConversationKind | None = None
    """The kind of the conversation; ``None`` if it is the kind of the session."""
    before: int = 0
    """The index of its parent among the conversations of the session."""
    is_cleared: bool = False


class SessionViews(NamedTuple):
    """The conversations of a session, in the order in which they began."""

    id: str
    header: Object
    views: list[SessionView]
    current: int
    """The index of the current conversation."""

    def name(self, place: int) -> str:
        """Return the id of a conversation; the first conversation has the id of the session."""
        return f"{self.id}.{place + 1}" if place else self.id

    def shown_places(self) -> list[int]:
        """Return the indices of the current conversation and of the other conversations with a reply."""
        replied = (any(each.evidence.is_sampled for each in view.turns) for view in self.views)
        others = [place for place, has_reply in enumerate(replied) if has_reply and place != self.current]
        return [self.current, *others]


class SessionReader:
    """A reader for the sessions in a file."""

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        self.sessions: list[SessionViews] = []
        self._systems: dict[str, None] = {}

    def add(self, value: Object, place: str, line: int) -> None:
        """Read a session."""
        header = members(value.get("info"))
        messages = expect_list(value.get("messages"), f"{place}: messages is")
        self._count(value, header)
        items = [_item(each, f"{place}, messages[{number}]", line) for number, each in enumerate(messages)]
        turns_by_item = [self._convert(item) for item in items]
        items_after_undo = remaining(items, header, self.unread)
        items_in_use = items if items_after_undo is None else items_after_undo
        both = zip(items_in_use, items[: len(items_in_use)], turns_by_item[: len(items_in_use)], strict=True)
        cut = [turns if each is item else _convert(each, Unread()) for each, item, turns in both]
        views = _views([[each for at in era for each in cut[at]] for era in eras(items_in_use, self.unread)])
        current = len(views) - 1
        views += [] if items_after_undo is None else self._undone_views(items, turns_by_item, views)
        session = SessionViews(string(header, "id") or place, header, views, current)
        self.sessions.append(session)
        shown_turns = {id(each.turn) for number in session.shown_places() for each in views[number].turns}
        for _ in (each for each in chain(*turns_by_item) if id(each.turn) not in shown_turns):
            self.unread.count("message that is not part of a conversation")

    def _count(self, value: Object, header: Object) -> None:
        self.unread.count_members("session", header, *_SESSION)
        self.unread.count_members("file", value, "info", "messages", "left")
        for name, count in members(value.get("left")).items():
            # The export may come from a file, so the count is limited.
            for _ in range(count if type(count) is int and 0 < count < 1_000_000 else 0):
                self.unread.count(f"row of the table {name}")

    def _convert(self, item: SessionMessage) -> list[ModelTurn]:
        turns = _convert(item, self.unread)
        self._systems.update((each.system, None) for each in turns if each.system)
        return turns

    def _undone_views(
        self, items: list[SessionMessage], turns_by_item: list[list[ModelTurn]], views: list[SessionView]
    ) -> list[SessionView]:
        """Return the conversations with undone replies: a branch, and its continuations after compactions."""
        known = {id(each.turn) for view in views for each in view.turns}
        all_eras = [[each for at in era for each in turns_by_item[at]] for era in eras(items, Unread())]
        fresh = [
            era for era in all_eras if any(each.evidence.is_sampled and id(each.turn) not in known for each in era)
        ]
        branches = [SessionView(era, "branch", len(views) - 1) for era in fresh[:1]]
        return branches + [SessionView(era, "compacted", len(views) + number) for number, era in enumerate(fresh[1:])]

    def conversations(self) -> list[Conversation]:
        """Return, for each session, the current conversation, then earlier conversations, then undone ones."""
        converted = list[Conversation]()
        links = self._links()
        used_systems = set[str]()
        for session in self.sessions:
            converted += [self._conversation(session, place, links, used_systems) for place in session.shown_places()]
        for system in self._systems:
            if system not in used_systems:
                self.unread.count("message.system")
        return with_unread([each for each in converted if each.messages], self.unread)

    def _links(self) -> dict[str, tuple[str, str]]:
        """Return the conversation and the call that started each sub-agent, by session id."""
        links: dict[str, tuple[str, str]] = {}
        for session in self.sessions:
            for place, view in enumerate(session.views):
                for each in view.turns:
                    for child, call in each.calls_by_session.items():
                        links.setdefault(child, (session.name(place), call))
        return links

    def _conversation(
        self, session: SessionViews, place: int, links: dict[str, tuple[str, str]], used_systems: set[str]
    ) -> Conversation:
        view = session.views[place]
        turns_with_evidence, calls_by_session = _turns_shown(view), dict[str, str]()
        for each in view.turns:
            calls_by_session.update(each.calls_by_session)
        system = next((each.system for each in reversed(view.turns) if each.system), "")
        used_systems.add(system)
        first = [{"role": "system", "content": system}] if system and turns_with_evidence else []
        turns = [*first, *(turn for turn, _ in turns_with_evidence)]
        evidence = [
            *([Evidence(turns_with_evidence[0][1].line)] if first else []),
            *(known for _, known in turns_with_evidence),
        ]
        turns_read = ((turn, evidence[number]) for turn, number in read(turns))
        known = self._origin(session, place, links) | {"began": calls_by_session}
        return conversation(turns_read, {}, **known)

    def _origin(self, session: SessionViews, place: int, links: dict[str, tuple[str, str]]) -> Object:
        view = session.views[place]
        known: Object = {"id": session.name(place), "session_id": session.id}
        if view.kind:
            known |= {"kind": view.kind, "parent": session.name(view.before)}
        elif parent := string(session.header, "parentID"):
            holder, call = links.get(session.id, (self._last(parent), None))
            known |= {"kind": "subagent", "parent": holder, "call": call}
        if not any(each.evidence.time for each in view.turns):
            known |= span(at(session.header, "time", "created"), at(session.header, "time", "updated"))
        return known

    def _last(self, parent: str) -> str:
        """Return the id of a session's current conversation, or the session's id if the file does not contain it."""
        return next((each.name(each.current) for each in self.sessions if each.id == parent), parent)


def _item(value: Json, place: str, line: int) -> SessionMessage:
    if "info" in expect_object(value, f"{place} is"):
        expect_object(value["info"], f"{place}: info is")
    return SessionMessage(place, line, value)


def _convert(item: SessionMessage, unread: Unread) -> list[ModelTurn]:
    return older.convert(item, unread) if is_older(item) else newer.convert(item, unread)


def _views(turns_by_era: list[list[ModelTurn]]) -> list[SessionView]:
    """Return the conversations between compactions, and the conversations before results were cleared."""
    views = list[SessionView]()
    for number, era in enumerate(turns_by_era):
        kind: ConversationKind | None = "compacted" if number else None
        cleared = max((each.cleared_at for each in era), default=0)
        times = [each.evidence.time if each.evidence.is_sampled else None for each in era]
        later = next((place for place, time in enumerate(times) if cleared and time and time.at > cleared), None)
        if later is None or not any(each.evidence.is_sampled for each in era[:later]):
            views.append(SessionView(era, kind, len(views) - 1, is_cleared=later is not None))
            continue
        # Prompts before the first request with cleared results belong to that request.
        end = max(place + 1 for place in range(later) if era[place].turn["role"] != "user")
        views.append(SessionView(era[:end], kind, len(views) - 1))
        views.append(SessionView(era, "compacted", len(views) - 1, is_cleared=True))
    return views


def _turns_shown(view: SessionView) -> list[tuple[Object, Evidence]]:
    """Return the turns that the model saw; interrupted calls at the end have no result yet."""
    turns = [(each.cleared if view.is_cleared and each.cleared else each.turn, each.evidence) for each in view.turns]
    if view.turns and (last := view.turns[-1].last):
        turns[-1:] = [(last, view.turns[-1].evidence)] if last["content"] else []
    return turns


class Cut(NamedTuple):
    """A compaction."""

    end: int
    """The index at which the preceding conversation ends."""
    head: tuple[range, ...]
    """The messages at the beginning of the conversation after it."""
    resume: int
    """The index of the first message after these messages."""


def is_older(item: SessionMessage) -> bool:
    """Return whether a message was written by version 1."""
    return "info" in item.value


def name(item: SessionMessage) -> str:
    """Return the id of a message."""
    return string(older.info(item) if is_older(item) else item.value, "id")


def eras(items: list[SessionMessage], unread: Unread) -> list[list[int]]:
    """Split the messages at compactions; each part contains the indices of the messages that were sent."""
    spans: list[list[int]] = [[]]
    place = 0
    for cut in cuts(items, unread):
        spans[-1] += range(place, cut.end)
        spans.append(list(chain(*cut.head)))
        place = cut.resume
    spans[-1] += range(place, len(items))
    return spans


def cuts(items: list[SessionMessage], unread: Unread) -> list[Cut]:
    """Return the compactions of a session, in order."""
    places = {name(item): place for place, item in reversed(list(enumerate(items)))}
    budget = EntryBudget(len(items))
    compactions, ends = list[Cut](), set[int]()
    for place, item in enumerate(items):
        if is_older(item):
            cut = _cut(items, place, places)
        else:
            cut = Cut(place, (range(place, place + 1),), place + 1) if newer.is_boundary(item) else None
        if cut is None or cut.end in ends:
            continue
        ends.add(cut.end)
        if not budget.take(sum(map(len, cut.head))):
            unread.count("messages kept by a compaction, over the limit")
            cut = cut._replace(head=(range(place, place + 1),))  # only the summary
        compactions.append(cut)
    return compactions


def _cut(items: list[SessionMessage], place: int, places: dict[str, int]) -> Cut | None:
    """Return the compaction whose summary is at a place, or ``None``."""
    header = older.info(items[place])
    is_summary = header.get("role") == "assistant" and header.get("summary") is True
    if not is_summary or older.is_failed(items[place]):
        return None
    request = places.get(string(header, "parentID"))
    part = _compaction(items[request]) if request is not None and request < place and is_older(items[request]) else None
    if request is None or part is None:  # older versions do not store the request for a compaction
        has_text = any(part["type"] == "text" for part in older.parts(items[place]))
        return Cut(place, (range(place, place + 1),), place + 1) if has_text else None
    if not header.get("finish"):
        return None
    tail = places.get(string(part, "tail_start_id"), request)
    return Cut(request, (range(request, place + 1), range(tail, request)), place + 1)


def _compaction(item: SessionMessage) -> Object | None:
    """Return the part of a message that requests a compaction, or ``None``."""
    if older.info(item).get("role") != "user":
        return None
    return next((part for part in older.parts(item) if part["type"] == older.COMPACTION), None)


def remaining(items: list[SessionMessage], header: Object, unread: Unread) -> list[SessionMessage] | None:
    """Return the messages that remain after messages were undone, or ``None`` if none were undone."""
    message_id, part = (string(header.get("revert"), member) for member in ("messageID", "partID"))
    if not message_id:
        return None
    place = next((place for place, item in enumerate(items) if name(item) == message_id), None)
    if place is None:
        unread.count("revert to a missing message")
        return None
    item = items[place]
    if not part or not is_older(item):
        return items[:place]
    message_parts = older.parts(item)
    end = next((number for number, each in enumerate(message_parts) if at(each, "id") == part), 0)
    return [*items[:place], replace(item, value={**item.value, "parts": message_parts[:end]})] if end else items[:place]
