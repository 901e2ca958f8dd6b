"""The interfaces of formats: ``Format`` and ``DocumentFormat``, whose members a format's module or package declares."""

# No ``from __future__ import annotations``: tuples compile annotations that are texts.
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from msgspec import Struct

from chatsquash.core.blocks import Native, Turn
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.model import Conversation, Json, Message, Origin, Response, Tool, WrongType
from chatsquash.formats.values import Object, compact, kind

if TYPE_CHECKING:
    from chatsquash.formats.retention import Retention

T = TypeVar("T")


class TurnError(ValueError):
    """A turn that its format does not allow; the message follows the place of the turn and a colon."""


def load_objects(objects: list[Json], load: Callable[[Json], T]) -> list[T]:
    """Load each object of a file; if there are several, ``TurnError`` includes the object's number."""
    values = []
    for number, each in enumerate(objects, 1):
        try:
            values.append(load(each))
        except TurnError as problem:
            raise TurnError(f"conversation {number}: {problem}" if len(objects) > 1 else str(problem)) from None
    return values


def expect_object(value: Json, what: str) -> Object:
    """Return a value that must be an object.

    Args:
        value: the value to check
        what: the beginning of the error message, such as "message 3 is"

    Raises:
        TurnError: if the value is not an object
    """
    if not isinstance(value, dict):
        raise TurnError(f"{what} {kind(value)}, expected an object")
    return value


def expect_list(value: Json, what: str) -> list[Json]:
    """Return a value that must be a list.

    Args:
        value: the value to check
        what: the beginning of the error message, such as "messages is"

    Raises:
        TurnError: if the value is not a list
    """
    if not isinstance(value, list):
        raise TurnError(f"{what} {kind(value)}, expected a list")
    return value


class Mark(Struct, frozen=True):
    """Evidence that an object has a certain format."""

    rank: int
    """The mark with the lowest rank decides; see ``docs/formats.md``."""
    what: str
    """The evidence in words, such as ``contents`` or ``choices[].message``."""
    test: Callable[[dict[str, Any]], bool]


class Marks(Struct, frozen=True):
    """The evidence for a format, grouped by the place to look for it."""

    request: tuple[Mark, ...] = ()
    """Marks in a request's body; marks of turns are checked in every turn."""
    response: tuple[Mark, ...] = ()
    """Marks in the body of a complete response."""
    event: tuple[Mark, ...] = ()
    """Marks in a chunk or event of a streamed response."""


class Tools(Struct, frozen=True):
    """The tools of a request."""

    functions: list[Tool]
    """The tools as OpenAI function tools, ``{"type": "function", "function": {...}}``."""
    hosted: list[Tool] = []
    """Tools that the provider runs itself, as logged; they are not part of records."""


class Continuation(Struct, frozen=True):
    """The location of a session's beginning in another file."""

    patterns: tuple[str, ...]
    """Globs for the file that contains the beginning; the first match is used."""
    end: int
    """The number of the first line that is not part of the beginning."""
    number: Callable[[Json, int, str], int | None]
    """Return a line's number, given its place in the file and the session, or ``None`` for lines of other sessions."""
    session: str = ""
    """The id of the session that the file belongs to."""


class LoadedTurn(Struct, frozen=True, gc=False):
    """The result of loading a turn of a format."""

    turns: list[Turn]
    """The turns that are now complete."""
    state: Any
    """The state for the next turn."""


class ShownTurns(Struct, frozen=True):
    """The turns of a request that the model saw."""

    turns: list[Json]
    summary: str = ""
    """The text of the first turn if it summarizes other turns."""
    summarized: list[Json] = []
    """The summarized turns that the request still contains."""
    is_hidden: bool = False
    """Whether the model also saw an encrypted summary."""


class Stream(Struct, frozen=True):
    """A response assembled from its events."""

    body: Json
    """The body of the equivalent response without streaming."""
    is_complete: bool
    """Whether the stream reached its end."""
    error: Json = None
    """The error that interrupted the stream; the body contains the part before it."""

    def answer(self, reply: Callable[[Json], Response]) -> Response:
        """Return the reply in the body, or the error if the body is empty."""
        response = reply(self.body)
        # The content before an error is still a reply, although an incomplete one.
        return response if self.error is None or _has_content(response) else reply({"error": self.error})


def _has_content(response: Response) -> bool:
    message = response.message or {}
    return any(value for name, value in message.items() if name not in ("role", PRIVATE))


def no_open_turns(state: Any) -> list[Turn]:  # noqa: ARG001 - the interface's
    """Return no turns; the default ``close``, for formats whose turns are independently complete."""
    return []


def no_system(value: Json) -> list[Turn]:  # noqa: ARG001 - the interface's
    """Return no turns; the default ``system``, for formats whose system prompt is one of the turns."""
    return []


def no_tools(value: Json) -> Tools:  # noqa: ARG001 - as above
    """Return no tools; the default ``turn_tools``, for formats whose turns define no tools."""
    return Tools([])


def accept(request: Object) -> bool:  # noqa: ARG001 - the interface's
    """Return true; the default ``accepts``, for formats whose requests resemble no other format."""
    return True


