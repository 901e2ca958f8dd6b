"""The lines of a plain log to the session that they come to, without an entry for each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import FileIO
from operator import le

from msgspec import Raw, Struct
from msgspec.json import Decoder

from chatsquash.chat import tool_name
from chatsquash.jsonio import loads
from chatsquash.memo import Last
from chatsquash.model import Entry, Message, Repeated, Reply, Skipped, Tool
from chatsquash.options import Options
from chatsquash.read.bounds import Bounds, are_within
from chatsquash.read.entries import EntryReader
from chatsquash.read.exchange import LineError
from chatsquash.read.lines import Buffers, Line
from chatsquash.read.recognise import Shape
from chatsquash.read.tools import NO_TOOLS, KnownTools
from chatsquash.read.transcript import NotPlainError, Transcript, transcribe
from chatsquash.stages.cleaning import clean, clean_at_once, may_drop
from chatsquash.stages.select import ToolUnion, flatten, same_tools
from chatsquash.stages.session import Session, Snapshot, Tally
from chatsquash.times import at_once
from chatsquash.tree.follow import Followed, Grown, is_same

_ROLES = {"system", "developer", "user", "assistant", "tool"}


class _Answered(Struct, gc=False):
    response: Raw


_answered = Decoder(_Answered)


class PlainWay:
    """Reads plain logs; tools met in one need not be parsed again in the next."""

    def __init__(self, options: Options) -> None:
        self._bounds = Bounds.of(options)
        self._sets = options.cleanups
        self._known = KnownTools(self._bounds.hold_new)
        self._room = Buffers()
        self._union = Last(_union)

    @staticmethod
    def fits(options: Options) -> bool:
        """Whether the options ask for nothing that needs an entry for each line."""
        is_usual = options.from_format is None and options.sessions_by in (None, "file") and not options.check_arguments
        return is_usual and options.cleanups in ((), ("goose",))

    def session(self, file: FileIO, hashed: Callable[[memoryview], object]) -> Session:
        """What the lines of a log come to; raises ``NotPlainError`` for a log that is not plain."""
        told = transcribe(file, self._bounds.light, hashed, self._room, self)
        times = at_once(told.times)
        if times is None or not all(map(le, times, times[1:])) or len(told.session_ids) > 1 or "" in told.session_ids:
            raise NotPlainError
        if not told.model:  # the request tells it then
            raise NotPlainError
        roles = _held_roles(told)
        self._hold(told)
        tools = self._tools(told.tools)
        messages, counts, cleaned = self._cleaned(told, roles)
        (named,) = told.session_ids
        limit, count = _spelled(told.limit), len(told.lines)
        raw = bytes(_answered.decode(told.last).response)
        reply = Reply(told.replies[-1], told.choices, told.reasons[-1], model=told.model, raw=raw)
        last = Entry(
            *(told.lines[-1], times[-1], named, messages, (), tools, reply),
            cleaned=cleaned,
            size=told.last_size,
            limit=limit,
        )
        first = Entry(told.lines[0], times[0], named, messages[: counts[0]], (), tools, Reply())
        grown = partial(_grown, told, times, counts, tools, limit)
        followed = Followed(
            lazily=True, first=first, last=last, told=grown, replied=list(zip(told.replies, counts, strict=True))
        )
        tally = Tally(id=named, followed=followed)
        tally.lines.all, tally.sizes.all = count, told.size - sum([each.size for each in told.skipped])
        before = tally.sizes.all - told.last_size
        if named is None or told.skipped or len(set(times)) < count:
            _note(tally, told, times, named)
        if len(tally.rejected) > self._bounds.rejected:
            raise NotPlainError
        return tally.session(Snapshot(last, self._union(tools), times[0], times[-1], count - 1, 0, before))

    # What is asked while the lines are read

    def is_side(self, messages: list[Message]) -> bool:
        """Whether a request may be one of the client's own."""
        return may_drop(messages, self._sets)

    def skipped(self, line: Line) -> Skipped | None:
        """A line that is blank, unreadable, or dropped by cleaning; ``None`` for any other."""
        reader = EntryReader(Shape(), {}, self._bounds)
        found = next(clean(reader.entries([line]), self._sets), None)
        return found if isinstance(found, Skipped) else None

    # What becomes of them

    def _hold(self, told: Transcript) -> None:
        """Hold the messages to the bounds."""
        nesting = self._bounds.nesting
        is_within = are_within(told.messages, nesting) and are_within(told.replies[-1:], nesting)
        if len(told.messages) > self._bounds.messages or not is_within:
            raise NotPlainError

    def _tools(self, raw: bytes) -> list[Tool]:
        if not raw:
            return NO_TOOLS
        if raw[:1] != b"[":
            raise NotPlainError
        try:
            return self._known.learn(raw, loads)
        except LineError:
            raise NotPlainError from None

    def _cleaned(self, told: Transcript, roles: list[str]) -> tuple[list[Message], list[int], dict[str, int]]:
        """The messages of the last request, how many of them each has, and what rules changed."""
        request = clean_at_once(told.messages, roles, self._sets) if self._sets else None
        if request is None:
            return told.messages, told.counts, {}
        if request.lost_any:  # which depends on the message behind, so on the request
            raise NotPlainError
        counts = told.counts
        if len(request.messages) < len(told.messages):
            left = [0]
            for at in range(len(told.messages)):
                left.append(left[-1] + (request.place(at) is not None))
            counts = [left[count] for count in counts]
        return request.messages, counts, request.cleaned()


