"""What agents' files add to a gateway's session: replies as entries, kinds of conversations, how calls ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.checks import files as checks
from chatsquash.checks.registry import View as RecordView
from chatsquash.core import chat
from chatsquash.core.blocks import FAILED, Result, Turn
from chatsquash.core.log import Log, line_elsewhere
from chatsquash.core.model import (
    AddedRun,
    Conversation,
    Edits,
    Entry,
    Json,
    KeptRun,
    Message,
    RepeatedViolation,
    Response,
    Tokens,
    Violation,
)
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Relative
from chatsquash.formats.base import TurnError
from chatsquash.formats.providers.openai_chat.read import turns_of_messages
from chatsquash.session.cleaning import clean
from chatsquash.session.conversations import entries_of
from chatsquash.session.ending import last_exit
from chatsquash.session.join.matching import (
    AgentView,
    Matching,
    ReplyKey,
    answered_call_id,
    call_ids,
    looked_at,
    match_replies,
    said,
    views,
)
from chatsquash.session.lineages import Lineages
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees import replies as tree
from chatsquash.trees.paths import end_loops
from chatsquash.trees.replies import LogPath

Again = Callable[[set[int]], Iterator[Entry]]
"""Reads the entries of some lines of the gateway's log once more."""


def join_agents(
    session: Session, log: Log, options: Options, again: Again, lineages: Lineages | None = None
) -> Session:
    """A gateway's session with what the agents' files tell of it."""
    joined_views = views(log.agents, options, lineages)
    trees = session.followed.branch()
    matching = match_replies(trees.replies, joined_views, log.join.elsewhere if log.join else ())
    both = len({reply.number for reply in matching.replies.values()})
    if matching.differing:
        session.note(matching.differing[0].line, [checks.joined_texts(len(matching.differing), both)])
    agent_files = AgentFiles(joined_views, matching, looked_at(log.agents), Ends.of(joined_views), options)
    agent_files.add(session, again)
    trees.revise = agent_files.kinds
    session.note(None, [checks.joined(len(agent_files.relatives), both, len(agent_files.steps))])
    for line, each in agent_files.notes:
        session.note(line, [each])
    return replace(session, loaded=True, elsewhere=agent_files)


