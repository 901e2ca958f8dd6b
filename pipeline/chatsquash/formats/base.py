"""What a format is made of; see ``Format`` for the names that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from chatsquash.core.blocks import Native, Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Json, Response, Tool, WrongType
from chatsquash.formats.values import Object, compact, kind

T = TypeVar("T")


class TurnError(ValueError):
    """A turn that is none of its format's: what is wrong with it, in words that follow the turn's place."""


def of_each(objects: list[Json], load: Callable[[Json], T]) -> list[T]:
    """What each object of a file holds; the ``TurnError`` says which it is about, where there are several."""
    loaded = []
    for number, each in enumerate(objects, 1):
        try:
            loaded.append(load(each))
        except TurnError as problem:
            raise TurnError(f"conversation {number}: {problem}" if len(objects) > 1 else str(problem)) from None
    return loaded


def expect_object(value: Json, what: str) -> Object:
    """Return a value that must be an object; raise ``TurnError`` for any other (``what``: "message 3 is")."""
    if not isinstance(value, dict):
        raise TurnError(f"{what} {kind(value)}, not an object")
    return value


def expect_list(value: Json, what: str) -> list[Json]:
    """Return a value that must be a list; raise ``TurnError`` for any other (``what``: "the messages are")."""
    if not isinstance(value, list):
        raise TurnError(f"{what} {kind(value)}, not a list")
    return value


class Mark(Struct, frozen=True):
    """Evidence that an object is of a format."""

    rank: int
    """Lower ranks decide first; see ``docs/formats.md``."""
    what: str
    """What was seen, in words: ``contents``, ``choices[].message``."""
    test: Callable[[dict[str, Any]], bool]


class Marks(Struct, frozen=True):
    """The evidence for a format, by the place where it is looked for."""

    request: tuple[Mark, ...] = ()
    """On a request's body; evidence in turns is looked for in all of them."""
    response: tuple[Mark, ...] = ()
    """On a whole response's body."""
    event: tuple[Mark, ...] = ()
    """On one chunk or event of a streamed response."""


class Tools(NamedTuple):
    """The tools of a request."""

    functions: list[Tool]
    """As OpenAI function tools, ``{"type": "function", "function": {...}}``."""
    hosted: list[Tool] = []  # noqa: RUF012 - never changed
    """Those that the provider runs itself, as logged; they are no part of a record."""


class LoadedTurn(NamedTuple):
    """What a turn of a format gives."""

    turns: list[Turn]
    """Those that are complete with it."""
    state: Any
    """What the next turn needs to know."""


class Stream(NamedTuple):
    """A response put together from its events."""

    body: Json
    """The response's body, as if it had come whole."""
    whole: bool
    """Whether the stream came to its end."""


class Format(Protocol):
    """The names of a format, which is a module or a package.

    Turns are loaded one after the other, each with the state that the one before left: ``load`` must depend on nothing
    else, change nothing, and give equal results for equal arguments, since turns that a request repeats are not loaded
    again.  A state is compared with ``==``; what tells ``1`` from ``True`` must not be in it.

    One that is written has ``dump``, and says in ``LOSES`` and ``BLURS`` what it cannot hold, in words of
    ``docs/formats.md`` with commas between them.  It may have ``READS``, the members of a response's body that
    ``reply`` reads, where this is called with no others, the one first without which there is no reply;
    ``turn_tools``, which gives the tools that a turn brings; and ``ECHOES``, where a response may repeat the tools and
    the system prompt of its request.
    """

    NAME: str
    """As in ``--from``."""
    TURNS: str
    """The member of a request's body that holds the list of turns."""
    SYSTEM: tuple[str, ...]
    """The members of a request's body that may hold the system prompt beside the turns."""
    TOOLS: tuple[str, ...]
    """The members that may hold tool definitions."""
    REFERS: tuple[str, ...]
    """The members by which a request refers to turns that are kept elsewhere."""
    START: Any
    """The state before the first turn."""
    marks: Marks

    def system(self, value: Json) -> list[Turn]:
        """The turns of a system member; raises ``TurnError``."""

    def load(self, turn: Json, state: Any) -> LoadedTurn:
        """One turn of the format; raises ``TurnError`` for what is none."""

    def close(self, state: Any) -> list[Turn]:
        """The turns still open behind the last one."""

    def tools(self, value: Json) -> Tools:
        """The tools of a member that holds them, whatever it is."""

    def reply(self, body: Json) -> Response:
        """The reply in a whole response's body; never raises: what is wrong goes into ``Reply.problem``."""

    def assemble(self, events: list[Json]) -> Stream:
        """A response's body from what was streamed; an error event gives the error body."""


def nothing_open(state: Any) -> list[Turn]:  # noqa: ARG001 - the interface's
    """The ``close`` of a format whose turns are complete in themselves."""
    return []


def no_system(value: Json) -> list[Turn]:  # noqa: ARG001 - the interface's
    """The ``system`` of a format whose system prompt is one of the turns."""
    return []


def with_private(tool: Tool, native: Native) -> Tool:
    """A definition with what only its provider knows of it, unless there is nothing of that."""
    return {**tool, PRIVATE: Private(native)} if native else tool


def without_private(tool: Any) -> dict[str, Any]:
    """A definition without what only its provider knows of it."""
    return {name: value for name, value in tool.items() if name != PRIVATE}


def role_of(turn: Object, roles: tuple[str, ...]) -> str:
    """The role of a turn; raises ``TurnError`` for none, and for one that is not among these."""
    role = turn.get("role")
    if role is None:
        raise TurnError("has no role")
    if role not in roles:
        raise TurnError(f"has the role {compact(role)[:40]}, which is none of {', '.join(roles)}")
    return str(role)


def wrong(what: str, seen: str, choices: int = 0) -> Response:
    """No reply, since a member is of another type."""
    return Response(None, choices, None, f"{what} is {seen}", WrongType(what, seen))


def missing_reply(body: Json) -> Response | None:
    """Why a body has no reply in any format; ``None`` for one that may have one."""
    if body is None:
        return Response(problem="there is no response")
    if not isinstance(body, dict):
        return wrong("response", kind(body))
    return Response(problem="the response is an error body") if body.get("error") else None
