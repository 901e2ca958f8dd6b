"""The lines of a plain log to the session that they come to, without an entry for each of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import FileIO
from operator import is_not, le

from msgspec import Raw, Struct
from msgspec.json import Decoder

from chatsquash.chat import tool_name
from chatsquash.entries import tokens as counts_of
from chatsquash.entries.bounds import Bounds
from chatsquash.entries.exchange import LineError
from chatsquash.entries.lines import Buffers, Line
from chatsquash.entries.tools import NO_TOOLS, KnownTools
from chatsquash.entries.transcript import NotPlainError, Transcript, transcribe
from chatsquash.formats import PLAIN
from chatsquash.jsonio import FLAT, loads
from chatsquash.memo import Last
from chatsquash.model import Entry, Message, Repeated, Reply, Skipped, Tool
from chatsquash.options import Options
from chatsquash.stages.cleaning import clean, clean_at_once, may_drop, touched
from chatsquash.stages.select import ToolUnion, flatten, same_tools
from chatsquash.stages.session import Session, Snapshot, Tally
from chatsquash.times import at_once
from chatsquash.tree.follow import Followed, Grown, is_same

_ROLES = {"system", "developer", "user", "assistant", "tool"}


class _Asked(Struct, gc=False):
    model: Raw = Raw()


class _Answered(Struct, gc=False):
    request: _Asked
    response: Raw


_answered = Decoder(_Answered)


class PlainWay:
    """Reads plain logs; tools met in one need not be parsed again in the next."""

    def __init__(self, options: Options) -> None:
        self.bounds = Bounds.of(options)
        """Those of what is read."""
        self._sets = options.cleanups
        self._tells_usage = options.folder or bool(options.only_model)
        self._known = KnownTools(self.bounds.hold_new)
        self.room = Buffers()
        """What files are read into."""
        self.union = Last(_union)
        """The definitions of one list as a session has them, where none contradicts another."""

    @staticmethod
    def fits(options: Options) -> bool:
        """Whether the options ask for nothing that needs an entry for each line."""
        is_usual = options.from_format is None and options.sessions_by in (None, "file") and not options.check_arguments
        return is_usual and options.cleanups in ((), ("goose",)) and options.max_nesting >= FLAT

    def transcribe(self, file: FileIO, hashed: Callable[[memoryview], object]) -> Transcript:
        """The lines of a log, of which ``hashed`` is given all bytes; raises ``NotPlainError`` for any other log."""
        return transcribe(file, self.bounds.light, hashed, self.room, self)

    def session(self, told: Transcript, file: FileIO) -> Session:
        """What the lines of a log come to; raises ``NotPlainError`` for a log that is not plain."""
        times = at_once(told.times)
        if times is None or not all(map(le, times, times[1:])) or len(told.session_ids) > 1 or "" in told.session_ids:
            raise NotPlainError
        if not self._is_told(told.skipped, file):
            raise NotPlainError
        roles = _roles(told)
        self._hold(told, roles)
        if len(told.messages) > self.bounds.messages:
            raise NotPlainError
        tools = self.tools(told.tools)
        messages, counts, cleaned = self._cleaned(told, roles)
        (named,) = told.session_ids
        limit, count = _spelled(told.limit), len(told.lines)
        answered = told.replies[-1], told.choices, told.reasons[-1]
        raw, asked = _raw(told.last) if self._tells_usage else (b"", b"")
        used = counts_of.of_raw(told.usages[-1:])
        reply = Reply(*answered, model=told.model, raw=raw, asked=asked, tokens=used)
        last = Entry(
            *(told.lines[-1], times[-1], named, messages, (), tools, reply),
            cleaned=cleaned,
            size=told.last_size,
            limit=limit,
        )
        begun = messages[: counts[0]]
        if told.lasts:
            begun[-1:] = told.lasts[:1]
        first = Entry(told.lines[0], times[0], named, begun, (), tools, Reply())
        grown = partial(_grown, told, times, counts, tools, limit)
        followed = Followed(
            lazily=True,
            first=first,
            last=last,
            told=grown,
            replied=list(zip(told.replies, counts, strict=True)),
            tokens=counts_of.of_raw(told.usages),
        )
        tally = Tally(id=named, followed=followed)
        tally.lines.all, tally.sizes.all = count, told.size - sum([each.size for each in told.skipped])
        before = tally.sizes.all - told.last_size
        if named is None or told.skipped or len(set(times)) < count:
            _note(tally, told, times, named)
        if len(tally.rejected) > self.bounds.rejected or (told.heads and tally.asides):
            raise NotPlainError
        return tally.session(Snapshot(last, self.union(tools), times[0], times[-1], count - 1, 0, before))

    # What is asked while the lines are read

    def is_side(self, messages: list[Message]) -> bool:
        """Whether a request may be one of the client's own."""
        return may_drop(messages, self._sets)

    def skipped(self, line: Line) -> Skipped | None:
        """A line that is blank, unreadable, or dropped by cleaning; ``None`` for any other."""
        from chatsquash.entries.entries import EntryReader  # which few logs need
        from chatsquash.entries.recognise import Shape

        reader = EntryReader(Shape(), {}, self.bounds)
        found = next(clean(reader.entries([line]), self._sets), None)
        return found if isinstance(found, Skipped) else None

    # What becomes of them

    def _hold(self, told: Transcript, roles: list[str]) -> None:
        """Raise ``NotPlainError`` where a request may be no continuation of the one before it."""
        if not told.heads:
            _hold_replies(told, roles)
            return
        from chatsquash.stages import changed_ends  # which logs that only grow do not need

        changed_ends.hold(told, roles, self._sets)

    def _is_told(self, skipped: list[Skipped], file: FileIO) -> bool:
        """Whether the first lines tell that a log is chat, even where some of them are none."""
        if not skipped:
            return True
        from chatsquash.entries.recognise import AGREEING, Shape, look  # which few logs need

        if not any((each.line or 0) <= AGREEING and not each.rule for each in skipped):
            return True
        shape, seen = look(file, memory=self.bounds.memory)
        return seen.format == PLAIN and shape == Shape()

    def tools(self, raw: bytes) -> list[Tool]:
        """Raw tools, parsed; raises ``NotPlainError`` for what is none."""
        if not raw:
            return NO_TOOLS
        if raw[:1] != b"[":
            raise NotPlainError
        try:
            return self._known.learn(raw, loads)
        except (LineError, ValueError, RecursionError):
            raise NotPlainError from None

    def _cleaned(self, told: Transcript, roles: list[str]) -> tuple[list[Message], list[int], dict[str, int]]:
        """The messages of the last request, how many of them each has, and what rules changed."""
        if not touched(told.messages, roles, self._sets):
            return told.messages, told.counts, {}
        request = clean_at_once(told.messages, self._sets)
        if request.lost_any or (told.heads and any(map(is_not, request.messages[1:], told.messages[1:]))):
            raise NotPlainError  # which depends on what stands behind, so on the request
        if may_drop(request.messages, self._sets):  # as what cleaning left of them tells
            raise NotPlainError
        counts = told.counts
        if len(request.messages) < len(told.messages):
            left = [0]
            for at in range(len(told.messages)):
                left.append(left[-1] + (request.place(at) is not None))
            counts = [left[count] for count in counts]
        return request.messages, counts, request.cleaned()


def _roles(told: Transcript) -> list[str]:
    """The roles of the messages."""
    try:
        roles = [message["role"] for message in told.messages]
        is_known = _ROLES.issuperset(roles) and {type(reply.get("role")) for reply in told.replies} == {str}
        if is_known and sorted(set(told.counts)) == told.counts:
            return roles
    except (KeyError, TypeError):  # no message
        pass
    raise NotPlainError


def _hold_replies(told: Transcript, roles: list[str]) -> None:
    """Raise ``NotPlainError`` where a request does not go on with the reply to the one before it."""
    if not {"assistant"}.issuperset([roles[count] for count in told.counts[:-1]]):
        raise NotPlainError
    said, replies = [told.messages[count] for count in told.counts[:-1]], told.replies[:-1]
    if said != replies and not all(
        one == other or is_same(one, other) for one, other in zip(said, replies, strict=True)
    ):
        raise NotPlainError


def _raw(line: bytes) -> tuple[bytes, bytes]:
    """The response of a line, and the model that it was asked of."""
    found = _answered.decode(line)
    return bytes(found.response), bytes(found.request.model)


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
