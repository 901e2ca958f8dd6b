"""Add content from agent files to a gateway session: missing replies, conversation kinds and call outcomes."""

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
    content_hash,
    fingerprint_files,
    match_replies,
    read_views,
)
from chatsquash.session.lineages import Lineages
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees import replies as tree
from chatsquash.trees.paths import end_loops
from chatsquash.trees.replies import LogPath

Reread = Callable[[set[int]], Iterator[Entry]]
"""Reads the entries at the given lines of the gateway log again."""


def join_agents(
    session: Session, log: Log, options: Options, reread: Reread, lineages: Lineages | None = None
) -> Session:
    """Join a gateway session with its agent files."""
    joined_views = read_views(log.agents, options, lineages)
    trees = session.growth.branch()
    matching = match_replies(trees.replies, joined_views, log.join.elsewhere if log.join else ())
    matched_count = len({reply.number for reply in matching.replies.values()})
    if matching.different:
        session.note(matching.different[0].line, [checks.joined_texts(len(matching.different), matched_count)])
    agent_files = AgentFiles(joined_views, matching, fingerprint_files(log.agents), Ends.of(joined_views), options)
    agent_files.add(session, reread)
    trees.revise = agent_files.assign_kinds
    session.note(None, [checks.joined(len(agent_files.relatives), matched_count, len(agent_files.steps))])
    for line, each in agent_files.notes:
        session.note(line, [each])
    return replace(session, has_private=True, other_files=agent_files)


