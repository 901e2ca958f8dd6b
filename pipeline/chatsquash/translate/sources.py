"""Divides the input files, folders and streams into pieces that are translated one by one."""

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
from chatsquash.storage import refuse_remote
from chatsquash.translate import conversations

STREAM = "-"
"""The name of standard input and standard output."""
_HEAD_LINES, _HEAD_BYTES = 50, 1 << 24
"""Number and bytes of the first lines from which a file's format is detected."""
_MAX_LINES, _MAX_BYTES = 256, 1 << 20
"""Largest number and bytes of lines in one piece."""


_BUFFER = 1 << 18


class NumberedLine(Struct, frozen=True, gc=False, array_like=True):
    """A line that is not blank."""

    number: int
    """From 1."""
    offset: int
    raw: bytes


class Piece(Struct, frozen=True):
    """A file, or some independent lines of a file."""

    file: int
    """The number of the file."""
    display_path: str
    """The path for messages."""
    name: str
    """The name for its conversations."""
    argument: int
    """The number of the argument that it comes from."""
    is_found: bool = False
    """Whether it was discovered in a folder, where files may be unreadable."""
    data: bytes | None = None
    """The content, for standard input."""
    lines: tuple[NumberedLine, ...] | None = None
    format: str | None = None
    """The format of the lines."""
    size: int = 0
    """Bytes, for progress."""


class Sources(Struct):
    """Finds the pieces of the inputs, in order."""

    from_format: str | None = None
    out: Path | None = None
    """The output path, which is never read."""
    ignored: Counter[str] = field(default_factory=Counter)
    """Ignored files in folders, by description."""
    _files: int = 0

    def pieces(self, inputs: Iterable[str], stdin: BinaryIO | None) -> Iterator[Piece]:
        """Yield the pieces of files, folders, globs and standard input; raise ``UsageError`` if there is no input.

        Only the records of a conversion's output are read.  Ignored files in folders are counted.
        """
        for number, place in enumerate(inputs):
            refuse_remote(place)
            path = Path(place)
            if place == STREAM:
                if stdin is None:
                    raise UsageError("standard input is closed; pass files or folders")
                yield from self._stream_pieces(stdin, number)
            elif (path / OURS).is_dir():
                for record_file in self._record_files(place):
                    yield from self._file_pieces(record_file, number, is_found=False)
            elif path.is_dir() or (glob.has_magic(place) and not os.path.lexists(place)):
                for file in self._find(place):
                    yield from self._file_pieces(file, number, is_found=True)
            else:
                yield from self._file_pieces(path, number, is_found=False)

    def _record_files(self, place: str) -> list[Path]:
        """Return the record files of an output folder; unsupported ones are counted."""
        try:
            files = record_files(place)
        except UsageError:
            files = []
        lines = [file for file in files if file.suffix.lower() != PARQUET]
        if len(files) > len(lines):
            self.ignored[f"Parquet (convert with --format jsonl) in {place}"] += len(files) - len(lines)
        elif not files:
            self.ignored[f"output without records: {place}"] += 1
        return lines

    def _find(self, place: str) -> list[Path]:
        """Return the files in a folder or matching a glob."""
        forget()
        discovery = discover([place], Options(), is_readable, self.out)
        others = {what: count for what, count in discovery.others.items() if what != PART}
        self.ignored.update({f"{what} in {place}": count for what, count in others.items()})
        out = os.path.realpath(self.out) if self.out else None
        paths = [Path(log.path) for log in discovery.logs if os.path.realpath(log.path) != out]
        if not paths:
            raise nothing_to_read([place], discovery)
        return paths

    def _file_pieces(self, path: Path, argument: int, *, is_found: bool) -> Iterator[Piece]:
        self._files += 1
        name = Path(uncompressed(path.name)).stem
        file_piece = Piece(self._files, str(path), name, argument, is_found, size=_size(path))
        try:
            with open_file(str(path)) as raw, io.BufferedReader(cast("Any", raw), _BUFFER) as file:
                yield from self._divide(file, file_piece) or [file_piece]
        except OSError as problem:
            if is_found:
                yield file_piece  # reading it reports the problem
                return
            raise UsageError(f"{path}: cannot be read ({problem.strerror})") from None

    def _stream_pieces(self, stdin: BinaryIO, argument: int) -> Iterator[Piece]:
        self._files += 1
        file_piece = Piece(self._files, "stdin", "stdin", argument)
        head = list(_head(stdin))
        if form := self._format_of_lines(list(_lines(head))):
            yield from _batches(_lines(chain(head, stdin)), file_piece, form)
        else:
            data = b"".join(head) + stdin.read()
            yield Piece(self._files, "stdin", "stdin", argument, data=data, size=len(data))

    def _divide(self, file: BinaryIO, file_piece: Piece) -> Iterator[Piece] | None:
        """Return the lines of a file as pieces if they are independent, or ``None`` for any other file."""
        head = list(_head(file))
        form = self._format_of_lines(list(_lines(head)))
        return _batches(_lines(chain(head, file)), file_piece, form) if form else None

    def _format_of_lines(self, first: list[NumberedLine]) -> str | None:
        """Return the format of lines if each has its own conversation; ``None`` otherwise."""
        if len(first) < 2 or first[0].raw.startswith(split_files.DATABASE):
            return None
        if self.from_format not in documents.names() and envelopes.recognise(first[0].raw):
            return None
        values = [value for line in first if (value := jsonio.value(line.raw, _INVALID)) is not _INVALID]
        if jsonio.value(first[0].raw, _INVALID) is _INVALID and not any(
            isinstance(each, dict | list) for each in values
        ):
            return None
        try:
            form = self.from_format or conversations.recognise(values)
            return form if form in formats.names() or _are_independent(form, values) else None
        except (UsageError, TurnError):
            return None


_INVALID = object()


def _are_independent(form: str, values: list[Json]) -> bool:
    """Return whether values contain the same conversations separately and together."""
    fitting = [value for value in values if documents.get_format(form).fits([value])][:2]
    if len(fitting) < 2:
        return False
    try:
        separate = [documents.load(form, [value]) for value in fitting]
        return sum(map(len, separate)) == len(documents.load(form, fitting)) and all(separate)
    except TurnError:
        return False


def _head(file: BinaryIO) -> Iterator[bytes]:
    """Yield the first lines of a file."""
    size = 0
    for raw in islice(file, _HEAD_LINES):
        yield raw
        size += len(raw)
        if size > _HEAD_BYTES:
            return


def _lines(file: Iterable[bytes]) -> Iterator[NumberedLine]:
    """Yield the lines of a file that are not blank."""
    offset = 0
    for number, raw in enumerate(file, 1):
        line = raw.removesuffix(b"\n")
        text = line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line
        if text and not text.isspace():
            yield NumberedLine(number, offset, line)
        offset += len(raw)


def _batches(lines: Iterable[NumberedLine], file_piece: Piece, form: str) -> Iterator[Piece]:
    """Group lines into pieces."""
    batch, size = list[NumberedLine](), 0
    for line in lines:
        batch.append(line)
        size += len(line.raw) + 1
        if size > _MAX_BYTES or len(batch) == _MAX_LINES:
            yield _lines_piece(file_piece, batch, size, form)
            batch, size = [], 0
    if batch:
        yield _lines_piece(file_piece, batch, size, form)


def _lines_piece(file_piece: Piece, batch: list[NumberedLine], size: int, form: str) -> Piece:
    return Piece(
        file_piece.file,
        file_piece.display_path,
        file_piece.name,
        file_piece.argument,
        file_piece.is_found,
        lines=tuple(batch),
        format=form,
        size=size,
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
