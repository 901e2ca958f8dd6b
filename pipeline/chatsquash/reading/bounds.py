"""How large what is read of a line may be; beyond that, the line is left out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from chatsquash.core import footprint, platform
from chatsquash.core.model import AddedRun, Response, Tool
from chatsquash.core.options import Options
from chatsquash.reading.exchange import LineError

if TYPE_CHECKING:
    from chatsquash.reading.deltas import Request


class Bounds(NamedTuple):
    """The bounds that the options of the same names set."""

    line: int
    nesting: int
    messages: int
    rejected: int
    memory: int
    light: int
    """Bytes of a line up to which it is within ``line`` and ``memory``, whatever it holds."""

    @classmethod
    def of(cls, options: Options) -> Bounds:
        """Those of a run, in this process."""
        left = platform.available_memory()
        memory = options.max_memory if left is None else min(options.max_memory, left // _HEADROOM)
        light = min(options.max_line, memory // footprint.FACTOR)
        rest = options.max_nesting, options.max_messages, options.max_rejected
        return cls(options.max_line, *rest, options.max_memory, light)

    def hold_size(self, data: bytes | bytearray, length: int) -> None:
        """Raise ``LineError`` for a line that is too long, or that would take too much memory once it is parsed.

        ``data`` is what there is of its ``length`` bytes.  Where this process may not take as much, raise
        ``MemoryError``.
        """
        if length > len(data):
            raise self.too_long()
        if footprint.exceeds(data, self.memory):
            raise LineError("bad-line", footprint.refusal(self.memory))
        footprint.require_memory(data)

    def too_long(self) -> LineError:
        """The error for a line that is longer."""
        return LineError("bad-line", f"longer than the {self.line:,} bytes that are read (--max-line)")

    def too_many(self) -> str:
        """Why a log of which more lines cannot be read is read no further."""
        return f"more than {self.rejected:,} of its lines cannot be read (--max-rejected allows more)"

    def hold_tools(self, tools: list[Tool]) -> None:
        """Raise ``LineError`` for tools that are nested too deeply."""
        if not _are_within(tools, self.nesting):
            raise self.too_deep()

    def hold_new(self, tools: dict[bytes, Tool]) -> None:
        """The same for tools by their raw JSON, of which each level takes two bytes at least."""
        self.hold_tools([tool for raw, tool in tools.items() if len(raw) > 2 * self.nesting])

    def hold(self, request: Request, reply: Response) -> None:
        """Raise ``LineError`` for a line whose request has too many messages, or that is nested too deeply."""
        if len(request.messages) > self.messages:
            seen = f"request has {len(request.messages):,} messages"
            raise LineError("bad-entry", f"{seen}, more than the {self.messages:,} that are read (--max-messages)")
        message = reply.message
        new: list[Any] = [message] if message is not None and {*map(type, message.values())} != _TEXTS else []
        new += (message for run in request.edits if type(run) is AddedRun for message in run.messages)
        if new and not _are_within(new, self.nesting):
            raise self.too_deep()

    def too_deep(self) -> LineError:
        """The error for a line that is nested more deeply."""
        reason = f"nested more deeply than the {self.nesting:,} levels that are read (--max-nesting)"
        return LineError("bad-line", reason)


_HEADROOM = 16
"""What is left to a process when it begins is so many times what a line takes that is not looked at any further."""
_TEXTS = {str}
"""The types of what is in a message that has no more levels than there must be."""
_ENCODED = 254
"""Levels that orjson writes; it refuses values with more."""
BOUNDS = Bounds.of(Options())


def _are_within(values: list[Any], most: int) -> bool:
    """Whether values have at most so many levels; an encoder that refuses more than it has tells it at once."""
    if most > _ENCODED:
        try:
            orjson.dumps(values)
        except orjson.JSONEncodeError:
            pass  # for that, or for something else
        else:
            return True
    return levels(values, most) <= most


def levels(values: Iterable[Any], most: int) -> int:
    """How many levels of lists and objects values have, which may be some themselves; at most ``most`` + 1."""
    for level in range(most + 1):
        inner: list[Any] = []
        for value in values:
            kind = type(value)
            if kind is dict or kind is list:
                inner.append(value.values() if kind is dict else value)
        if not inner:
            return level
        values = inner[0] if len(inner) == 1 else chain.from_iterable(inner)
    return most + 1
