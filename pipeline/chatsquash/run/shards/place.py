"""The folder of shards below OUT, which every machine of a conversion sees."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from chatsquash import jsonio
from chatsquash.errors import UsageError
from chatsquash.folder import Folder
from chatsquash.model import OURS

NAME = "shards"
LISTING, ORDER, INPUTS = "listing.json", "order.u32", "inputs.jsonl"
PASSING = "tmp-"
"""What the names of files begin with that nobody has finished."""


class Shard(Struct, frozen=True):
    """Which of how many; the first is 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def logs(self) -> str:
        """The file that lists its logs."""
        return f"logs-{self._named}.jsonl"

    @property
    def marker(self) -> str:
        """The file that says that it is converted."""
        return f"done-{self._named}.json"

    @property
    def _named(self) -> str:
        return f"{self.number:05}-of-{self.count:05}"


def parsed(text: str) -> Shard:
    """A shard as it is typed, ``3/64``; raises ``UsageError``."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and len(text) < 20):
        raise UsageError(f"--shard {text!r}: is no shard; write one as 3/64, the third of 64")
    shard = Shard(int(number), int(count))
    if not 1 <= shard.number <= shard.count:
        raise UsageError(f"--shard {text}: shards count from 1 to {shard.count}")
    return shard


def folder(out: Path) -> Folder:
    """The folder of an output folder; it need not be there."""
    return Folder(out).folder(OURS).folder(NAME)


def passing() -> str:
    """A new name for a file that is not finished."""
    return f"{PASSING}{os.urandom(8).hex()}"


def dumped(value: Any) -> bytes:
    """JSON on one line, whatever names of files hold."""
    return jsonio.dumps(value) + b"\n"
