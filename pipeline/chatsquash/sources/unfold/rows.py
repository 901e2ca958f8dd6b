"""Rows of an export in a JSON array or a page of an API, each an exchange logged by a gateway or a product."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO

from chatsquash.core import jsonio
from chatsquash.sources.arrays import Readable, elements

NAME = "array of rows"
WHAT = "a JSON array of another logger's lines"
SUFFIXES = (".json",)
COPIES = True

_GLANCE = 1 << 12
BEGINS = rb'(?:\xef\xbb\xbf)?[ \t\r\n]*+(?:\{[ \t\r\n]*+"data"[ \t\r\n]*+:[ \t\r\n]*+)?+\[[ \t\r\n]*+\{'
_NAMES = re.compile(rb'"([A-Za-z_.]{1,60})"[ \t\r\n]*+:')
KINDS = (
    frozenset(("request", "response")),
    frozenset(("request_body", "response_body")),
    frozenset(("request_body", "request_id")),
    frozenset(("run_type", "inputs")),
    frozenset(("trace_id", "type", "start_time")),
    frozenset(("traceId", "type", "startTime")),
    frozenset(("data_type", "created_at", "updated_at")),
    frozenset(("dataType", "createdAt", "updatedAt")),
    frozenset(("bookmarked", "created_at", "updated_at")),
    frozenset(("bookmarked", "createdAt", "updatedAt")),
    frozenset(("attributes.openinference.span.kind", "start_time")),
    frozenset(("attributes.llm.input_messages", "start_time")),
    frozenset(("schemaType", "modelId", "operation")),
    frozenset(("RequestBody", "ResponseBody")),
    frozenset(("call_type", "messages")),
    frozenset(("call_type", "proxy_server_request")),
)
"""Sets of keys; the rows of an export have all keys in one of the sets."""


def fits(head: bytes) -> str | None:
    """Return the evidence that the first row has the keys of a known export, or ``None``."""
    names = _first_row_names(head)
    columns = next((kind for kind in KINDS if kind <= names), None)
    return f"rows with {', '.join(sorted(columns))}" if columns else None


def _first_row_names(head: bytes) -> set[str]:
    """Return the keys of the first row; if the row is longer than ``head``, return all keys in ``head``."""
    try:
        first = next(elements(BytesIO(head), _path(head)), None)
    except ValueError:
        return {name.decode() for name in _NAMES.findall(head)}
    value = jsonio.value(first.data) if first else None
    return set(value) if isinstance(value, dict) else set()


def lines(file: Readable) -> Iterator[bytes]:
    """Yield each row on a single line, otherwise unchanged."""
    head = file.read(_GLANCE)
    for element in elements(_Rest(head, file), _path(head)):
        yield element.data.translate(_ONE_LINE)


class _Rest:
    """A file of which the beginning was read."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head, self._file = head, file

    def read(self, size: int) -> bytes:
        """Read at most ``size`` bytes."""
        data, self._head = self._head[:size], self._head[size:]
        return data or self._file.read(size)


def _path(head: bytes) -> tuple[str, ...]:
    """Return the path of the array of rows: pages of an API have it in an object."""
    return ("data",) if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else ()


_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")
