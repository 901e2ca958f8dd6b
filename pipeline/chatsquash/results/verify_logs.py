"""Whether logs are what they were when a run converted them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

from xxhash import xxh3_128

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.text import counted, printable
from chatsquash.reading.documents import is_document
from chatsquash.reading.lines import lines
from chatsquash.reading.sessions import SPAN
from chatsquash.redact.privacy import path_digest
from chatsquash.redact.pseudonyms import fingerprint
from chatsquash.session.parts import parts
from chatsquash.sources.find import discover
from chatsquash.sources.open import opened, raw

_ESCAPED = re.compile(r"\\udc([89a-f][0-9a-f])")
_BOUNDS = ("max_line", "max_expansion", "max_expanded", "sessions_by")
"""The options that say how far logs were read, and what was a session."""


class Known(NamedTuple):
    """Logs as they were given to ``convert``, and the key of that run."""

    logs: Sequence[str]
    key: bytes

    def paths(self, told: str | None) -> dict[str, str]:
        """The paths of the logs by their digests; raises ``UsageError`` where the run had another key."""
        if told is None:
            return {}
        if fingerprint(self.key) != told:
            raise UsageError(f"the key is not that of the run, {told}: name that one with --anonymize-key-file")
        found = discover(list(self.logs), Options(anonymize=False), is_document)
        return {path_digest(self.key, printable(log.shown)): log.shown for log in found.logs}


class Compared(NamedTuple):
    """How many logs were compared, and what does not agree."""

    logs: int
    problems: list[str]


def compare(run: dict[str, Any], place: str, paths: dict[str, str]) -> Compared:
    """Compare the logs of a run with their hashes, as ``run.json`` at a place has them.

    ``paths`` has those of logs whose paths are replaced there, by their digests.
    """
    count, problems = 0, list[str]()
    left, hidden = len(run["inputs"]), 0
    bounds = Options(**{name: run["options"][name] for name in _BOUNDS})
    for (path, digest), inputs in groupby(run["inputs"], lambda told: (told["path"], told.get("path_digest"))):
        told = list(inputs)
        left -= len(told)
        if digest and digest not in paths:
            hidden += 1
            continue
        count += 1
        is_cut = not left and run["options"].get("limit") == len(run["inputs"])
        digests = [each["xxh3_128"] for each in told]
        problems += differences(paths.get(digest, path), digests, bounds, len(told) if is_cut else None)
    if hidden:
        which = "are not among LOGS" if paths else "are replaced: give LOGS as they were given to convert"
        problems.append(f"{place}: the paths of {counted(hidden, 'log')} {which}")
    return Compared(count, problems)


def differences(path: str, told: list[str], options: Options, taken: int | None = None) -> Iterator[str]:
    """How a log differs from its hashes, as one session or several; of these maybe only the first ones."""
    log = Log(spelled(path), path, Path(path).name, 0)
    digests = list(filter(None, told))  # empty: it could not be read then, either
    try:
        with raw(log.path) as file:
            whole = {hashlib.file_digest(file, xxh3_128).hexdigest()} if digests else set()
            if set(digests) != whole and sorted(digests) != sorted(islice(_parts(log, options), taken)):
                yield f"{path}: is not what it was when it was converted"
    except OSError as problem:
        if digests:
            yield f"{path}: cannot be read ({problem.strerror})"


def spelled(path: str) -> str:
    """A path as the system has it: bytes that are no text stand escaped in ``run.json``."""
    if os.path.lexists(path):
        return path
    return _ESCAPED.sub(lambda found: chr(0xDC00 + int(found[1], 16)), path)


def _parts(log: Log, options: Options) -> Iterator[str]:
    """The hashes of the sessions that a file holds."""
    with opened(log.path, options) as file:
        digests = [(xxh3_128(), part.spans or ()) for part in parts(log, options)]
        owners = {number: digest for digest, spans in digests for number in spans[::SPAN]}
        file.seek(0)
        for line in lines(file, options.max_line):  # once, since in a compressed log going back is to begin again
            if owner := owners.get(line.number):  # none: the log grows
                owner.update(line.buffer[line.start : line.stop])
    return (digest.hexdigest() for digest, _ in digests)
