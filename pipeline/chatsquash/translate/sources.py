"""What is to be translated: files, folders and streams, in pieces that are read one by one."""

from __future__ import annotations

import glob
import io
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, cast

from msgspec import Struct, field

from chatsquash import formats
from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, Json
from chatsquash.core.options import Options
from chatsquash.core.urls import refuse_remote
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.reading import envelopes, split_files
from chatsquash.reading.identify import PART, forget, is_readable
from chatsquash.reading.members import BYTE_ORDER_MARK
from chatsquash.records.datasets import PARQUET
from chatsquash.records.datasets import files as record_files
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.find import discover
from chatsquash.sources.no_logs import nothing_to_read
from chatsquash.sources.open import open_file
from chatsquash.translate import conversations

STREAM = "-"
"""Standard input, or standard output."""
_FIRST, _FIRST_BYTES = 50, 1 << 24
"""Lines, and bytes of them, by which a file of lines is told."""
_LINES, _LINE_BYTES = 256, 1 << 20
"""Lines, and bytes of them, that are one piece."""


_BUFFER = 1 << 18


class NumberedLine(Struct, frozen=True, gc=False, array_like=True):
    """A line that is not blank."""

    number: int
    """From 1."""
    offset: int
    raw: bytes


class Piece(Struct, frozen=True):
    """A file, or some lines of one each of which holds conversations of its own."""

    file: int
    """The number of the file."""
    shown: str
    name: str
    """What its conversations are called."""
    argument: int
    """The number of the argument that names it."""
    is_found: bool = False
    """Whether it was found in a folder, where not all files have to be readable."""
    data: bytes | None = None
    """What it holds, where it is no file."""
    lines: tuple[NumberedLine, ...] | None = None
    format: str | None = None
    """That of the lines."""
    size: int = 0
    """Bytes, as far as progress counts them."""


