"""The conversations of a session as records, and what became of every logged reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import coverage as checks
from chatsquash.checks.reading import short_tail
from chatsquash.core.accounting import Coverage, ReplyOutcome
from chatsquash.core.marks import by_ordinal
from chatsquash.core.model import AddedRun, Entry, Mark, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Rejection
from chatsquash.reading.documents import line_of
from chatsquash.records import presets
from chatsquash.session.log_findings import SessionCoverage, find_unrelated, lost_of, ways, with_asides
from chatsquash.session.record_filters import RecordFilter, of_records
from chatsquash.session.record_maker import prefix_of_messages
from chatsquash.session.select import ToolUnion
from chatsquash.session.session import Noted, Session, Snapshot
from chatsquash.trees.account import Placement, assistants, place_replies, reply_outcomes, shared_calls
from chatsquash.trees.canonical import Canon
from chatsquash.trees.coverage import coverage
from chatsquash.trees.kinds import (
    beginnings,
    conversation_ids,
    conversations,
    first_conversation,
    select_paths,
    unexplained,
)
from chatsquash.trees.paths import AnyPath, P
from chatsquash.trees.prefill import without_finished
from chatsquash.trees.replies import LogPath, Reply, number_messages
from chatsquash.trees.restore import RestoreScope, restore
from chatsquash.trees.trees import Trees

if TYPE_CHECKING:
    from chatsquash.session.samples import Make, Reread
    from chatsquash.trees.loss import Judge

Made = tuple[Record | Rejection, list[Violation]]
"""The record of a snapshot, or why there is none, and what was found."""
MakeLast = Callable[[Snapshot | None, list[Mark] | None], Record | Rejection]
"""Makes the specified record, whose assistant messages may have marks."""


def restored_last(session: Session, snapshot: Snapshot, restore: str) -> tuple[Snapshot, list[Violation]]:
    """The snapshot of the specified record with what the client took out, and what is said of that."""
    trees = session.followed.branch()
    end = session.followed.last_reply(snapshot.entry.line)
    if end is None:
        return snapshot, []
    entry, findings = _restored(trees, end.path(), snapshot.entry, RestoreScope(*_PARTS[restore]))
    return replace(snapshot, entry=entry), findings


_PARTS = {"none": (False, False), "reasoning": (True, False), "results": (False, True), "all": (True, True)}


_GIVES_CONTEXT = ("results", "all")
"""What of ``--restore`` shows replies a context that the model had not."""


def _restored(trees: Trees, path: list[Reply], entry: Entry, wanted: RestoreScope) -> tuple[Entry, list[Violation]]:
    history = number_messages(entry.messages, trees.requests.canon)
    made = restore(history, path, wanted, trees.index.copied_reasoning)
    findings = [checks.reasoning_restored(made.reasoning)] if made.reasoning else []
    lacking = sum(reply.has_gaps for reply in path)
    if made.results or made.inserted:
        findings.append(checks.context_restored(made.results, made.inserted, lacking))
    restored_entry = replace(entry, messages=made.messages) if findings else entry
    if made.ambiguous:
        findings.append(checks.restore_ambiguous(made.ambiguous))
    return restored_entry, findings


def last_snapshot(session: Session, options: Options) -> Snapshot | None:
    """The snapshot of the specified record; its reply is one message with what it continues, but for plain chat."""
    snapshot = session.snapshot
    if snapshot is None or not (session.loaded or options.preset != presets.DEFAULT):
        return snapshot
    end = session.followed.last_reply(snapshot.entry.line)
    return (
        replace(snapshot, entry=with_whole_reply(snapshot.entry, end, session.followed.branch().requests.canon))
        if end
        else snapshot
    )


def of_last(
    session: Session, snapshot: Snapshot | None, name: str, options: Options, make: MakeLast
) -> tuple[Record | Rejection, SessionCoverage]:
    """The specified record, and what it holds, or would hold, of a session of this name."""
    trees = session.followed.branch()
    paths = conversations(trees)
    end = session.followed.last_reply(snapshot.entry.line) if snapshot else None
    path = next((each for each in paths if end in each.own), None)
    shown: list[Placement[LogPath]] = []
    if snapshot and end and path:
        shown.append(place_replies(path, end.path(), _messages(snapshot.entry), trees.requests.canon))
    made = make(snapshot, _marks_of_last(trees, paths, shown, snapshot, options))
    placements = [with_record(each, made, 0, {}) for each in shown]
    ids = conversation_ids(paths, name)
    rows = with_asides(reply_outcomes(trees, paths, placements, ids), session.asides, name, paths, ids)
    covered = summed(rows, (each for each in paths if each is not path), len(paths), len(session.asides))
    noted: list[Noted] = []
    if isinstance(made, Record):
        line = snapshot.entry.line if snapshot else None
        if path and path.kind in ("side", "subagent"):
            noted.append((line, checks.side_request_selected(path.kind)))
        noted += lost_of(covered, line, ways=ways(covered, len(session.asides), options))
        noted += find_unrelated(session, len(beginnings(trees, paths)), covered)
        made = count_flags(made, options)
    alone = unexplained(trees, paths, session.followed.unanswered)
    return made, SessionCoverage(covered, rows if options.trace_replies else [], noted, alone, reports_tail=True)


def _marks_of_last(
    trees: Trees, paths: list[LogPath], shown: list[Placement[LogPath]], snapshot: Snapshot | None, options: Options
) -> list[Mark] | None:
    """The marks of the specified record's assistant messages, where they are asked for."""
    if snapshot is None or not (asks_marks(options) or len({*trees.models}) > 1):
        return None
    judge = _judge(options)
    if shown:
        return judge.of_trees(trees, paths, shown, [shown[0].all_ordinals])[0]
    from chatsquash.trees.loss import NOT_LOGGED  # as above

    return [Mark((ordinal,), NOT_LOGGED) for ordinal in range(len(assistants(_messages(snapshot.entry))))]