class AgentFiles(Struct, eq=False, dict=True):
    """The agent files of a session."""

    views: list[AgentView]
    matching: Matching
    relatives: list[Relative]
    ends: Ends
    options: Options
    steps: dict[int, AgentReply] = field(default_factory=dict)
    """The replies that only these files contain, by line."""
    notes: list[tuple[int | None, Violation | RepeatedViolation]] = field(default_factory=list)
    """Findings about these files, if they contain such replies."""

    def add(self, session: Session, reread: Reread) -> None:
        """Add the replies that are only in the agent files to the trees of a session."""
        last = [self._last(view) for view in self.views]
        ends = [
            None if number is None else self.matching.replies[view.key(number)]
            for view, number in zip(self.views, last, strict=True)
        ]
        last_replies = {reply.number: reply for reply in ends if reply}
        entries = {reply.number: entry for reply, entry in entries_of(last_replies.values(), session, reread)}
        for view, number, reply in zip(self.views, last, ends, strict=True):
            self._add(session, view, number, entries.get(reply.number) if reply else None)

    def _last(self, view: AgentView) -> int | None:
        """Return the last reply of a conversation that the gateway also logged."""
        numbers = reversed(range(view.place.length))
        return next((number for number in numbers if view.key(number) in self.matching.replies), None)

    def _add(self, session: Session, view: AgentView, end: int | None, base: Entry | None) -> None:
        steps = self._steps(view, end, base)
        is_new = False
        for step, entry in entries(steps, self.options.cleanups):
            self.matching.replies[view.key(step.number)] = session.growth.add_from_file(entry)
            self.steps[step.line] = step
            is_new = True
        if is_new:
            findings = view.place.origin.findings
            self.notes += [(line and line_elsewhere(view.number, line, 0), each) for line, each in findings]

    def _steps(self, view: AgentView, end: int | None, base: Entry | None) -> Iterator[AgentReply]:
        """Yield the replies that only the agent logged, beginning with those that are missing from every request."""
        unmatched = [*self._unmatched(view, end, base)]
        # Within each group, later replies contain the earlier ones, so comparing them costs only what each one adds.
        for number, place, begin in sorted(unmatched, key=lambda each: each[1] is not None or each[2] > 0):
            line = line_elsewhere(view.number, view.reply(number).line or 0, len(self.steps))
            yield AgentReply(line, view, number, base if begin or place is not None else None, place, begin)

    def _unmatched(self, view: AgentView, end: int | None, base: Entry | None) -> Iterator[tuple[int, int | None, int]]:
        """Yield the index of each reply, its position in the request, and the index of the first message after it."""
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
        """Yield the entries of replies that are only in the agent files, by line."""
        for line in sorted(lines & self.steps.keys()):
            yield from (entry for _, entry in entries(iter([self.steps[line]]), self.options.cleanups))

    def with_exit_code(self, record: Record, snapshot: Snapshot) -> Record:
        """Return the record with the exit code of its last command, if only an agent file contains it."""
        return self.ends.with_exit_code(record, snapshot)

    def with_failures(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with failed calls marked in their results, based on the agent files."""
        return self.ends.with_failures(snapshot)

    def assign_kinds(self, paths: list[LogPath]) -> None:
        """Set the kinds and parents of conversations as recorded in the agent files."""
        owners = {reply.number: path for path in paths for reply in path.own}
        for view, of_view in self._paths_of_views(owners):
            of_view.sort(key=lambda path: path.is_abandoned)
            path, *others = of_view
            path.kind = view.place.kind
            parent = self._parent(view, owners)
            path.parent = parent if parent and parent is not path else None if path.kind == "main" else path.parent
            for later in others:  # the client sent only a part of it, which its own file does not mention
                if later.last.tree != path.last.tree:
                    later.kind, later.parent = "compacted", path
                path = later
        end_loops(paths)

    def _paths_of_views(self, owners: dict[int, LogPath]) -> Iterator[tuple[AgentView, list[LogPath]]]:
        """Yield each conversation with the paths that contain its own replies, in order."""
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
        """Return the parent of a conversation: the one whose call started it, or else the one named in its file."""
        started_by, parent = view.place.root_origin, view.place.parent
        call_id = (
            started_by.call
            or self._starting_calls.get(started_by.id)
            or self._starting_calls.get(started_by.session_id or "")
        )
        if caller := self._callers.get(call_id or ""):
            return owners.get(caller.number)
        keys = ((view.file, reply.key) for reply in reversed(parent.own)) if parent else ()
        replies = (self.matching.replies[key] for key in keys if key in self.matching.replies)
        return next((owners[reply.number] for reply in replies if reply.number in owners), None)

    @cached_property
    def _own(self) -> set[ReplyKey]:
        """The replies of these conversations; other replies in them are copies from another session."""
        return {view.key(number) for view in self.views for number in view.own_replies}

    @cached_property
    def _starting_calls(self) -> dict[str, str]:
        """The id of the call that started each conversation, by conversation id."""
        return {name: call for view in self.views for name, call in view.place.origin.began.items()}

    @cached_property
    def _callers(self) -> dict[str, tree.Reply]:
        """The reply that contains each call, by call id."""
        callers: dict[str, tree.Reply] = {}
        for reply in self.matching.replies.values():
            for call_id in call_ids(reply.message):
                callers.setdefault(call_id, reply)
        return callers


class Ends(Struct, frozen=True):
    """The results in agent files by call id."""

    contents: dict[str, Json]
    failed: set[str]
    """The ids of failed calls."""

    @classmethod
    def of(cls, views: Iterable[AgentView]) -> Ends:
        """Collect the results of some conversations."""
        contents: dict[str, Json] = {}
        failed: set[str] = set()
        for call_id, message in (each for view in views for each in view.results()):
            contents[call_id] = message.get("content")
            if message.get("is_error") is True or chat.outcome(message) in FAILED:
                failed.add(call_id)
        return cls(contents, failed)

    def with_failures(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with failed calls marked in their results."""
        entry = snapshot.entry
        if not any(answered_call_id(each) in self.failed for each in entry.messages):
            return snapshot
        messages = [_with_failure(each) if answered_call_id(each) in self.failed else each for each in entry.messages]
        return replace(snapshot, entry=replace(entry, messages=messages))

    def with_exit_code(self, record: Record, snapshot: Snapshot) -> Record:
        """Return the record with the exit code of its last command, if only the agent's results contain it."""
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
        ending = replace(record.ending, exit=code, exit_evidence=f"{evidence}, from the agent's file")
        return replace(record, ending=ending)


def _with_failure(message: Message) -> Message:
    """Mark a result as failed."""
    try:
        turn = chat.turn(message) or turns_of_messages([message])[0]
    except (TurnError, IndexError):
        return message
    blocks = tuple(replace(each, outcome="failed") if type(each) is Result else each for each in turn.blocks)
    return {**message, chat.PRIVATE: Turn(turn.role, blocks, native=turn.native)}  # type: ignore[misc]


class AgentReply(Struct, frozen=True):
    """A reply that only the agent's file contains, with its context."""

    line: int
    view: AgentView
    number: int
    """The index of the reply in its conversation."""
    base: Entry | None
    """The conversation's last request that the gateway logged, if any."""
    place: int | None
    """The position of the reply in that request; ``None`` if it comes after it."""
    begin: int = 0
    """The index in the agent's conversation of the first message after that request."""

    def entry(self) -> Entry:
        """Build the entry: the request with its reply."""
        origin_reply, messages = self.view.reply(self.number), self.messages
        tools = self.base.tools if self.base else self.view.place.conversation.tools
        reply = Response(
            self.reply,
            finish_reason=origin_reply.finish_reason,
            model=origin_reply.model,
            id=origin_reply.response_id or "",
            tokens=Tokens(origin_reply.prompt_tokens, origin_reply.completion_tokens),
        )
        return Entry(
            self.line, origin_reply.time, None, messages, (AddedRun(tuple(messages)),), tools, reply, has_private=True
        )

    @property
    def reply(self) -> Message:
        """The reply as logged by the gateway in a later request; otherwise, as in the agent's file."""
        if self.base and self.place is not None:
            return self.base.messages[self.place]
        message = self.view.message(self.number)
        assert message is not None
        return message

    @property
    def messages(self) -> list[Message]:
        """The messages before the reply."""
        if self.base and self.place is not None:
            return self.base.messages[: self.place]
        at = self.view.reply(self.number).at or 0
        if self.base is None or self.base.reply.message is None:
            return self.view.messages[:at]
        return [*self.base.messages, self.base.reply.message, *self.view.messages[self.begin : at]]


def entries(steps: Iterator[AgentReply], cleanups: tuple[str, ...]) -> Iterator[tuple[AgentReply, Entry]]:
    """Yield the steps of a conversation with their entries after cleaning."""
    pending: deque[tuple[AgentReply, Entry]] = deque()

    def logged_entries() -> Iterator[Entry]:
        # Edits are relative to the previous entry. They are recomputed because each step builds its own messages.
        before: list[Message] = []
        for step in steps:
            entry = step.entry()
            entry = replace(entry, edits=_edits(before, entry.messages))
            pending.append((step, entry))
            yield entry
            before = entry.messages

    is_complete, before = True, list[Message]()
    for cleaned_entry in clean(logged_entries(), cleanups) if cleanups else logged_entries():
        step, entry = pending.popleft()
        is_complete = is_complete and isinstance(cleaned_entry, Entry)
        entry = cleaned_entry if isinstance(cleaned_entry, Entry) else entry
        yield step, entry if is_complete else replace(entry, edits=_edits(before, entry.messages))
        before = entry.messages


def _edits(before: list[Message], messages: list[Message]) -> Edits:
    """Return the edits from one request to the next if the next extends it, else the edits for a new start."""
    common = len(before) if before and messages[: len(before)] == before else 0
    added_messages = tuple(messages[common:])
    edits: Edits = (KeptRun(0, common),) if common else ()
    return (*edits, AddedRun(added_messages)) if added_messages else edits


class ReplyFinder:
    """Finds the positions of replies in a request, in order."""

    def __init__(self, messages: list[Message]) -> None:
        self._positions: dict[int, deque[int]] = {}
        self._last = -1
        for at, message in enumerate(messages):
            if message["role"] == "assistant":
                self._positions.setdefault(content_hash(message), deque()).append(at)

    def find(self, message: Message) -> int | None:
        """Return the position of a reply."""
        positions = self._positions.get(content_hash(message))
        while positions:
            if (at := positions.popleft()) > self._last:
                self._last = at
                return at
        return None
