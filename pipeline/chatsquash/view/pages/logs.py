"""Pages about a log: a record next to the entries of its log, single requests, and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from html import unescape
from itertools import islice

from chatsquash.core import jsonio
from chatsquash.core.accounting import WHY, ReplyOutcome
from chatsquash.core.model import Message
from chatsquash.core.text import escape, pluralize
from chatsquash.core.times import stamp
from chatsquash.pages.html.markup import Child, Html, tag, text, together
from chatsquash.pages.html.record import Showing, fitting, size
from chatsquash.records import StoredRecord
from chatsquash.records.reading import message_parts
from chatsquash.view.conversation import Conversation
from chatsquash.view.difference import DiffStep, steps
from chatsquash.view.frames import OUTCOME_WRITTEN
from chatsquash.view.logs import LoggedSession, NoLogError, Rows, SessionLogs
from chatsquash.view.pages import code
from chatsquash.view.pages.code import readable, tools
from chatsquash.view.pages.conversation import attributes, head, pages, section, toolbar, with_secrets
from chatsquash.view.pages.layout import facts, page, session_url, short, spaced, url
from chatsquash.view.pages.texts import PageTexts, in_red, secrets_in
from chatsquash.view.watching import OUTCOMES, EntryRow, LoggedRequest, MessageRow

_TEXT = 4_000
"""Maximum number of bytes shown of a text in a request."""
ENTRIES = 300
"""Entries per page."""
_MOST = 3_000_000
"""Bytes of HTML of a request's messages."""
_RAW = 200_000
"""Characters of a line shown on a page; the full line has its own URL."""
_READABLE = 1 << 24
"""Characters of the longest line that is indented."""
_DIFFERENCE = 400_000


def log_page(
    conversation: Conversation, message: int, logs: SessionLogs, session_log: LoggedSession | NoLogError, first: int
) -> Html:
    """Return the page of a record next to its log."""
    window = conversation.window(message)
    parts = (toolbar(conversation), section(conversation, window), pages(conversation, window))
    record_side = tag("div", *parts, class_="side")
    right = tag("div", *_log(conversation, logs, session_log, first), class_="side log", id="log")
    sides = tag("div", with_secrets(conversation, window, [record_side]), right, class_="sides")
    body = [*head(conversation, "log"), sides]
    data = attributes(conversation, window) | {"data_base": url(conversation.result, "s", conversation.at, "log")}
    return page(
        short(conversation.row["session"] or "session", 40),
        conversation.result,
        *body,
        modules=("conversation.js",),
        **data,
    )


def _log(
    conversation: Conversation, logs: SessionLogs, session_log: LoggedSession | NoLogError, first: int
) -> Iterator[Html]:
    yield tag("h2", "The log")
    if isinstance(session_log, NoLogError):
        yield tag("p", escape(str(session_log)))
        return
    yield from _log_facts(session_log)
    if session_log.messages:
        yield tag("p", "The log is a file of conversations: it contains messages, not requests.")
        yield from (
            _message(conversation, session_log, row) for row in islice(session_log.messages, first, first + ENTRIES)
        )
        yield _more(conversation, first, len(session_log.messages))
        return
    rows = logs.records(conversation.at, session_log)
    replies: dict[int, list[ReplyOutcome]] = {}
    for reply in session_log.replies:
        replies.setdefault(reply.line, []).append(reply)
    for row in session_log.rows[first : first + ENTRIES]:
        yield _entry(conversation, session_log, rows, row, replies.get(row.line, []))
    yield _more(conversation, first, len(session_log.rows))


def _log_facts(session_log: LoggedSession) -> Iterator[Html]:
    if session_log.changed:
        yield tag("p", "The log has changed since it was converted.", class_="severity-warning")
    yield facts({"log": escape(session_log.log.display_path), "format": escape(session_log.format)})


def _more(conversation: Conversation, first: int, count: int) -> Html:
    links: list[Child] = []
    for said, to in (("Earlier entries", first - ENTRIES), ("Later entries", first + ENTRIES)):
        is_there = 0 <= to < count or (to < 0 < first)
        links.append(tag("a", said, href=session_url(conversation, "log", entry=max(0, to))) if is_there else None)
    position = f"{min(first + 1, count):,} to {min(first + ENTRIES, count):,} of {count:,}"
    return tag("nav", spaced(links[0], position, links[1]), class_="pages", aria_label="Entries before and after")