def asks_marks(options: Options) -> bool:
    """Whether anybody asks which messages are to be trained on, or where replies stand."""
    asks = options.loss != "none" or options.trace_replies or options.cuts or options.keep != "none"
    return asks or options.samples != "session" or options.pairs != "none"


def _judge(options: Options) -> Judge:
    from chatsquash.trees.loss import Judge  # which few runs need

    restores = not options.writes_last or options.restore in _GIVES_CONTEXT
    shows_reasoning = options.reasoning != "drop"
    restores = restores and not options.restored_loss
    return Judge(restores, options.loss_skip_failed, options.loss_skip_side, shows_reasoning)


def with_record(
    placement: Placement[P], made: Record | Rejection, index: int, unwanted: dict[str, RecordFilter]
) -> Placement[P]:
    """A conversation with its record, or why it has none, as far as it tells by itself."""
    if isinstance(made, Rejection):
        return replace(placement, why="refused")
    if any(why(made) for why in unwanted.values()):
        return replace(placement, why="filtered")
    return replace(placement, record=index, marks=by_ordinal(made.marks) if made.marks else None)


def count_flags(record: Record, options: Options) -> Record:
    """A record with its flags counted, once it is known which replies its marks are about."""
    flags = Counter(mark.why for mark in record.marks) if options.flag != "none" else {}
    return replace(record, flags=dict(sorted(flags.items())))


