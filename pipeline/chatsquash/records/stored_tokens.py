"""Read rows of token ids back, and detect rows that a trainer would misread."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress
from sys import float_info
from typing import Any, NamedTuple

from chatsquash.core.model import Json
from chatsquash.core.text import json_type, pluralize
from chatsquash.records import IDS_MEMBER, TOKEN_MEMBERS, NotARecordError
from chatsquash.records.datasets import has_only_tokens
from chatsquash.records.token_rows import IGNORED

_LARGEST = float_info.max
_, _LABELS, _MASK, _LOGPROBS = TOKEN_MEMBERS


class StoredTokens(NamedTuple):
    """The size of a row of token ids."""

    ids: int
    trained: int
    """The number of ids that are trained on."""


def is_token_row(value: Json) -> bool:
    """Return whether the value of a row has token ids and no messages."""
    return isinstance(value, dict) and has_only_tokens(value)


def read_tokens(value: dict[str, Any]) -> StoredTokens:
    """Return the size of a row; raise ``NotARecordError`` with the reason if a trainer would misread it."""
    ids = _numbers(value, IDS_MEMBER, _is_id, "a token id")
    if ids is None:
        raise NotARecordError(f"{IDS_MEMBER} is null")
    lists = {IDS_MEMBER: ids}
    for name, accepts, kind in _OPTIONAL:
        numbers = _numbers(value, name, accepts, kind)
        if numbers is not None:
            lists[name] = numbers
    for name, numbers in lists.items():
        if len(numbers) != len(ids):
            raise NotARecordError(f"{name} has {pluralize(len(numbers), 'item')}, but {IDS_MEMBER} has {len(ids):,}")
    mask = _mask(ids, lists.get(_LABELS), lists.get(_MASK))
    if not any(mask):
        raise NotARecordError("none of its token ids are trained on")
    _refuse_other_logprobs(lists.get(_LOGPROBS), mask)
    return StoredTokens(len(ids), sum(mask))


def _is_id(value: object) -> bool:
    return type(value) is int and value >= 0


def _is_label(value: object) -> bool:
    return type(value) is int and (value >= 0 or value == IGNORED)


def _is_flag(value: object) -> bool:
    return type(value) is int and value in (0, 1)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _LARGEST


_OPTIONAL = (
    (_LABELS, _is_label, f"a token id or {IGNORED}"),
    (_MASK, _is_flag, "0 or 1"),
    (_LOGPROBS, _is_number, "a finite number"),
)


def _numbers(value: dict[str, Any], name: str, accepts: Callable[[object], bool], kind: str) -> list[Any] | None:
    """Return a list of a row, or ``None`` if it is missing or null."""
    numbers = value.get(name)
    if numbers is None:
        return None
    if not isinstance(numbers, list):
        raise NotARecordError(f"{name} is {json_type(numbers)}")
    if not all(map(accepts, numbers)):
        at = next(at for at, each in enumerate(numbers) if not accepts(each))
        raise NotARecordError(f"{name}[{at}] is not {kind}")
    return numbers


def _mask(ids: list[int], labels: list[int] | None, mask: list[int] | None) -> list[int]:
    """Return which ids are trained on; the labels and the mask must agree, and one of them must exist."""
    if labels is None and mask is None:
        raise NotARecordError(f"{_LABELS} and {_MASK} are missing")
    if mask is None:
        assert labels is not None
        mask = [int(label != IGNORED) for label in labels]
    if labels is None:
        return mask
    expected = [each if is_trained else IGNORED for each, is_trained in zip(ids, mask, strict=True)]
    if labels != expected:
        at = next(at for at, pair in enumerate(zip(labels, expected, strict=True)) if pair[0] != pair[1])
        raise NotARecordError(f"{_LABELS}[{at}] is {labels[at]} instead of {expected[at]}")
    return mask


def _refuse_other_logprobs(logprobs: list[float] | None, mask: list[int]) -> None:
    """Refuse log probabilities of ids that are not trained on, because a trainer would use them."""
    if logprobs is not None and any(compress(logprobs, (not each for each in mask))):
        raise NotARecordError(f"{_LOGPROBS} are not 0 for ids that are not trained on")
