"""Limits on the size of lines; lines that exceed one are skipped."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from types import NoneType
from typing import TYPE_CHECKING, Any

import orjson
from msgspec import Struct

from chatsquash.core import footprint, platform
from chatsquash.core.model import AddedRun, Response, Tool
from chatsquash.core.options import Options
from chatsquash.reading.exchange import LineError

if TYPE_CHECKING:
    from chatsquash.reading.deltas import Request


class Bounds(Struct, frozen=True):
    """Limits set by the options with these names."""

    line: int
    nesting: int
    messages: int
    rejected: int
    memory: int
    safe_size: int
    """The number of bytes up to which any line is within ``line`` and ``memory``, whatever its content."""

    @classmethod
    def of(cls, options: Options) -> Bounds:
        """Return the limits for this process."""
        available = platform.available_memory()
        memory = options.max_memory if available is None else min(options.max_memory, available // _HEADROOM)
        safe_size = min(options.max_line, memory // footprint.FACTOR)
        rest = options.max_nesting, options.max_messages, options.max_rejected
        return cls(options.max_line, *rest, options.max_memory, safe_size)

    def check_size(self, data: bytes | bytearray, length: int) -> None:
        """Raise ``LineError`` for a line that is too long or would take too much memory when parsed.

        Args:
            data: The available bytes of the line; fewer than ``length`` if the line is too long.
            length: The length of the line in bytes.

        Raises:
            LineError: The line exceeds a limit set by an option.
            MemoryError: The line exceeds the memory available to this process.
        """
        if length > len(data):
            raise self.too_long()
        if footprint.exceeds(data, self.memory):
            raise LineError("bad-line", footprint.refusal(self.memory))
        footprint.require_memory(data)

    def too_long(self) -> LineError:
        """Return the error for a line that exceeds ``--max-line``."""
        return LineError("bad-line", f"longer than {self.line:,} bytes (--max-line)")

    def too_many(self) -> str:
        """Return why reading stops after too many unreadable lines."""
        return f"more than {self.rejected:,} of its lines cannot be read (--max-rejected allows more)"

    def check_tools(self, tools: list[Tool]) -> None:
        """Raise ``LineError`` for tools that are nested too deeply."""
        if not _are_within(tools, self.nesting):
            raise self.too_deep()

    def check_new_tools(self, tools: list[Tool], length: int) -> None:
        """Raise ``LineError`` for new tools that are nested too deeply; ``length`` is the size of their raw JSON."""
        # Each level takes at least two bytes, so short definitions cannot be too deep.
        if length > 2 * self.nesting:
            self.check_tools(tools)

    def check(self, request: Request, reply: Response) -> None:
        """Raise ``LineError`` for a line with too many messages or too deep nesting."""
        if len(request.messages) > self.messages:
            observed = f"request has {len(request.messages):,} messages"
            raise LineError("bad-entry", f"{observed}, more than the {self.messages:,} that are read (--max-messages)")
        # Each level takes at least two bytes, so what was read from few bytes cannot be too deep.
        message, few = reply.message, 2 * self.nesting
        new: list[Any] = [] if message is None or 0 < len(reply.raw) <= few else [message]
        if request.length > few:
            for run in request.edits:
                if type(run) is AddedRun:
                    new += run.messages
        nested = new and [
            each for each in new if type(each) is not dict or not _FLAT.issuperset(map(type, each.values()))
        ]
        if nested and not _are_within(nested, self.nesting):
            raise self.too_deep()

    def too_deep(self) -> LineError:
        """Return the error for a line that is nested more deeply than ``--max-nesting``."""
        reason = f"nested more deeply than {self.nesting:,} levels (--max-nesting)"
        return LineError("bad-line", reason)


_HEADROOM = 16
"""The memory available at the start, divided by the footprint up to which lines are not checked."""
_FLAT = frozenset((str, NoneType))
"""The value types of most messages without nesting."""
_ENCODED = 254
"""The maximum nesting depth that orjson encodes."""


def _are_within(values: list[Any], limit: int) -> bool:
    """Return whether values are nested at most ``limit`` levels deep."""
    # Encoding is much faster than counting levels, and if it succeeds, the depth is within the encoder's limit.
    if limit > _ENCODED:
        try:
            orjson.dumps(values, default=_flat)
        except orjson.JSONEncodeError:
            pass  # also raised for other reasons, such as lone surrogates
        else:
            return True
    return levels(values, limit) <= limit


def _flat(value: Any) -> None:
    """Encode a turn in a message, which counts as a value without nesting."""


def levels(values: Iterable[Any], limit: int) -> int:
    """Return the nesting depth of values, at most ``limit + 1``."""
    for level in range(limit + 1):
        inner: list[Any] = []
        for value in values:
            kind = type(value)
            if kind is dict or kind is list:
                inner.append(value.values() if kind is dict else value)
        if not inner:
            return level
        values = inner[0] if len(inner) == 1 else chain.from_iterable(inner)
    return limit + 1
