"""A record beside the entries of its log, single requests, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from difflib import unified_diff
from itertools import islice

from chatsquash import jsonio
from chatsquash.html.markup import Child, Html, tag, together
from chatsquash.html.record import Showing, fitting, size
from chatsquash.logged import LoggedReply
from chatsquash.model import Message
from chatsquash.records.reading import StoredRecord
from chatsquash.text import counted, escaped
from chatsquash.view.conversation import Conversation
from chatsquash.view.difference import Step, steps
from chatsquash.view.logs import Logs, Looked, NoLogError, Rows
from chatsquash.view.pages import code
from chatsquash.view.pages.conversation import attributes, head, pages, section, toolbar
from chatsquash.view.pages.layout import facts, joined, page, short, url
from chatsquash.view.pages.replies import became, in_words
from chatsquash.view.watching import EntryRow, MessageRow, Request

_WORDS: dict[str, Child] = {
    "selected": "the record is made of this entry",
    "superseded": "a later entry has all of it",
    "cut": "the entry stands behind that of the record",
    "cleaned": "cleaning left it out",
    "kept, added": "messages that the request before has, too, and new ones by their roles",
    "Ac, At, Act": "the assistant says something, calls tools, does both",
}
ENTRIES = 300
"""Entries that are shown at once."""
_MOST = 3_000_000
"""Bytes of HTML of a request's messages."""
_RAW = 200_000
"""Characters of a line that are shown on a page; all of it has a place of its own."""
_DIFFERENCE = 400_000


def beside(  # noqa: PLR0913 - what a page shows
    shown: Conversation, message: int, logs: Logs, looked: Looked | NoLogError, first: int, *, has_template: bool
) -> Html:
    """The record, and beside it what its log has."""
    window = shown.window(message)
    left = tag("div", toolbar(shown), section(shown, window), pages(shown, window), class_="side")
    right = tag("div", *_log(shown, logs, looked, first), class_="side log", id="log")
    body = [*head(shown, "log", has_template=has_template), tag("div", left, right, class_="sides")]
    named = attributes(shown, window) | {"data_base": url(shown.result, "s", shown.at, "log")}
    return page(
        short(shown.row["session"] or "session", 40), shown.result, *body, modules=("conversation.js",), **named
    )


def _log(shown: Conversation, logs: Logs, looked: Looked | NoLogError, first: int) -> Iterator[Html]:
    yield tag("h2", "The log")
    if isinstance(looked, NoLogError):
        yield tag("p", escaped(str(looked)))
        return
    yield from _told(looked)
    if looked.messages:
        yield tag("p", "The log is a file of conversations, which holds messages and no requests.")
        yield from (_message(shown, looked, row) for row in islice(looked.messages, first, first + ENTRIES))
        yield _more(shown, first, len(looked.messages))
        return
    yield tag("details", tag("summary", "What the words mean"), facts(_WORDS), class_="about")
    rows = logs.records(shown.at, looked)
    replies: dict[int, list[LoggedReply]] = {}
    for reply in looked.replies:
        replies.setdefault(reply.line, []).append(reply)
    for row in looked.rows[first : first + ENTRIES]:
        yield _entry(shown, looked, rows, row, replies.get(row.line, []))
    yield _more(shown, first, len(looked.rows))


def _told(looked: Looked) -> Iterator[Html]:
    if looked.changed:
        yield tag("p", "The log is not what it was when it was converted.", class_="severity-warning")
    yield facts({"log": escaped(looked.log.shown), "format": escaped(looked.format)})


def _more(shown: Conversation, first: int, count: int) -> Html:
    links: list[Child] = []
    for text, to in (("Earlier entries", first - ENTRIES), ("Later entries", first + ENTRIES)):
        is_there = 0 <= to < count or (to < 0 < first)
        links.append(
            tag("a", text, href=url(shown.result, "s", shown.at, "log", entry=max(0, to))) if is_there else None
        )
    told = f"{min(first + 1, count):,} to {min(first + ENTRIES, count):,} of {count:,}"
    return tag("nav", joined(links[0], told, links[1]), class_="pages", aria_label="Entries before and behind")


def _message(shown: Conversation, looked: Looked, row: MessageRow) -> Html:
    told = f"message {row.number:,}, {escaped(row.role)}, {size(row.size)}"
    if row.line is None or not looked.is_in_lines:
        return tag("p", told)
    return _raw(shown, row.line, f"line {row.line:,}: {told}", [], None)


def _raw(shown: Conversation, line: int, told: Child, links: list[Child], id_: str | None) -> Html:
    """A line of the log, which is read when it is unfolded."""
    where = url(shown.result, "s", shown.at, "log", line, "raw")
    links = [*links, tag("a", "raw", href=where)]
    return tag("details", tag("summary", told), tag("p", joined(*links)), class_="entry", data_raw=where, id=id_)


