"""The page of a record: one window of its messages at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from chatsquash.core.model import Json
from chatsquash.core.text import escape, pluralize
from chatsquash.pages.html.markup import Child, Html, tag, together
from chatsquash.pages.html.record import Showing, articles, medium
from chatsquash.records.reading import message_calls, message_parts
from chatsquash.view.conversation import WINDOW, Conversation, Window
from chatsquash.view.pages import code, relations
from chatsquash.view.pages.code import tools
from chatsquash.view.pages.edits import is_edit
from chatsquash.view.pages.layout import comma_list, facts, page, session_url, short, spaced, url
from chatsquash.view.pages.relations import SubAgent
from chatsquash.view.pages.texts import MAX_SEARCHED, PageTexts, in_red, secrets_in

TEXT = 16_000
"""Bytes of a text shown on a page; the full text has its own URL."""
_LEAST = 500
"""The same for messages beyond the size limit of a page."""
_ARTICLE = 500_000
"""Characters of HTML after which the rest of a message is omitted."""
_PAGE = 2_500_000
"""Characters of HTML of all messages; after them, only the beginning of each message is shown."""
_PARTS = 1_000
"""Images and other media per message."""
_CALLS = 20
"""A message with more calls than this gets a link to its full text."""
_FINDINGS = 200
_LONGEST_VALUE = 500
"""Characters of a finding, or of a fact about a session."""
_NAME = 200
_WINDOW_TITLE = 60
_MEMBERS = 100
"""Members of a line of the session table, and of each of its objects; chatsquash writes far fewer."""
_TABS = ("conversation", "log", "tree", "template", "against")


def conversation_page(conversation: Conversation, message: int) -> Html:
    """Return the page of a record, at one of its messages."""
    window = conversation.window(message)
    agents = relations.sub_agents(conversation)
    body = [
        relations.in_list(conversation),
        *head(conversation, "conversation"),
        relations.caller(conversation),
        relations.children(agents),
        _about(conversation),
        toolbar(conversation),
        section(conversation, window, agents),
        pages(conversation, window),
    ]
    return page(
        _title(conversation),
        conversation.result,
        with_secrets(conversation, window, body),
        modules=("conversation.js",),
        **attributes(conversation, window),
    )


def head(conversation: Conversation, now: str) -> list[Html]:
    """Return the title of a session and the links to its pages."""
    names = [name for name in _TABS if (name != "template" or (conversation.has_template and conversation.place))]
    names = [name for name in names if name != "against" or conversation.is_compared]
    titles = {"log": "with its log", "template": "rendered by the template", "against": "compared"}
    links = []
    for name in names:
        to = session_url(conversation) if name == "conversation" else session_url(conversation, name)
        links.append(tag("a", titles.get(name, name), href=to, aria_current="page" if name == now else None))
    title = tag("h1", escape(conversation.title), dir="auto", class_="title")
    id_ = tag("code", short(conversation.row["session"] or "without an id", _NAME), dir="auto")
    return [title, tag("p", id_, class_="quiet"), tag("nav", *links, class_="tabs", aria_label="Pages of this session")]


def attributes(conversation: Conversation, window: Window) -> dict[str, Any]:
    """Return the data attributes for keyboard shortcuts: the messages of the user, with errors and with findings."""
    numbers = [conversation.number(at) for at in range(window.start, window.stop)]
    return {
        "data_base": url(conversation.result, "s", conversation.at),
        "data_from": min(numbers, default=0),
        "data_to": max(numbers, default=-1),
        "data_prompts": _spaced(conversation.prompts),
        "data_errors": _spaced(conversation.finding_numbers(errors=True)),
        "data_findings": _spaced(conversation.finding_numbers(errors=False)),
    }


def _spaced(numbers: list[int]) -> str:
    return " ".join(map(str, numbers))


def _title(conversation: Conversation) -> str:
    title = conversation.title
    return title if len(title) <= _WINDOW_TITLE else f"{title[:_WINDOW_TITLE]}…"


def _about(conversation: Conversation) -> Html:
    """Render the facts about a session, collapsed below a one-line summary."""
    values: dict[str, Child] = {
        "record": f"{conversation.place.file}:{conversation.place.row}" if conversation.place else "none"
    }
    values |= {
        "log": _place(conversation),
        **{name: _value(value) for name, value in islice(_named_values(conversation.facts), _MEMBERS)},
    }
    opening = _opening(conversation)
    about = tag("details", tag("summary", opening), facts(values), class_="about")
    return together((about, _findings(conversation)))


def _opening(conversation: Conversation) -> Html:
    row = conversation.row
    tokens = f"{pluralize(row['tokens'], 'token')}" if row["tokens"] is not None else None
    turns = f"{pluralize(row['turns'], 'turn')}" if row["turns"] is not None else None
    values = (row["format"], row["model"], (row["start"] or "")[:16].replace("T", " "), turns, tokens, row["outcome"])
    # Each value has its own direction, since it may be in a right-to-left script.
    return comma_list([tag("span", escape(str(each)), dir="auto") for each in values if each])


def _place(conversation: Conversation) -> str:
    row = conversation.row
    return short(f"{row['log']}:{row['line']}" if row["line"] is not None else row["log"], _LONGEST_VALUE)


def _named_values(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in islice(values.items(), _MEMBERS):
        if isinstance(value, dict):
            inside = islice(value.items(), _MEMBERS)
            yield from ((short(f"{name} {inner.replace('_', ' ')}"), each) for inner, each in inside)
        elif name not in ("log", "file", "row", "offset", "record"):  # already in the first two facts
            yield short(name.replace("_", " ")), value


def _value(value: Any) -> Child:
    if value is None or value == {}:
        return None
    if isinstance(value, dict):
        inside = (f"{_spelled(count)} {_spelled(why)}" for why, count in islice(value.items(), _MEMBERS))
        return short(", ".join(inside), _LONGEST_VALUE)
    return _spelled(value)


def _spelled(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(f"{value:,}" if isinstance(value, int) else str(value)[:_LONGEST_VALUE])


def _findings(conversation: Conversation) -> Html | None:
    """Render the findings of a session, each with a link to its message."""
    if not conversation.findings:
        return None
    items = [tag("li", *_finding(conversation, each)) for each in conversation.findings[:_FINDINGS]]
    if len(conversation.findings) > _FINDINGS:
        items.append(tag("li", f"{len(conversation.findings) - _FINDINGS:,} more"))
    errors = any(each["severity"] == "error" for each in conversation.findings)
    title = pluralize(len(conversation.findings), "finding")
    return tag("details", tag("summary", title), tag("ul", *items, class_="findings"), class_="about", open=errors)


def _finding(conversation: Conversation, finding: Mapping[str, Any]) -> Iterator[Child]:
    yield severity(finding)
    yield f" {_text(finding)}"
    if isinstance(number := finding.get("message"), int):
        yield " "
        yield tag("a", f"message {number:,}", href=message_url(conversation, number))
    if isinstance(line := finding.get("line"), int):
        yield f" (line {line:,})"


def _text(finding: Mapping[str, Any]) -> str:
    text = str(finding.get("text"))
    return escape(text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…")


def severity(finding: Mapping[str, Any]) -> Html:
    """Render the severity and code of a finding, in the colour of the severity."""
    kind = finding.get("severity")
    known = kind if kind in ("error", "warning", "info") else "info"
    return tag("span", f"{known} ", tag("code", short(finding.get("code"), _NAME)), class_=f"severity-{known}")


def message_url(conversation: Conversation, number: int) -> str:
    """Return the URL of a message."""
    return session_url(conversation, m=number, fragment=f"m{number}")


def toolbar(conversation: Conversation) -> Html:
    """Render the toolbar: find, expand and collapse, copy and the keyboard shortcuts."""
    base = conversation.result, "s", conversation.at
    finding = tag(
        "form",
        tag("label", "Find ", tag("input", type="search", name_="find", id="find", autocomplete="off")),
        tag("button", "Previous", type="button", id="find-previous", disabled=True),
        tag("button", "Next", id="find-next"),
        tag("output", id="find-told", role="status"),
        class_="find",
        role="search",
    )
    buttons = [
        tag("button", "Collapse all", type="button", id="fold"),
        tag("button", "Expand all", type="button", id="unfold"),
        tag("button", "Copy as Markdown", type="button", data_copy=url(*base, "copy.md")),
        tag("button", "Copy as JSON", type="button", data_copy=url(*base, "copy.json")),
        tag("a", "Markdown", href=url(*base, "copy.md")),
        tag("a", "JSON", href=url(*base, "copy.json")),
        _toggle(conversation),
        tag("output", id="keys-told", class_="quiet", role="status"),
    ]
    keys = (
        "Keys: J next prompt, K previous prompt, N next error, F next finding, U expand all, Z collapse all, / find, "
        "[ previous session, ] next session."
    )
    return tag(
        "div", finding, tag("div", *buttons, class_="buttons"), tag("p", keys, class_="quiet keys"), class_="toolbar"
    )


def _toggle(conversation: Conversation) -> Html:
    """Render the link that switches between texts as written and rendered Markdown."""
    if conversation.is_as_written:
        return tag("a", "Rendered", href=session_url(conversation, **{"as": ""}))
    return tag("a", "As written", href=session_url(conversation, **{"as": "written"}))


def section(conversation: Conversation, window: Window, agents: Sequence[SubAgent] = ()) -> Html:
    """Render the messages of a window."""
    if conversation.place is None:
        why = f"This session has no record: {escape(str(conversation.row['outcome']))}."
        return tag("section", tag("p", why), class_="conversation")
    if conversation.problem:
        note = tag("p", f"The record cannot be shown as a conversation: {escape(conversation.problem)}.")
        text = conversation.data[:TEXT].decode("utf-8", "replace")
        return tag("section", note, code.json(text), class_="conversation")
    whole = (
        [
            _whole(conversation, window.record.places[at]) if _is_large(conversation, window.start + at) else None
            for at in range(len(window.record.messages))
        ]
        if window.record.places
        else []
    )
    notes = _notes(conversation, window, whole)
    for agent in agents:
        if agent.message is not None:
            notes.setdefault(agent.message, []).append(agent.link)
    body = [tools(window.record.tools) if window.start == 0 else None, *bounded(conversation, window, notes)]
    inside = body if window.record.messages else [tag("p", "The record has no messages.")]
    return tag("section", *inside, class_="conversation", aria_label="Messages")


def with_secrets(conversation: Conversation, window: Window, body: Iterable[Child]) -> Html:
    """Render the body of a page with the secrets of its messages highlighted, up to the limit of the search."""
    said = [part.text[:TEXT] for message in window.record.messages for part in message_parts(message)]
    note = None
    if sum(map(len, said)) > MAX_SEARCHED:
        note = tag(
            "p", f"Secrets are only highlighted in the first {MAX_SEARCHED:,} characters of a page.", class_="quiet"
        )
    return in_red(together([*body, note]), secrets_in([conversation.title, *said]))


def _is_large(conversation: Conversation, at: int) -> bool:
    """Return whether a page may omit parts of a message."""
    return conversation.length(at) > TEXT // 4 or len(message_calls(conversation.record.messages[at])) > _CALLS


def _whole(conversation: Conversation, number: int) -> Html:
    return tag("a", "all text of this message", href=url(conversation.result, "s", conversation.at, "text", number))


def _notes(conversation: Conversation, window: Window, whole: list[Html | None]) -> dict[int, list[Child]]:
    notes: dict[int, list[Child]] = {}
    for finding in conversation.findings:
        if isinstance(number := finding.get("message"), int):
            notes.setdefault(number, []).append(spaced(severity(finding), _text(finding)))
    for number, link in zip(window.record.places or [], whole, strict=True):
        if link is not None:
            notes.setdefault(number, []).append(link)
    return {number: finding[:_FINDINGS] for number, finding in notes.items()}


def bounded(conversation: Conversation, window: Window, notes: dict[int, list[Child]]) -> Iterator[Html]:
    """Render the messages of a window within the size limits of a page."""

    def picture(part: Json) -> Html:
        name = conversation.images.get(id(part))
        if not name:
            return medium(part)
        return tag(
            "img",
            src=url(conversation.result, "s", conversation.at, "image", name),
            alt="image in the record",
            loading="lazy",
            class_="picture",
        )

    place = f"{conversation.place.file}:{conversation.place.row}" if conversation.place else ""
    less = Showing(place, text=_LEAST, notes=notes, trained=conversation.trained, medium=picture)
    texts = PageTexts(renders=not conversation.is_as_written)
    full = replace(less, text=TEXT, article=_ARTICLE, parts=_PARTS, is_open=is_edit, body=texts.body)
    return articles(window.record, full, less, _PAGE)


def pages(conversation: Conversation, window: Window) -> Html | None:
    """Render the links to the messages before and after a window."""
    total = len(conversation.record.messages)
    if window.start == 0 and window.stop >= total:
        return None
    before = conversation.number(max(0, window.start - WINDOW)) if window.start else None
    behind = conversation.number(window.stop) if window.stop < total else None
    position = f"messages {window.start + 1:,} to {window.stop:,} of {total:,}"
    links = [
        tag("a", "Earlier messages", href=session_url(conversation, m=before), rel="prev")
        if before is not None
        else None,
        position,
        tag("a", "Later messages", href=session_url(conversation, m=behind), rel="next")
        if behind is not None
        else None,
    ]
    return tag("nav", spaced(*links), class_="pages", aria_label="Messages before and after")