class Sources(Struct):
    """Finds pieces, in order."""

    from_format: str | None = None
    out: Path | None = None
    """Where documents are written, which is never read."""
    passed_over: Counter[str] = field(default_factory=Counter)
    """What lay in folders and is not read, in words."""
    _files: int = 0

    def pieces(self, inputs: Iterable[str], stdin: BinaryIO | None) -> Iterator[Piece]:
        """The pieces of files, folders, globs and standard input; raises ``UsageError`` where there is nothing.

        Of the output of a conversion only the records are taken.  What is not read in a folder is counted.
        """
        for number, place in enumerate(inputs):
            refuse_remote(place)
            path = Path(place)
            if place == STREAM:
                if stdin is None:
                    raise UsageError("standard input is closed; name files or folders")
                yield from self._of_stream(stdin, number)
            elif (path / OURS).is_dir():
                for record_file in self._of_output(place):
                    yield from self._of_file(record_file, number, is_found=False)
            elif path.is_dir() or (glob.has_magic(place) and not os.path.lexists(place)):
                for file in self._find(place):
                    yield from self._of_file(file, number, is_found=True)
            else:
                yield from self._of_file(path, number, is_found=False)

    def _of_output(self, place: str) -> list[Path]:
        """The files of records of an output; what is not read is counted."""
        try:
            files = record_files(place)
        except UsageError:
            files = []
        lines = [file for file in files if file.suffix.lower() != PARQUET]
        if len(files) > len(lines):
            self.passed_over[f"Parquet (convert with --format jsonl) in {place}"] += len(files) - len(lines)
        elif not files:
            self.passed_over[f"output without records: {place}"] += 1
        return lines

    def _find(self, place: str) -> list[Path]:
        """The files in a folder, or those of a glob."""
        forget()
        discovery = discover([place], Options(), is_readable, self.out)
        others = {what: count for what, count in discovery.others.items() if what != PART}
        self.passed_over.update({f"{what} in {place}": count for what, count in others.items()})
        out = os.path.realpath(self.out) if self.out else None
        paths = [Path(log.path) for log in discovery.logs if os.path.realpath(log.path) != out]
        if not paths:
            raise nothing_to_read([place], discovery)
        return paths

    def _of_file(self, path: Path, argument: int, *, is_found: bool) -> Iterator[Piece]:
        self._files += 1
        name = Path(uncompressed(path.name)).stem
        whole = Piece(self._files, str(path), name, argument, is_found, size=_size(path))
        try:
            with open_file(str(path)) as raw, io.BufferedReader(cast("Any", raw), _BUFFER) as file:
                yield from self._divide(file, whole) or [whole]
        except OSError as problem:
            if is_found:
                yield whole  # which says what is wrong
                return
            raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None

    def _of_stream(self, stdin: BinaryIO, argument: int) -> Iterator[Piece]:
        self._files += 1
        whole = Piece(self._files, "stdin", "stdin", argument)
        head = list(_head(stdin))
        if form := self._of_each(list(_lines(head))):
            yield from _batches(_lines(chain(head, stdin)), whole, form)
        else:
            data = b"".join(head) + stdin.read()
            yield Piece(self._files, "stdin", "stdin", argument, data=data, size=len(data))

    def _divide(self, file: BinaryIO, whole: Piece) -> Iterator[Piece] | None:
        """The lines of a file in which each is a conversation of its own; ``None`` for any other file."""
        head = list(_head(file))
        form = self._of_each(list(_lines(head)))
        return _batches(_lines(chain(head, file)), whole, form) if form else None

    def _of_each(self, first: list[NumberedLine]) -> str | None:
        """The format of lines each of which is a conversation of its own; ``None`` for others."""
        if len(first) < 2 or first[0].raw.startswith(split_files.DATABASE):
            return None
        if self.from_format not in documents.names() and envelopes.recognise(first[0].raw):
            return None
        values = [value for line in first if (value := jsonio.value(line.raw, _NONE)) is not _NONE]
        if jsonio.value(first[0].raw, _NONE) is _NONE and not any(isinstance(each, dict | list) for each in values):
            return None
        try:
            form = self.from_format or conversations.recognise(values)
            return form if form in formats.names() or _is_each_alone(form, values) else None
        except (UsageError, TurnError):
            return None


_NONE = object()


def _is_each_alone(form: str, values: list[Json]) -> bool:
    """Whether two values hold apart what they hold together."""
    fitting = [value for value in values if documents.get_format(form).fits([value])][:2]
    if len(fitting) < 2:
        return False
    try:
        apart = [documents.load(form, [value]) for value in fitting]
        return sum(map(len, apart)) == len(documents.load(form, fitting)) and all(apart)
    except TurnError:
        return False


def _head(file: BinaryIO) -> Iterator[bytes]:
    """The first lines of a file."""
    size = 0
    for raw in islice(file, _FIRST):
        yield raw
        size += len(raw)
        if size > _FIRST_BYTES:
            return


def _lines(file: Iterable[bytes]) -> Iterator[NumberedLine]:
    """The lines of a file that are not blank."""
    offset = 0
    for number, raw in enumerate(file, 1):
        line = raw.removesuffix(b"\n")
        text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        if text and not text.isspace():
            yield NumberedLine(number, offset, line)
        offset += len(raw)


def _batches(lines: Iterable[NumberedLine], whole: Piece, form: str) -> Iterator[Piece]:
    """Lines as pieces."""
    batch, size = list[NumberedLine](), 0
    for line in lines:
        batch.append(line)
        size += len(line.raw) + 1
        if size > _LINE_BYTES or len(batch) == _LINES:
            yield _of_lines(whole, batch, size, form)
            batch, size = [], 0
    if batch:
        yield _of_lines(whole, batch, size, form)


def _of_lines(whole: Piece, batch: list[NumberedLine], size: int, form: str) -> Piece:
    return Piece(
        whole.file, whole.shown, whole.name, whole.argument, whole.is_found, lines=tuple(batch), format=form, size=size
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