def _entry(shown: Conversation, looked: Looked, rows: Rows, row: EntryRow, replies: list[LoggedReply]) -> Html:
    told = [f"line {row.line:,}", time(row.at), size(row.size), escaped(row.outcome)]
    if not row.reply and not row.added and not row.kept:
        told.append(escaped(row.roles))
    else:
        told += [f"{row.kept:,} kept, {row.added:,} added ({escaped(row.roles)})"]
        told += [f"reply {escaped(row.reply)}" if row.reply else "no reply"]
        told += [escaped(row.finish)] if row.finish else []
    base = shown.result, "s", shown.at, "log", row.line
    links: list[Child] = [tag("a", "request", href=url(*base)), tag("a", "difference", href=url(*base, "difference"))]
    summary = [", ".join(filter(None, told))]
    if replies:
        kind = "" if replies[0].kind == "main" else f"{replies[0].kind}, "
        summary += ["; its reply: ", tag("span", kind, in_words(shown, rows, replies), class_="fate")]
        links.append(tag("span", *became(shown, rows, replies)))
    if looked.is_in_lines:
        return _raw(shown, row.line, together(summary), links, f"line{row.line}")
    return tag("details", tag("summary", *summary), tag("p", joined(*links)), class_="entry", id=f"line{row.line}")


def time(at: int | None) -> str:
    """A time of a log, UTC; empty where there is none."""
    if at is None:
        return ""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at // 1000)
    return moment.replace(tzinfo=None).isoformat(sep=" ", timespec="seconds")


# One request


def request(shown: Conversation, looked: Looked, found: Request, *, has_template: bool) -> Html:
    """A request and its reply as a conversation."""
    messages = [*found.messages, *([found.reply] if found.reply else [])]
    place = f"{looked.log.shown}:{found.line}"
    showing = Showing(place=escaped(place), text=4_000, body=code.body)
    body = [
        *head(shown, "", has_template=has_template),
        tag("h2", f"The request on line {found.line:,}"),
        _links(shown, found),
        facts({"log": escaped(place), "messages": f"{len(messages):,}", "tools": f"{len(found.tools):,}"}),
        tag(
            "section",
            *fitting(StoredRecord(messages, None), showing, _MOST),
            class_="conversation",
        ),
    ]
    return page(f"line {found.line:,}", shown.result, *body, modules=("conversation.js",))


def _links(shown: Conversation, found: Request) -> Html:
    base = shown.result, "s", shown.at, "log"
    links = [
        tag("a", "All entries", href=url(*base)),
        tag("a", "Difference from the request before", href=url(*base, found.line, "difference")),
        tag("a", "The request before", href=url(*base, found.line_before)) if found.line_before is not None else None,
    ]
    return tag("nav", *links, class_="tabs", aria_label="Pages of this request")


def difference(shown: Conversation, looked: Looked, found: Request, *, has_template: bool) -> Html:
    """What differs between a request and the one before it in the log."""
    place = escaped(f"{looked.log.shown}:{found.line}")
    if found.before is None:
        inside: list[Child] = [tag("p", "This is the first request of the log: nothing stands before it.")]
    else:
        told = steps(found.before, found.messages)
        inside = [tag("p", f"From line {found.line_before:,} to line {found.line:,}:"), *_steps(told, place)]
        inside += [_tools(found)]
    body = [
        *head(shown, "", has_template=has_template),
        tag("h2", f"What line {found.line:,} changes"),
        _links(shown, found),
    ]
    section_of = tag("section", *inside, class_="conversation differences")
    return page(f"line {found.line:,}", shown.result, *body, section_of, modules=("conversation.js",))


def _steps(told: list[Step], place: str) -> Iterator[Html]:
    left = _MOST
    for step in told:
        if left < 0:
            yield tag("p", f"… more differences ({place})", class_="cut")
            return
        shown = _step(step, place)
        left -= len(shown)
        yield shown


def _step(step: Step, place: str) -> Html:
    if step.kind == "kept":
        told = f"{counted(len(step.now), 'message')} as before ({step.begin:,} to {step.begin + len(step.now) - 1:,})"
        return tag("p", told, class_="kept")
    if step.kind == "changed":
        was, now = (_spelled(messages[0]) for messages in (step.before, step.now))
        lines = unified_diff(was.split("\n"), now.split("\n"), "before", "now", lineterm="")
        text = "\n".join(islice(lines, 2_000))[:_DIFFERENCE]
        return tag(
            "div", tag("p", f"message {step.begin:,} is another"), code.body("difference", text), class_="changed"
        )
    messages = step.now if step.kind == "added" else step.before
    showing = Showing(place=place, text=4_000, body=code.body, prefix=f"{step.kind}-")
    held = StoredRecord(messages, None, [*range(step.begin, step.begin + len(messages))])
    inside = fitting(held, showing, _MOST // 4)
    return tag("div", tag("p", f"{counted(len(messages), 'message')} {step.kind}"), *inside, class_=step.kind)


def _spelled(message: Message) -> str:
    from chatsquash.text import shown

    data = jsonio.dumps(message)
    return (
        shown(message, indent=True).decode()
        if len(data) <= _DIFFERENCE
        else data[:_DIFFERENCE].decode("utf-8", "replace")
    )


def _tools(found: Request) -> Html:
    before, now = ({jsonio.dumps(tool) for tool in tools or []} for tools in (found.tools_before, found.tools))
    if before == now:
        return tag("p", f"{counted(len(now), 'tool')}, as before", class_="kept")
    names = [
        f"{counted(len(now - before), 'tool')} new or changed",
        f"{counted(len(before - now), 'tool')} gone or changed",
    ]
    return tag("p", ", ".join(names), class_="changed")


def nothing(shown: Conversation, why: NoLogError, *, has_template: bool) -> Html:
    """Why the log cannot be shown."""
    return page("log", shown.result, *head(shown, "", has_template=has_template), tag("p", escaped(str(why))))
