"""The conversations of a session as records, and what became of every logged reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from chatsquash.checks import coverage as checks
from chatsquash.model import Entry, Found, Message
from chatsquash.options import Options
from chatsquash.outcome import Coverage, LoggedReply, Record, Refused
from chatsquash.read.origins import line_of
from chatsquash.run.covered import Covered, lost_of
from chatsquash.stages.select import ToolUnion
from chatsquash.stages.session import Noted, Session, Snapshot
from chatsquash.tree.account import Kept, account
from chatsquash.tree.choose import chosen, names
from chatsquash.tree.coverage import coverage
from chatsquash.tree.kinds import Path, paths
from chatsquash.tree.replies import Reply
from chatsquash.tree.restore import Wanted, restored
from chatsquash.tree.standing import Held
from chatsquash.tree.trees import Trees

Make = Callable[[Snapshot], tuple[Record | Refused, list[Found]]]
"""Makes the record of a snapshot."""
Reread = Callable[[set[int]], Iterator[Entry]]
"""Gives the entries of some lines of the log once more."""


def restored_last(session: Session, snapshot: Snapshot, restore: str) -> tuple[Snapshot, list[Found]]:
    """The snapshot of the specified record with what the client took out, and what is said of that."""
    trees = session.followed.branch()
    end = _end(trees, snapshot, session.followed.unanswered)
    if end is None:
        return snapshot, []
    entry, found = _restored(trees, end.path(), snapshot.entry, Wanted(*_PARTS[restore]))
    return replace(snapshot, entry=entry), found


_PARTS = {"none": (False, False), "reasoning": (True, False), "results": (False, True), "all": (True, True)}


_GIVES_CONTEXT = ("results", "all")
"""What of ``--restore`` shows replies a context that the model had not."""


def _restored(trees: Trees, path: list[Reply], entry: Entry, wanted: Wanted) -> tuple[Entry, list[Found]]:
    """An entry with what its path has and it lacks."""
    numbered = trees.numbered(entry.messages)
    made = restored(numbered, path, wanted, trees.copied_reasoning)
    found = [checks.reasoning_restored(made.reasoning)] if made.reasoning else []
    lacking = sum(reply.lacks for reply in path)
    if made.results or made.inserted:
        found.append(checks.context_restored(made.results, made.inserted, lacking))
    return (replace(entry, messages=made.messages) if found else entry), found


def of_last(
    session: Session, snapshot: Snapshot | None, made: Record | Refused, name: str, options: Options
) -> Covered:
    """What the specified record holds, or would hold, of a session of this name."""
    followed = session.followed
    trees = followed.branch()
    found = paths(trees.replies, trees.links)
    ids = names(found, name)
    end = _end(trees, snapshot, followed.unanswered)
    kept: list[Kept] = []
    path = _holder(found, end) if end else None
    if snapshot and end and path:
        index = 0 if isinstance(made, Record) else None
        held = Held(path, end.path(), _messages(snapshot.entry))
        kept = [Kept(held, index, None if index == 0 else "refused")]
    rows = _with_asides(session, account(trees, found, kept, ids, restores=options.restore in _GIVES_CONTEXT))
    kinds = Counter(each.kind for each in found if each is not path)
    covered = _summed(rows, len(found), dict(sorted(kinds.items())), len(session.asides))
    noted: list[Noted] = []
    if isinstance(made, Record):
        line = snapshot.entry.line if snapshot else None
        if path and path.kind in ("side", "subagent"):
            noted.append((line, checks.side_request_selected(path.kind)))
        noted += lost_of(covered, line)
    return Covered(covered, rows if options.trace_replies else [], noted)


def of_each(
    session: Session, name: str, options: Options, make: Make, reread: Reread
) -> tuple[list[Record], list[Noted], Covered, Found | None]:
    """The records of the conversations that are wanted, what was found, and why there is none of the first one."""
    trees = session.followed.branch()
    found = paths(trees.replies, trees.links)
    ids = names(found, name)
    wanted = chosen(found, every=options.conversations == "all", subagents=options.subagents, sides=options.side)
    records: list[Record] = []
    kept: list[Kept] = []
    noted: list[Noted] = []
    why: Found | None = None
    parts = Wanted(*_PARTS[options.restore], messages=True)
    for path, logged in _entries(wanted, session, reread):
        replies = path.last.path()
        entry, restoring = _restored(trees, replies, logged, parts)
        made, told = make(_snapshot(path, entry, last_tools=options.tools == "last"))
        noted += [(line_of(entry, each.at), each) for each in (*told, *restoring)]
        held = Held(path, replies, _messages(entry))
        if isinstance(made, Refused):
            why = why or made.why
            kept.append(Kept(held, None, "refused"))
            continue
        kept.append(Kept(held, len(records)))
        parent = ids.get(id(path.parent)) if path.parent else None
        records.append(_named(made, ids[id(path)], path, parent))
    rows = _with_asides(session, account(trees, found, kept, ids, restores=True))
    chosen_ids = set(map(id, wanted))
    kinds = Counter(each.kind for each in found if id(each) not in chosen_ids)
    covered = _summed(rows, len(found), dict(sorted(kinds.items())), len(session.asides))
    last = session.snapshot.entry.line if session.snapshot else None
    return records, noted, Covered(covered, rows, lost_of(covered, last)), why


def _named(record: Record, name: str, path: Path, parent: str | None) -> Record:
    return replace(record, conversation=name, kind=path.kind, parent=parent)


def _with_asides(session: Session, rows: list[LoggedReply]) -> list[LoggedReply]:
    """The rows of a session's replies with those to requests that cleaning dropped, in the order of the lines."""
    asides = [LoggedReply(line, "side", "lost", "side-request", f"line-{line}", None) for line in session.asides]
    return sorted([*rows, *asides], key=lambda row: row.line) if asides else rows