def of_each(
    session: Session, name: str, options: Options, make: Make, reread: Reread
) -> tuple[list[Record], list[Noted], SessionCoverage, Violation | None]:
    """The records of the conversations that are wanted, what was found, and why there is none of the first one."""
    trees = session.followed.branch()
    paths = conversations(trees)
    ids = conversation_ids(paths, name)
    wanted = select_paths(paths, options)
    parts = RestoreScope(*_PARTS[options.restore], messages=True)
    selected = [_restored_path(trees, path, logged, parts) for path, logged in _entries(wanted, session, reread)]
    records: list[Record] = []
    placements: list[Placement[LogPath]] = []
    noted: list[Noted] = []
    why: Violation | None = None
    begun, unwanted = first_conversation(trees, paths), of_records(options)
    for each, (made, findings) in zip(selected, _make_all(trees, paths, selected, options, make), strict=True):
        path = each.placement.path
        noted += [
            (line_of(each.entry, fact), fact._replace(conversation=ids[id(path)]))
            for fact in (*findings, *each.restoring)
        ]
        placements.append(with_record(each.placement, made, len(records), unwanted))
        if isinstance(made, Rejection):
            why = why or made.why
            continue
        parent = ids.get(id(path.parent)) if path.parent else None
        records.append(replace(count_flags(made, options), conversation=ids[id(path)], kind=path.kind, parent=parent))
    rows = with_asides(reply_outcomes(trees, paths, placements, ids), session.asides, name, paths, ids)
    chosen_ids = set(map(id, wanted))
    covered = summed(rows, (each for each in paths if id(each) not in chosen_ids), len(paths), len(session.asides))
    last = session.snapshot.entry.line if session.snapshot else None
    alone = unexplained(trees, paths, session.followed.unanswered)
    noted += _tail(session, alone, selected, rows)
    wanted_ones = coverage(row for row in rows if row.why != "filtered")
    lost = lost_of(covered, last, wanted_ones, ways(covered, len(session.asides), options))
    lost += find_repeated(sum(bool(row.others) for row in rows), last, options)
    return (
        begun_with(records, begun, session, options),
        noted,
        SessionCoverage(covered, rows, lost, alone - _continued(trees)),
        why,
    )


def _continued(trees: Trees) -> set[int]:
    """The lines of trees with several replies: conversations of their own, whose beginnings need no explanation."""
    replies = Counter(reply.tree for reply in trees.replies)
    return {reply.line for reply in trees.replies if replies[reply.tree] > 1}


def find_repeated(repeated: int, line: int | None, options: Options) -> list[Noted]:
    """What is said of replies that several records contain, if no flag says in which one to train on them."""
    is_flagged = options.flag != "none" or options.samples != "session"
    return [(line, checks.replies_repeated(repeated))] if repeated and not is_flagged else []


def _tail(session: Session, alone: set[int], wanted: list[_RestoredPath], rows: list[ReplyOutcome]) -> list[Noted]:
    """What is said where the log ends with a request that begins anew, and no record holds what it got."""
    last = session.followed.last
    if last is None or last.line not in alone or not wanted:
        return []
    if any(row.line == last.line and row.status != "lost" for row in rows):
        return []
    entry = wanted[-1].entry
    return [(entry.line, short_tail(last.line, len(last.messages), entry.line, len(entry.messages)))]


def begun_with(records: list[Record], begun: Reply | None, session: Session, options: Options) -> list[Record]:
    """Records that are kept together by what their session begins with, whatever they begin with themselves."""
    if not records or begun is None or options.split is None:
        return records
    system: list[Message] = [{"role": "system", "content": begun.system}] if begun.system else []
    prefix = prefix_of_messages([*system, *begun.new_messages], options, loaded=session.loaded)
    pairs = [(record, record.facts) for record in records]
    return [replace(record, facts=facts._replace(prefix=prefix)) if facts else record for record, facts in pairs]


class _RestoredPath(NamedTuple):
    """A selected path with the entry that its record is made of."""

    placement: Placement[LogPath]
    entry: Entry
    restoring: list[Violation]
    """What is said of what was restored in it."""


def _restored_path(trees: Trees, path: LogPath, logged: Entry, parts: RestoreScope) -> _RestoredPath:
    replies = path.last.path()
    entry, restoring = _restored(trees, replies, logged, parts)
    return _RestoredPath(place_replies(path, replies, _messages(entry), trees.requests.canon), entry, restoring)


