"""Inspect AI's logs: the samples of an evaluation with tools and scores, as JSON or in a zip file."""

from __future__ import annotations

import re
import struct
import zlib
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from chatsquash.core import jsonio
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Conversation, Json
from chatsquash.core.text import error_text
from chatsquash.formats import values
from chatsquash.formats.agents.inspect_ai.sample import conversations_of
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Unread, line_numbers
from chatsquash.formats.retention import never
from chatsquash.formats.threads import with_unread
from chatsquash.formats.values import Object, at, members
from chatsquash.storage import decoders

if TYPE_CHECKING:
    import zipfile
else:
    zipfile = LazyModule("zipfile")

NAME = "inspect_ai"
HAS_TOOLS = True
MEMBERS = ("samples", "sample")
RETENTION = never("Inspect", "inspect-ai 0.3.285 on PyPI")
SUFFIXES = (".eval",)

_LOG = ("version", "status", "eval", "samples")
_SAMPLE = re.compile(r"samples/([^/]{1,200})\.json")
_CHUNKED = re.compile(r"samples/([^/]{1,200})/(sample|metadata|skeleton)\.json")
_HEADERS = ("header.json", "_journal/start.json")
_LISTS = ("messages", "events", "calls", "attachments")


def fits(documents: list[Json]) -> str | None:
    """Check for a log with an evaluation, samples and a status, or for samples from a zip file."""
    logs = values.objects(documents)
    if not logs or len(logs) != len(documents):
        return None
    if all(isinstance(each.get("sample"), dict) and isinstance(each.get("eval"), dict) for each in logs):
        return "samples of a log"
    value = logs[0]
    is_log = len(logs) == 1 and isinstance(value.get("samples"), list) and isinstance(value.get("eval"), dict)
    return "eval and samples next to status" if is_log and "status" in value else None


def may_split(head: bytes) -> bool:
    """Return whether a file with these first bytes may be a zip file."""
    return head.startswith(_ZIP_BEGINS)


def split(file: BinaryIO) -> list[bytes] | None:
    """Return the names of the samples in a zip file, or ``None`` for other files."""
    entries_of = _directory(file)
    if entries_of is None or not any(name in entries_of for name in _HEADERS):
        return None
    names: dict[str, None] = {}
    for name in entries_of:
        if match := _SAMPLE.fullmatch(name) or _CHUNKED.fullmatch(name):
            names.setdefault(match[1])
    return [name.encode("utf-8", "surrogateescape") for name in names]


def objects(file: BinaryIO, unit: bytes) -> list[Json]:
    """Return a sample from a zip file with its evaluation."""
    return [_sample(file, unit)]


def _sample(file: BinaryIO, unit: bytes) -> Object:
    entries_of = _directory(file) or {}
    name = unit.decode("utf-8", "surrogateescape")
    header = next((_json(file, entries_of, each) for each in _HEADERS if each in entries_of), None)
    single_entry = f"samples/{name}.json"
    if single_entry in entries_of:
        return {"eval": members(at(header, "eval")), "sample": members(_json(file, entries_of, single_entry))}
    sample: Object = {}
    for part in ("skeleton", "metadata", "sample"):
        if (each := f"samples/{name}/{part}.json") in entries_of:
            sample |= members(_json(file, entries_of, each))
    pieces: Object = {}
    for list_name in _LISTS:
        prefix = f"samples/{name}/{list_name}/"
        chunks = [entry for entry in entries_of if entry.startswith(prefix)]
        chunks.sort(key=partial(_start, prefix=prefix))
        read = [_json(file, entries_of, entry) for entry in chunks]
        pieces[list_name] = [item for value in read if isinstance(value, list) for item in value]
    return {"eval": members(at(header, "eval")), "sample": _assemble(sample, pieces)}


def _start(name: str, prefix: str) -> int:
    number = name[len(prefix) :].partition(".")[0]
    # Longer numbers are not chunk numbers, and ``int`` rejects very long ones.
    return int(number) if number.isdigit() and len(number) < 12 else 0


def _json(file: BinaryIO, entries_of: Json, name: str) -> Json:
    try:
        return jsonio.loads(_entry(file, entries_of[name]))
    except (ValueError, RecursionError):
        raise TurnError(f"{name} is not valid JSON") from None


