"""The metadata of messages in files of agents and clients: their lines, times, models and token counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field, structs

from chatsquash import formats
from chatsquash.core import times
from chatsquash.core.blocks import Native, Turn
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Branch, Conversation, Json, Message, Origin, OriginReply, RepeatedViolation, Tool
from chatsquash.core.scores import Score
from chatsquash.core.times import Moment
from chatsquash.formats import bodies, view
from chatsquash.formats.base import Format, TurnError
from chatsquash.formats.providers.openai_chat.read import merge_results
from chatsquash.formats.values import Object, at

if TYPE_CHECKING:
    from chatsquash.core.token_ids import TokenIds

_NO_TIMES = (0, times.FIRST)
"""Values that programs write for an unknown time: the zero times of Unix and Go."""
_EMPTY: tuple[Json, ...] = ("", [], {})
_NAMES, _LONGEST = 1_000, 100
"""The maximum number and length of the names of unread content, which come from the file."""


class Evidence(Struct, frozen=True, gc=False):
    """The metadata of one turn of a file."""

    line: int | None = None
    """The 1-based line in the file."""
    time: Moment | None = None
    is_sampled: bool = False
    """Whether a model produced it in this conversation, rather than in a conversation that it was copied from."""
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    response_id: str | None = None
    logged_id: str | None = None
    lacks_context: bool = False
    """``logged_id`` and ``lacks_context`` have the same meaning as in ``OriginReply``."""
    token_ids: TokenIds | None = None
    """The token ids of the reply, if they are logged and requested."""
    scores: tuple[Score, ...] = ()

    def merge(self, later: Evidence) -> Evidence:
        """Combine the evidence with that of a later turn of the same message."""
        # Written out, because a loop over the members takes three times as long.
        return Evidence(
            self.line or later.line,
            self.time if later.time is None else later.time,
            self.is_sampled or later.is_sampled,
            self.model if later.model is None else later.model,
            self.prompt_tokens if later.prompt_tokens is None else later.prompt_tokens,
            self.completion_tokens if later.completion_tokens is None else later.completion_tokens,
            self.finish_reason if later.finish_reason is None else later.finish_reason,
            self.response_id if later.response_id is None else later.response_id,
            self.logged_id if later.logged_id is None else later.logged_id,
            self.lacks_context or later.lacks_context,
            self.token_ids or later.token_ids,
            self.scores or later.scores,
        )


class LoggedTurn(Struct, frozen=True, gc=False):
    """A turn of an agent's file."""

    place: str
    """The place for error messages."""
    turn: Json
    evidence: Evidence


class MessageList(NamedTuple):
    """A list of messages in a client's file."""

    turns: list[Json]
    lines: Sequence[int]
    holder: Json = None
    """The value that contains the list, or the list itself."""


class LoggedMessages(NamedTuple):
    """Messages with the evidence for each."""

    messages: list[Message]
    evidence: list[Evidence]


def moment(value: Json) -> Moment | None:
    """Return the time in a JSON value, or ``None`` for zero times and invalid values."""
    time = times.of_text(value) if type(value) is str else times.read(value)
    return None if time is None or time.at in _NO_TIMES else time


def load_turns(form: Any, turns: Sequence[LoggedTurn]) -> LoggedMessages:
    """Load turns as messages.

    Args:
        form: the format of the turns, or its package
        turns: the turns with their places and evidence

    Raises:
        TurnError: if a turn is malformed; the message contains its place
    """
    # A package has only the members that it declares; a ``Format`` also has the defaults.
    form = formats.get_format(form.NAME)
    # Nearly all files have only independent turns, which can be loaded one by one.
    if known := _load_independent_turns(form, turns):
        return known
    messages_with_places = bodies.messages_with_places(form, [(each.place, each.turn) for each in turns])
    evidence = [merge_evidence(turns[places.start : places.stop]) for _, places in messages_with_places]
    return LoggedMessages([message for message, _ in messages_with_places], evidence)


def _load_independent_turns(form: Format, turns: Sequence[LoggedTurn]) -> LoggedMessages | None:
    """Load the turns one by one if none depends on another, as in nearly all files; otherwise return ``None``."""
    messages, evidence = list[Message](), list[Evidence]()
    plain = form.plain
    for each in turns:
        turn_messages = plain(each.turn)
        if turn_messages is None:
            return None
        messages += turn_messages
        evidence += [each.evidence] * len(turn_messages)
    return LoggedMessages(messages, evidence)


def load_conversation(
    form: Any, turns: Sequence[LoggedTurn], tools: list[Tool] | None = None, /, **members: Any
) -> Conversation:
    """Load the turns of a format as a conversation; ``members`` are added to its origin."""
    logged_messages = load_turns(form, turns)
    return Conversation(logged_messages.messages, tools or [], origin=origin(logged_messages, **members))


