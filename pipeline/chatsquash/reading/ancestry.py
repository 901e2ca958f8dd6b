"""Determine which session an agent's file belongs to, and which session it may repeat, from its first lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from chatsquash.core import jsonio
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.formats.ancestry import Ancestry, of_objects
from chatsquash.reading import envelopes, sidecars
from chatsquash.sources.beginnings import complete, read
from chatsquash.sources.open import open_file, raw

if TYPE_CHECKING:
    from chatsquash.formats.agents import opencode
else:
    opencode = LazyModule("chatsquash.formats.agents.opencode")

_GLANCES = (1 << 15, 1 << 20)
"""The numbers of bytes in which the first message is searched; the second one is used only if the first fails."""
_PIECE, _OVERLAP = 1 << 22, 1 << 10
_OBJECTS = 200
"""The number of non-blank lines to search."""
BLANK = b"\0 \t\r\n"
"""Bytes around a line that do not belong to it."""


def ancestry(log: Log, options: Options) -> Ancestry:
    """Return the ids of a log's own session and of the one that it repeats; empty for a log of exchanges."""
    for limit in _GLANCES:
        try:
            data = _beginning(log, options, limit)
        except OSError:
            break
        values = [*_objects(data, is_all=len(data) < limit)]
        # OpenCode stores messages in separate files, so the session file does not show its ancestry.
        if len(values) == 1 and opencode.is_session(values[0]):
            values += [{"info": each} for each in sidecars.first(opencode.NAME, log.path, options)]
        result = of_objects(values)
        if result.keys or len(data) < limit or envelopes.recognise(data.partition(b"\n")[0]) is not None:
            return result
    return Ancestry()


def _beginning(log: Log, options: Options, limit: int) -> bytes:
    """Return the first bytes of a log."""
    with raw(log.path) as file:
        data = read(file, limit)
    # The common case, in which detecting compression and archives is unnecessary.
    if data.startswith(b"{"):
        return data
    with open_file(log.path, options) as file:
        return read(file, limit)


def _objects(data: bytes, *, is_all: bool) -> Iterator[Json]:
    """Yield the first values of a file; ``data`` may be only its beginning."""
    start = number = 0
    while number < _OBJECTS:
        stop = data.find(b"\n", start)
        line = data[start:stop].strip(BLANK) if stop >= 0 else b""
        if stop >= 0 and not line:
            start = stop + 1
            continue
        value = jsonio.value(line) if line else None
        if value is None and (not number or (is_all and stop < 0)):
            # Either a value that spans several lines or the last line.
            value = jsonio.value(data[start:] if is_all else complete(data))
            yield from value if isinstance(value, list) else [value]
            return
        if stop < 0:
            return
        if value is not None:
            yield value
        start = stop + 1
        number += 1


def ids_in(log: Log, ids: Iterable[str], options: Options) -> list[str]:
    """Return the ids that occur as the id of a line in a log, by searching its bytes."""
    pattern = re.compile(rb'"uuid": ?"(' + b"|".join(re.escape(each.encode()) for each in ids) + rb')"')
    names: dict[str, None] = {}
    try:
        with open_file(log.path, options) as file:
            rest = b""
            while data := file.read(_PIECE):
                names.update(dict.fromkeys(match[1].decode() for match in pattern.finditer(rest + data)))
                # An id may straddle two reads.
                rest = data[-_OVERLAP:]
    except OSError:
        return []
    return list(names)
