"""The Arrow schema in the footer of a Parquet file, which marks text columns as JSON.

Polars cannot write this mark. The value of the key ``ARROW:schema`` is a base64-encoded message in the Arrow format,
which is based on flatbuffers. This module writes the few tables that the message needs.
"""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Mapping

from msgspec import Struct

from chatsquash.dataset.columns import Field

KEY = "ARROW:schema"
_VERSION = 4  # Arrow's V5
_SCHEMA = 1  # kind of message
_DOUBLE = 2  # precision of a floating point number
_INT, _FLOAT, _BINARY, _UTF8, _BOOL, _LIST, _STRUCT = 2, 3, 4, 5, 6, 12, 13  # members of the union of types
_EXTENSION = {"ARROW:extension:name": "arrow.json", "ARROW:extension:metadata": ""}
IMAGE = (Field("bytes", "binary"), Field("path", "text"))
"""The members of an image, as in ``datasets``."""


class _Scalar(Struct, frozen=True):
    """A number in a table, with its ``struct`` format."""

    format: str
    value: int


class _Table(Struct, frozen=True):
    """A flatbuffer table: its fields in the order of their numbers, or ``None`` for an absent one."""

    fields: tuple[_Scalar | _Table | list[_Table] | str | None, ...]


def schema(fields: list[Field], metadata: Mapping[str, str] | None = None) -> str:
    """Return the value of ``ARROW:schema`` for columns.

    Args:
        fields: The columns, in order.
        metadata: Key-value pairs to store in the schema.
    """
    pairs = [_Table((key, value)) for key, value in metadata.items()] if metadata else None
    table = _Table((_Scalar("<h", 0), [_field(field) for field in fields], pairs))
    message = _Table((_Scalar("<h", _VERSION), _Scalar("<B", _SCHEMA), table, _Scalar("<q", 0)))
    data = _Flatbuffer().write(message)
    return b64encode(struct.pack("<Ii", 0xFFFFFFFF, len(data)) + data).decode()


def _field(field: Field) -> _Table:
    if field.kind == "image":
        field = Field(field.name, "struct", IMAGE)
    number, members = {
        "int": (_INT, (_Scalar("<i", 64), _Scalar("<B", 1))),
        "int32": (_INT, (_Scalar("<i", 32), _Scalar("<B", 1))),
        "int8": (_INT, (_Scalar("<i", 8), _Scalar("<B", 1))),
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
    """Writes tables front to back: referenced values follow the tables that refer to them."""

    def __init__(self) -> None:
        self._data = bytearray(4)  # the offset of the root, written last

    def write(self, root: _Table) -> bytes:
        """Return a buffer with this root table, padded to a multiple of 8 bytes."""
        struct.pack_into("<I", self._data, 0, self._table(root))
        self._align(8)
        return bytes(self._data)

    def _align(self, to: int, ahead: int = 0) -> None:
        """Pad so that the position ``ahead`` bytes from here is a multiple of ``to``."""
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
        """Write a value, and store its distance from an earlier position at that position."""
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
