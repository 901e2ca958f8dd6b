"""Draw the conversations of a session as a tree, each below the one that it comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from msgspec import Struct

from chatsquash.core import chat
from chatsquash.core.model import Origin
from chatsquash.core.text import escape, format_lines, pluralize, quote
from chatsquash.core.times import stamp
from chatsquash.trees.canonical import without_reminders
from chatsquash.trees.links import Link
from chatsquash.trees.replies import LogPath, Reply

_MOST_ROWS = 100
"""The number of conversations that are drawn by default."""
_BELOW = 10
"""The number of conversations below one parent that are drawn by default."""
_DEEPEST = 24
"""The maximum indentation in columns."""
_MODELS = 3
_TEXT = 34
"""The number of characters of a text that are shown."""
_LOOKED_AT = 1000
"""The number of characters of a text that are examined."""


class _TreeRow(Struct, frozen=True):
    """A conversation, or the number of hidden ones, with the prefixes of its line and of the lines below it."""

    item: LogPath | Counter[str]
    before: str = ""
    below: str = ""


def tree_lines(paths: list[LogPath], links: list[Link], models: Mapping[int, str], *, every: bool) -> Iterator[str]:
    """Yield the lines of a tree of conversations, two for each.

    Args:
        paths: The conversations.
        links: The links of the trees.
        models: The models by line.
        every: Whether to draw all conversations; otherwise a readable number, followed by the number of the others.
    """
    children = _by_parent(paths)
    pending = [_TreeRow(path) for path in reversed(_few(children.get(0, []), every=every))]
    count = 0
    while pending and (every or count < _MOST_ROWS):
        row = pending.pop()
        if isinstance(row.item, Counter):
            kinds = ", ".join(f"{times:,} {kind}" for kind, times in sorted(row.item.items()))
            yield f"{row.before}… {row.item.total():,} more: {kinds}"
            continue
        count += 1
        rows = _rows(_few(children.get(id(row.item), []), every=every), row.below)
        before = _before(row.item, links[row.item.last.tree])
        comes = f", from line {before.line}" if before else ""
        yield f"{row.before}{row.item.kind}{comes}: {_of_replies(row.item.own, models)}"
        yield f"{row.below}{'│' if rows else ' '}  {_excerpt(row.item)}"
        pending += reversed(rows)
    if count < len(paths):
        yield f"{len(paths) - count:,} of {len(paths):,} conversations are not shown (--verbose shows all)"


def of_file(origin: Origin) -> str:
    """Return a line about a conversation in the file of an agent or a client."""
    comes = f", from {quote(origin.parent)}" if origin.parent is not None else ""
    replies = origin.replies
    lines = sorted({reply.line for reply in replies if reply.line is not None})
    times = [reply.time for reply in replies if reply.time is not None]
    return f"{origin.kind}{comes}: {_facts(len(replies), lines, times, [each.model for each in replies if each.model])}"


def _by_parent(paths: list[LogPath]) -> dict[int, list[LogPath]]:
    """Return the conversations that come from each one by its ``id()``, in order; those without a parent under 0."""
    children: dict[int, list[LogPath]] = {}
    visited: dict[int, int] = {}
    for number, path in enumerate(paths):
        each: LogPath | None = path
        while each and id(each) not in visited:
            visited[id(each)] = number
            # In a cycle of parents, one conversation counts as having no parent.
            before = each.parent if each.parent and visited.get(id(each.parent)) != number else None
            children.setdefault(id(before) if before else 0, []).append(each)
            each = each.parent
    for siblings in children.values():
        siblings.sort(key=lambda path: path.own[0].number)
    return children


def _few(paths: list[LogPath], *, every: bool) -> list[LogPath | Counter[str]]:
    """Return the first conversations and the kinds of the others."""
    if every or len(paths) <= _BELOW:
        return [*paths]
    return [*paths[:_BELOW], Counter(path.kind for path in paths[_BELOW:])]


def _rows(items: list[LogPath | Counter[str]], indent: str) -> list[_TreeRow]:
    """Return the rows below one conversation."""
    indent = indent[:_DEEPEST]
    rows = [_TreeRow(each, f"{indent}├─ ", f"{indent}│  ") for each in items[:-1]]
    return [*rows, *(_TreeRow(each, f"{indent}└─ ", f"{indent}   ") for each in items[-1:])]


def _before(path: LogPath, link: Link) -> Reply | None:
    """Return the reply that a conversation leaves, or whose call or summary it begins with."""
    if path.own[0].parent or (path.parent and path.parent.last.tree == path.last.tree):
        return path.own[0].parent
    if path.kind == "compacted":
        return link.summary or next(reversed(link.copies), None)
    return link.caller.reply if link.caller and path.parent else None


def _of_replies(replies: list[Reply], models: Mapping[int, str]) -> str:
    times = [reply.at for reply in replies if reply.at is not None]
    known_models = [models[reply.line] for reply in replies if reply.line in models]
    return _facts(len(replies), sorted(reply.line for reply in replies), times, known_models)


def _facts(replies: int, lines: list[int], times: list[int], models: list[str]) -> str:
    """Describe replies in words: their number, their lines in order, their times in nanoseconds, and models."""
    names = list(dict.fromkeys(models))
    labels = [_cut(escape(name)) for name in names[:_MODELS]]
    more = [f"{len(names) - _MODELS:,} more models"] if len(names) > _MODELS else []
    return ", ".join(
        filter(None, [pluralize(replies, "reply", "replies"), format_lines(lines), _period(times), *labels, *more])
    )


def _period(times: list[int]) -> str:
    """Return the first and the last time; the day of the last one only if it differs."""
    if not times:
        return ""
    (day, first), (last_day, last) = (stamp(at)[:-1].split("T") for at in (min(times), max(times)))
    if (day, first) == (last_day, last):
        return f"{day} {first}"
    return f"{day} {first} to {last}" if day == last_day else f"{day} {first} to {last_day} {last}"


def _excerpt(path: LogPath) -> str:
    """Return the start of a conversation's own messages, which follow those of its parent, and its end."""
    prompt = next((text for _, message in path.own[0].users() if (text := chat.text(message))), "")
    reply = path.last.message
    answer = chat.text(reply) or " ".join(f"{chat.call_name(call)}()" for call in chat.calls(reply))
    texts = (without_reminders(prompt), answer)
    return " … ".join(_cut(escape(" ".join(text[:_LOOKED_AT].split()))) for text in texts)


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
