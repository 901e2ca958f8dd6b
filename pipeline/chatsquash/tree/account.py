"""What became of every logged reply of a session: in which record it stands, and why in none."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.model import Message
from chatsquash.outcome import LoggedReply
from chatsquash.tree.canonical import Canon
from chatsquash.tree.coverage import fate
from chatsquash.tree.kinds import Path
from chatsquash.tree.replies import Reply
from chatsquash.tree.standing import Held, placed
from chatsquash.tree.trees import Trees

_WHY = {"branch": "branch", "subagent": "subagent", "side": "side-request", "compacted": "compacted"}
"""Why replies of conversations that were not chosen are lost, by their kinds."""


class Kept(Struct, frozen=True):
    """A conversation that was chosen."""

    held: Held
    record: int | None
    """The index of its record among the session's."""
    why: str | None = None
    """Why it has none: ``refused``, ``filtered`` or ``duplicate``."""


def account(
    trees: Trees, paths: list[Path], kept: list[Kept], ids: dict[int, str], *, restores: bool
) -> list[LoggedReply]:
    """What became of every reply, in the order of the lines.

    ``ids`` are the names of the paths by their ``id()``; ``restores``: records hold what requests lacked.
    """
    owners = {reply.number: path for path in paths for reply in path.own}
    answered = {reply.asked: owners[reply.number] for reply in trees.replies if reply.number in owners}
    standing = _standing(kept, trees.requests.canon, owners)
    written = {id(each.held.path) for each in kept if each.record is not None}
    fates = _Fates(kept, _replaced(paths, written), any(reply.is_ended for reply in trees.replies), restores)
    rows: list[LoggedReply] = []
    for reply in trees.replies:
        path = owners.get(reply.number) or answered.get(reply.asked)  # that of the reply to the request sent again
        found = standing.get(reply.number)
        row = LoggedReply(
            line=reply.line,
            kind="retry" if reply.is_retried else path.kind if path else "branch",
            status="lost",
            why=None,
            conversation=ids[id(path)] if path else "",
            parent=ids.get(id(path.parent)) if path and path.parent else None,
            reasoning=fate(reply.message, found.message if found and found.record is not None else None),
        )
        rows.append(fates.row(row, reply, path, found))
    rows += [_again(each.line, each.is_same_response, rows[each.by.number]) for each in trees.again]
    return sorted(rows, key=lambda row: row.line)


class _Standing(Struct, frozen=True):
    """Where a reply stands."""

    kept: int
    """The index of the chosen conversation."""
    record: int | None
    place: int
    is_rewritten: bool
    message: Message
    is_own: bool


def _standing(kept: list[Kept], canon: Canon, owners: dict[int, Path]) -> dict[int, _Standing]:
    """Where each reply stands: in the record of its own conversation, else in the first one that holds it."""
    found: dict[int, _Standing] = {}
    for number, each in enumerate(kept):
        for reply, (place, is_rewritten) in placed(each.held, canon).items():
            is_own = owners.get(reply) is each.held.path
            before = found.get(reply)
            better = before is None or (
                each.record is not None and (before.record is None or (is_own and not before.is_own))
            )
            if better:
                message = each.held.messages[place]
                found[reply] = _Standing(number, each.record, place, is_rewritten, message, is_own)
    return found


class _Fates(Struct, frozen=True):
    """What tells what became of a reply."""

    kept: list[Kept]
    replaced: set[int]
    """The conversations in whose place a later one of their chain is written."""
    says_ends: bool
    restores: bool

    def row(self, row: LoggedReply, reply: Reply, path: Path | None, found: _Standing | None) -> LoggedReply:
        """A reply's row with what became of it."""
        if found and found.record is not None:
            broke_off = reply.is_limited or reply.broke_off(says_ends=self.says_ends)
            whole = not (found.is_rewritten or reply.is_retried or broke_off or (self.restores and reply.lacks))
            status: Literal["carried", "rewritten"] = "rewritten" if found.is_rewritten else "carried"
            return replace(row, status=status, record=found.record, message=found.place, loss=int(whole))
        return replace(row, why=self._why(row, path, found))

    def _why(self, row: LoggedReply, path: Path | None, found: _Standing | None) -> str | None:
        if row.kind == "retry":
            return "retry"
        if found:
            return self.kept[found.kept].why
        if path and id(path) in self.replaced:
            return "compacted"
        return _WHY.get(row.kind, "short-tail")


def _replaced(paths: list[Path], written: set[int]) -> set[int]:
    """The conversations in whose place a later one of their chain is written."""
    found: set[int] = set()
    for path in paths:
        if id(path) not in written or path.kind != "compacted":
            continue
        before = path.parent
        while before and id(before) not in found:
            found.add(id(before))
            before = before.parent if before.kind == "compacted" else None
    return found - written


def _again(line: int, is_same: bool, row: LoggedReply) -> LoggedReply:
    """The row of an earlier line with the same reply."""
    kind, why = ("retry", "retry") if is_same else ("branch", "duplicate")
    return LoggedReply(line, kind, "lost", why, row.conversation, row.parent)  # type: ignore[arg-type]