def is_no_compaction(turn: Json) -> bool:  # noqa: ARG001 - as above
    """Return false; the default ``is_compaction``, for services that never compact requests."""
    return False


def all_visible(turns: list[Json]) -> ShownTurns:
    """Return all turns; the default ``visible_turns``, for services that never hide turns from the model."""
    return ShownTurns(turns)


def not_usual(turn: Json, state: Any) -> None:
    """Return ``None``; the default ``usual``, for formats that load every turn as blocks."""


def no_messages(turn: Json) -> None:
    """Return ``None``; the default ``plain``, for formats whose turns depend on each other."""


def no_related_files(path: str) -> None:
    """Return ``None``; the default ``companions``, ``owner`` and ``siblings``, for formats with independent files."""


def not_continued(path: str, objects: list[Json]) -> None:
    """Return ``None``; the default ``continues_from``, for formats whose sessions are complete in one file."""


def no_rows(value: Any) -> list[Json]:  # noqa: ARG001 - the interface's
    """Return no rows; the default ``families`` and ``from_rows``, for formats without a database."""
    return []


def not_in_path(path: str, origin: Origin) -> None:
    """Return ``None``; the default ``home`` and ``session``, for formats where the path contains neither."""


class AnyFormat(Struct, frozen=True, eq=False, kw_only=True):
    """The members shared by exchange and document formats."""

    NAME: str
    """The name for ``--from`` and ``--to``."""
    module: str
    """The name of the module."""
    doc: str
    """The docstring of the module."""
    dump: Callable[[Conversation], Any] | None = None
    """Write a conversation as a body or document; raises ``TurnError`` if the format cannot express it."""
    LOSES: str | None = None
    """The content that ``dump`` cannot express, as a comma-separated list of terms from ``docs/formats.md``."""
    BLURS: str = ""
    """The content that ``dump`` preserves only with chatsquash's own marks, in the same terms."""


class Format(AnyFormat, frozen=True, eq=False, kw_only=True):
    """The format of a provider's requests and responses.

    Turns are loaded in order; the state returned for a turn is passed to the next.  ``load`` must be a pure function,
    because turns that a request repeats are not loaded again.  States are compared with ``==``, so they must not depend
    on the difference between ``1`` and ``True``.
    """

    TURNS: str
    """The member of a request's body that contains the list of turns."""
    SYSTEM: tuple[str, ...]
    """The members of a request's body that may contain the system prompt, in addition to the turns."""
    TOOLS: tuple[str, ...]
    """The members that may contain tool definitions."""
    REFERS: tuple[str, ...]
    """The members with which a request refers to turns that are stored elsewhere."""
    START: Any
    """The state before the first turn."""
    marks: Marks
    READS: tuple[str, ...] = ("",)
    """The only members of a response body that ``reply`` reads (default: any); replies require the first."""
    ECHOES: bool = False
    """Whether a response may repeat the tools and the system prompt of its request."""
    accepts: Callable[[Object], bool] = accept
    """Whether a request with a list of turns may have this format, if its response has."""
    system: Callable[[Json], list[Turn]]
    """Load a system member; raises ``TurnError``."""
    load: Callable[[Json, Any], LoadedTurn]
    """Load one turn, given the state; raises ``TurnError``."""
    usual: Callable[[Json, Any], tuple[list[Message], Any] | None] = not_usual
    """Load a turn as messages and the next state, equal to those of ``load`` and ``view.messages`` but without blocks;
    return ``None`` for turns whose structure is not one of the most frequent ones.
    """
    close: Callable[[Any], list[Turn]]
    """Return the turns that are still open after the last one."""
    tools: Callable[[Json], Tools]
    """Load a member with tool definitions; must accept any value."""
    turn_tools: Callable[[Json], Tools] = no_tools
    """Load the tools that a turn defines."""
    plain: Callable[[Json], list[Message] | None] = no_messages
    """Load a turn whose messages depend on no other turn; return ``None`` for other turns."""
    is_compaction: Callable[[Json], bool] = is_no_compaction
    """Whether a turn contains a summary that the service substituted for other turns."""
    visible_turns: Callable[[list[Json]], ShownTurns] = all_visible
    """Return the turns that the model saw, given the turns of a request with a compaction."""
    reply: Callable[[Json], Response]
    """Load the reply in the body of a complete response; errors are returned in ``Response.problem``."""
    reply_turns: Callable[[Object], list[Json]] | None = None
    """Return the turns that a response adds, or ``None`` if requests never refer to responses by id."""
    assemble: Callable[[list[Json]], Stream]
    """Assemble a response's body from its stream; an error event results in an error body."""