def _message(conversation: Conversation, session_log: LoggedSession, row: MessageRow) -> Html:
    description = f"message {row.number:,}, {escape(row.role)}, {size(row.size)}"
    if row.line is None or not session_log.is_in_lines:
        return tag("p", description)
    return _raw(conversation, row.line, f"line {row.line:,}: {description}", [], None)


def _raw(conversation: Conversation, line: int, summary: Child, links: list[Child], id_: str | None) -> Html:
    """Render a line of the log, which is loaded when it is expanded."""
    where = url(conversation.result, "s", conversation.at, "log", line, "raw")
    links = [*links, tag("a", "the original line", href=where)]
    shown_at = url(conversation.result, "s", conversation.at, "log", line, "shown")
    return tag("details", tag("summary", summary), tag("p", spaced(*links)), class_="entry", data_raw=shown_at, id=id_)


def line(data: bytes) -> str:
    """Return a line of a log for a page: indented JSON, shortened, with control characters escaped."""
    said = data.decode("utf-8", "backslashreplace")
    readable_line = readable(said, _READABLE) or said
    more = len(readable_line) - _RAW
    ending = f"\n… {more:,} more characters (see the original line)" if more > 0 else ""
    return unescape(text(readable_line[:_RAW])) + ending


def _entry(
    conversation: Conversation, session_log: LoggedSession, rows: Rows, row: EntryRow, replies: list[ReplyOutcome]
) -> Html:
    place = tag("strong", f"line {row.line:,}")
    summary: list[Child] = [place, f", {', '.join(filter(None, (time(row.at), size(row.size))))}. "]
    links: list[Child] = []
    if row.is_read:
        to = session_url(conversation, "log", row.line), session_url(conversation, "log", row.line, "difference")
        links += [tag("a", "the request", href=to[0]), tag("a", "its changes", href=to[1])]
        summary += [
            f"{' '.join(_sentences(row))} ",
            tag("span", f"{row.outcome}: {OUTCOMES[row.outcome]}", class_="fate"),
        ]
    else:
        summary.append(tag("span", f"not read: {escape(row.roles)} ({escape(row.outcome)})", class_="severity-error"))
    if replies:
        kind = "" if replies[0].kind == "main" else f"{replies[0].kind}, "
        summary += [tag("span", "; its reply: ", kind, in_words(conversation, rows, replies), class_="fate")]
        links.append(tag("span", "; its reply: ", *locations(conversation, rows, replies)))
    if session_log.is_in_lines:
        return _raw(conversation, row.line, together(summary), links, f"line{row.line}")
    return tag("details", tag("summary", *summary), tag("p", spaced(*links)), class_="entry", id=f"line{row.line}")


def _sentences(row: EntryRow) -> Iterator[str]:
    """Describe a request and its reply in sentences."""
    new = f"{pluralize(row.added_count, 'message')} ({escape(row.roles)})"
    as_before = f"repeats {pluralize(row.repeated_count, 'message')} of the previous request"
    if row.repeated_count:
        yield f"The request {as_before} and adds {new}." if row.added_count else f"The request {as_before}."
    else:
        yield f"The request has {new}." if row.added_count else "The request has no messages."
    finish = f", finish reason {escape(row.finish)}" if row.finish else ""
    yield f"The reply {escape(row.reply)}{finish}." if row.reply else "There is no reply."


def time(at: int | None) -> str:
    """Format a time of a log in UTC; return an empty string if there is none."""
    return "" if at is None else stamp(at)[:-1].replace("T", " ")


# One request


