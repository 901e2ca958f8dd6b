"""Describe files of unknown formats in words, based on their first bytes or on the content of their lines."""

from __future__ import annotations

import csv
from itertools import islice

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats import look_alike
from chatsquash.formats.values import kind

_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file, such as a WebP image or a WAV sound"),
    (b"ID3", "an MP3 sound"),
    (b"OggS", "an Ogg file"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip file"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"\x80\x04\x95", "a Python pickle"),
    (b"\xff\xfe", "UTF-16 text instead of UTF-8"),
    (b"\xfe\xff", "UTF-16 text instead of UTF-8"),
)
_MARKUP = (
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"<?xml", "XML"),
    (b"<svg", "an SVG image"),
)
_EXAMINED, _LINES = 1 << 12, 8


def _by_signature(data: bytes) -> str | None:
    beginning = data[:_EXAMINED].lstrip()
    description = next((words for begin, words in _SIGNATURES if data.startswith(begin)), None)
    return description or next((words for begin, words in _MARKUP if beginning[: len(begin)].lower() == begin), None)


def _of_text(data: bytes) -> str | None:
    """Describe lines that are not JSON; return ``None`` for malformed JSON objects."""
    beginning = data[:_EXAMINED].lstrip()
    lines = [line for line in beginning.splitlines() if line.strip()][:_LINES]
    if not lines or any(line.lstrip().startswith(b"{") for line in lines):
        return None
    if b"\0" in beginning:
        return "binary data"
    value = jsonio.value(lines[0])
    if value is not None:
        return f"JSON lines, starting with {kind(value)}"
    return "a CSV table" if _is_table(lines) else "text that is not JSON"


def _is_table(lines: list[bytes]) -> bool:
    """Return whether all lines have the same number of cells and at least two."""
    texts = [line.decode("utf-8", "replace") for line in lines]
    for delimiter in (",", ";", "\t"):
        try:
            # The last line may be truncated, so its cells are not counted.
            widths = {len(row) for row in islice(csv.reader(texts, delimiter=delimiter), len(texts) - 1 or 1)}
        except csv.Error:
            continue
        if len(lines) > 1 and len(widths) == 1 and widths.pop() > 1:
            return True
    return False


def of_lines(lines: list[bytes], values: list[Json]) -> str | None:
    """Describe the first lines of a file without exchanges; ``values`` are the lines parsed as JSON."""
    data = b"\n".join(lines)
    description = next((words for value in values if (words := look_alike(value))), None)
    return _by_signature(data) or description or _of_text(data)
