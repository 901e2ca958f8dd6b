"""Which split a record belongs to: by a hash, so that it stays there when sessions are added."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

from msgspec import Struct

from chatsquash.checks import dataset
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Outcome, Record
from chatsquash.dataset.groups import UNDATED, scenario
from chatsquash.sources.compression import stem

TRAIN = "train"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TAKEN = {"all", "yes", "no", "on", "off", "true", "false", "null"}
"""What stands for all splits where datasets are loaded, and what YAML takes for no text."""
_TOLERANCE = 1e-6  # of the sum of shares
_BITS = 64
_ENOUGH = 20
"""Groups that a split should have before its share is worth a word."""
_MISSED = 1 / 5


class Split(NamedTuple):
    """A part of a dataset, and its share of the groups."""

    name: str
    share: float


def parse(text: str) -> list[Split]:
    """The splits of ``--split``; raises ``UsageError`` for what names none.

    >>> parse("train=0.98,validation=0.02")
    [Split(name='train', share=0.98), Split(name='validation', share=0.02)]
    """
    hint = "write them as train=0.98,validation=0.02"
    splits: list[Split] = []
    for part in text.split(","):
        name, _, share = (piece.strip() for piece in part.partition("="))
        if not _NAME.fullmatch(name) or name.lower() in _TAKEN:
            raise UsageError(f"--split {text}: {name!r} is not a name for a split; {hint}")
        splits.append(Split(name, _share(text, share, hint)))
    if len({split.name.lower() for split in splits}) < len(splits):  # since some file systems take them for one
        raise UsageError(f"--split {text}: names a split twice; {hint}")
    if abs(sum(split.share for split in splits) - 1) > _TOLERANCE:
        raise UsageError(f"--split {text}: the shares do not add up to 1; {hint}")
    return splits


def _share(text: str, share: str, hint: str) -> float:
    try:
        value = float(share)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise UsageError(f"--split {text}: {share!r} is not a share between 0 and 1; {hint}")
    return value


class Group(Struct):
    """Records that are never divided."""

    split: str
    first: str
    """The log of the first of them."""
    records: int = 0


class Splits:
    """Assigns records to splits, and notices where records that begin alike go apart, and shares that are missed."""

    def __init__(self, options: Options) -> None:
        self.splits = parse(options.split) if options.split else [Split(TRAIN, 1.0)]
        self._group = _GROUPS[options.split_by]
        self._seed = options.seed
        self._bounds = list(accumulate(split.share for split in self.splits[:-1]))
        self._groups: dict[str, Group] = {}
        self._begun: dict[str, Group] = {}
        """What records begin with, where that may be in several groups."""
        self._may_leak = options.split_by not in ("prompt", "cluster")

    def of(self, log: Log, outcome: Outcome, record: Record) -> tuple[str, Violation | None]:
        """A record's split, and what is wrong with it."""
        if len(self.splits) == 1:
            return self.splits[0].name, None
        # Conversations of an agent's file are of one session.
        name = self._group(
            outcome.output.family or Family(outcome.session, _prefix(record), stem(log), outcome.output.day)
        )
        if name not in self._groups:
            self._groups[name] = Group(self._draw(name), log.display_path)
        group = self._groups[name]
        group.records += 1
        if not self._may_leak:
            return group.split, None
        other = self._begun.setdefault(_prefix(record), group)
        leaks = other.split != group.split
        return group.split, dataset.split_leak(group.split, other.split, other.first) if leaks else None

    def missed_shares(self) -> Iterator[Violation]:
        """The shares that are missed by much, though there are groups enough to come near them."""
        total = sum(group.records for group in self._groups.values())
        for split in self.splits if self._groups else ():
            wanted = split.share * total
            records = sum(group.records for group in self._groups.values() if group.split == split.name)
            if split.share * len(self._groups) >= _ENOUGH and abs(records - wanted) > wanted * _MISSED + _TOLERANCE:
                largest = max(self._groups.values(), key=attrgetter("records"))
                largest_group = largest.records, largest.split, largest.first
                yield dataset.split_share(split.name, split.share, records, total, largest_group)

    def _draw(self, group: str) -> str:
        """The split of a group, which depends on nothing but the group, the seed and the shares."""
        digest = sha256(f"{self._seed}:{group}".encode("utf-8", "surrogatepass")).digest()
        drawn = int.from_bytes(digest[: _BITS // 8]) / (1 << _BITS)
        return self.splits[bisect(self._bounds, drawn)].name


def _prefix(record: Record) -> str:
    return record.facts.prefix if record.facts else ""


_GROUPS: dict[str, Callable[[Family], str]] = {
    "prompt": lambda family: family.prefix,
    "cluster": lambda family: family.prefix,  # which is then the name of the cluster
    "session": lambda family: family.session,
    "scenario": lambda family: scenario(family.log),
    "day": lambda family: family.day or UNDATED,
}
