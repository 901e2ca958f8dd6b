"""Replay the parts of a text from the bytes of a log."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any

from chatsquash.provenance.tokens import GUNZIP, JSON, MEMBER, QUOTE, STRING, compact, decode_string, quote

_GZIP = 31
"""The ``wbits`` of zlib for gzip streams."""


def replay(data: bytes, steps: Sequence[Any]) -> bytes | None:
    """Return the bytes to which steps lead; ``None`` if they lead nowhere."""
    result: bytes | None = data
    for step in steps:
        if result is None:
            return None
        if step == STRING:
            result = decode_string(result)
        elif step == JSON:
            result = compact(result)
        elif step == QUOTE:
            result = quote(result)
        elif step == GUNZIP:
            result = zlib.decompressobj(_GZIP).decompress(result)
        elif step[0] == MEMBER:
            with zipfile.ZipFile(io.BytesIO(result)) as archive:
                result = archive.read(archive.infolist()[step[1]])
        else:
            result = result[step[0] : step[1]]
    return result
