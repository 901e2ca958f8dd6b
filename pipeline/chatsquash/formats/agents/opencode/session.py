"""Sessions and what they are to each other, as conversations."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from chatsquash.core.model import Conversation, ConversationKind, Json
from chatsquash.formats.agents.opencode import newer, older
from chatsquash.formats.agents.opencode.message_texts import Item, Said
from chatsquash.formats.base import expect_list, expect_object
from chatsquash.formats.clients.model_messages.read import read
from chatsquash.formats.evidence import Evidence, Unread, conversation, moment
from chatsquash.formats.threads import counted
from chatsquash.formats.values import Object, at, members, string

_SESSION = ("id", "parentID", "time", "revert")


class Way(NamedTuple):
    """What was said in one conversation."""

    said: list[Said]
    kind: ConversationKind | None = None
    """``None``: the kind of the session."""
    before: int = 0
    """The place of the conversation that it comes from among those of its session."""
    is_cleared: bool = False


class Session(NamedTuple):
    """The conversations of a session, in the order in which they began."""

    id: str
    header: Object
    ways: list[Way]
    current: int
    """The place of the one in use."""

    def name(self, place: int) -> str:
        """What a conversation is called: the first is called as the session."""
        return f"{self.id}.{place + 1}" if place else self.id

    def shown(self) -> list[int]:
        """The places of the conversation in use, and of the others that have a reply."""
        replied = (any(each.evidence.is_sampled for each in way.said) for way in self.ways)
        others = [place for place, has_reply in enumerate(replied) if has_reply and place != self.current]
        return [self.current, *others]


class Reader:
    """The sessions of a file while they are read."""

    def __init__(self, unread: Unread) -> None:
        self.unread = unread
        self.sessions: list[Session] = []
        self._systems: dict[str, None] = {}

    def add(self, value: Object, place: str, line: int) -> None:
        """Take one session."""
        header = members(value.get("info"))
        messages = expect_list(value.get("messages"), f"{place} has messages that are")
        self._count(value, header)
        items = [_item(each, f"{place}, messages[{number}]", line) for number, each in enumerate(messages)]
        spoken = [self._said(item) for item in items]
        left = kept(items, header, self.unread)
        used = items if left is None else left
        both = zip(used, items[: len(used)], spoken[: len(used)], strict=True)
        cut = [told if each is item else _said(each, Unread()) for each, item, told in both]
        found = _views([[each for at in era for each in cut[at]] for era in eras(used, self.unread)])
        current = len(found) - 1
        found += [] if left is None else self._undone(items, spoken, found)
        session = Session(string(header, "id") or place, header, found, current)
        self.sessions.append(session)
        shown = {id(each.turn) for number in session.shown() for each in found[number].said}
        for _ in (each for each in chain(*spoken) if id(each.turn) not in shown):
            self.unread.one("message of no conversation that is read")

    def _count(self, value: Object, header: Object) -> None:
        self.unread.rest("session", header, *_SESSION)
        self.unread.rest("file", value, "info", "messages", "left")
        for name, count in members(value.get("left")).items():
            for _ in range(count if type(count) is int and 0 < count < 1_000_000 else 0):
                self.unread.one(f"row of the table {name}")

    def _said(self, item: Item) -> list[Said]:
        found = _said(item, self.unread)
        self._systems.update((each.system, None) for each in found if each.system)
        return found

    def _undone(self, items: list[Item], spoken: list[list[Said]], found: list[Way]) -> list[Way]:
        """What goes on with messages that were undone, if a model gave any of them."""
        known = {id(each.turn) for way in found for each in way.said}
        whole = [[each for at in era for each in spoken[at]] for era in eras(items, Unread())]
        fresh = [era for era in whole if any(each.evidence.is_sampled and id(each.turn) not in known for each in era)]
        branches = [Way(era, "branch", len(found) - 1) for era in fresh[:1]]
        return branches + [Way(era, "compacted", len(found) + number) for number, era in enumerate(fresh[1:])]

    def conversations(self) -> list[Conversation]:
        """Of each session the one in use, then what it was before compactions, then what was undone."""
        found = list[Conversation]()
        links = self._links()
        used = set[str]()
        for session in self.sessions:
            found += [self._conversation(session, place, links, used) for place in session.shown()]
        for system in self._systems:
            if system not in used:
                self.unread.one("message.system")
        told = [each for each in found if each.messages]
        return counted(told, self.unread)

    def _links(self) -> dict[str, tuple[str, str]]:
        """Of each session that a call began, the conversation with the call, and its id."""
        found: dict[str, tuple[str, str]] = {}
        for session in self.sessions:
            for place, way in enumerate(session.ways):
                for each in way.said:
                    for child, call in each.began.items():
                        found.setdefault(child, (session.name(place), call))
        return found

    def _conversation(
        self, session: Session, place: int, links: dict[str, tuple[str, str]], used: set[str]
    ) -> Conversation:
        way = session.ways[place]
        shown, began = _shown(way), dict[str, str]()
        for each in way.said:
            began.update(each.began)
        system = next((each.system for each in reversed(way.said) if each.system), "")
        used.add(system)
        first = [{"role": "system", "content": system}] if system and shown else []
        turns = [*first, *(turn for turn, _ in shown)]
        evidence = [*([Evidence(shown[0][1].line)] if first else []), *(known for _, known in shown)]
        told = ((turn, evidence[number]) for turn, number in read(turns))
        known = self._origin(session, place, links) | {"began": began}
        return conversation(told, {}, **known)

    def _origin(self, session: Session, place: int, links: dict[str, tuple[str, str]]) -> Object:
        way = session.ways[place]
        known: Object = {"id": session.name(place), "session_id": session.id}
        if way.kind:
            known |= {"kind": way.kind, "parent": session.name(way.before)}
        elif parent := string(session.header, "parentID"):
            holder, call = links.get(session.id, (self._last(parent), None))
            known |= {"kind": "subagent", "parent": holder, "call": call}
        if not any(each.evidence.time for each in way.said):
            first, last = (moment(at(session.header, "time", name)) for name in ("created", "updated"))
            known |= {"started": first.at, "ended": (last or first).at} if first else {}
        return known

    def _last(self, parent: str) -> str:
        """The conversation in use of a session, if the file holds it."""
        return next((each.name(each.current) for each in self.sessions if each.id == parent), parent)


def _item(value: Json, place: str, line: int) -> Item:
    if "info" in expect_object(value, f"{place} is"):
        expect_object(value["info"], f"{place} has an info that is")
    return Item(place, line, value)


def _said(item: Item, unread: Unread) -> list[Said]:
    return older.said(item, unread) if is_older(item) else newer.said(item, unread)


def _views(whole: list[list[Said]]) -> list[Way]:
    """What was said from each compaction to the next, and what of that the model saw once results were cleared."""
    found = list[Way]()
    for number, era in enumerate(whole):
        kind: ConversationKind | None = "compacted" if number else None
        cleared = max((each.cleared_at for each in era), default=0)
        later = next((place for place, each in enumerate(era) if cleared and _is_later(each, cleared)), None)
        if later is None or not any(each.evidence.is_sampled for each in era[:later]):
            found.append(Way(era, kind, len(found) - 1, is_cleared=later is not None))
            continue
        end = max(place + 1 for place in range(later) if not _is_asked(era[place]))
        found.append(Way(era[:end], kind, len(found) - 1))
        found.append(Way(era, "compacted", len(found) - 1, is_cleared=True))
    return found


def _is_later(each: Said, cleared: int) -> bool:
    return each.evidence.is_sampled and each.evidence.time is not None and each.evidence.time.at > cleared


def _is_asked(each: Said) -> bool:
    return bool(each.turn["role"] == "user")


def _shown(way: Way) -> list[tuple[Object, Evidence]]:
    """The turns of a conversation; what was interrupted at its end has no result yet."""
    found = [(each.cleared if way.is_cleared and each.cleared else each.turn, each.evidence) for each in way.said]
    if way.said and (last := way.said[-1].last):
        found[-1:] = [(last, way.said[-1].evidence)] if last["content"] else []
    return found


_MOST, _LEAST = 20, 100_000
"""How many times all messages may stand in what compactions left, and how many at least."""


class Cut(NamedTuple):
    """A compaction."""

    end: int
    """Where the conversation before it ends."""
    head: tuple[range, ...]
    """What the one behind it begins with."""
    resume: int
    """What follows then."""


def is_older(item: Item) -> bool:
    """Whether a message is one of version 1."""
    return "info" in item.value


def name(item: Item) -> str:
    """The id of a message."""
    return string(older.info(item) if is_older(item) else item.value, "id")


def eras(items: list[Item], unread: Unread) -> list[list[int]]:
    """The messages before the first compaction, what the model was sent behind it, and so on."""
    found: list[list[int]] = [[]]
    place = 0
    for cut in cuts(items, unread):
        found[-1] += range(place, cut.end)
        found.append(list(chain(*cut.head)))
        place = cut.resume
    found[-1] += range(place, len(items))
    return found


def cuts(items: list[Item], unread: Unread) -> list[Cut]:
    """The compactions of a session, in their order."""
    places = {name(item): place for place, item in reversed(list(enumerate(items)))}
    left = max(_LEAST, _MOST * len(items))
    found, met = list[Cut](), set[int]()
    for place, item in enumerate(items):
        cut = _cut(items, place, places) if is_older(item) else _of_newer(item, place)
        if cut is None or cut.end in met:
            continue
        met.add(cut.end)
        left -= sum(map(len, cut.head))
        if left < 0:
            unread.one("messages kept by a compaction beyond those that are read")
            cut = cut._replace(head=(range(place, place + 1),))
        found.append(cut)
    return found


def _of_newer(item: Item, place: int) -> Cut | None:
    return Cut(place, (range(place, place + 1),), place + 1) if newer.is_boundary(item) else None


def _cut(items: list[Item], place: int, places: dict[str, int]) -> Cut | None:
    """The compaction that a summary ends; in older versions nobody asks for it."""
    header = older.info(items[place])
    is_summary = header.get("role") == "assistant" and header.get("summary") is True
    if not is_summary or older.is_failed(items[place]):
        return None
    asked = places.get(string(header, "parentID"))
    part = _compaction(items[asked]) if asked is not None and asked < place and is_older(items[asked]) else None
    if asked is None or part is None:
        has_text = any(part["type"] == "text" for part in older.parts(items[place]))
        return Cut(place, (range(place, place + 1),), place + 1) if has_text else None
    if not header.get("finish"):
        return None
    tail = places.get(string(part, "tail_start_id"), asked)
    return Cut(asked, (range(asked, place + 1), range(tail, asked)), place + 1)


def _compaction(item: Item) -> Object | None:
    """The part by which a message asks for a compaction."""
    if older.info(item).get("role") != "user":
        return None
    return next((part for part in older.parts(item) if part["type"] == older.COMPACTION), None)


def kept(items: list[Item], header: Object, unread: Unread) -> list[Item] | None:
    """The messages that are left of a session once something was undone; ``None`` where nothing was."""
    undone, part = (string(header.get("revert"), member) for member in ("messageID", "partID"))
    if not undone:
        return None
    place = next((place for place, item in enumerate(items) if name(item) == undone), None)
    if place is None:
        unread.one("revert to a message that is not there")
        return None
    item = items[place]
    if not part or not is_older(item):
        return items[:place]
    held = older.parts(item)
    end = next((number for number, each in enumerate(held) if at(each, "id") == part), 0)
    return [*items[:place], item._replace(value={**item.value, "parts": held[:end]})] if end else items[:place]
