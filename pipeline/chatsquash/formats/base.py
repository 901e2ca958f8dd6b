"""What a format is made of: the values ``Format`` and ``DocumentFormat``, which a module or a package declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, TypeVar

from msgspec import Struct

from chatsquash.core.blocks import Native, Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation, Json, Message, Origin, Response, Tool, WrongType
from chatsquash.formats.values import Object, compact, kind

T = TypeVar("T")


class TurnError(ValueError):
    """A turn that is none of its format's: what is wrong with it, in words that follow the turn's place."""


def load_objects(objects: list[Json], load: Callable[[Json], T]) -> list[T]:
    """What each object of a file holds; the ``TurnError`` says which it is about, where there are several."""
    values = []
    for number, each in enumerate(objects, 1):
        try:
            values.append(load(each))
        except TurnError as problem:
            raise TurnError(f"conversation {number}: {problem}" if len(objects) > 1 else str(problem)) from None
    return values


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


class Continuation(NamedTuple):
    """Where the beginning of a session is that continues in another file."""

    patterns: tuple[str, ...]
    """Globs for the file with the beginning; the first that fits counts."""
    end: int
    """The number of the first line that does not belong to it."""
    number: Callable[[Json, int, str], int | None]
    """Return the number of a line, given its place in the file and the session; ``None``: it is of another session."""
    session: str = ""
    """The id of the session that the file belongs to."""


class LoadedTurn(NamedTuple):
    """What a turn of a format gives."""

    turns: list[Turn]
    """Those that are complete with it."""
    state: Any
    """What the next turn needs to know."""


class ShownTurns(NamedTuple):
    """The turns of a request that the model saw."""

    turns: list[Json]
    summary: str = ""
    """The text of the first turn, if it replaced others."""
    summarized: list[Json] = []  # noqa: RUF012 - never changed
    """The turns that it replaced, as far as the request contains them."""
    is_hidden: bool = False
    """Whether the model also saw a summary that is encrypted."""


class Stream(NamedTuple):
    """A response put together from its events."""

    body: Json
    """The response's body, as if it had come whole."""
    is_complete: bool
    """Whether the stream came to its end."""
    error: Json = None
    """What a service sent instead of the rest; the body is what came before it."""

    def answer(self, reply: Callable[[Json], Response]) -> Response:
        """Return the reply in the body, or in the error if nothing came before it."""
        response = reply(self.body)
        return response if self.error is None or _has_content(response) else reply({"error": self.error})


def _has_content(response: Response) -> bool:
    message = response.message or {}
    return any(value for name, value in message.items() if name not in ("role", PRIVATE))


def nothing_open(state: Any) -> list[Turn]:  # noqa: ARG001 - the interface's
    """The ``close`` of a format whose turns are complete in themselves."""
    return []


def no_system(value: Json) -> list[Turn]:  # noqa: ARG001 - the interface's
    """The ``system`` of a format whose system prompt is one of the turns."""
    return []


def no_tools(value: Json) -> Tools:  # noqa: ARG001 - as above
    """The ``turn_tools`` of a format whose turns bring no tools."""
    return Tools([])


def accept(request: Object) -> bool:  # noqa: ARG001 - the interface's
    """The ``accepts`` of a format whose requests nothing else looks like."""
    return True


def is_no_compaction(turn: Json) -> bool:  # noqa: ARG001 - as above
    """The ``is_compaction`` of a format whose services never compact a request."""
    return False


def all_visible(turns: list[Json]) -> ShownTurns:
    """The ``visible_turns`` of such a format."""
    return ShownTurns(turns)


def no_messages(turn: Json) -> None:
    """The ``plain`` of a format whose turns depend on each other."""


def nowhere(path: str) -> None:
    """The ``beside``, ``owner`` and ``siblings`` of a format whose files have no others around them."""


def complete(path: str, objects: list[Json]) -> None:
    """The ``continued`` of a format whose files contain all of their sessions."""


