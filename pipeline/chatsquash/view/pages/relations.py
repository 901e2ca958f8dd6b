"""Links from a session to others: its neighbours in the list, its caller and its sub-agents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.text import escape, pluralize
from chatsquash.pages.html.markup import Child, Html, tag
from chatsquash.records.reading import call_arguments, message_calls
from chatsquash.results.titles import one_line
from chatsquash.view.conversation import Conversation
from chatsquash.view.pages.layout import address, session_url, spaced, url
from chatsquash.view.selection import SessionQuery, neighbours, parse_query

_CHILDREN = 100
"""Sub-agents of a session that are listed and whose calls are searched for."""
_ARGUMENTS = 4_000_000
"""Characters of the arguments of calls that are searched."""


def in_list(conversation: Conversation) -> Html:
    """Render the links to the previous and next session of the list, and back to the list."""
    query = list_query(conversation)
    around = neighbours(conversation.result, query, conversation.at)
    links: list[Child] = []
    for name, at, rel in (("Previous session", around.before, "prev"), ("Next session", around.after, "next")):
        to = url(conversation.result, "s", at, **conversation.link_parameters) if at is not None else None
        links.append(tag("a", name, href=to, rel=rel, id=f"{rel}-session") if to else None)
    back = tag("a", "All matches" if query.query() else "All sessions", href=address("/", **query.query()))
    return tag("nav", spaced(links[0], back, links[1]), class_="pages", aria_label="Sessions before and after")


def list_query(conversation: Conversation) -> SessionQuery:
    """Return the query of the list from which a session was opened."""
    return parse_query(dict(parse_qsl(conversation.link_parameters.get("list", ""))))


def caller(conversation: Conversation) -> Html | None:
    """Render the link from a sub-agent to the call that started it."""
    at = conversation.row["caller"]
    if at is None:
        return None
    calling = Conversation(conversation.result, at, link_parameters=conversation.link_parameters)
    number = calls_of(calling, [conversation.title]).get(conversation.title)
    to = session_url(calling) if number is None else session_url(calling, m=number, fragment=f"m{number}")
    where = "" if number is None else f", message {number:,}"
    return tag("p", "A sub-agent of ", tag("a", f"{escape(calling.title)}{where}", href=to, dir="auto"), class_="kin")


class SubAgent:
    """A sub-agent of a session, and the message with the call that started it, if known."""

    def __init__(self, conversation: Conversation, row: dict[str, Any], title: str, message: int | None) -> None:
        self.message = message
        name = title or str(row["session"])
        link = tag(
            "a", escape(name), href=url(conversation.result, "s", row["at"], **conversation.link_parameters), dir="auto"
        )
        self.link = tag("span", "sub-agent: ", link)


def sub_agents(conversation: Conversation) -> list[SubAgent]:
    """Return the sub-agents that a session started."""
    frame = conversation.result.sessions
    rows = list(frame.filter(frame["caller"] == conversation.at).head(_CHILDREN).iter_rows(named=True))
    titles = conversation.result.titles([row["at"] for row in rows])
    calls = calls_of(conversation, list(titles.values()))
    return [SubAgent(conversation, row, title := titles.get(row["at"], ""), calls.get(title)) for row in rows]


def children(agents: list[SubAgent]) -> Html | None:
    """Render the sub-agents of a session as a list."""
    if not agents:
        return None
    items = [tag("li", each.link) for each in agents]
    return tag("details", tag("summary", pluralize(len(agents), "sub-agent")), tag("ul", *items), class_="about")


def calls_of(conversation: Conversation, titles: list[str]) -> dict[str, int]:
    """Return the messages that call sub-agents, by title; a call has the prompt of its sub-agent as an argument."""
    known_titles = {*titles} - {""}
    messages_by_title: dict[str, int] = {}
    for at, said in _said_to_tools(conversation.record.messages) if known_titles else ():
        if said in known_titles:
            messages_by_title.setdefault(said, conversation.number(at))
    return messages_by_title


def _said_to_tools(messages: list[Message]) -> Iterator[tuple[int, str]]:
    """Yield the texts in the arguments of calls as titles, with the indices of their messages."""
    remaining = _ARGUMENTS
    for at, message in enumerate(messages):
        for call in message_calls(message):
            arguments = call_arguments(call)
            remaining -= len(arguments)
            if remaining < 0:
                return
            yield from ((at, one_line(text)) for text in _texts(arguments))


def _texts(arguments: str) -> Iterator[str]:
    value: Json = jsonio.value(arguments)
    for each in value.values() if isinstance(value, dict) else ():
        if isinstance(each, str):
            yield each
