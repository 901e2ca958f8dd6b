"""Convert the conversations of a gateway log to records, with the outcome of every logged reply.

``convert_last`` makes the default record, one per session; ``convert_each`` makes one record per selected conversation.
For agent files, which define their own conversations, see ``agents``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import coverage as checks
from chatsquash.checks.reading import short_tail
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.model import AddedRun, Entry, Mark, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Rejection
from chatsquash.records import presets
from chatsquash.session.growing_sessions import convert_growing
from chatsquash.session.log_findings import (
    SessionCoverage,
    find_unrelated,
    line_of,
    loss_findings,
    options_keeping,
    with_side_requests,
)
from chatsquash.session.record_maker import prefix_of_messages
from chatsquash.session.record_measures import of_records
from chatsquash.session.reply_counts import (
    count_flags,
    count_in_record,
    find_repeated,
    judge_of_run,
    needs_marks,
    place_record,
    sum_coverage,
)
from chatsquash.session.select import ToolUnion
from chatsquash.session.session import LineFinding, Session, Snapshot
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
from chatsquash.trees.prefill import without_finished
from chatsquash.trees.replies import LogPath, Reply, number_messages
from chatsquash.trees.restore import RestoreScope, have_reasoning, restore
from chatsquash.trees.trees import Trees

if TYPE_CHECKING:
    from chatsquash.session.samples import Make, Reread

RecordResult = tuple[Record | Rejection, list[Violation]]
"""The result of converting a snapshot: the record or the reason for its rejection, and the findings."""
MakeLast = Callable[[Snapshot | None, list[Mark] | None], Record | Rejection]
"""Makes the default record from a snapshot and the marks of its assistant messages."""


def restore_last(session: Session, snapshot: Snapshot, restore: str) -> tuple[Snapshot, list[Violation]]:
    """Restore content that the client removed from the default record's snapshot; return it with the findings."""
    trees = session.growth.branch()
    end = session.growth.last_reply(snapshot.entry.line)
    if end is None:
        return snapshot, []
    scope = RestoreScope(*_PARTS[restore])
    entry, findings = _restore(trees, end.path(), snapshot.entry, scope, has_reasoning=have_reasoning(trees.replies))
    return replace(snapshot, entry=entry), findings


_PARTS = {"none": (False, False), "reasoning": (True, False), "results": (False, True), "all": (True, True)}


def _restore(
    trees: Trees, path: list[Reply], entry: Entry, scope: RestoreScope, *, has_reasoning: bool
) -> tuple[Entry, list[Violation]]:
    """Restore content in an entry; ``has_reasoning``: whether any message that its session logged has reasoning."""
    # Aligning histories is expensive, and most sessions have nothing to restore.
    if not (has_reasoning or scope.results or any(reply.how == "cut" for reply in path)):
        return entry, []
    history = number_messages(entry.messages, trees.requests.canon)
    result = restore(history, path, scope, trees.index.copied_reasoning)
    findings = [checks.reasoning_restored(result.reasoning)] if result.reasoning else []
    missing = sum(reply.has_gaps for reply in path)
    if result.results or result.inserted:
        findings.append(checks.context_restored(result.results, result.inserted, missing))
    restored_entry = replace(entry, messages=result.messages) if findings else entry
    if result.ambiguous:
        findings.append(checks.restore_ambiguous(result.ambiguous))
    return restored_entry, findings


def last_snapshot(session: Session, options: Options) -> Snapshot | None:
    """Return the snapshot of the default record; except in plain chat, its reply includes the message it continues."""
    snapshot = session.snapshot
    if snapshot is None or not (session.has_private or options.preset != presets.DEFAULT):
        return snapshot
    end = session.growth.last_reply(snapshot.entry.line)
    return (
        replace(snapshot, entry=with_full_reply(snapshot.entry, end, session.growth.branch().requests.canon))
        if end
        else snapshot
    )


