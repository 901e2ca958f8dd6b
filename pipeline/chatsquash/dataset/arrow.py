"""The Arrow schema that a Parquet file carries in its footer, which says of text that it is JSON.

Polars writes lists of text and cannot say so.  The key ``ARROW:schema`` holds a message of the Arrow format, a
flatbuffer, as base64; what follows writes the few tables that it takes.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple

KEY = "ARROW:schema"
_VERSION = 4  # Arrow's V5
_SCHEMA = 1  # kind of message
_DOUBLE = 2  # precision of a floating point number
_INT, _FLOAT, _BINARY, _UTF8, _BOOL, _LIST, _STRUCT = 2, 3, 4, 5, 6, 12, 13  # members of the union of types
_EXTENSION = {"ARROW:extension:name": "arrow.json", "ARROW:extension:metadata": ""}


class Field(NamedTuple):
    """A column, or what is in one."""

    name: str
    kind: str
    """``text``, ``json``, ``int``, ``bool``, ``list``, ``struct``, ``binary``, or ``image``: its bytes and a name."""
    children: tuple[Field, ...] = ()

    @property
    def is_json_list(self) -> bool:
        """Whether it is a list of JSON."""
        return self.kind == "list" and self.children[0].kind == "json"


IMAGE = (Field("bytes", "binary"), Field("path", "text"))
"""What an image is, as ``datasets`` has it."""


class _Scalar(NamedTuple):
    """A number in a table, and its ``struct`` format."""

    format: str
    value: int


class _Table(NamedTuple):
    """A flatbuffer table: its fields by their numbers; ``None`` for one that is left out."""

    fields: tuple[_Scalar | _Table | list[_Table] | str | None, ...]


def schema(fields: list[Field], about: Mapping[str, str] | None = None) -> str:
    """The value of ``ARROW:schema`` for these columns, and what else it says of them."""
    pairs = [_Table((key, value)) for key, value in about.items()] if about else None
    table = _Table((_Scalar("<h", 0), [_field(field) for field in fields], pairs))
    message = _Table((_Scalar("<h", _VERSION), _Scalar("<B", _SCHEMA), table, _Scalar("<q", 0)))
    data = _Flatbuffer().write(message)
    return b64encode(struct.pack("<Ii", 0xFFFFFFFF, len(data)) + data).decode()


def _field(field: Field) -> _Table:
    if field.kind == "image":
        field = Field(field.name, "struct", IMAGE)
    number, members = {
        "int": (_INT, (_Scalar("<i", 64), _Scalar("<B", 1))),
        "bool": (_BOOL, ()),
        "float": (_FLOAT, (_Scalar("<h", _DOUBLE),)),
        "list": (_LIST, ()),
        "binary": (_BINARY, ()),
        "struct": (_STRUCT, ()),
    }.get(field.kind, (_UTF8, ()))
    children = [_field(child) for child in field.children]
    pairs = [_Table((key, value)) for key, value in _EXTENSION.items()] if field.kind == "json" else None
    return _Table((field.name, _Scalar("<B", 1), _Scalar("<B", number), _Table(members), None, children, pairs))


class _Flatbuffer:
    """Writes tables front to back: what is referred to stands behind what refers to it."""

    def __init__(self) -> None:
        self._data = bytearray(4)  # which will say where the root is

    def write(self, root: _Table) -> bytes:
        """A buffer with this root, as long as a multiple of 8."""
        struct.pack_into("<I", self._data, 0, self._table(root))
        self._align(8)
        return bytes(self._data)

    def _align(self, to: int, ahead: int = 0) -> None:
        """Make a place so many bytes ahead one that is divisible."""
        self._data += bytes(-(len(self._data) + ahead) % to)

    def _table(self, table: _Table) -> int:
        vtable = struct.calcsize(f"<{2 + len(table.fields)}H")
        self._align(8, ahead=vtable)
        start = len(self._data)
        self._data += bytes(vtable + 4)
        at = start + vtable
        offsets, later = [], []
        for value in table.fields:
            if value is None:
                offsets.append(0)
                continue
            form = value.format if isinstance(value, _Scalar) else "<I"
            self._align(struct.calcsize(form))
            place = len(self._data)
            offsets.append(place - at)
            self._data += struct.pack(form, value.value) if isinstance(value, _Scalar) else bytes(4)
            later += [] if isinstance(value, _Scalar) else [(place, value)]
        struct.pack_into(f"<{2 + len(offsets)}H", self._data, start, vtable, len(self._data) - at, *offsets)
        struct.pack_into("<i", self._data, at, vtable)
        for place, value in later:
            self._refer(place, value)
        return at

    def _refer(self, place: int, value: _Table | list[_Table] | str) -> None:
        """Write a value, and at an earlier place how far behind that it is."""
        if isinstance(value, _Table):
            at = self._table(value)
        else:
            self._align(4)
            at = len(self._data)
            content = value.encode() if isinstance(value, str) else bytes(4 * len(value))
            self._data += struct.pack("<I", len(value if isinstance(value, list) else content)) + content
            if isinstance(value, str):
                self._data += b"\0"
            else:
                for number, each in enumerate(value):
                    self._refer(at + 4 + 4 * number, each)
        struct.pack_into("<I", self._data, place, at - place)
