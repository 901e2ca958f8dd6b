"""The page with the conversations of a session as a tree, with links to their records or log entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.text import escape, format_lines, pluralize
from chatsquash.pages.html.markup import Child, Html, tag
from chatsquash.view.conversation import Conversation
from chatsquash.view.logs import LoggedSession, NoLogError, Rows, SessionLogs
from chatsquash.view.pages.conversation import head
from chatsquash.view.pages.layout import facts, page, session_url, spaced, url
from chatsquash.view.pages.logs import first_url, is_in, locations, time

_MAX_CONVERSATIONS = 1_000
"""Conversations of a session that are listed."""
_MARKS = 50
"""Replies of a path that are drawn as marks."""
_DEEPEST = 30
"""Levels of the tree; deeper conversations are listed at this level."""
_KINDS = {
    "main": "the main conversation, or a new one",
    "compacted": "continues from a summary of the conversation before it",
    "branch": "branches off at a message in another conversation",
    "subagent": "was started by a tool call",
    "side": "the client's own request, such as for a title",
    "retry": "the same request, sent again",
}


class LogPart(NamedTuple):
    """The part of a session in one log, or in one conversation of an agent's file."""

    at: int
    """A row of the session table about this part."""
    session_log: LoggedSession
    rows: Rows


class Node(NamedTuple):
    """A conversation of a session."""

    id: str
    kind: str
    parent: str | None
    replies: list[ReplyOutcome]
    part: LogPart


def nodes(part: LogPart) -> list[Node]:
    """Return the conversations of the replies, in the order of their first reply."""
    nodes_by_id: dict[str, Node] = {}
    for reply in part.session_log.replies:
        node = nodes_by_id.setdefault(reply.conversation, Node(reply.conversation, reply.kind, reply.parent, [], part))
        if node.kind == "retry" != reply.kind:
            nodes_by_id[reply.conversation] = node = node._replace(kind=reply.kind, parent=reply.parent)
        node.replies.append(reply)
    return list(nodes_by_id.values())


def parts(logs: SessionLogs, at: int, session_log: LoggedSession) -> list[LogPart]:
    """Return the parts of a session; an agent's session may span several files, and several parts of one file."""
    log_parts = [LogPart(at, session_log, logs.records(at, session_log))]
    others = (
        [each for each in logs.related(at) if each not in log_parts[0].rows.values()] if session_log.messages else []
    )
    for each, other in logs.look_at_each(others).items():
        log_parts.append(LogPart(each, other, logs.records(each, other)))
    return sorted(log_parts)


def tree(conversation: Conversation, logs: SessionLogs, session_log: LoggedSession | NoLogError) -> Html:
    """Return the page with the tree of a session."""
    body: list[Child] = [*head(conversation, "tree")]
    if isinstance(session_log, NoLogError):
        body += [*_records(conversation), tag("p", escape(str(session_log)))]
        return page("tree", conversation.result, *body)
    log_parts = parts(logs, conversation.at, session_log)
    conversations = [node for part in log_parts for node in nodes(part)]
    replies = sum(len(node.replies) for node in conversations)
    names = dict.fromkeys(part.session_log.log.display_path for part in log_parts)
    body += [
        facts({"log": escape(", ".join(names)), "format": escape(session_log.format)}),
        tag(
            "p",
            f"{pluralize(len(conversations), 'conversation')}, {pluralize(replies, 'logged reply', 'logged replies')}.",
        ),
        _as_list(conversation, conversations) if conversations else None,
        facts({kind: text for kind, text in _KINDS.items() if any(node.kind == kind for node in conversations)}),
    ]
    return page("tree", conversation.result, *body)


def _records(conversation: Conversation) -> Iterator[Html]:
    """Render the records of the session, each of which is a conversation."""
    frame = conversation.result.sessions
    rows = frame.filter(frame["key"] == conversation.row["key"]).head(_MAX_CONVERSATIONS)
    if rows.height < 2:
        return
    items = []
    for row in rows.iter_rows(named=True):
        label = f"{row['file']}:{row['row']}" if row["file"] else str(row["outcome"])
        link = tag(
            "a",
            escape(label),
            href=url(conversation.result, "s", row["at"]),
            aria_current="true" if row["at"] == conversation.at else None,
        )
        items.append(tag("li", spaced(link, escape(str(row["kind"] or "")), _turns(row))))
    yield tag("h2", "Records of this session")
    yield tag("ul", *items)