class DocumentFormat(AnyFormat, frozen=True, eq=False, kw_only=True):
    """The format of a document: a file stored or exported by a client or an agent."""

    HAS_TOOLS: bool
    """Whether its files contain tool definitions, not only calls."""
    fits: Callable[[list[Json]], str | None]
    """Return the evidence that a file has this format, in words; the objects are its lines, or its single value."""
    MEMBERS: tuple[str, ...] | None = None
    """Members of which every file of the format has at least one; a name that ends with a dot is a prefix."""
    TYPES: tuple[str, ...] | None = None
    """Values of the member ``type`` of which every file of the format has at least one."""
    conversations: Callable[..., list[Conversation]]
    """Load the conversations in a file from its objects; raises ``TurnError`` with the place of malformed content.
    In addition to the objects, the function may have these arguments:

    - ``lines`` (the second): the 1-based line numbers of the objects; ``None`` means 1, 2, 3 and so on
    - ``meta`` (the third): the content of the companion file, or a list with the content of each companion file
    - ``earlier``: the lines of the files found by ``continues_from``, oldest file first, or ``None``
    """
    continues_from: Callable[[str, list[Json]], Continuation | None] = not_continued
    """Return the location of a session's beginning, given a file's path and lines, or ``None`` if in this file."""
    companions: Callable[[str], str | None] = no_related_files
    """Return a glob for files with more data about a file; ``sources.EACH`` joins it to a glob in folders."""
    COMPANION_MARKS: tuple[bytes, ...] = ()
    """Byte strings of which a companion file must contain one near its start; other matching files are not read."""
    owner: Callable[[str], str | None] = no_related_files
    """Return the file or folder that a file with this path may belong to."""
    home: Callable[[str, Origin], str | None] = not_in_path
    """Return a glob for the file of the session that started a sub-agent, given the path of the sub-agent's file."""
    session: Callable[[str, Origin], str | None] = not_in_path
    """Return the session id of a conversation whose file contains none, given the path of the file."""
    siblings: Callable[[str], str | None] = no_related_files
    """Return a glob for the files of the sub-agents of a session, given the path of one of them."""
    LOCATIONS: tuple[str, ...] = ()
    """Globs for the files that an agent stores, as read by ``sources.agent_files``."""
    IN_PROJECTS: tuple[str, ...] = ()
    """The paths of an agent's session files, relative to a project folder."""
    RETENTION: "Retention | None" = None
    """Whether and when the agent deletes its own sessions; ``None`` if unknown."""
    every: Callable[[list[Json]], list[Conversation]] | None = None
    """Load all branches of a history in file order."""
    dump_all: Callable[[list[Conversation]], Json] | None = None
    """Write the branches of a history as one document."""
    nest: Callable[[list[tuple[int, Conversation, Json]]], Json] | None = None
    """Embed the documents of sub-agents, as ``dump`` wrote them, in that of the conversation that started them.
    Each has its depth; the conversation is first, followed by its sub-agents in depth-first order.
    """
    defined_tools: Callable[[Json], list[Tool]] | None = None
    """Load the tool definitions in a document that ``dump`` wrote, if the format writes them."""
    LINES: bool = False
    """Whether the document that ``dump`` returns is a list of lines, which a file of JSON lines contains."""
    PER_ELEMENT: bool = False
    """Whether each element of a JSON array is a conversation."""
    may_split: Callable[[bytes], bool] | None = None
    """Whether ``split`` may apply to a file, given its first bytes."""
    split: Callable[[BinaryIO], list[bytes] | None] | None = None
    """Return the locations of the units of a file, which are loaded separately."""
    objects: Callable[[BinaryIO, bytes], Iterable[Json]] | None = None
    """Load the objects of one unit, for ``conversations``."""
    tables: Callable[[dict[str, list[str]]], dict[str, tuple[str, ...]] | None] | None = None
    """Return the columns to index for each table of a database, or ``None`` for a database of another program."""
    families: Callable[[Any], Any] = no_rows
    """Return, for each session, the row numbers of the session and its sub-agents."""
    from_rows: Callable[[Any], list[Json]] = no_rows
    """Return the objects of one family, for ``conversations``."""
    SESSIONS: tuple[str, ...] = ()
    """The tables that contain sessions; by default, the first table."""


def with_private(tool: Tool, native: Native) -> Tool:
    """Attach provider-specific data to a tool definition, unless it is empty."""
    return {**tool, PRIVATE: Private(native)} if native else tool


def without_private(tool: Any) -> dict[str, Any]:
    """Return a tool definition without provider-specific data."""
    return {name: value for name, value in tool.items() if name != PRIVATE}


def role_of(turn: Object, roles: tuple[str, ...]) -> str:
    """Return the role of a turn; raise ``TurnError`` if it is missing or not one of ``roles``."""
    role = turn.get("role")
    if role is None:
        raise TurnError("no role")
    if role not in roles:
        raise TurnError(f"unknown role {compact(role)[:40]}; expected one of {', '.join(roles)}")
    return str(role)


def wrong(what: str, seen: str, choices: int = 0) -> Response:
    """Return a response whose reply is missing because a member has the wrong type."""
    return Response(None, choices, None, f"{what} is {seen}", WrongType(what, seen))


def missing_reply(body: Json) -> Response | None:
    """Return a response with the reason why a body has no reply in any format, or ``None`` if it may have one."""
    if body is None:
        return Response(problem="there is no response")
    if not isinstance(body, dict):
        return wrong("response", kind(body))
    return Response(problem="the response is an error body") if body.get("error") else None
