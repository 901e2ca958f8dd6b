"""Determine which agent files belong to which gateway sessions, in one pass over all logs that stores only numbers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import Struct, field, structs

from chatsquash.core.index import Index, Sets
from chatsquash.core.log import MOST_AGENTS, Join, Log
from chatsquash.core.model import Entry, SkippedLine
from chatsquash.core.options import Options
from chatsquash.reading.reader import MixedSessionsError, Reader
from chatsquash.reading.sessions import SPAN
from chatsquash.reading.usage import response_id
from chatsquash.session.join.matching import AgentView, Keys, keys
from chatsquash.session.lineages import Lineages
from chatsquash.session.parts import parts
from chatsquash.sources.open import open_log
from chatsquash.storage.folder import Folder
from chatsquash.trees.documents import FilePath, paths_of

_IDS = 2
"""The number of ids stored per reply; fixed, so that each reply takes the same memory."""
_AMBIGUOUS = (1 << 32) - 1
"""A placeholder for the session of a reply that is in several sessions."""
_Name = tuple[object, ...]


class Joins(Struct):
    """The sessions of a run that are joined; ``of`` returns a session with its join."""

    agents: dict[_Name, list[Log]] = field(default_factory=dict)
    """The agent conversations by the name of the gateway session they belong to."""
    elsewhere: dict[_Name, set[int]] = field(default_factory=dict)
    gateways: dict[_Name, str] = field(default_factory=dict)
    """The path of the gateway log for each of these conversations."""
    logged_keys: dict[_Name, tuple[int, ...]] = field(default_factory=dict)
    """The keys of replies that a gateway logged, for agent conversations that are not joined."""

    def of(self, log: Log) -> Log:
        """Return a session with the files it is joined with."""
        name = _name(log)
        if log.join is None and (gateway := self.gateways.get(name)) is not None:
            return structs.replace(log, join=Join(gateway=gateway))
        if log.join is None and (agents := self.agents.get(name)):
            others = tuple(sorted(self.elsewhere.get(name, ())))
            return structs.replace(log, join=Join(tuple(agents), others))
        if log.join is None and (keys_of_log := self.logged_keys.get(name)):
            return structs.replace(log, join=Join(elsewhere=keys_of_log))
        return log

    def all(self, logs: Iterable[Log]) -> Iterator[Log]:
        """Apply ``of`` to several sessions."""
        return map(self.of, logs)


def find_joins(
    logs: Iterable[Log], options: Options, expanded: Folder | None = None, lineages: Lineages | None = None
) -> Joins:
    """Read all sessions and find which belong together."""
    index = _SessionIndex(options, expanded, lineages)
    for log in logs:
        index.add(log)
    return index.joins()


def _name(log: Log) -> _Name:
    """Return a key that identifies a session within a run, whether or not its lines were sorted."""
    return log.display_path, min(log.spans[::SPAN], default=0) if log.spans is not None else None, log.part, log.unit


class _AgentConversation(Struct, frozen=True):
    """A conversation in an agent file, with the range of its replies in the arrays of keys."""

    log: Log
    group: int
    begin: int
    end: int


class _SessionIndex:
    """The keys of the sessions read so far."""

    def __init__(self, options: Options, expanded: Folder | None, lineages: Lineages | None) -> None:
        self._options, self._expanded, self._lineages = options, expanded, lineages
        self._reader = Reader(options)
        self._sessions: list[tuple[_Name, str]] = []
        """The gateway sessions with the paths of their logs."""
        self._by_id, self._by_content = Index(), Index()
        self._agents: list[_AgentConversation] = []
        self._groups, self._names = Sets(), dict[_Name, int]()
        self._ids, self._content_hashes = array("Q"), array("Q")

    def add(self, log: Log) -> None:
        """Add the sessions of a log; unreadable logs are skipped."""
        is_whole = log.is_part or self._options.sessions_by != "id"
        try:
            if is_whole and self._read(log):
                return
        except MixedSessionsError:
            pass
        except (OSError, MemoryError):
            return
        for part in self._parts(log):
            self.add(part)

    def _parts(self, log: Log) -> list[Log]:
        try:
            sessions = parts(log, self._options, self._expanded)
        except (OSError, MemoryError):
            return []
        return sessions if sessions != [log] else []

    def _read(self, log: Log) -> bool:
        """Add a session; return whether the log was a single session."""
        with open_log(log, self._options) as file:
            read = self._reader.read(file, log)
            if read.is_mixed:
                return False
            if read.document and read.document.conversations:
                if self._lineages:
                    self._lineages.mark(read.document, log)
                self._add_agent(log, read.document.format, paths_of(read.document))
                return True
            known = [each for item in read.items if (each := _keys(item))]
        self._add_session(log, known)
        return True

    def _add_session(self, log: Log, known: list[Keys]) -> None:
        """Add the replies of a gateway session."""
        number = len(self._sessions)
        self._sessions.append((_name(log), log.display_path))
        for each in known:
            for key in each.ids:
                _put(self._by_id, key, number)
            if each.is_distinctive:
                _put(self._by_content, each.content_hash, number)

    def _add_agent(self, log: Log, form: str, places: list[FilePath]) -> None:
        """Add the replies of an agent's conversation, or of all conversations in a file that is one session."""
        paths = places if log.part is None else places[log.part : log.part + 1]
        group = self._group(log, form, paths)
        begin = len(self._content_hashes)
        for place in paths:
            view = AgentView(0, 0, place)
            for known in filter(None, map(view.keys, view.own_replies)):
                # Padded with 0, which is never a key.
                self._ids.extend((*known.ids, *[0] * _IDS)[:_IDS])
                self._content_hashes.append(known.content_hash if known.is_distinctive else 0)
        self._agents.append(_AgentConversation(log, group, begin, len(self._content_hashes)))

    def _group(self, log: Log, form: str, paths: list[FilePath]) -> int:
        """Return the number of the agent's session, which may have several files or be one of several in a file."""
        group = self._groups.add()
        for place in paths:
            first = place.session.first if place.session else place
            names: list[_Name] = [(log.display_path, log.unit, first.number)]
            for each in (place.origin.session_id, place.root_origin.session_id):
                names += [(form, each)] if each else []
            if place.root_origin.kind == "subagent" and place.root_origin.parent:
                names.append((form, place.root_origin.parent))
            for name in names:
                self._groups.join(group, self._names.setdefault(name, group))
        return group

    def joins(self) -> Joins:
        """Decide which conversations belong to which session."""
        groups: dict[int, list[_AgentConversation]] = {}
        for agent in self._agents:
            groups.setdefault(self._groups.find(agent.group), []).append(agent)
        result = Joins()
        for agents in groups.values():
            number = self._session(agents)
            if number is None:
                for agent in agents:
                    if keys_elsewhere := tuple(sorted(self._elsewhere([agent], -1))):
                        result.logged_keys[_name(agent.log)] = keys_elsewhere
                continue
            name, path = self._sessions[number]
            agents_of_session = result.agents.setdefault(name, [])
            if len(agents_of_session) + len(agents) > MOST_AGENTS:
                continue
            agents_of_session += [agent.log for agent in agents]
            result.gateways.update((_name(agent.log), path) for agent in agents)
            result.elsewhere.setdefault(name, set()).update(self._elsewhere(agents, number))
        return result

    def _session(self, agents: list[_AgentConversation]) -> int | None:
        """Return the session that contains most of an agent's replies, matched by id or else by content."""
        by_id, content_counts, replies = Counter[int](), Counter[int](), 0
        for agent in agents:
            replies += agent.end - agent.begin
            for at in range(agent.begin, agent.end):
                by_id.update(self._session_by_ids(at))
                content_counts.update(self._session_by_content(at))
        if by_id:
            return _most(by_id)
        session = _most(content_counts) if content_counts else None
        # Content is weaker evidence than ids, so the session must contain at least half of the replies.
        return session if session is not None and 2 * content_counts[session] >= replies else None

    def _session_by_ids(self, at: int) -> list[int]:
        """Return the session that contains a reply with one of its ids, or an empty list if no session does."""
        known = (self._by_id.get(key) for key in self._ids[_IDS * at : _IDS * (at + 1)] if key)
        return [number for number in known if number not in (None, _AMBIGUOUS)][:1]

    def _session_by_content(self, at: int) -> list[int]:
        """Return the session that contains a reply with its content, or an empty list unless there is exactly one."""
        number = self._by_content.get(self._content_hashes[at]) if self._content_hashes[at] else None
        return [] if number in (None, _AMBIGUOUS) else [number]

    def _elsewhere(self, agents: list[_AgentConversation], session: int) -> Iterator[int]:
        """Yield the keys of replies that other sessions contain."""
        for agent in agents:
            for at in range(agent.begin, agent.end):
                numbers = self._session_by_ids(at) or self._session_by_content(at)
                if numbers and numbers != [session]:
                    yield next((key for key in self._ids[_IDS * at : _IDS * (at + 1)] if key), self._content_hashes[at])


def _keys(item: Entry | SkippedLine) -> Keys | None:
    """Return the keys of the reply in a line that has both a request and a response."""
    reply = item.reply if isinstance(item, Entry) else None
    if reply is None or reply.message is None or reply.included:
        return None
    return keys(reply.message, response_id(reply))


def _most(counts: Counter[int]) -> int:
    """Return the number with the highest count; in a tie, return the smallest."""
    return max(counts, key=lambda number: (counts[number], -number))


def _put(index: Index, key: int, number: int) -> None:
    """Record the session of a reply, or that several sessions contain it."""
    before = index.put(key, number)
    if before is not None and before != number:
        index.put(key, _AMBIGUOUS)