def _held_roles(told: Transcript) -> list[str]:
    """The roles of the messages, where each request goes on with the reply to the one before it."""
    messages, replies = told.messages, told.replies
    try:
        roles = [message["role"] for message in messages]
        if not _ROLES.issuperset(roles) or {type(reply.get("role")) for reply in replies} != {str}:
            raise NotPlainError
        said = [messages[count] for count in told.counts[:-1]]
    except (KeyError, TypeError, IndexError):
        raise NotPlainError from None
    if said == replies[:-1]:
        is_held = {message["role"] for message in said} <= {"assistant"}
    else:
        pairs = zip(said, replies[:-1], strict=True)
        is_held = all(one["role"] == "assistant" and (one == other or is_same(one, other)) for one, other in pairs)
    if not is_held or sorted(set(told.counts)) != told.counts:
        raise NotPlainError
    return roles


def _union(tools: list[Tool]) -> list[Tool]:
    """The definitions of one list as a session has them, where none contradicts another."""
    flat = list(map(flatten, tools))
    names = set(map(tool_name, flat))
    if len(names) == len(flat) and None not in names:
        return same_tools(flat)
    union = ToolUnion()
    if any(True for _ in union.offer(tools, 1)):
        raise NotPlainError
    union.settle()
    return union.settled()


def _spelled(limits: tuple[object, ...]) -> bytes:
    """The member of a request that says how many tokens its reply may have, as JSON."""
    counts = [limit for limit in limits if isinstance(limit, int)]
    return str(counts[0]).encode() if counts else b"null" if None in limits else b""


def _note(tally: Tally, told: Transcript, times: list[int], named: str | None) -> None:
    """Take note of what is found at lines, in their order."""
    noted: list[tuple[int, Repeated | Skipped]] = [(each.line or 0, each) for each in told.skipped]
    if named is None:
        noted += [(line, Repeated("missing-session-id")) for line in told.lines]
    pairs = zip(told.lines[1:], times, times[1:], strict=False)
    noted += [(line, Repeated("equal-timestamps")) for line, before, at in pairs if before == at]
    for line, each in sorted(noted, key=lambda item: item[0]):
        if isinstance(each, Skipped):
            tally.skipped(each)
        else:
            tally.note(line, (each,))


def _grown(told: Transcript, times: list[int], counts: list[int], tools: list[Tool], limit: bytes) -> list[Grown]:
    """The requests and their replies, one by one."""
    rows = zip(told.lines, times, told.replies, told.reasons, told.ids, counts, strict=True)
    return [
        Grown(line, at, tools, message, reason, False, limit, named if isinstance(named, str) else "", count)
        for line, at, message, reason, named, count in rows
    ]
