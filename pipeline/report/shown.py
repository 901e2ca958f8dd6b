"""JSON as it may be shown on a terminal."""

from __future__ import annotations

import json

import orjson

from pipeline import codec
from pipeline.model import Json


def shown(value: Json, *, indent: bool = False) -> bytes:
    """JSON in which nothing stands that does not print: controls, bidi marks and lone surrogates are escaped.

    It loads as the value that it was.  ``indent``: on several lines, whose line feeds are the only ones.
    """
    if not indent and (written := codec.dumps(value)).isascii() and b"\x7f" not in written:
        return written  # the encoder escapes all other controls
    spelled = _indented(value) if indent else codec.dumps(value).decode()
    if spelled.isprintable():
        return spelled.encode()
    kept = "\n" if indent else ""
    printing = (char if char.isprintable() or char == kept else json.dumps(char)[1:-1] for char in spelled)
    return "".join(printing).encode()


def _indented(value: Json) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:  # lone surrogates, and integers beyond 64 bits
        return json.dumps(value, indent=2, ensure_ascii=False)
