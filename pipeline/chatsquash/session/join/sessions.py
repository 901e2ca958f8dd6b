"""Which agents' files are of which gateways' sessions: one pass over all logs, which keeps numbers only."""

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
from chatsquash.sources.joined_files import opened_log
from chatsquash.storage.folder import Folder
from chatsquash.trees.documents import FilePath, paths_of

_IDS = 2
"""Ids of a reply that are kept, so that each takes as much memory."""
_NOBODY = (1 << 32) - 1
"""Stands for the session of a reply that several gave."""
_Name = tuple[object, ...]


class Joins(Struct):
    """The sessions of a run that are joined; ``of`` tells of each what it is joined with."""

    agents: dict[_Name, list[Log]] = field(default_factory=dict)
    """The conversations of agents by the names of the gateways' sessions that they are of."""
    elsewhere: dict[_Name, set[int]] = field(default_factory=dict)
    gateways: dict[_Name, str] = field(default_factory=dict)
    """Of each of these conversations the log of that session."""
    logged: dict[_Name, tuple[int, ...]] = field(default_factory=dict)
    """Of conversations of agents that no session is joined with, the keys of the replies that one has all the same."""

    def of(self, log: Log) -> Log:
        """A session with what it is joined with."""
        name = _name(log)
        if log.join is None and (gateway := self.gateways.get(name)) is not None:
            return structs.replace(log, join=Join(gateway=gateway))
        if log.join is None and (agents := self.agents.get(name)):
            others = tuple(sorted(self.elsewhere.get(name, ())))
            return structs.replace(log, join=Join(tuple(agents), others))
        if log.join is None and (logged := self.logged.get(name)):
            return structs.replace(log, join=Join(elsewhere=logged))
        return log

    def all(self, logs: Iterable[Log]) -> Iterator[Log]:
        """The same of several."""
        return map(self.of, logs)


def joins(
    logs: Iterable[Log], options: Options, expanded: Folder | None = None, lineages: Lineages | None = None
) -> Joins:
    """Read all sessions, and find which belong together."""
    looked = _Looked(options, expanded, lineages)
    for log in logs:
        looked.look(log)
    return looked.joins()


def _name(log: Log) -> _Name:
    """What tells a session from the others of a run, whether or not its lines were put in order."""
    return log.display_path, min(log.spans[::SPAN], default=0) if log.spans is not None else None, log.part, log.unit


class _AgentConversation(Struct, frozen=True):
    """A conversation in an agent's file, and where the keys of its replies stand."""

    log: Log
    group: int
    begin: int
    end: int


