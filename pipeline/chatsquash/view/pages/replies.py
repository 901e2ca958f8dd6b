"""What became of logged replies: in which record each stands, or why in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatsquash.html.markup import Child, Html, tag
from chatsquash.logged import WHY, LoggedReply
from chatsquash.text import escaped
from chatsquash.view.conversation import Conversation
from chatsquash.view.logs import Rows
from chatsquash.view.pages.layout import url
from chatsquash.view.table import WRITTEN


def became(shown: Conversation, rows: Rows, replies: Sequence[LoggedReply]) -> Iterator[Child]:
    """Where some replies of one conversation stand, each record once, and why others stand in none."""
    links = [_link(shown, rows, reply) for reply in _firsts(replies)]
    for number, link in enumerate(links):
        yield ", " if number else "in "
        yield link
    whys = list(dict.fromkeys(reply.why for reply in replies if reply.status == "lost"))
    lost = sum(reply.status == "lost" for reply in replies)
    if lost:
        yield "; " if links else ""
        yield "lost: " if lost == len(replies) else f"{lost:,} lost: "
        yield ", ".join(WHY.get(why or "", why or "for no reason that is known") for why in whys)


def is_in(shown: Conversation, rows: Rows, replies: Sequence[LoggedReply]) -> bool:
    """Whether the record that is shown holds one of some replies."""
    return any(_row(rows, reply) == shown.at for reply in _firsts(replies)) and shown.place is not None


def _firsts(replies: Sequence[LoggedReply]) -> list[LoggedReply]:
    """The first reply that stands in each record."""
    found: dict[int, LoggedReply] = {}
    for reply in replies:
        if reply.status != "lost":
            found.setdefault(reply.record or 0, reply)
    return list(found.values())


def _row(rows: Rows, reply: LoggedReply) -> int | None:
    return rows.get(reply.record or 0)


def _link(shown: Conversation, rows: Rows, reply: LoggedReply) -> Html:
    """The message of a record that holds a reply, or what became of the record."""
    at = _row(rows, reply)
    if at is None:
        return tag("span", "a record that was left out, since another one stands for it")
    row = shown.result.sessions.row(at, named=True)
    if row["outcome"] != WRITTEN:
        return tag("a", f"a record that was left out: {escaped(str(row['outcome']))}", href=url(shown.result, "s", at))
    place = "this record" if at == shown.at else escaped(f"{row['file']}:{row['row']}")
    is_sample = shown.result.session_lines[at].get("sample") is not None  # which begins elsewhere
    if reply.message is None or is_sample:
        return tag("a", place, href=url(shown.result, "s", at))
    to = url(shown.result, "s", at, m=reply.message, fragment=f"m{reply.message}")
    return tag("a", f"{place}, message {reply.message:,}", href=to)