def _summed(rows: list[LoggedReply], seen: int, not_chosen: dict[str, int], asides: int) -> Coverage:
    if asides:
        not_chosen["side"] = not_chosen.get("side", 0) + asides
    return replace(coverage(rows), conversations=seen + asides, not_chosen=not_chosen)


def _end(trees: Trees, snapshot: Snapshot | None, unanswered: dict[int, Reply | None]) -> Reply | None:
    """The last logged reply that a snapshot holds."""
    if snapshot is None:
        return None
    line = snapshot.entry.line
    if line in unanswered:
        return unanswered[line]
    again = {each.line: each.by for each in trees.again}
    return again.get(line) or next((reply for reply in trees.replies if reply.line == line), None)


def _holder(found: list[Path], end: Reply) -> Path | None:
    """The conversation that a reply belongs to."""
    return next((path for path in found for reply in path.own if reply is end), None)


def _messages(entry: Entry) -> list[Message]:
    reply = entry.reply.message
    return [*entry.messages, reply] if reply is not None else entry.messages


def _entries(wanted: list[Path], session: Session, reread: Reread) -> Iterator[tuple[Path, Entry]]:
    """The last entry of each conversation, in the order of the lines; those that are not held are read again."""
    held = session.followed.entries
    missing = {path.last.line for path in wanted if path.last.number not in held}
    again = reread(missing) if missing else iter(())
    for path in sorted(wanted, key=lambda path: path.last.line):
        entry = held.get(path.last.number)
        if entry is None:
            entry = next((each for each in again if each.line == path.last.line), None)
        if entry is not None:
            yield path, entry


def _snapshot(path: Path, entry: Entry, *, last_tools: bool) -> Snapshot:
    """The snapshot of a conversation: its last entry, and the union of the tools on its path."""
    replies = path.last.path()
    tools = ToolUnion(last_tools)
    for reply in replies:
        for _ in tools.offer(reply.tools, reply.line):
            pass
    tools.settle()
    times = [reply.at for reply in replies if reply.at is not None]
    started, ended = (times[0], times[-1]) if times else (None, None)
    return Snapshot(entry, tools.settled(), started, ended, len(replies) - 1, 0)