def _make_all(
    trees: Trees, paths: list[LogPath], wanted: list[_RestoredPath], options: Options, make: Make
) -> list[Made]:
    """The records of conversations.

    A reply that several hold is trained on in one that is written, so where some are refused or filtered, others are
    made anew.
    """
    last_tools, shared = options.tools == "last", shared_calls([each.placement for each in wanted], trees)
    snapshots = [
        replace(_snapshot(each.placement.path, each.entry, last_tools=last_tools), shared=calls)
        for each, calls in zip(wanted, shared, strict=True)
    ]
    if not (asks_marks(options) or len({*trees.models}) > 1):
        return [make(snapshot, None) for snapshot in snapshots]
    judge, shown = _judge(options), [each.placement for each in wanted]
    marks = judge.of_trees(trees, paths, shown, [each.all_ordinals for each in shown])
    made = [make(*each) for each in zip(snapshots, marks, strict=True)]
    unwanted = of_records(options)
    placements = [with_record(each, record, 0, unwanted) for each, (record, _) in zip(shown, made, strict=True)]
    if all(each.has_all for each in placements):
        return made
    others = judge.of_trees(trees, paths, shown, [each.written_ordinals for each in placements])
    return [
        each if before == after else make(snapshot, after)
        for each, snapshot, before, after in zip(made, snapshots, marks, others, strict=True)
    ]


def summed(rows: list[ReplyOutcome], others: Iterable[AnyPath], seen: int, asides: int = 0) -> Coverage:
    """The sums over replies and conversations, of which others were not chosen."""
    kinds = Counter(each.kind for each in others)
    kinds["side"] += asides
    return replace(coverage(rows), conversations=seen + asides, not_chosen=dict(sorted((+kinds).items())))


def _messages(entry: Entry) -> list[Message]:
    reply = entry.reply.message
    return [*entry.messages, reply] if reply is not None else entry.messages


def _entries(wanted: list[LogPath], session: Session, reread: Reread) -> Iterator[tuple[LogPath, Entry]]:
    """The last entry of each conversation, in the order of the lines."""
    ends = {path.last.number: path for path in wanted}
    for reply, entry in entries_of((path.last for path in wanted), session, reread):
        yield ends[reply.number], entry


def entries_of(replies: Iterable[Reply], session: Session, reread: Reread) -> Iterator[tuple[Reply, Entry]]:
    """The entry of each of some replies, in the order of the lines; those that are not held are read again."""
    wanted, entries = sorted(replies, key=lambda reply: reply.line), session.followed.entries
    missing = {reply.line for reply in wanted if reply.number not in entries}
    again = reread(missing) if missing else iter(())
    met: dict[int, Entry] = {}  # where lines are put in order, they come otherwise than they are numbered
    for reply in wanted:
        entry = entries.get(reply.number) or met.pop(reply.line, None)
        while entry is None and (each := next(again, None)):
            if each.line == reply.line:
                entry = each
            else:
                met[each.line] = each
        if entry is not None:
            yield reply, with_whole_reply(entry, reply, session.followed.branch().requests.canon)


def with_whole_reply(entry: Entry, reply: Reply, canon: Canon) -> Entry:
    """An entry with the choice that was used, and with one message for the reply and what it continues."""
    messages = without_finished(entry.messages, reply.back(), canon)
    if messages is not entry.messages:
        entry = replace(entry, messages=messages, edits=(AddedRun(tuple(messages)),))
    if not reply.is_merged or reply.finished:
        return entry if not reply.choice else replace(entry, reply=replace(entry.reply, message=reply.message))
    messages = entry.messages[:-1]
    whole = replace(entry.reply, message=reply.message)
    return replace(entry, messages=messages, edits=(AddedRun(tuple(messages)),), reply=whole)


def _snapshot(path: LogPath, entry: Entry, *, last_tools: bool) -> Snapshot:
    """Return the snapshot of a conversation: its last entry, and the tools of the requests that are its own.

    A request of the client may have other tools than the conversation before it.  If it has none, the calls in that
    conversation still need their definitions.
    """
    replies = path.last.path()
    tools = ToolUnion(last_tools)
    for reply in [each for each in path.own if each.tools] or replies:
        for _ in tools.offer(reply.tools, reply.line):
            pass
    tools.settle()
    times = [reply.at for reply in replies if reply.at is not None]
    started, ended = (times[0], times[-1]) if times else (None, None)
    return Snapshot(entry, tools.settled(), started, ended, len(replies) - 1, 0)