def unknown(path: str, origin: Origin) -> None:
    """The ``home`` and ``session`` of a format whose paths say nothing of either."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class AnyFormat:
    """What formats of exchanges and of documents have in common, as their modules or packages declare it."""

    NAME: str
    """As in ``--from`` and ``--to``."""
    module: str
    """The name of its module, and the docstring."""
    doc: str
    dump: Callable[[Conversation], Any] | None = None
    """Write a conversation as a body or a document; raises ``TurnError`` for one that no document can hold."""
    LOSES: str | None = None
    """What ``dump`` cannot express, in words of ``docs/formats.md`` with commas between them."""
    BLURS: str = ""
    """What is only preserved by marks of chatsquash."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Format(AnyFormat):
    """The format of a provider's requests and responses.

    Turns are loaded in order, each with the state that the previous one left: ``load`` must depend on nothing else,
    change nothing, and return equal results for equal arguments, since turns that a request repeats are not loaded
    again.  A state is compared with ``==``; what distinguishes ``1`` from ``True`` must not be in it.
    """

    TURNS: str
    """The member of a request's body that has the list of turns."""
    SYSTEM: tuple[str, ...]
    """The members of a request's body that may have the system prompt, in addition to the turns."""
    TOOLS: tuple[str, ...]
    """The members that may have tool definitions."""
    REFERS: tuple[str, ...]
    """The members by which a request refers to turns that are stored elsewhere."""
    START: Any
    """The state before the first turn."""
    marks: Marks
    READS: tuple[str, ...] = ("",)
    """The members of a response's body that ``reply`` reads, if no others; without the first there is no reply."""
    ECHOES: bool = False
    """Whether a response may repeat the tools and the system prompt of its request."""
    accepts: Callable[[Object], bool] = accept
    """Whether a request with a list of turns may be of this format if its response is."""
    system: Callable[[Json], list[Turn]]
    """Load a system member; raises ``TurnError``."""
    load: Callable[[Json, Any], LoadedTurn]
    """Load one turn, given the state; raises ``TurnError``."""
    close: Callable[[Any], list[Turn]]
    """Return the turns that are still open after the last one."""
    tools: Callable[[Json], Tools]
    """Load a member with tool definitions, whatever it is."""
    turn_tools: Callable[[Json], Tools] = no_tools
    """Load the tools that a turn brings."""
    plain: Callable[[Json], list[Message] | None] = no_messages
    """Load a turn whose messages depend on no other turn; ``None`` for any other."""
    is_compaction: Callable[[Json], bool] = is_no_compaction
    """Whether a turn contains a summary by which the service replaced others."""
    visible_turns: Callable[[list[Json]], ShownTurns] = all_visible
    """Return the turns that the model saw, given those of a request with such a turn."""
    reply: Callable[[Json], Response]
    """Load the reply in a whole response's body; never raises: what is wrong goes into ``Response.problem``."""
    reply_turns: Callable[[Object], list[Json]] | None = None
    """Return the turns that a response adds, for requests that refer to it by its id; ``None`` if none does."""
    assemble: Callable[[list[Json]], Stream]
    """Put a response's body together from what was streamed; an error event gives the error body."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class DocumentFormat(AnyFormat):
    """The format of a document: a whole file that a client or an agent keeps, or that is exported from one."""

    HAS_TOOLS: bool
    """Whether its files have definitions of tools, and not only calls."""
    fits: Callable[[list[Json]], str | None]
    """Return the evidence that a file is of this format, in words; the objects are its lines, or its single value."""
    MEMBERS: tuple[str, ...] | None = None
    """The objects of a file that fits have at least one of these members; a name that ends with a dot is a prefix."""
    conversations: Callable[..., list[Conversation]]
    """Load the conversations in a file from its objects; raises ``TurnError`` for what is broken, and says where.

    A function with the argument ``lines``, the second, gets the 1-based numbers of the lines of the objects; ``None``
    means 1, 2, 3 and so on.  One with ``meta``, the third, gets the content of the file that ``beside`` names, or a
    list of the contents of several.  One with ``earlier`` gets the lines of the files that ``continued`` leads to, the
    oldest file first, or ``None``.
    """
    continues_from: Callable[[str, list[Json]], Continuation | None] = complete
    """Return where a session begins, given the path and the lines of its file; ``None``: it begins in this file."""
    companions: Callable[[str], str | None] = nowhere
    """Return a glob for what is next to a file and tells more of it; ``sources.EACH`` joins it to a glob in folders."""
    COMPANION_MARKS: tuple[bytes, ...] = ()
    """What files next to it have in their first bytes, one of these; others of the names are not read."""
    owner: Callable[[str], str | None] = nowhere
    """Return the file, or folder, that a file with this path may be a part of."""
    home: Callable[[str, Origin], str | None] = unknown
    """Return a glob for the file of the session that began a sub-agent, whose own file has this path."""
    session: Callable[[str, Origin], str | None] = unknown
    """Return the id of the session of a conversation whose file has none, by the file's path."""
    siblings: Callable[[str], str | None] = nowhere
    """Return a glob for the files of the sub-agents of a session, one of which has this path."""
    LOCATIONS: tuple[str, ...] = ()
    """Globs of where an agent keeps such files, as ``sources.agent_files`` reads them."""
    IN_PROJECTS: tuple[str, ...] = ()
    """The files, below the folder of a project, in which an agent keeps sessions."""
    every: Callable[[list[Json]], list[Conversation]] | None = None
    """Load all branches of a history, in the order of the file."""
    dump_all: Callable[[list[Conversation]], Json] | None = None
    """Write the branches of a history as one document."""
    defined_tools: Callable[[Json], list[Tool]] | None = None
    """Load the definitions in a document that ``dump`` wrote, for a format that writes them."""
    PER_ELEMENT: bool = False
    """Whether each element of an array is a conversation."""
    may_split: Callable[[bytes], bool] | None = None
    """Whether a file that begins so may be one that ``divided`` divides."""
    split: Callable[[BinaryIO], list[bytes] | None] | None = None
    """Return the places of the units of a file; ``objects`` loads one."""
    objects: Callable[[BinaryIO, bytes], Iterable[Json]] | None = None
    tables: Callable[[dict[str, list[str]]], dict[str, tuple[str, ...]] | None] | None = None
    """Return the columns that distinguish the rows of each table of a database; ``None``: of another program."""
    families: Callable[[Any], Any] = nothing_open
    """Return the numbers of the rows of each session with those that belong to it."""
    from_rows: Callable[[Any], list[Json]] = nothing_open
    """Return the objects of one family, which ``conversations`` takes."""
    SESSIONS: tuple[str, ...] = ()
    """The tables that have sessions, if not the first one."""


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
