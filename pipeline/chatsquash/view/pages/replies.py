"""What became of logged replies: in which record each stands, or why in none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chatsquash.core.logged import WHY, ReplyOutcome
from chatsquash.core.text import escaped
from chatsquash.pages.html.markup import Child, tag
from chatsquash.view.conversation import Conversation
from chatsquash.view.logs import Rows
from chatsquash.view.pages.layout import url
from chatsquash.view.table import WRITTEN


def became(shown: Conversation, rows: Rows, replies: Sequence[ReplyOutcome]) -> Iterator[Child]:
    """Where some replies of one conversation stand, each record once and as a link, and why others stand in none."""
    firsts = _firsts(replies)
    for number, reply in enumerate(firsts):
        told, to = _place(shown, rows, reply)
        yield ", " if number else "in "
        yield tag("a", told, href=to) if to else told
    if why := _lost(replies):
        yield "; " if firsts else ""
        yield why


def in_words(shown: Conversation, rows: Rows, replies: Sequence[ReplyOutcome]) -> str:
    """The same without links."""
    places = ", ".join(_place(shown, rows, reply)[0] for reply in _firsts(replies))
    return "; ".join(filter(None, (f"in {places}" if places else "", _lost(replies))))


def _lost(replies: Sequence[ReplyOutcome]) -> str:
    """Why replies stand in no record; empty where all do."""
    lost = [reply for reply in replies if reply.status == "lost"]
    whys = dict.fromkeys(WHY.get(reply.why or "", reply.why or "nothing says why") for reply in lost)
    count = "" if len(lost) == len(replies) else f"{len(lost):,} "
    return f"{count}lost: {', '.join(whys)}" if lost else ""


def is_in(shown: Conversation, rows: Rows, replies: Sequence[ReplyOutcome]) -> bool:
    """Whether the record that is shown holds one of some replies."""
    return any(_row(rows, reply) == shown.at for reply in _firsts(replies)) and shown.place is not None


def _firsts(replies: Sequence[ReplyOutcome]) -> list[ReplyOutcome]:
    """The first reply that stands in each record."""
    found: dict[int, ReplyOutcome] = {}
    for reply in replies:
        if reply.status != "lost":
            found.setdefault(reply.record or 0, reply)
    return list(found.values())


def _row(rows: Rows, reply: ReplyOutcome) -> int | None:
    return rows.get(reply.record or 0)


def _place(shown: Conversation, rows: Rows, reply: ReplyOutcome) -> tuple[str, str | None]:
    """The message of a record that holds a reply, or what became of the record; and its URL."""
    at = _row(rows, reply)
    if at is None:
        return "a record that was left out, since another one stands for it", None
    row = shown.result.sessions.row(at, named=True)
    if row["outcome"] != WRITTEN:
        return f"a record that was left out: {escaped(str(row['outcome']))}", url(shown.result, "s", at)
    place = "this record" if at == shown.at else escaped(f"{row['file']}:{row['row']}")
    is_sample = shown.result.session_lines[at].get("sample") is not None  # which begins elsewhere
    if reply.message is None or is_sample:
        return place, url(shown.result, "s", at)
    return f"{place}, message {reply.message:,}", url(
        shown.result, "s", at, m=reply.message, fragment=f"m{reply.message}"
    )
