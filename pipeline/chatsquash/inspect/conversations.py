"""The conversations of a session, drawn as a tree: each with what is known of it, below the one that it comes from."""

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

_DRAWN = 100
"""Conversations of a session that are drawn unless all are wanted."""
_BELOW = 10
"""Those of them that come from one."""
_DEEPEST = 24
"""Columns by which a conversation is indented at most."""
_MODELS = 3
_TEXT = 34
"""Characters of a text that are shown."""
_LOOKED_AT = 1000
"""Those of which they are taken."""


class _TreeRow(Struct, frozen=True):
    """A conversation, or how many are not drawn, with what stands before it and before the lines below it."""

    shown: LogPath | Counter[str]
    before: str = ""
    below: str = ""


def tree_lines(paths: list[LogPath], links: list[Link], models: Mapping[int, str], *, every: bool) -> Iterator[str]:
    """Conversations as lines of text, two for each; ``models`` are those of lines, ``every`` draws any number of them.

    Without it, as many are drawn as people read, and the last line says how many are not.
    """
    following = _following(paths)
    waiting = [_TreeRow(path) for path in reversed(_few(following.get(0, []), every=every))]
    count = 0
    while waiting and (every or count < _DRAWN):
        row = waiting.pop()
        if isinstance(row.shown, Counter):
            kinds = ", ".join(f"{times:,} {kind}" for kind, times in sorted(row.shown.items()))
            yield f"{row.before}… {row.shown.total():,} more: {kinds}"
            continue
        count += 1
        rows = _rows(_few(following.get(id(row.shown), []), every=every), row.below)
        before = _before(row.shown, links[row.shown.last.tree])
        comes = f", from line {before.line}" if before else ""
        yield f"{row.before}{row.shown.kind}{comes}: {_of_replies(row.shown.own, models)}"
        yield f"{row.below}{'│' if rows else ' '}  {_said(row.shown)}"
        waiting += reversed(rows)
    if count < len(paths):
        yield f"{len(paths) - count:,} of {len(paths):,} conversations are not drawn here (--verbose draws them)"


def of_file(origin: Origin) -> str:
    """A conversation that the file of an agent or a client holds, on one line."""
    comes = f", from {quote(origin.parent)}" if origin.parent is not None else ""
    replies = origin.replies
    lines = sorted({reply.line for reply in replies if reply.line is not None})
    times = [reply.time for reply in replies if reply.time is not None]
    return f"{origin.kind}{comes}: {_facts(len(replies), lines, times, [each.model for each in replies if each.model])}"


def _following(paths: list[LogPath]) -> dict[int, list[LogPath]]:
    """What comes from each conversation by its ``id()``, in the order in which it begins; under 0 what comes from none.

    Of those that come from each other in a circle, one comes from none.
    """
    following: dict[int, list[LogPath]] = {}
    met: dict[int, int] = {}
    for number, path in enumerate(paths):
        each: LogPath | None = path
        while each and id(each) not in met:
            met[id(each)] = number
            before = each.parent if each.parent and met.get(id(each.parent)) != number else None
            following.setdefault(id(before) if before else 0, []).append(each)
            each = each.parent
    for siblings in following.values():
        siblings.sort(key=lambda path: path.own[0].number)
    return following


def _few(paths: list[LogPath], *, every: bool) -> list[LogPath | Counter[str]]:
    """The first ones, and the kinds of the others."""
    if every or len(paths) <= _BELOW:
        return [*paths]
    return [*paths[:_BELOW], Counter(path.kind for path in paths[_BELOW:])]


def _rows(shown: list[LogPath | Counter[str]], indent: str) -> list[_TreeRow]:
    """What comes from one conversation."""
    indent = indent[:_DEEPEST]
    rows = [_TreeRow(each, f"{indent}├─ ", f"{indent}│  ") for each in shown[:-1]]
    return [*rows, *(_TreeRow(each, f"{indent}└─ ", f"{indent}   ") for each in shown[-1:])]


def _before(path: LogPath, link: Link) -> Reply | None:
    """The reply that a conversation leaves, or whose call or summary it begins with."""
    if path.own[0].parent or (path.parent and path.parent.last.tree == path.last.tree):
        return path.own[0].parent
    if path.kind == "compacted":
        return link.summary or next(reversed(link.copied), None)
    return link.caller.reply if link.caller and path.parent else None


def _of_replies(replies: list[Reply], models: Mapping[int, str]) -> str:
    times = [reply.at for reply in replies if reply.at is not None]
    named = [models[reply.line] for reply in replies if reply.line in models]
    return _facts(len(replies), sorted(reply.line for reply in replies), times, named)


def _facts(replies: int, lines: list[int], times: list[int], models: list[str]) -> str:
    """What is known of so many replies, in words: their lines in order, times in nanoseconds, and models."""
    named = list(dict.fromkeys(models))
    shown = [_cut(escape(name)) for name in named[:_MODELS]]
    more = [f"{len(named) - _MODELS:,} models more"] if len(named) > _MODELS else []
    return ", ".join(
        filter(None, [pluralize(replies, "reply", "replies"), format_lines(lines), _period(times), *shown, *more])
    )


def _period(times: list[int]) -> str:
    """The first and the last time, with the day of the last one where that is another."""
    if not times:
        return ""
    (day, first), (last_day, last) = (stamp(at)[:-1].split("T") for at in (min(times), max(times)))
    if (day, first) == (last_day, last):
        return f"{day} {first}"
    return f"{day} {first} to {last}" if day == last_day else f"{day} {first} to {last_day} {last}"


def _said(path: LogPath) -> str:
    """How a conversation begins behind what it leaves, and how it ends."""
    prompt = next((text for _, message in path.own[0].users() if (text := chat.text(message))), "")
    reply = path.last.message
    answered = chat.text(reply) or " ".join(f"{chat.call_name(call)}()" for call in chat.calls(reply))
    texts = (without_reminders(prompt), answered)
    return " … ".join(_cut(escape(" ".join(text[:_LOOKED_AT].split()))) for text in texts)


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