def convert_last(
    session: Session, snapshot: Snapshot | None, name: str, options: Options, make: MakeLast
) -> tuple[Record | Rejection, SessionCoverage]:
    """Make the default record of a session, and measure how much of the session it covers."""
    trees = session.growth.branch()
    paths = conversations(trees)
    find_steps(trees, paths, options)
    end = session.growth.last_reply(snapshot.entry.line) if snapshot else None
    path = next((each for each in paths if end in each.own), None)
    placements_of_last: list[Placement[LogPath]] = []
    if snapshot and end and path:
        messages = snapshot.entry.messages_with_reply
        placements_of_last.append(place_replies(path, end.path(), messages, trees.requests.canon))
    result = make(snapshot, _marks_of_last(trees, paths, placements_of_last, snapshot, options))
    placements = [place_record(each, result, 0, {}) for each in placements_of_last]
    ids = conversation_ids(paths, name)
    rows = with_side_requests(reply_outcomes(trees, paths, placements, ids), session.side_requests, name, paths, ids)
    coverage_of_session = sum_coverage(
        rows, (each for each in paths if each is not path), len(paths), len(session.side_requests)
    )
    findings: list[LineFinding] = []
    if isinstance(result, Record):
        line = snapshot.entry.line if snapshot else None
        if path and path.kind in ("side", "subagent"):
            findings.append((line, checks.side_request_selected(path.kind)))
        findings += loss_findings(
            coverage_of_session,
            line,
            options_to_keep=options_keeping(coverage_of_session, len(session.side_requests), options),
        )
        findings += find_unrelated(session, len(beginnings(trees, paths)), coverage_of_session)
        result = count_flags(result, options)
        if placements:
            result = count_in_record(result, placements[0], trees.replies, options)
    unexplained_lines = unexplained(trees, paths, session.growth.unanswered)
    return result, SessionCoverage(
        coverage_of_session, rows if options.lists_replies else [], findings, unexplained_lines, reports_tail=True
    )


def _marks_of_last(
    trees: Trees,
    paths: list[LogPath],
    placements: list[Placement[LogPath]],
    snapshot: Snapshot | None,
    options: Options,
) -> list[Mark] | None:
    """Return the marks of the default record's assistant messages, if any option needs them."""
    if snapshot is None or not (needs_marks(options) or len(trees.models) > 1):
        return None
    judge = judge_of_run(options)
    if placements:
        return judge.of_trees(trees, paths, placements, [placements[0].all_ordinals])[0]
    from chatsquash.trees.loss import NOT_LOGGED  # imported here because few runs need it

    return [Mark((ordinal,), NOT_LOGGED) for ordinal in range(len(assistants(snapshot.entry.messages_with_reply)))]


def find_steps(trees: Trees, paths: list[LogPath], options: Options) -> None:
    """Set the step facts of the replies if options need them."""
    if options.needs_steps:
        from chatsquash.trees import steps  # imported here because few runs need it

        steps.find_in_trees(trees, paths)


def convert_each(
    session: Session, name: str, options: Options, make: Make, reread: Reread
) -> tuple[list[Record], list[LineFinding], SessionCoverage, Violation | None]:
    """Make the records of the selected conversations; return them with findings, coverage and the first rejection."""
    return convert_growing(session, name, options, make) or _convert_paths(session, name, options, make, reread)


