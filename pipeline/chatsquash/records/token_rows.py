"""Rows of token ids, with labels and log probabilities for the tokens that are trained on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.outcome import Record
from chatsquash.core.token_ids import unpack_ids, unpack_numbers
from chatsquash.records import TOKEN_MEMBERS

IGNORED = -100
"""The label of a token without loss in PyTorch and all trainers."""


class TrainedSpan(NamedTuple):
    """The ids of a sampled reply in a row."""

    start: int
    stop: int
    logprobs: bytes | None
    """Packed log probabilities; ``None`` if they are not logged."""


def token_row(sequence: bytes, spans: Iterable[TrainedSpan]) -> bytes:
    """Return a row as JSON: the ids, labels and a mask of the trained ones, and their log probabilities.

    ``logprobs`` is 0.0 for ids that are not trained on, and null if those of any trained reply are missing.
    """
    ids = unpack_ids(sequence)
    labels, mask = [IGNORED] * len(ids), [0] * len(ids)
    logprobs: list[float] | None = [0.0] * len(ids)
    for start, stop, numbers in spans:
        labels[start:stop], mask[start:stop] = ids[start:stop], [1] * (stop - start)
        if logprobs is not None and numbers is not None:
            logprobs[start:stop] = unpack_numbers(numbers)
        else:
            logprobs = None
    return jsonio.dumps(dict(zip(TOKEN_MEMBERS, (ids, labels, mask, logprobs), strict=True)))


def with_row(record: Record) -> Record:
    """Return a record with its row of token ids in place of its messages, which are searched before."""
    return replace(record, content=record.row, row=b"", digest=xxh3_128_digest(record.row)) if record.row else record
