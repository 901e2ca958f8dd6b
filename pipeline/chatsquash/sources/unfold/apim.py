"""Logs of language models in Azure API Management: rows with fragments that are joined into exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from chatsquash.core import jsonio
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Json
from chatsquash.formats.providers.openai_chat import response_body

if TYPE_CHECKING:
    from chatsquash.sources import arrays
    from chatsquash.sources.arrays import Readable
else:
    arrays = LazyModule("chatsquash.sources.arrays")

NAME = "Azure API Management"
WHAT = "rows `{CorrelationId, SequenceNumber, RequestMessages, ResponseMessages}`"
SUFFIXES = (".json",)
COPIES = True

# A row does not begin like an exchange in a log or a line in an agent's file, so their heads need no search.
BEGINS = rb'(?:\{(?!"(?:timestamp|request|response|session_?[iI]d|type|parentUuid|messages)":)|\[)'
_CORRELATION, _SEQUENCE = b'"CorrelationId"', b'"SequenceNumber"'
_BODIES = (b'"RequestMessages"', b'"ResponseMessages"')


def fits(head: bytes) -> str | None:
    """Return the evidence for rows with a correlation id, a sequence number and messages, or ``None``."""
    if _CORRELATION not in head or _SEQUENCE not in head:
        return None
    return "CorrelationId and SequenceNumber" if any(name in head for name in _BODIES) else None


def lines(file: Readable) -> Iterator[bytes]:
    """Yield a line for each correlation id, in the order of the first rows."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(file):
        name = row.get("CorrelationId")
        if isinstance(name, str):
            by_name.setdefault(name, []).append(row)
    for rows in by_name.values():
        rows.sort(key=_number)
        yield jsonio.dumps(_exchange(rows))


def _rows(file: Readable) -> Iterator[dict[str, Json]]:
    """Yield the rows of a JSON array or of JSON lines."""
    head = file.read(1)
    complete_file = _Prepended(head, file)
    if head == b"[":
        for element in arrays.elements(complete_file):
            row = jsonio.value(element.data)
            if isinstance(row, dict):
                yield row
        return
    for line in _lines(complete_file):
        row = jsonio.value(line)
        if isinstance(row, dict):
            yield row


class _Prepended:
    """A file with its first bytes put back."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head, self._file = head, file

    def read(self, size: int) -> bytes:
        """Read at most ``size`` bytes."""
        head, self._head = self._head, b""
        return head + self._file.read(size - len(head))


def _lines(file: _Prepended) -> Iterator[bytes]:
    rest = b""
    while piece := file.read(1 << 20):
        *complete_lines, rest = (rest + piece).split(b"\n")
        yield from complete_lines
        if len(rest) > arrays.LONGEST:
            raise ValueError(f"has a row of more than {arrays.LONGEST:,} bytes")
    if rest:
        yield rest


def _number(row: dict[str, Json]) -> int:
    number = row.get("SequenceNumber")
    if isinstance(number, str) and number.isdigit() and len(number) < 10:
        return int(number)
    return number if type(number) is int else 0


def _exchange(rows: list[dict[str, Json]]) -> dict[str, Json]:
    prompt = _join(rows, "RequestMessages")
    answer = _join(rows, "ResponseMessages")
    model = next((row[name] for name in ("ModelName", "DeploymentName") for row in rows if row.get(name)), None)
    request: dict[str, Json] = dict(prompt) if isinstance(prompt, dict) else {"messages": prompt}
    if isinstance(model, str) and "model" not in request:
        request["model"] = model
    response = answer
    if isinstance(answer, list) and answer and isinstance(answer[-1], dict) and "choices" not in answer[-1]:
        response = response_body({"role": "assistant", **answer[-1]}, model)
    members = {"captured": NAME, "timestamp": rows[0].get("TimeGenerated"), "request": request, "response": response}
    return {name: value for name, value in members.items() if value is not None}


def _join(rows: list[dict[str, Json]], name: str) -> Json:
    """Join the fragments of a body, which are strings or lists."""
    pieces = [row[name] for row in rows if row.get(name) not in (None, "", [])]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        value = jsonio.value("".join(texts))
        if value is not None:
            return value
        pieces = [jsonio.value(text) for text in texts]
    lists = [piece for piece in pieces if isinstance(piece, list)]
    if lists and len(lists) == len(pieces):
        return [item for piece in lists for item in piece]
    return pieces[0] if len(pieces) == 1 else None
