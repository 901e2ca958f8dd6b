"""Which session the file of an agent belongs to, and which one it may repeat, read from its first lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chatsquash.core import jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.formats.agents import opencode
from chatsquash.formats.ancestry import Ancestry, of_objects
from chatsquash.reading import envelopes, sidecars
from chatsquash.sources.beginnings import complete, read
from chatsquash.sources.open import open_file, raw

_GLANCES = (1 << 15, 1 << 20)
"""Bytes of a log in which its first message is looked for."""
_PIECE, _OVERLAP = 1 << 22, 1 << 10
_OBJECTS = 200
"""Lines in which it is looked for, without blank ones."""
BLANK = b"\0 \t\r\n"
"""Bytes around a line that are no part of it."""


def ancestry(log: Log, options: Options) -> Ancestry:
    """What a log says of its own session and of the one that it repeats; nothing for a log of exchanges."""
    for most in _GLANCES:
        try:
            data = _beginning(log, options, most)
        except OSError:
            break
        values = [*_objects(data, is_all=len(data) < most)]
        if len(values) == 1 and opencode.is_session(values[0]):  # whose messages are files of their own
            values += [{"info": each} for each in sidecars.first(opencode.NAME, log.path, options)]
        known = of_objects(values)
        if known.keys or len(data) < most or envelopes.recognise(data.partition(b"\n")[0]) is not None:
            return known
    return Ancestry()


def _beginning(log: Log, options: Options, most: int) -> bytes:
    """Return the first bytes of a log; of a plain one without looking for anything else that it may be."""
    with raw(log.path) as file:
        data = read(file, most)
    if data.startswith(b"{"):
        return data
    with open_file(log.path, options) as file:
        return read(file, most)


def _objects(data: bytes, *, is_all: bool) -> Iterator[Json]:
    """Yield the first values of a file, of which ``data`` may be the beginning only."""
    start = number = 0
    while number < _OBJECTS:
        stop = data.find(b"\n", start)
        line = data[start:stop].strip(BLANK) if stop >= 0 else b""
        if stop >= 0 and not line:
            start = stop + 1
            continue
        value = jsonio.value(line) if line else None
        if value is None and (not number or (is_all and stop < 0)):
            value = jsonio.value(
                data[start:] if is_all else complete(data)
            )  # a value on several lines, or the last line
            yield from value if isinstance(value, list) else [value]
            return
        if stop < 0:
            return
        if value is not None:
            yield value
        start = stop + 1
        number += 1


def ids_in(log: Log, ids: Iterable[str], options: Options) -> list[str]:
    """Return which of some ids are those of lines of a log, whose bytes alone are looked at."""
    pattern = re.compile(rb'"uuid": ?"(' + b"|".join(re.escape(each.encode()) for each in ids) + rb')"')
    names: dict[str, None] = {}
    try:
        with open_file(log.path, options) as file:
            rest = b""
            while data := file.read(_PIECE):
                names.update(dict.fromkeys(match[1].decode() for match in pattern.finditer(rest + data)))
                rest = data[-_OVERLAP:]
    except OSError:
        return []
    return list(names)
