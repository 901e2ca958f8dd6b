"""Ids of calls with nine letters and digits, which is all that some templates of Mistral take."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count

from xxhash import xxh3_64_intdigest

PATTERN = "^[a-zA-Z0-9]{9}$"
_SHORT = re.compile("[a-zA-Z0-9]{9}")
_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def short_ids(idents: Iterable[str]) -> dict[str, str]:
    """For each id a short one: itself if it is short, else one that follows from it; no two get the same."""
    distinct = list(dict.fromkeys(idents))
    short = {ident: ident for ident in distinct if _SHORT.fullmatch(ident)}
    taken = set(short)
    for ident in distinct:
        if ident not in short:
            short[ident] = next(made for number in count() if (made := _made(ident, number)) not in taken)
            taken.add(short[ident])
    return short


def _made(ident: str, number: int) -> str:
    rest = xxh3_64_intdigest(ident.encode("utf-8", "surrogatepass"), number)
    made = []
    for _ in range(9):
        rest, place = divmod(rest, len(_CHARACTERS))
        made.append(_CHARACTERS[place])
    return "".join(made)