def _assemble(sample: Object, pieces: Object) -> Object:
    """Assemble a sample whose lists are stored in chunks."""
    result = dict(sample)
    result.setdefault("messages", pieces["messages"])
    result.setdefault("events", pieces["events"])
    if pieces["attachments"]:
        result["attachments"] = {str(number): value for number, value in enumerate(pieces["attachments"])}
    if pieces["calls"] or pieces["messages"]:
        result.setdefault("events_data", {"messages": pieces["messages"], "calls": pieces["calls"]})
    return result


def conversations(documents: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Return the final messages of each sample, then branches and sub-agents, which only events contain."""
    unread, converted = Unread(), list[Conversation]()
    for place, (line, value) in enumerate(zip(line_numbers(documents, lines), documents, strict=True), 1):
        samples = [at(value, "sample")] if "sample" in members(value) else at(value, "samples")
        if not isinstance(samples, list):
            raise TurnError(f"entry {place} has no samples")
        unread.count_members("log", value if "samples" in members(value) else None, *_LOG)
        model = at(value, "eval", "model")
        for number, sample in enumerate(samples):
            where = f"samples[{number}]" if len(samples) > 1 else "sample"
            converted += conversations_of(sample, where, line, model if isinstance(model, str) else None, unread)
    return with_unread(converted, unread)


_ZIP_BEGINS = b"PK\3\4"
"""The magic bytes of a zip file and of each local header."""
_LOCAL = struct.Struct("<4s22xHH")
"""The header of an entry: the magic bytes, and the lengths of the name and the extra field."""
_UNCOMPRESSED, _DEFLATED, _ZSTD = 0, 8, 93
_LONGEST = 256 << 20
"""The maximum size of a decompressed entry in bytes."""
_ERRORS = (ValueError, RuntimeError, NotImplementedError, struct.error, EOFError)


def _directory(file: BinaryIO) -> dict[str, zipfile.ZipInfo] | None:
    """Return the entries of a zip file by name, or ``None`` for other files.

    Raises:
        TurnError: if the zip file is damaged
    """
    file.seek(0)
    if file.read(len(_ZIP_BEGINS)) != _ZIP_BEGINS:
        return None
    try:
        with zipfile.ZipFile(file) as archive:
            return {info.filename: info for info in archive.infolist()}
    except (zipfile.BadZipFile, *_ERRORS) as problem:
        raise TurnError(f"damaged zip file ({error_text(problem)})") from None


def _entry(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """Return the content of an entry; raise ``TurnError`` if it is damaged, encrypted or too large."""
    # The ``zipfile`` module does not support zstd before Python 3.14.
    file.seek(info.header_offset)
    head = file.read(_LOCAL.size)
    if len(head) < _LOCAL.size or not head.startswith(_ZIP_BEGINS) or info.flag_bits & 1:
        raise TurnError(f"{info.filename} cannot be read")
    _, name, extra = _LOCAL.unpack(head)
    file.seek(info.header_offset + int(_LOCAL.size) + int(name) + int(extra))
    if info.compress_size > _LONGEST:
        raise TurnError(f"{info.filename} is larger than {_LONGEST:,} bytes")
    data = _read(file, info.compress_size)
    try:
        return data if info.compress_type == _UNCOMPRESSED else decoders.expand(_stream(info), data, _LONGEST)
    except ImportError:
        needs = "pip install 'chatsquash[zstd]', or Python 3.14"
        raise TurnError(f"{info.filename} is compressed with zstd, which requires {needs}") from None
    except decoders.error_types() as problem:
        raise TurnError(f"{info.filename} is damaged ({error_text(problem)})") from None


def _read(file: BinaryIO, size: int) -> bytes:
    pieces = list[bytes]()
    while size > 0 and (piece := file.read(min(size, 1 << 20))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _stream(info: zipfile.ZipInfo) -> Any:
    if info.compress_type == _DEFLATED:
        return decoders.Gzip(-zlib.MAX_WBITS)
    if info.compress_type == _ZSTD:
        return decoders.zstd()
    raise TurnError(f"{info.filename} uses the unknown compression method {info.compress_type}")