def _convert_paths(
    session: Session, name: str, options: Options, make: Make, reread: Reread
) -> tuple[list[Record], list[LineFinding], SessionCoverage, Violation | None]:
    """Make the records of the selected conversations of a session with trees, as ``convert_each``."""
    trees = session.growth.branch()
    paths = conversations(trees)
    find_steps(trees, paths, options)
    ids = conversation_ids(paths, name)
    selected_paths = select_paths(paths, options)
    selected = _restored_paths(trees, _entries(selected_paths, session, reread), options)
    records: list[Record] = []
    placements: list[Placement[LogPath]] = []
    line_findings: list[LineFinding] = []
    why: Violation | None = None
    first_reply, filters = first_conversation(trees, paths), of_records(options)
    for each, (result, findings) in zip(selected, _make_all(trees, paths, selected, options, make), strict=True):
        path = each.placement.path
        line_findings += [
            (line_of(each.entry, fact), replace(fact, conversation=ids[id(path)]))
            for fact in (*findings, *each.restoring)
        ]
        placements.append(place_record(each.placement, result, len(records), filters))
        if isinstance(result, Rejection):
            why = why or result.why
            continue
        parent = ids.get(id(path.parent)) if path.parent else None
        record = count_in_record(count_flags(result, options), placements[-1], trees.replies, options)
        records.append(replace(record, conversation=ids[id(path)], kind=path.kind, parent=parent))
    rows = with_side_requests(reply_outcomes(trees, paths, placements, ids), session.side_requests, name, paths, ids)
    selected_ids = set(map(id, selected_paths))
    others = (each for each in paths if id(each) not in selected_ids)
    sums = sum_coverage(rows, others, len(paths), len(session.side_requests))
    last = session.snapshot.entry.line if session.snapshot else None
    unexplained_lines = unexplained(trees, paths, session.growth.unanswered)
    line_findings += _tail(session, unexplained_lines, selected, rows)
    # Replies of filtered records are excluded on purpose, so they are not reported as lost.
    unfiltered = coverage(row for row in rows if row.why != "filtered") if "filtered" in sums.lost else sums
    losses = loss_findings(sums, last, unfiltered, options_keeping(sums, len(session.side_requests), options))
    losses += find_repeated(sum(bool(row.others) for row in rows), last, options)
    return (
        with_session_prefix(records, first_reply, session, options),
        line_findings,
        SessionCoverage(sums, rows, losses, unexplained_lines - _continued(trees)),
        why,
    )


def _continued(trees: Trees) -> set[int]:
    """Return the lines of trees with several replies, which are conversations rather than unexplained lines."""
    replies = Counter(reply.tree for reply in trees.replies)
    return {reply.line for reply in trees.replies if replies[reply.tree] > 1}


def _tail(
    session: Session, unexplained_lines: set[int], selected: list[_RestoredPath], rows: list[ReplyOutcome]
) -> list[LineFinding]:
    """Report a log whose last request starts over and whose last reply is not in any record."""
    last = session.growth.last
    if last is None or last.line not in unexplained_lines or not selected:
        return []
    if any(row.line == last.line and row.status != "lost" for row in rows):
        return []
    entry = selected[-1].entry
    return [(entry.line, short_tail(last.line, len(last.messages), entry.line, len(entry.messages)))]


def with_session_prefix(
    records: list[Record], first_reply: Reply | None, session: Session, options: Options
) -> list[Record]:
    """Set the prefix of all records to the beginning of their session so that a split keeps them together."""
    if not records or first_reply is None or options.split is None:
        return records
    system: list[Message] = [{"role": "system", "content": first_reply.system}] if first_reply.system else []
    prefix = prefix_of_messages([*system, *first_reply.new_messages], options, has_private=session.has_private)
    pairs = [(record, record.facts) for record in records]
    return [replace(record, facts=replace(facts, prefix=prefix)) if facts else record for record, facts in pairs]


class _RestoredPath(NamedTuple):
    """A selected path with the entry that becomes its record."""

    placement: Placement[LogPath]
    entry: Entry
    restoring: list[Violation]
    """The findings about restored content."""


def _restored_paths(trees: Trees, selected: Iterable[tuple[LogPath, Entry]], options: Options) -> list[_RestoredPath]:
    """Restore content in the entries of paths as the options request."""
    scope = RestoreScope(*_PARTS[options.restore], messages=True)
    has_reasoning = scope.reasoning and have_reasoning(trees.replies)
    restored_paths = []
    for path, entry_in_log in selected:
        replies = path.last.path()
        entry, restoring = _restore(trees, replies, entry_in_log, scope, has_reasoning=has_reasoning)
        placement = place_replies(path, replies, entry.messages_with_reply, trees.requests.canon)
        restored_paths.append(_RestoredPath(placement, entry, restoring))
    return restored_paths


