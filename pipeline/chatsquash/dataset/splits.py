"""The assignment of records to splits, by a hash, so that records do not move when sessions are added."""

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
_RESERVED = {"all", "yes", "no", "on", "off", "true", "false", "null"}
"""Names that loaders use for all splits, or that YAML does not read as text."""
_TOLERANCE = 1e-6  # of the sum of shares
_BITS = 64
_MIN_GROUPS = 20
"""Minimum expected number of groups for which a missed share is reported."""
_MAX_DEVIATION = 1 / 5


class Split(NamedTuple):
    """A part of a dataset, and its share of the groups."""

    name: str
    share: float


def parse(text: str) -> list[Split]:
    """Parse ``--split``; raise ``UsageError`` if it is invalid.

    >>> parse("train=0.98,validation=0.02")
    [Split(name='train', share=0.98), Split(name='validation', share=0.02)]
    """
    hint = "write them as train=0.98,validation=0.02"
    splits: list[Split] = []
    for part in text.split(","):
        name, _, share = (piece.strip() for piece in part.partition("="))
        if not _NAME.fullmatch(name) or name.lower() in _RESERVED:
            raise UsageError(f"--split {text}: {name!r} cannot be the name of a split; {hint}")
        splits.append(Split(name, _share(text, share, hint)))
    if len({split.name.lower() for split in splits}) < len(splits):  # some file systems ignore case
        raise UsageError(f"--split {text}: two splits have the same name; {hint}")
    if abs(sum(split.share for split in splits) - 1) > _TOLERANCE:
        raise UsageError(f"--split {text}: the shares do not add up to 1; {hint}")
    return splits


def _share(text: str, share: str, hint: str) -> float:
    try:
        value = float(share)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise UsageError(f"--split {text}: the share {share!r} is not between 0 and 1; {hint}")
    return value


class Group(Struct):
    """Records that always belong to the same split."""

    split: str
    first: str
    """The log of the first record."""
    records: int = 0


class Splits:
    """Assigns records to splits, and detects leaks between splits and missed shares."""

    def __init__(self, options: Options) -> None:
        self.splits = parse(options.split) if options.split else [Split(TRAIN, 1.0)]
        self._group = _GROUPS[options.split_by]
        self._seed = options.seed
        self._bounds = list(accumulate(split.share for split in self.splits[:-1]))
        self._groups: dict[str, Group] = {}
        self._first_groups: dict[str, Group] = {}
        """The group of the first record with each beginning."""
        self._may_leak = options.split_by not in ("prompt", "cluster")

    def assign(self, log: Log, outcome: Outcome, record: Record) -> tuple[str, Violation | None]:
        """Return a record's split, and a violation if a record in another split begins alike."""
        if len(self.splits) == 1:
            return self.splits[0].name, None
        # All conversations of an agent file belong to one session.
        name = self._group(
            outcome.output.family or Family(outcome.session, _prefix(record), stem(log), outcome.output.day)
        )
        if name not in self._groups:
            self._groups[name] = Group(self._draw(name), log.display_path)
        group = self._groups[name]
        group.records += 1
        if not self._may_leak:
            return group.split, None
        other = self._first_groups.setdefault(_prefix(record), group)
        leaks = other.split != group.split
        return group.split, dataset.split_leak(group.split, other.split, other.first) if leaks else None

    def missed_shares(self) -> Iterator[Violation]:
        """Yield a violation for each share that is missed by a wide margin although there are enough groups."""
        total = sum(group.records for group in self._groups.values())
        for split in self.splits if self._groups else ():
            target = split.share * total
            records = sum(group.records for group in self._groups.values() if group.split == split.name)
            if (
                split.share * len(self._groups) >= _MIN_GROUPS
                and abs(records - target) > target * _MAX_DEVIATION + _TOLERANCE
            ):
                largest = max(self._groups.values(), key=attrgetter("records"))
                largest_group = largest.records, largest.split, largest.first
                yield dataset.split_share(split.name, split.share, records, total, largest_group)

    def _draw(self, group: str) -> str:
        """Return the split of a group, which depends only on the group, the seed and the shares."""
        digest = sha256(f"{self._seed}:{group}".encode("utf-8", "surrogatepass")).digest()
        fraction = int.from_bytes(digest[: _BITS // 8]) / (1 << _BITS)
        return self.splits[bisect(self._bounds, fraction)].name


def _prefix(record: Record) -> str:
    return record.facts.prefix if record.facts else ""


_GROUPS: dict[str, Callable[[Family], str]] = {
    "prompt": lambda family: family.prefix,
    "cluster": lambda family: family.prefix,  # the pre-pass has set it to the name of the cluster
    "session": lambda family: family.session,
    "scenario": lambda family: scenario(family.log),
    "day": lambda family: family.day or UNDATED,
}
