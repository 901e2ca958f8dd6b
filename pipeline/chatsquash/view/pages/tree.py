"""The conversations of a session as a tree: which one is the record, what each other one is, and where to look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash.html.markup import Child, Html, tag
from chatsquash.logged import LoggedReply
from chatsquash.report.conversations import in_lines
from chatsquash.text import counted, escaped
from chatsquash.view.conversation import Conversation
from chatsquash.view.logs import Looked, NoLogError
from chatsquash.view.pages.conversation import head, message_url
from chatsquash.view.pages.layout import facts, joined, page, short, url
from chatsquash.view.pages.logs import time

_DRAWN = 1_000
"""Conversations of a session that are drawn."""
_DEEPEST = 30
"""Levels; what lies deeper is drawn at this one."""
_KINDS = {
    "main": "the main conversation, or one that begins anew",
    "compacted": "goes on from a summary of what came before",
    "branch": "goes on otherwise from a message of another one",
    "subagent": "was begun by a call of a tool",
    "side": "the client's own request, such as one for a title",
    "retry": "the same request, sent again",
}


class Node(NamedTuple):
    """A conversation of a session."""

    id: str
    kind: str
    parent: str | None
    replies: list[LoggedReply]


def nodes(replies: list[LoggedReply]) -> list[Node]:
    """The conversations that replies belong to, in the order in which they begin."""
    found: dict[str, Node] = {}
    for reply in replies:
        node = found.setdefault(reply.conversation, Node(reply.conversation, reply.kind, reply.parent, []))
        if node.kind == "retry" != reply.kind:
            found[reply.conversation] = node = node._replace(kind=reply.kind, parent=reply.parent)
        node.replies.append(reply)
    return list(found.values())


def tree(shown: Conversation, looked: Looked | NoLogError, *, has_template: bool) -> Html:
    """The page of a session's tree."""
    body: list[Child] = [*head(shown, "tree", has_template=has_template), *_records(shown)]
    if isinstance(looked, NoLogError):
        body.append(tag("p", escaped(str(looked))))
        return page("tree", shown.result, *body)
    found = nodes(looked.replies)
    body += [
        facts({"log": escaped(looked.log.shown), "format": escaped(looked.format)}),
        tag(
            "p",
            f"{counted(len(found), 'conversation')}, {counted(len(looked.replies), 'logged reply', 'logged replies')}.",
        ),
        _drawn(shown, looked, found) if found else None,
        facts({kind: text for kind, text in _KINDS.items() if any(node.kind == kind for node in found)}),
    ]
    return page(f"tree of {short(shown.row['session'] or 'a session', 40)}", shown.result, *body)


def _records(shown: Conversation) -> Iterator[Html]:
    """The other records of the session, which have a conversation each."""
    frame = shown.result.sessions
    rows = frame.filter(frame["key"] == shown.row["key"]).head(_DRAWN)
    if rows.height < 2:
        return
    items = []
    for row in rows.iter_rows(named=True):
        named = f"{row['file']}:{row['row']}" if row["file"] else str(row["outcome"])
        link = tag(
            "a",
            escaped(named),
            href=url(shown.result, "s", row["at"]),
            aria_current="true" if row["at"] == shown.at else None,
        )
        items.append(tag("li", joined(link, escaped(str(row["kind"] or "")), _turns(row))))
    yield tag("h2", "Records of this session")
    yield tag("ul", *items)


def _turns(row: dict[str, Any]) -> str | None:
    return counted(row["turns"], "turn") if row["turns"] is not None else None


def _drawn(shown: Conversation, looked: Looked, found: list[Node]) -> Html:
    """The conversations as a list of lists; one whose parent is not there, or is itself below it, stands outside."""
    ids = {node.id for node in found}
    below: dict[str | None, list[Node]] = {}
    for node in found:
        below.setdefault(node.parent if node.parent in ids and node.parent != node.id else None, []).append(node)
    seen: set[str] = set()
    items = _items(shown, looked, below, None, seen, 0)
    rest = [node for node in found if node.id not in seen]
    items += [tag("li", *_node(shown, looked, node)) for node in rest[: max(0, _DRAWN - len(seen))]]
    more = [tag("li", f"{len(found) - _DRAWN:,} more")] if len(found) > _DRAWN else []
    return tag("ul", *items, *more, class_="tree")


def _items(  # noqa: PLR0913, PLR0917 - a walk
    shown: Conversation,
    looked: Looked,
    below: dict[str | None, list[Node]],
    parent: str | None,
    seen: set[str],
    level: int,
) -> list[Html]:
    items: list[Html] = []
    for node in below.get(parent, []):
        if node.id in seen or len(seen) >= _DRAWN:
            continue
        seen.add(node.id)
        inner = _items(shown, looked, below, node.id, seen, level + 1) if level < _DEEPEST else []
        items.append(tag("li", *_node(shown, looked, node), tag("ul", *inner) if inner else None))
    return items


def _node(shown: Conversation, looked: Looked, node: Node) -> Iterator[Child]:
    carried = [reply for reply in node.replies if reply.status != "lost"]
    is_record = bool(carried) and shown.place is not None
    kind = "retry" if all(reply.kind == "retry" for reply in node.replies) else node.kind
    yield tag("strong", kind, class_="record" if is_record else None)
    lines = sorted({reply.line for reply in node.replies if reply.line < 1 << 60})
    told = [counted(len(node.replies), "reply", "replies"), in_lines(lines) if lines else ""]
    told += [_times(looked, lines)]
    yield f": {', '.join(filter(None, told))}. "
    yield tag("span", *_fate(shown, node, carried), class_="fate")
    if lines and not looked.messages:
        yield " "
        yield tag("a", "read it", href=url(shown.result, "s", shown.at, "log", lines[-1]))


def _times(looked: Looked, lines: list[int]) -> str:
    at = {row.line: row.at for row in looked.rows}
    times = [time(at.get(line)) for line in (lines[:1] + lines[-1:])]
    return " to ".join(dict.fromkeys(filter(None, times)))


def _fate(shown: Conversation, node: Node, carried: list[LoggedReply]) -> Iterator[Child]:
    if not carried:
        whys = sorted({reply.why for reply in node.replies if reply.why})
        yield f"Not in the record: {', '.join(whys)}." if whys else "Not in the record."
        return
    lost = len(node.replies) - len(carried)
    yield f"In the record, but for {counted(lost, 'reply', 'replies')}. " if lost else "In the record. "
    first = next((reply.message for reply in carried if reply.message is not None and reply.record in (0, None)), None)
    if first is not None and shown.place:
        yield tag("a", f"message {first:,}", href=message_url(shown, first))