def request(conversation: Conversation, session_log: LoggedSession, entry: LoggedRequest) -> Html:
    """Return the page of a request and its reply."""
    messages = [*entry.messages, *([entry.reply] if entry.reply else [])]
    place = f"{session_log.log.display_path}:{entry.line}"
    showing = Showing(place=escape(place), text=_TEXT, body=PageTexts(renders=not conversation.is_as_written).body)
    inside = fitting(StoredRecord(messages, None), showing, _MOST)
    body = [
        *head(conversation, ""),
        tag("h2", f"The request on line {entry.line:,}"),
        _links(conversation, session_log, entry, ""),
        facts({"log": escape(place), "messages": f"{len(messages):,}", "tools": f"{len(entry.tools):,}"}),
        in_red(tag("section", tools(entry.tools), *inside, class_="conversation"), secrets_in(_texts(messages))),
    ]
    return page(f"line {entry.line:,}", conversation.result, *body, modules=("conversation.js",))


def _texts(messages: list[Message]) -> Iterator[str]:
    """Yield the texts of a request from the last message back, so that new ones are searched first."""
    for message in reversed(messages):
        yield from (part.text[:_TEXT] for part in message_parts(message))


def _links(conversation: Conversation, session_log: LoggedSession, entry: LoggedRequest, now: str) -> Html:
    """Render the links to the other pages of a request, and to the same page of the requests before and after it."""
    behind = next((row.line for row in session_log.rows if row.line > entry.line and row.is_read), None)
    links: list[Child] = [tag("a", "All entries", href=session_url(conversation, "log"))]
    for name, said in (("", "The request"), ("difference", "Its changes")):
        to = session_url(conversation, "log", entry.line, *filter(None, (name,)))
        links.append(tag("span", said, aria_current="page") if name == now else tag("a", said, href=to))
    for at, said, rel in ((entry.line_before, "Previous request", "prev"), (behind, "Next request", "next")):
        to = session_url(conversation, "log", at, *filter(None, (now,)))
        links.append(tag("a", said, href=to, rel=rel) if at is not None else None)
    return tag("nav", *links, class_="tabs", aria_label="Pages of this request")


def difference(conversation: Conversation, session_log: LoggedSession, entry: LoggedRequest) -> Html:
    """Return the page with the difference between a request and the one before it in the log."""
    place = escape(f"{session_log.log.display_path}:{entry.line}")
    if entry.before is None:
        inside: list[Child] = [tag("p", "This is the first request in the log; there is nothing to compare it with.")]
    else:
        changes = steps(entry.before, entry.messages)
        inside = [tag("p", f"From line {entry.line_before:,} to line {entry.line:,}:"), *_steps(changes, place)]
        inside += [_tools(entry)]
    body = [
        *head(conversation, ""),
        tag("h2", f"What line {entry.line:,} changes"),
        _links(conversation, session_log, entry, "difference"),
    ]
    section_of = tag("section", *inside, class_="conversation differences")
    return page(f"line {entry.line:,}", conversation.result, *body, section_of, modules=("conversation.js",))


def _steps(changes: list[DiffStep], place: str) -> Iterator[Html]:
    remaining = _MOST
    for step in changes:
        if remaining < 0:
            yield tag("p", f"… more differences ({place})", class_="cut")
            return
        html = _step(step, place)
        remaining -= len(html)
        yield html


