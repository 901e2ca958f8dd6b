"""The token ids of a logged reply and its prompt, as packed numbers that can be compared like bytes."""

from __future__ import annotations

import sys
from array import array
from math import isfinite
from typing import Any

from msgspec import Struct

from chatsquash.core.jsonio import Rounded

ID, NUMBER = "i", "d"
"""The types of ids and log probabilities in ``array``."""
ID_SIZE, NUMBER_SIZE = array(ID).itemsize, array(NUMBER).itemsize


class TokenIds(Struct, frozen=True):
    """The token ids of a reply, as logged by the server that sampled it."""

    prompt: bytes
    """The ids of the rendered request, packed."""
    completion: bytes
    """The ids of the reply, packed."""
    logprobs: bytes | None = None
    """The log probability of each id of the reply, packed; ``None`` if they are not logged."""
    before: TokenIds | None = None
    """The earlier prompt and reply that the prompt continues, if ``prompt`` is only the rest of it."""

    def sequence(self) -> bytes:
        """Return the ids of the complete prompt and the reply, packed."""
        pieces: list[bytes] = []
        each: TokenIds | None = self
        while each is not None:
            pieces += each.completion, each.prompt
            each = each.before
        return b"".join(reversed(pieces))


def pack_ids(values: Any) -> bytes:
    """Pack a list of token ids; return empty bytes for anything else."""
    # ``array`` accepts booleans, so the types are checked first.
    if type(values) is not list or not values or {*map(type, values)} != {int} or min(values) < 0:
        return b""
    try:
        return array(ID, values).tobytes()
    except OverflowError:
        return b""


def pack_numbers(values: Any) -> bytes | None:
    """Pack a list of finite numbers; return ``None`` for anything else."""
    if type(values) is not list or not {*map(type, values)} <= {int, float, Rounded}:
        return None
    try:
        return array(NUMBER, values).tobytes() if all(map(isfinite, values)) else None
    except OverflowError:
        return None


def unpack_ids(data: bytes) -> list[int]:
    """Return packed ids as a list."""
    return array(ID, data).tolist()


def unpack_numbers(data: bytes) -> list[float]:
    """Return packed numbers as a list."""
    numbers: array[float] = array(NUMBER, data)
    return numbers.tolist()


def big_endian(data: bytes) -> bytes:
    """Return packed ids with four bytes each, in big-endian order."""
    ids = array(ID, data)
    if sys.byteorder == "little":
        ids.byteswap()
    return ids.tobytes()


def common_prefix(one: bytes, other: bytes) -> int:
    """Return the size in bytes of the longest common prefix of two packed lists of ids."""
    low, high = 0, min(len(one), len(other)) // ID_SIZE
    while low < high:
        middle = (low + high + 1) // 2
        if one[low * ID_SIZE : middle * ID_SIZE] == other[low * ID_SIZE : middle * ID_SIZE]:
            low = middle
        else:
            high = middle - 1
    return low * ID_SIZE