class _Looked:
    """What is known of the sessions that were looked at."""

    def __init__(self, options: Options, expanded: Folder | None, lineages: Lineages | None) -> None:
        self._options, self._expanded, self._lineages = options, expanded, lineages
        self._reader = Reader(options)
        self._sessions: list[tuple[_Name, str]] = []
        """The gateways' sessions, and their logs."""
        self._by_id, self._by_said = Index(), Index()
        self._agents: list[_AgentConversation] = []
        self._groups, self._names = Sets(), dict[_Name, int]()
        self._ids, self._said = array("Q"), array("Q")

    def look(self, log: Log) -> None:
        """Take note of the sessions of a log; of one that cannot be read there are none."""
        is_whole = log.is_part or self._options.sessions_by != "id"
        try:
            if is_whole and self._read(log):
                return
        except MixedSessionsError:
            pass
        except (OSError, MemoryError):
            return
        for part in self._parts(log):
            self.look(part)

    def _parts(self, log: Log) -> list[Log]:
        try:
            sessions = parts(log, self._options, self._expanded)
        except (OSError, MemoryError):
            return []
        return sessions if sessions != [log] else []

    def _read(self, log: Log) -> bool:
        """Take note of a session; whether the log was one, and not several."""
        with opened_log(log, self._options) as file:
            read = self._reader.read(file, log)
            if read.is_mixed:
                return False
            if read.document and read.document.conversations:
                if self._lineages:
                    self._lineages.mark(read.document, log)
                self._take_agent(log, read.document.format, paths_of(read.document))
                return True
            known = [each for item in read.items if (each := _keys(item))]
        self._take_session(log, known)
        return True

    def _take_session(self, log: Log, known: list[Keys]) -> None:
        """Take note of the replies of a gateway's session."""
        number = len(self._sessions)
        self._sessions.append((_name(log), log.display_path))
        for each in known:
            for key in each.ids:
                _put(self._by_id, key, number)
            if each.is_telling:
                _put(self._by_said, each.said, number)

    def _take_agent(self, log: Log, form: str, places: list[FilePath]) -> None:
        """Take note of the replies of an agent's conversation, or of those of a file that is one session."""
        paths = places if log.part is None else places[log.part : log.part + 1]
        group = self._group(log, form, paths)
        begin = len(self._said)
        for place in paths:
            view = AgentView(0, 0, place)
            for known in filter(None, map(view.keys, view.own)):
                self._ids.extend((*known.ids, *[0] * _IDS)[:_IDS])
                self._said.append(known.said if known.is_telling else 0)
        self._agents.append(_AgentConversation(log, group, begin, len(self._said)))

    def _group(self, log: Log, form: str, paths: list[FilePath]) -> int:
        """The number of the agent's session, which may have several files, or be one of several in a file."""
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
        """What belongs together."""
        groups: dict[int, list[_AgentConversation]] = {}
        for agent in self._agents:
            groups.setdefault(self._groups.find(agent.group), []).append(agent)
        result = Joins()
        for agents in groups.values():
            number = self._session(agents)
            if number is None:
                for agent in agents:
                    if logged := tuple(sorted(self._elsewhere([agent], -1))):
                        result.logged[_name(agent.log)] = logged
                continue
            name, shown = self._sessions[number]
            there = result.agents.setdefault(name, [])
            if len(there) + len(agents) > MOST_AGENTS:
                continue
            there += [agent.log for agent in agents]
            result.gateways.update((_name(agent.log), shown) for agent in agents)
            result.elsewhere.setdefault(name, set()).update(self._elsewhere(agents, number))
        return result

    def _session(self, agents: list[_AgentConversation]) -> int | None:
        """The session that an agent's is of: the one with the most replies of it, by ids; else by what they say.

        By that it has to have half of them.
        """
        by_id, by_said, replies = Counter[int](), Counter[int](), 0
        for agent in agents:
            replies += agent.end - agent.begin
            for at in range(agent.begin, agent.end):
                by_id.update(self._of_ids(at))
                by_said.update(self._of_said(at))
        if by_id:
            return _most(by_id)
        session = _most(by_said) if by_said else None
        return session if session is not None and 2 * by_said[session] >= replies else None

    def _of_ids(self, at: int) -> list[int]:
        """The session that has a reply by one of its ids, if one has."""
        known = (self._by_id.get(key) for key in self._ids[_IDS * at : _IDS * (at + 1)] if key)
        return [number for number in known if number not in (None, _NOBODY)][:1]

    def _of_said(self, at: int) -> list[int]:
        """The session that has a reply by what that says, if one alone has."""
        number = self._by_said.get(self._said[at]) if self._said[at] else None
        return [] if number in (None, _NOBODY) else [number]

    def _elsewhere(self, agents: list[_AgentConversation], session: int) -> Iterator[int]:
        """The keys of replies that other sessions have."""
        for agent in agents:
            for at in range(agent.begin, agent.end):
                numbers = self._of_ids(at) or self._of_said(at)
                if numbers and numbers != [session]:
                    yield next((key for key in self._ids[_IDS * at : _IDS * (at + 1)] if key), self._said[at])


def _keys(item: Entry | SkippedLine) -> Keys | None:
    """The keys of the reply in a line, where a response stands beside a request."""
    reply = item.reply if isinstance(item, Entry) else None
    if reply is None or reply.message is None or reply.included:
        return None
    return keys(reply.message, response_id(reply))


def _most(counts: Counter[int]) -> int:
    """What was counted most; of equals the first one."""
    return max(counts, key=lambda number: (counts[number], -number))


def _put(index: Index, key: int, number: int) -> None:
    """Note the session of a reply, and that it is nobody's where several have it."""
    before = index.put(key, number)
    if before is not None and before != number:
        index.put(key, _NOBODY)