def _step(step: DiffStep, place: str) -> Html:
    if step.kind == "kept":
        text_of_step = (
            f"{pluralize(len(step.now), 'message')} as before ({step.begin:,} to {step.begin + len(step.now) - 1:,})"
        )
        return tag("p", text_of_step, class_="kept")
    if step.kind == "changed":
        was, now = (_spelled(messages[0]) for messages in (step.before, step.now))
        lines = unified_diff(was.split("\n"), now.split("\n"), "before", "now", lineterm="")
        text_of_step = "\n".join(islice(lines, 2_000))[:_DIFFERENCE]
        return tag(
            "div",
            tag("p", f"message {step.begin:,} changed"),
            code.body("difference", text_of_step),
            class_="changed",
        )
    messages = step.now if step.kind == "added" else step.before
    showing = Showing(place=place, text=4_000, body=code.body, prefix=f"{step.kind}-")
    record = StoredRecord(messages, None, [*range(step.begin, step.begin + len(messages))])
    inside = fitting(record, showing, _MOST // 4)
    return tag("div", tag("p", f"{pluralize(len(messages), 'message')} {step.kind}"), *inside, class_=step.kind)


def _spelled(message: Message) -> str:
    from chatsquash.core.text import printable_json

    data = jsonio.dumps(message)
    data = printable_json(message, indent=True) if len(data) <= _DIFFERENCE else data[:_DIFFERENCE]
    return data.decode("utf-8", "replace")


def _tools(entry: LoggedRequest) -> Html:
    before, now = ({jsonio.dumps(tool) for tool in tools or []} for tools in (entry.tools_before, entry.tools))
    if before == now:
        return tag("p", f"{pluralize(len(now), 'tool')}, as before", class_="kept")
    names = [
        f"{pluralize(len(now - before), 'tool')} new or changed",
        f"{pluralize(len(before - now), 'tool')} removed or changed",
    ]
    return tag("p", ", ".join(names), class_="changed")


def locations(conversation: Conversation, rows: Rows, replies: Sequence[ReplyOutcome]) -> Iterator[Child]:
    """Yield links to the records that contain these replies, and the reasons why others are not in any record."""
    firsts = _firsts(replies)
    for number, reply in enumerate(firsts):
        place, to = _place(conversation, rows, reply)
        yield ", " if number else "in "
        yield tag("a", place, href=to) if to else place
    if why := _loss(replies):
        yield "; " if firsts else ""
        yield why


def in_words(conversation: Conversation, rows: Rows, replies: Sequence[ReplyOutcome]) -> str:
    """Return the records that contain these replies, and the reasons for lost ones, as text."""
    places = ", ".join(_place(conversation, rows, reply)[0] for reply in _firsts(replies))
    return "; ".join(filter(None, (f"in {places}" if places else "", _loss(replies))))


def _loss(replies: Sequence[ReplyOutcome]) -> str:
    """Return the reasons why replies are not in any record, or an empty string if all are in one."""
    lost_replies = [reply for reply in replies if reply.status == "lost"]
    whys = dict.fromkeys(WHY.get(reply.why or "", reply.why or "reason unknown") for reply in lost_replies)
    count = "" if len(lost_replies) == len(replies) else f"{len(lost_replies):,} "
    return f"{count}lost: {', '.join(whys)}" if lost_replies else ""


def is_in(conversation: Conversation, rows: Rows, replies: Sequence[ReplyOutcome]) -> bool:
    """Return whether the record on display contains one of these replies."""
    return any(_row(rows, reply) == conversation.at for reply in _firsts(replies)) and conversation.place is not None


def first_url(conversation: Conversation, rows: Rows, replies: Sequence[ReplyOutcome]) -> str | None:
    """Return the URL of the first of these replies that is in a record."""
    places = (_place(conversation, rows, reply)[1] for reply in _firsts(replies))
    return next(filter(None, places), None)


def _firsts(replies: Sequence[ReplyOutcome]) -> list[ReplyOutcome]:
    """Return the first reply in each record."""
    replies_by_record: dict[int, ReplyOutcome] = {}
    for reply in replies:
        if reply.status != "lost":
            replies_by_record.setdefault(reply.record or 0, reply)
    return list(replies_by_record.values())


def _row(rows: Rows, reply: ReplyOutcome) -> int | None:
    return rows.get(reply.record or 0)


def _place(conversation: Conversation, rows: Rows, reply: ReplyOutcome) -> tuple[str, str | None]:
    """Return the message of the record that contains a reply, or the fate of that record; and its URL."""
    at = _row(rows, reply)
    if at is None:
        return "a record that was skipped in favor of another", None
    row = conversation.result.sessions.row(at, named=True)
    if row["outcome"] != OUTCOME_WRITTEN:
        return f"a skipped record: {escape(str(row['outcome']))}", url(
            conversation.result, "s", at, **conversation.link_parameters
        )
    place = "this record" if at == conversation.at else escape(f"{row['file']}:{row['row']}")
    is_sample = conversation.result.session_lines[at].get("sample") is not None  # which begins elsewhere
    if reply.message is None or is_sample:
        return place, url(conversation.result, "s", at, **conversation.link_parameters)
    return f"{place}, message {reply.message:,}", url(
        conversation.result,
        "s",
        at,
        **{**conversation.link_parameters, "m": reply.message},
        fragment=f"m{reply.message}",
    )
