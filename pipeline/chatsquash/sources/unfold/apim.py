"""Azure API Management's log of language models: rows of pieces, which are joined to exchanges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.providers.openai_chat.response import response_body
from chatsquash.sources.arrays import LONGEST, Readable, elements

NAME = "Azure API Management"
WHAT = "rows `{CorrelationId, SequenceNumber, RequestMessages, ResponseMessages}`"
SUFFIXES = (".json",)
COPIES = True

_NEEDED = (b'"CorrelationId"', b'"SequenceNumber"')
_BODIES = (b'"RequestMessages"', b'"ResponseMessages"')


def fits(head: bytes) -> str | None:
    """Rows with a correlation, a number, and messages."""
    if head[:1] not in (b"{", b"[") or not all(name in head for name in _NEEDED):
        return None
    return "CorrelationId and SequenceNumber" if any(name in head for name in _BODIES) else None


def lines(file: Readable) -> Iterator[bytes]:
    """A line for each correlation, in the order of their first rows."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(file):
        name = row.get("CorrelationId")
        if isinstance(name, str):
            by_name.setdefault(name, []).append(row)
    for rows in by_name.values():
        rows.sort(key=_number)
        yield jsonio.dumps(_exchange(rows))


def _rows(file: Readable) -> Iterator[dict[str, Json]]:
    """The rows of an array, or of lines."""
    head = file.read(1)
    again = _Again(head, file)
    if head == b"[":
        for element in elements(again):
            row = jsonio.value(element.data)
            if isinstance(row, dict):
                yield row
        return
    for line in _lines(again):
        row = jsonio.value(line)
        if isinstance(row, dict):
            yield row


class _Again:
    """A file of which the first bytes are read once more."""

    def __init__(self, head: bytes, file: Readable) -> None:
        self._head, self._file = head, file

    def read(self, size: int) -> bytes:
        """So many bytes at most."""
        head, self._head = self._head, b""
        return head + self._file.read(size - len(head))


def _lines(file: _Again) -> Iterator[bytes]:
    rest = b""
    while piece := file.read(1 << 20):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        if len(rest) > LONGEST:
            raise ValueError(f"has a row of more than {LONGEST:,} bytes")
    if rest:
        yield rest


def _number(row: dict[str, Json]) -> int:
    number = row.get("SequenceNumber")
    if isinstance(number, str) and number.isdigit() and len(number) < 10:
        return int(number)
    return number if type(number) is int else 0


def _exchange(rows: list[dict[str, Json]]) -> dict[str, Json]:
    asked = _join(rows, "RequestMessages")
    given = _join(rows, "ResponseMessages")
    model = next((row[name] for name in ("ModelName", "DeploymentName") for row in rows if row.get(name)), None)
    request: dict[str, Json] = dict(asked) if isinstance(asked, dict) else {"messages": asked}
    if isinstance(model, str) and "model" not in request:
        request["model"] = model
    response = given
    if isinstance(given, list) and given and isinstance(given[-1], dict) and "choices" not in given[-1]:
        response = response_body({"role": "assistant", **given[-1]}, model)
    made = {"captured": NAME, "timestamp": rows[0].get("TimeGenerated"), "request": request, "response": response}
    return {name: value for name, value in made.items() if value is not None}


def _join(rows: list[dict[str, Json]], name: str) -> Json:
    """A body that stands in pieces, each of which is a text, or a list of its own."""
    pieces = [row[name] for row in rows if row.get(name) not in (None, "", [])]
    texts = [piece for piece in pieces if isinstance(piece, str)]
    if len(texts) == len(pieces):
        whole = jsonio.value("".join(texts))
        if whole is not None:
            return whole
        pieces = [jsonio.value(text) for text in texts]
    lists = [piece for piece in pieces if isinstance(piece, list)]
    if lists and len(lists) == len(pieces):
        return [item for piece in lists for item in piece]
    return pieces[0] if len(pieces) == 1 else None