def conversation(
    turns_with_evidence: Iterable[tuple[Turn, Evidence]], native: Native, branch: Branch | None = None, **members: Any
) -> Conversation:
    """Build a conversation from turns with their evidence; ``members`` are added to its origin."""
    logged_messages, turns = LoggedMessages([], []), list[Turn]()
    for turn, evidence in turns_with_evidence:
        messages = view.messages([turn])
        turns.append(turn)
        logged_messages.messages.extend(messages)
        logged_messages.evidence.extend([evidence] * len(messages))
    return Conversation(
        logged_messages.messages,
        [],
        branch,
        origin=origin(logged_messages, **members),
        turns=merge_results(turns),
        native=native,
    )


def merge_evidence(turns: Sequence[LoggedTurn]) -> Evidence:
    """Combine the evidence for the turns of one message."""
    evidence = turns[0].evidence
    for turn in turns[1:]:
        evidence = evidence.merge(turn.evidence)
    return evidence


def origin(logged_messages: LoggedMessages, /, session_times: Any = None, **members: Any) -> Origin:
    """Build the origin of a conversation from the evidence for its messages.

    Args:
        logged_messages: the messages with their evidence
        session_times: the times of the session, as returned by ``span`` or ``bounds``; used if no message has a time
        members: further members of the origin
    """
    times_of = [each.time.at for each in logged_messages.evidence if each.time]
    naive_lines = [each.line for each in logged_messages.evidence if each.time and each.time.naive]
    pairs = zip(logged_messages.messages, logged_messages.evidence, strict=True)
    replies = [
        OriginReply(place, each.line, each.time.at if each.time else None, *structs.astuple(each)[3:])
        for place, (message, each) in enumerate(pairs)
        if each.is_sampled and message["role"] == "assistant"
    ]
    if naive_lines:
        members["findings"] = (*members.get("findings", ()), (naive_lines[0], RepeatedViolation("naive-timestamp")))
    bounds = {"started_at": min(times_of), "ended_at": max(times_of)} if times_of else session_times or {}
    return Origin(
        **{**bounds, **members}, replies=tuple(replies), lines=tuple(each.line for each in logged_messages.evidence)
    )


def span(start: Json, end: Json) -> Object:
    """Return the start and end times of a session as members of an origin; empty if there is no start time."""
    first, last = moment(start), moment(end)
    return {"started_at": first.at, "ended_at": (last or first).at} if first else {}


def bounds(start: Json, end: Json) -> Object:
    """Return the result of ``span`` with an end time that is never before the start time."""
    times_of = span(start, end)
    return {**times_of, "ended_at": max(times_of.values())} if times_of else {}


def session_folder(path: str, inner: str = "") -> str | None:
    """Return the name of a file's folder; if its parent is called ``inner``, the name of the folder above both."""
    folders = path.split("/")[:-1]
    if inner and folders[-2:-1] == [inner]:
        folders = folders[:-2]
    return (folders or [""])[-1] or None


def entries(values: list[Json], lines: list[int] | None) -> Iterator[tuple[int, int, Object]]:
    """Yield the objects of a file with their 1-based places and lines; raise ``TurnError`` for other values."""
    rows = zip(range(1, len(values) + 1), line_numbers(values, lines), values, strict=True)
    return rows if {dict}.issuperset(map(type, values)) else _objects_of(rows)


def _objects_of(rows: Iterable[tuple[int, int, Json]]) -> Iterator[tuple[int, int, Object]]:
    for place, line, value in rows:
        if not isinstance(value, dict):
            raise TurnError(f"entry {place} is not an object")
        yield place, line, value


def entries_after_header(
    values: list[Json], lines: list[int] | None, of: str, unread: Unread, *read: str
) -> tuple[Object, list[tuple[int, int, Object]]]:
    """Return a session's header (the first line of type ``of``), and the lines of other types as in ``entries``."""
    header, rows = Object(), list[tuple[int, int, Object]]()
    for place, line, value in entries(values, lines):
        if value.get("type") == of:
            header = header or value
            unread.count_members(of, value, *read)
        else:
            rows.append((place, line, value))
    return header, rows


def line_numbers(objects: list[Json], lines: list[int] | None) -> Sequence[int]:
    """Return the line number of each object of a file."""
    return range(1, len(objects) + 1) if lines is None else lines


def message_lists(values: list[Json], lines: Sequence[int], mark: str, *members: str) -> list[MessageList]:
    """Return the message lists in a file.

    Args:
        values: the values of the file
        lines: their line numbers
        mark: a member of messages; if any value has it, the values themselves are the only message list
        members: the members of a value that may contain a list
    """
    if any(isinstance(value, dict) and mark in value for value in values):
        return [MessageList(values, lines)]
    lists_of_messages: list[MessageList] = []
    for value, line in zip(values, lines, strict=True):
        lists = [value, *[at(value, member) for member in members]]
        turns = next((each for each in lists if isinstance(each, list)), None)
        lists_of_messages += [MessageList(turns, [line] * len(turns), value)] if turns is not None else []
    return lists_of_messages