class AgentFiles(Struct, eq=False, dict=True):
    """What agents' files tell of a session."""

    views: list[AgentView]
    matching: Matching
    relatives: list[Relative]
    ends: Ends
    options: Options
    steps: dict[int, AgentReply] = field(default_factory=dict)
    """The replies that these files alone have, by their lines."""
    notes: list[tuple[int | None, Violation | RepeatedViolation]] = field(default_factory=list)
    """What was found in reading them, where they have such replies."""

    def add(self, session: Session, again: Again) -> None:
        """Add the replies that the agents' files alone have to the trees of a session."""
        last = [self._last(view) for view in self.views]
        ends = [
            None if number is None else self.matching.replies[view.key(number)]
            for view, number in zip(self.views, last, strict=True)
        ]
        wanted = {reply.number: reply for reply in ends if reply}
        entries = {reply.number: entry for reply, entry in entries_of(wanted.values(), session, again)}
        for view, number, reply in zip(self.views, last, ends, strict=True):
            self._add(session, view, number, entries.get(reply.number) if reply else None)

    def _last(self, view: AgentView) -> int | None:
        """The last reply of a conversation that the gateway logged, too."""
        numbers = reversed(range(view.place.length))
        return next((number for number in numbers if view.key(number) in self.matching.replies), None)

    def _add(self, session: Session, view: AgentView, end: int | None, base: Entry | None) -> None:
        steps = self._steps(view, end, base)
        is_new = False
        for step, entry in entries(steps, self.options.cleanups):
            self.matching.replies[view.key(step.number)] = session.followed.add_from_file(entry)
            self.steps[step.line] = step
            is_new = True
        if is_new:
            findings = view.place.origin.findings
            self.notes += [(line and line_elsewhere(view.number, line, 0), each) for line, each in findings]

    def _steps(self, view: AgentView, end: int | None, base: Entry | None) -> Iterator[AgentReply]:
        """The replies of a conversation that nobody else logged: those that stand in no request, then the others.

        Of each kind the later ones hold the earlier ones, so that no more is compared than what they add.
        """
        unmatched = [*self._unmatched(view, end, base)]
        for number, place, begin in sorted(unmatched, key=lambda each: each[1] is not None or each[2] > 0):
            line = line_elsewhere(view.number, view.reply(number).line or 0, len(self.steps))
            yield AgentReply(line, view, number, base if begin or place is not None else None, place, begin)

    def _unmatched(self, view: AgentView, end: int | None, base: Entry | None) -> Iterator[tuple[int, int | None, int]]:
        """The numbers of these replies, where they stand in a request, and where what goes on from that begins."""
        places = ReplyFinder(base.messages) if base else None
        for number in range(view.place.length):
            at, key = view.reply(number).at, view.key(number)
            if at is None or key not in self._own or not self.matching.is_open(key):
                continue
            if places and end is not None and number > end:
                yield number, None, (view.reply(end).at or 0) + 1
            else:
                yield number, places.find(view.messages[at]) if places else None, 0

    def entries(self, lines: set[int]) -> Iterator[Entry]:
        """The entries of replies that the agents' files alone have, by their lines."""
        for line in sorted(lines & self.steps.keys()):
            yield from (entry for _, entry in entries(iter([self.steps[line]]), self.options.cleanups))

    def with_exit_code(self, record: Record, snapshot: Snapshot) -> Record:
        """A record with the exit code of its last command, where an agent's file alone says it."""
        return self.ends.with_exit_code(record, snapshot)

    def with_failures(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot whose results say which calls failed, where an agent's file says so."""
        return self.ends.with_failures(snapshot)

    def kinds(self, paths: list[LogPath]) -> None:
        """Give conversations the kinds and the parents that the agents' files tell."""
        owners = {reply.number: path for path in paths for reply in path.own}
        for view, of_view in self._paths_of_views(owners):
            of_view.sort(key=lambda path: path.is_abandoned)
            path, *others = of_view
            path.kind = view.place.kind
            parent = self._parent(view, owners)
            path.parent = parent if parent and parent is not path else None if path.kind == "main" else path.parent
            for later in others:  # a client that sent less of it, of which its own file says nothing
                if later.last.tree != path.last.tree:
                    later.kind, later.parent = "compacted", path
                path = later
        end_loops(paths)

    def _paths_of_views(self, owners: dict[int, LogPath]) -> Iterator[tuple[AgentView, list[LogPath]]]:
        """Each conversation with the paths that hold its own replies, in order."""
        views: dict[int, AgentView] = {}
        paths: dict[int, LogPath] = {}
        for view in self.views:
            for own in view.place.own:
                reply = self.matching.replies.get((view.file, own.key))
                if path := owners.get(reply.number) if reply else None:
                    paths.pop(id(path), None)
                    views[id(path)], paths[id(path)] = view, path
        by_view: dict[int, list[LogPath]] = {}
        for each, path in paths.items():
            by_view.setdefault(id(views[each]), []).append(path)
        return ((view, by_view[id(view)]) for view in self.views if id(view) in by_view)

    def _parent(self, view: AgentView, owners: dict[int, LogPath]) -> LogPath | None:
        """The conversation that one comes from: that of the call which began it, else the one that its file names."""
        begun, parent = view.place.root_origin, view.place.parent
        called = begun.call or self._began.get(begun.id) or self._began.get(begun.session_id or "")
        if caller := self._callers.get(called or ""):
            return owners.get(caller.number)
        keys = ((view.file, reply.key) for reply in reversed(parent.own)) if parent else ()
        replies = (self.matching.replies[key] for key in keys if key in self.matching.replies)
        return next((owners[reply.number] for reply in replies if reply.number in owners), None)

    @cached_property
    def _own(self) -> set[ReplyKey]:
        """The replies of these conversations; others that they contain are copies from another session."""
        return {view.key(number) for view in self.views for number in view.own}

    @cached_property
    def _began(self) -> dict[str, str]:
        """The calls by the ids of the conversations that they began."""
        return {name: call for view in self.views for name, call in view.place.origin.began.items()}

    @cached_property
    def _callers(self) -> dict[str, tree.Reply]:
        """The replies by the ids of their calls."""
        callers: dict[str, tree.Reply] = {}
        for reply in self.matching.replies.values():
            for call_id in call_ids(reply.message):
                callers.setdefault(call_id, reply)
        return callers


class Ends(Struct, frozen=True):
    """The results that agents' files have, by the ids of their calls."""

    contents: dict[str, Json]
    failed: set[str]
    """The calls that failed."""

    @classmethod
    def of(cls, views: Iterable[AgentView]) -> Ends:
        """Those of some conversations."""
        contents: dict[str, Json] = {}
        failed: set[str] = set()
        for call_id, message in (each for view in views for each in view.results()):
            contents[call_id] = message.get("content")
            if message.get("is_error") is True or chat.outcome(message) in FAILED:
                failed.add(call_id)
        return cls(contents, failed)

    def with_failures(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot whose results say which calls failed."""
        entry = snapshot.entry
        if not any(answered_call_id(each) in self.failed for each in entry.messages):
            return snapshot
        messages = [_with_failure(each) if answered_call_id(each) in self.failed else each for each in entry.messages]
        return replace(snapshot, entry=replace(entry, messages=messages))

    def with_exit_code(self, record: Record, snapshot: Snapshot) -> Record:
        """A record with the exit code of its last command, where the agent's results alone say it."""
        messages = snapshot.entry.messages
        if record.ending.exit is not None or not any(answered_call_id(each) in self.contents for each in messages):
            return record
        messages = [
            {**each, "content": self.contents[of]} if (of := answered_call_id(each)) in self.contents else each
            for each in messages
        ]
        code, evidence = last_exit(RecordView(Conversation(messages, [])))
        if code is None:
            return record
        ending = record.ending._replace(exit=code, exit_evidence=f"{evidence}, as the agent's file has it")
        return replace(record, ending=ending)


def _with_failure(message: Message) -> Message:
    """A result that says that its call failed."""
    try:
        made = chat.turn(message) or turns_of_messages([message])[0]
    except (TurnError, IndexError):
        return message
    blocks = tuple(replace(each, outcome="failed") if type(each) is Result else each for each in made.blocks)
    return {**message, chat.PRIVATE: Turn(made.role, blocks, native=made.native)}  # type: ignore[misc]


class AgentReply(Struct, frozen=True):
    """A reply that the agent's file alone has, and what stood before it."""

    line: int
    view: AgentView
    number: int
    """Which of the replies of the conversation it is."""
    base: Entry | None
    """The last request of the conversation that the gateway logged, if it logged one."""
    place: int | None
    """Where the reply stands in that request; ``None``: behind it."""
    begin: int = 0
    """The message of the agent's conversation from which on messages go on from that request."""

    def entry(self) -> Entry:
        """The request and its reply."""
        logged, messages = self.view.reply(self.number), self.messages
        tools = self.base.tools if self.base else self.view.place.conversation.tools
        reply = Response(
            self.reply,
            finish_reason=logged.finish_reason,
            model=logged.model,
            id=logged.response_id or "",
            tokens=Tokens(logged.prompt_tokens, logged.completion_tokens),
        )
        return Entry(
            self.line, logged.time, None, messages, (AddedRun(tuple(messages)),), tools, reply, has_private=True
        )

    @property
    def reply(self) -> Message:
        """The reply, as the gateway logged it in a later request, else as the agent's file has it."""
        if self.base and self.place is not None:
            return self.base.messages[self.place]
        message = self.view.said(self.number)
        assert message is not None
        return message

    @property
    def messages(self) -> list[Message]:
        """What stood before it."""
        if self.base and self.place is not None:
            return self.base.messages[: self.place]
        at = self.view.reply(self.number).at or 0
        if self.base is None or self.base.reply.message is None:
            return self.view.messages[:at]
        return [*self.base.messages, self.base.reply.message, *self.view.messages[self.begin : at]]


def entries(steps: Iterator[AgentReply], cleanups: tuple[str, ...]) -> Iterator[tuple[AgentReply, Entry]]:
    """The steps of a conversation with their entries, cleaned by the rules of some sets."""
    waiting: deque[tuple[AgentReply, Entry]] = deque()

    def logged_entries() -> Iterator[Entry]:
        before: list[Message] = []
        for step in steps:
            entry = step.entry()
            entry = replace(entry, edits=_edits(before, entry.messages))
            waiting.append((step, entry))
            yield entry
            before = entry.messages

    is_whole, before = True, list[Message]()
    for made in clean(logged_entries(), cleanups) if cleanups else logged_entries():
        step, entry = waiting.popleft()
        is_whole = is_whole and isinstance(made, Entry)
        entry = made if isinstance(made, Entry) else entry
        yield step, entry if is_whole else replace(entry, edits=_edits(before, entry.messages))
        before = entry.messages


def _edits(before: list[Message], messages: list[Message]) -> Edits:
    """What leads from the messages of a request to those of one that goes on from it, or else begins anew."""
    kept = len(before) if before and messages[: len(before)] == before else 0
    added = tuple(messages[kept:])
    edits: Edits = (KeptRun(0, kept),) if kept else ()
    return (*edits, AddedRun(added)) if added else edits


class ReplyFinder:
    """Finds replies in a request, each behind the one that was found before it."""

    def __init__(self, messages: list[Message]) -> None:
        self._waiting: dict[int, deque[int]] = {}
        self._last = -1
        for at, message in enumerate(messages):
            if message["role"] == "assistant":
                self._waiting.setdefault(said(message), deque()).append(at)

    def find(self, message: Message) -> int | None:
        """Where a reply stands."""
        waiting = self._waiting.get(said(message))
        while waiting:
            if (at := waiting.popleft()) > self._last:
                self._last = at
                return at
        return None