def _turns(row: dict[str, Any]) -> str | None:
    return pluralize(row["turns"], "turn") if row["turns"] is not None else None


def _as_list(conversation: Conversation, conversations: list[Node]) -> Html:
    """Render the conversations as nested lists; those with a missing parent or in a cycle are top-level items."""
    ids = {node.id for node in conversations}
    below: dict[str | None, list[Node]] = {}
    for node in conversations:
        below.setdefault(node.parent if node.parent in ids and node.parent != node.id else None, []).append(node)
    seen: set[str] = set()
    items = _items(conversation, below, None, seen, 0)
    rest = [node for node in conversations if node.id not in seen]
    items += [tag("li", *_node(conversation, node)) for node in rest[: max(0, _MAX_CONVERSATIONS - len(seen))]]
    more = (
        [tag("li", f"{len(conversations) - _MAX_CONVERSATIONS:,} more")]
        if len(conversations) > _MAX_CONVERSATIONS
        else []
    )
    return tag("ul", *items, *more, class_="tree", aria_label="Paths")


def _items(
    conversation: Conversation, below: dict[str | None, list[Node]], parent: str | None, seen: set[str], level: int
) -> list[Html]:
    items: list[Html] = []
    for node in below.get(parent, []):
        if node.id in seen or len(seen) >= _MAX_CONVERSATIONS:
            continue
        seen.add(node.id)
        inner = _items(conversation, below, node.id, seen, level + 1) if level < _DEEPEST else []
        items.append(tag("li", *_node(conversation, node), tag("ul", *inner) if inner else None))
    return items


def _node(conversation: Conversation, node: Node) -> Iterator[Child]:
    session_log, rows = node.part.session_log, node.part.rows
    kind = "retry" if all(reply.kind == "retry" for reply in node.replies) else node.kind
    lines = sorted({reply.line for reply in node.replies if reply.line < 1 << 60})
    is_shown = is_in(conversation, rows, node.replies)
    to = _path_url(conversation, node, lines)
    yield tag("a", kind, href=to, class_=f"path {kind}", aria_current="true" if is_shown else None)
    yield _reply_marks(node.replies)
    where = escape(session_log.log.display_path) if session_log.messages else format_lines(lines) if lines else ""
    phrases = [pluralize(len(node.replies), "reply", "replies"), where, _times(session_log, lines)]
    yield f": {', '.join(filter(None, phrases))}; "
    yield tag("span", *locations(conversation, rows, node.replies), class_="fate")
    yield ". "
    if lines and not session_log.messages:
        yield tag("a", "read it", href=session_url(conversation, "log", lines[-1]))


def _path_url(conversation: Conversation, node: Node, lines: list[int]) -> str:
    """Return the URL of a path: its first reply in a record, or else its last request in the log."""
    if to := first_url(conversation, node.part.rows, node.replies):
        return to
    is_of_requests = lines and not node.part.session_log.messages
    if is_of_requests:
        return session_url(conversation, "log", lines[-1])
    return url(conversation.result, "s", node.part.at, **conversation.link_parameters)


def _reply_marks(replies: list[ReplyOutcome]) -> Html:
    """Draw the replies of a path as marks, in order; lost replies are hollow."""
    some = replies[:_MARKS]
    marks = [
        tag("rect", x=6 * at + 1, y=1, width=3, height=10, class_=f"reply {reply.status}")
        for at, reply in enumerate(some)
    ]
    counts = Counter(reply.status for reply in replies)
    words = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    width = 6 * len(some)
    return tag("svg", *marks, viewBox=f"0 0 {width} 12", width=width, height=12, role="img", aria_label=words)


def _times(session_log: LoggedSession, lines: list[int]) -> str:
    at = {row.line: row.at for row in session_log.rows}
    times = [time(at.get(line)) for line in (lines[:1] + lines[-1:])]
    return " to ".join(dict.fromkeys(filter(None, times)))