def at_line(conversation: Conversation, line: int) -> Conversation:
    """Return a conversation with all its messages at one line."""
    replies = tuple(structs.replace(reply, line=line) for reply in origin_of(conversation).replies)
    return with_origin(conversation, replies=replies, lines=(line,) * len(conversation.messages))


def origin_of(conversation: Conversation) -> Origin:
    """Return the origin of a conversation."""
    return conversation.origin or Origin()


def replies_of_turns(conversation: Conversation, turns: Iterable[Turn]) -> list[OriginReply | None]:
    """Return the evidence of each assistant turn that is written; ``None`` for all if turns were joined or divided."""
    count = sum(turn.role == "assistant" for turn in turns)
    replies_by_message = {each.at: each for each in origin_of(conversation).replies}
    places = [at for at, message in enumerate(conversation.messages or ()) if message["role"] == "assistant"]
    return [replies_by_message.get(at) for at in places] if len(places) == count else [None] * count


def with_origin(conversation: Conversation, **members: Any) -> Conversation:
    """Return a conversation with other values for some members of its origin."""
    return structs.replace(conversation, origin=structs.replace(origin_of(conversation), **members))


_PLAIN = lazy_compile(r"(?:[A-Za-z_$ -]++\d{0,3}+\.?+)++")
_ID = lazy_compile(r"[A-Za-z_$-]{1,40}\d{0,3}")


def member_path(holder: str, name: str) -> str:
    """Join the names of an object and its member for display in findings."""
    # Addresses, paths and numbers stay separate words, so that redaction rules for such values still match.
    is_plain = _PLAIN.fullmatch(holder) and _ID.fullmatch(name)
    return f"{holder}.{name}" if is_plain else f"{holder} {name}"


_Waiting = tuple[list[tuple[str, str]], list[Object]]
"""The unread members of objects, each with its name in the counts, and the objects."""


class Unread(Struct):
    """Counts of the members and lines of a file that are not part of any conversation, by name."""

    counts: Counter[str] = field(default_factory=Counter)
    shapes: dict[tuple[str, ...], _Waiting] = field(default_factory=dict)
    """The objects that are not counted yet, by their name and their members."""
    waiting: int = 0
    """The maximum number of names that counting these members adds."""
    is_crowded: bool = False
    """Whether the number of names may reach the limit, so that the order decides which names are counted."""

    def count_members(self, name: str, holder: Json, *read: str) -> None:
        """Count the unread members of an object, except those that are null or empty."""
        if isinstance(holder, dict):
            # Most objects have the same members, so they are counted together.
            shape = (name, *holder)
            names, holders = self.shapes.get(shape) or self._add_shape(
                shape, [key for key in holder if key not in read]
            )
            if names:
                holders.append(holder)
                if self.is_crowded:
                    self._count_waiting([(names, holders)])

    def _add_shape(self, shape: tuple[str, ...], unread: list[str]) -> _Waiting:
        """Add a shape with the unread members of its objects."""
        group = [(key, member_path(shape[0], key)) for key in unread], list[Object]()
        self.waiting += len(unread)
        if max(len(self.shapes), len(self.counts) + self.waiting) >= _NAMES:
            self._expect_limit()
        if len(self.shapes) < _NAMES:
            self.shapes[shape] = group
        return group

    def _expect_limit(self) -> None:
        """Count each object immediately, because the number of names may reach the limit."""
        if not self.is_crowded:
            self.is_crowded = True
            self._count_waiting(self.shapes.values())

    def _count_waiting(self, groups: Iterable[_Waiting]) -> None:
        for names, holders in groups:
            for key, path in names if holders else ():
                values = list(map(itemgetter(key), holders))
                empty = 0 if all(values) else sum(value is None or value in _EMPTY for value in values)
                if len(values) > empty:
                    self._add(path, len(values) - empty)
            holders.clear()

    def count(self, name: str) -> None:
        """Count an item, such as a line whose type is not part of conversations."""
        if len(self.counts) + self.waiting >= _NAMES:
            self._expect_limit()
        self._add(name, 1)

    def _add(self, name: str, number: int) -> None:
        # Names come from the file, so both their length and their number are limited.
        short = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…"
        is_counted = short in self.counts or len(self.counts) < _NAMES
        self.counts[short if is_counted else "other names"] += number

    def counts_for(self, place: int) -> Object:
        """Return the counts for the first conversation of a file, and nothing for the others."""
        # The counts describe the file, so they are reported only once.
        if place:
            return {}
        self._count_waiting(self.shapes.values())
        return dict(sorted(self.counts.items()))