def _make_all(
    trees: Trees, paths: list[LogPath], selected: list[_RestoredPath], options: Options, make: Make
) -> list[RecordResult]:
    """Make the records of conversations so that a reply in several of them is trained on in one that is written."""
    last_tools, shared_by_path = options.tools == "last", shared_calls([each.placement for each in selected], trees)
    snapshots = [
        replace(_snapshot(each.placement.path, each.entry, last_tools=last_tools), shared_calls=calls)
        for each, calls in zip(selected, shared_by_path, strict=True)
    ]
    if not (needs_marks(options) or len(trees.models) > 1):
        return [make(snapshot, None) for snapshot in snapshots]
    judge, placements = judge_of_run(options), [each.placement for each in selected]
    marks = judge.of_trees(trees, paths, placements, [each.all_ordinals for each in placements])
    results = [make(*each) for each in zip(snapshots, marks, strict=True)]
    filters = of_records(options)
    final_placements = [
        place_record(each, record, 0, filters) for each, (record, _) in zip(placements, results, strict=True)
    ]
    if all(each.has_all for each in final_placements):
        return results
    # A reply of a rejected or filtered record is trained on in another record that contains it, which needs new marks.
    new_marks = judge.of_trees(trees, paths, placements, [each.written_ordinals for each in final_placements])
    return [
        each if before == after else make(snapshot, after)
        for each, snapshot, before, after in zip(results, snapshots, marks, new_marks, strict=True)
    ]


def _entries(selected: list[LogPath], session: Session, reread: Reread) -> Iterator[tuple[LogPath, Entry]]:
    """Yield the last entry of each conversation, in the order of the lines."""
    ends = {path.last.number: path for path in selected}
    for reply, entry in entries_of((path.last for path in selected), session, reread):
        yield ends[reply.number], entry


def entries_of(replies: Iterable[Reply], session: Session, reread: Reread) -> Iterator[tuple[Reply, Entry]]:
    """Yield the entry of each reply, in the order of the lines; entries no longer in memory are read again."""
    replies_by_line, entries = sorted(replies, key=lambda reply: reply.line), session.growth.entries
    missing = {reply.line for reply in replies_by_line if reply.number not in entries}
    reread_lines = reread(missing) if missing else iter(())
    # If lines are sorted by time, entries arrive in a different order than their line numbers.
    early: dict[int, Entry] = {}
    for reply in replies_by_line:
        entry = entries.get(reply.number) or early.pop(reply.line, None)
        while entry is None and (each := next(reread_lines, None)):
            if each.line == reply.line:
                entry = each
            else:
                early[each.line] = each
        if entry is not None:
            yield reply, with_full_reply(entry, reply, session.growth.branch().requests.canon)


def with_full_reply(entry: Entry, reply: Reply, canon: Canon) -> Entry:
    """Return an entry with the choice that was used, and with the reply joined to the message it continues."""
    messages = without_finished(entry.messages, reply.back(), canon)
    if messages is not entry.messages:
        entry = replace(entry, messages=messages, edits=(AddedRun(tuple(messages)),))
    if not reply.is_merged or reply.finished:
        return entry if not reply.choice else replace(entry, reply=replace(entry.reply, message=reply.message))
    messages = entry.messages[:-1]
    full_reply = replace(entry.reply, message=reply.message)
    return replace(entry, messages=messages, edits=(AddedRun(tuple(messages)),), reply=full_reply)


def _snapshot(path: LogPath, entry: Entry, *, last_tools: bool) -> Snapshot:
    """Return the snapshot of a conversation: its last entry, with the tools that its requests define."""
    replies = path.last.path()
    tools = ToolUnion(last_tools)
    # Requests in the history may define different tools from the conversation's own requests. If those define none, the
    # calls in the history still need their definitions.
    for reply in [each for each in path.own if each.tools] or replies:
        for _ in tools.offer(reply.tools, reply.line):
            pass
    tools.settle()
    times = [reply.at for reply in replies if reply.at is not None]
    started_at, ended_at = (times[0], times[-1]) if times else (None, None)
    return Snapshot(entry, tools.settled(), started_at, ended_at, len(replies) - 1, 0)
