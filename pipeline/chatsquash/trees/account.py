"""What became of every logged reply of a session: in which record it stands, and why in none."""

from __future__ import annotations

from collections.abc import Container

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core.logged import LoggedReply, Stands
from chatsquash.core.model import Mark
from chatsquash.trees.coverage import fate
from chatsquash.trees.kinds import Path
from chatsquash.trees.positions import Held, bearers
from chatsquash.trees.replies import Reply
from chatsquash.trees.trees import Trees

WHY = {"branch": "branch", "subagent": "subagent", "side": "side-request"}
"""Why replies of conversations that were not chosen are lost, by their kinds."""


class Kept(Struct, frozen=True):
    """A conversation that was chosen."""

    held: Held
    record: int | None
    """The index of its record among the session's."""
    why: str | None = None
    """Why it has none: ``refused``, ``filtered`` or ``duplicate``."""
    marks: dict[int, Mark] | None = None
    """Of each of the assistant's messages that the record has, the first mark there, where they are asked for."""

    @property
    def has_all(self) -> bool:
        """Whether it has a record with all of the assistant's messages."""
        return self.record is not None and (self.marks is None or len(self.marks) == len(self.held.whole))

    @property
    def written(self) -> Container[int]:
        """The assistant's messages that the record has."""
        if self.record is None:
            return ()
        return self.held.whole if self.marks is None else self.marks


def account(trees: Trees, paths: list[Path], kept: list[Kept], ids: dict[int, str]) -> list[LoggedReply]:
    """What became of every reply, in the order of the lines; ``ids`` are the names of the paths by their ``id()``."""
    owners = {reply.number: path for path in paths for reply in path.own}
    answered = {reply.asked: owners[reply.number] for reply in trees.replies if reply.number in owners}
    shown, present = [each.held for each in kept], [each.written for each in kept]
    standing = bearers(shown, present, owners)
    written = {id(each.held.path) for each in kept if each.why != "refused"}
    fates = _Fates(_replaced(paths, written), _holders(kept))
    rows: list[LoggedReply] = []
    for reply in trees.replies:
        path = owners.get(reply.number) or answered.get(reply.asked)  # that of the reply to the request sent again
        each = kept[standing[reply.number]] if reply.number in standing else None
        message = each.held.message(reply.number) if each and each.record is not None else None
        row = LoggedReply(
            line=reply.line,
            kind="retry" if reply.is_retried else path.kind if path else "branch",
            status="lost",
            why=None,
            conversation=ids[id(path)] if path else "",
            parent=ids.get(id(path.parent)) if path and path.parent else None,
            reasoning=fate(reply.message, message),
        )
        rows.append(fates.row(row, reply, path, each))
    for again in trees.again:
        row = rows[again.by.number]
        if again.is_same_response:
            rows.append(LoggedReply(again.line, "retry", "lost", "retry", row.conversation, row.parent))
        else:
            rows.append(LoggedReply(again.line, "branch", "lost", "duplicate", row.conversation, row.parent))
    return sorted(rows, key=lambda row: row.line)


class _Fates(Struct, frozen=True):
    """What tells what became of a reply that stands in one of the conversations."""

    replaced: set[int]
    """The conversations in whose place a later one of their chain is written."""
    holders: dict[int, list[Kept]]
    """Those with a record that hold each reply, in order."""

    def row(self, row: LoggedReply, reply: Reply, path: Path | None, kept: Kept | None) -> LoggedReply:
        """A reply's row with what became of it."""
        if kept is None or kept.record is None:
            return replace(row, why=self._why(row, path, kept))
        holders = self.holders.get(reply.number)
        if holders is None:
            return replace(row, why="cut")
        first = _stands(reply, kept)
        if not first.loss and kept.marks is not None:  # it is trained on nowhere
            kept = holders[0]
            first = _stands(reply, kept)
        others = tuple(_stands(reply, each) for each in holders if each is not kept)
        record, status, message, loss, _ = first
        return replace(row, status=status, record=record, message=message, loss=loss, others=others)

    def _why(self, row: LoggedReply, path: Path | None, kept: Kept | None) -> str | None:
        if row.kind == "retry":
            return "retry"
        if kept:
            return kept.why
        if path and id(path) in self.replaced:
            return "compacted"
        return WHY.get(row.kind, "short-tail")


def _stands(reply: Reply, kept: Kept) -> Stands:
    """Where a reply stands in the record of a conversation."""
    assert kept.record is not None
    standing = kept.held.standing[reply.number]
    mark = (kept.marks or {}).get(standing.ordinal)
    index, loss = (mark.place, int(not mark.why)) if mark else (None, 0)
    reasons = fate(reply.message, kept.held.message(reply.number)) == "carried"
    return Stands(kept.record, "rewritten" if standing.is_rewritten else "carried", index, loss, reasons)


def _holders(kept: list[Kept]) -> dict[int, list[Kept]]:
    """The conversations with a record that hold each reply."""
    found: dict[int, list[Kept]] = {}
    for each in kept:
        for reply, standing in each.held.standing.items():
            if standing.ordinal in each.written:
                found.setdefault(reply, []).append(each)
    return found


def _replaced(paths: list[Path], written: set[int]) -> set[int]:
    """The conversations in whose place a later one of their chain is written."""
    found: set[int] = set()
    for path in paths:
        trunk = _trunk(path)
        if id(path) not in written or trunk.kind != "compacted":
            continue
        before = trunk.parent
        while before and id(before) not in found:
            found.add(id(before))
            before = before.parent if before.kind == "compacted" else None
    return found - written


def _trunk(path: Path) -> Path:
    """The trunk of a path's tree."""
    while path.parent and path.parent.last.tree == path.last.tree:
        path = path.parent
    return path
