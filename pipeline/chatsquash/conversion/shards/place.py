"""Where shards meet: the files of a listing, of what shards gave and of their markers, which every machine sees."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Protocol

from msgspec import Struct
from xxhash import xxh3_64_hexdigest, xxh3_128

from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import is_alive

NAME = "shards"
LISTING, ORDER, INPUTS = "listing.json", "order.u32", "inputs.jsonl"
MOST = 100_000
"""Shards of a conversion."""
_OPEN_FILES = 64
_PASSING = re.compile(r"tmp-(\d{1,9})-([0-9a-f]{16})-[0-9a-f]{16}")
"""A folder for what is not finished, by the process and the host that it is of."""


class Shard(Struct, frozen=True):
    """Which of how many; the first is 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def logs(self) -> str:
        """The file that lists its logs."""
        return f"logs-{self._file_name}.jsonl"

    @property
    def marker(self) -> str:
        """The file that says that it is converted."""
        return f"done-{self._file_name}.json"

    @property
    def _file_name(self) -> str:
        return f"{self.number:05}-of-{self.count:05}"


def parse_shard(text: str) -> Shard:
    """A shard as it is typed, ``3/64``; raises ``UsageError``."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and len(text) < 20):
        raise UsageError(f"--shard {text!r}: is not a shard; write one as 3/64, the third of 64")
    shard = Shard(int(number), int(count))
    if shard.count < 1:
        raise UsageError(f"--shard {text}: is none of any; write one as 3/64, the third of 64")
    if not 1 <= shard.number <= shard.count:
        raise UsageError(f"--shard {text}: shards count from 1 to {shard.count}")
    return shard


def command_argument(out: str) -> str:
    """An output folder as it is to be typed in a command."""
    return quote(f"./{out}" if out.startswith("-") else out)


class Place(Protocol):
    """The files, by names without folders.  All raise ``OSError``."""

    out: str
    """The output folder, as messages name it."""
    can_copy: bool
    """Whether its files have descriptors."""
    work: Folder
    """A folder of this process for what is not finished; it goes in ``close``."""

    def shown(self, name: str) -> str:
        """A file, as messages name it."""

    def read(self, name: str) -> bytes:
        """What is in a small file."""

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a file."""

    def size(self, name: str) -> int | None:
        """The bytes of a file; ``None`` where there is none."""

    def read_at(self, name: str, size: int, offset: int) -> bytes:
        """So many bytes of a file, or those that there are."""

    def descriptor(self, name: str) -> int:
        """An open file that the system can copy from."""

    def stage(self, name: str, pieces: Iterable[bytes]) -> str:
        """Write a file of ``work``; its hash."""

    def keep(self, name: str, to: str) -> None:
        """Give a file of ``work`` its name here; another one that has it holds the same."""

    def keep_all(self, names: Iterable[str]) -> None:
        """Let files of ``work`` stand here under their names; a loss of power may cost what is in them."""

    def create(self, name: str, data: bytes) -> None:
        """Write a small file where nothing has its name; raises ``FileExistsError`` where something does."""

    def remove(self, name: str) -> None:
        """Remove a file; there may be none."""

    def clear(self) -> None:
        """Remove all but ``work``, the listing first."""

    def close(self) -> None:
        """Let go of all that is open, and of ``work``."""


class FolderPlace:
    """A folder below an output folder; no link in it is followed."""

    can_copy = True

    def __init__(self, out: Path) -> None:
        self.out = str(out)
        self._folder = Folder(out).folder(OURS).folder(NAME)
        self.work = self._folder.folder(f"tmp-{os.getpid()}-{_host()}-{os.urandom(8).hex()}")
        self._open: OrderedDict[str, int] = OrderedDict()

    def shown(self, name: str) -> str:
        """As ``Place`` has it."""
        return str(Path(self.out, OURS, NAME, name))

    def read(self, name: str) -> bytes:
        """As ``Place`` has it."""
        return self._folder.read(name)

    def lines(self, name: str) -> Iterator[bytes]:
        """As ``Place`` has it."""
        with open(self._folder.open(name), "rb") as file:
            yield from file

    def size(self, name: str) -> int | None:
        """As ``Place`` has it."""
        status = self._folder.status(name)
        return status.st_size if status else None

    def read_at(self, name: str, size: int, offset: int) -> bytes:
        """As ``Place`` has it."""
        return os.pread(self.descriptor(name), size, offset)

    def descriptor(self, name: str) -> int:
        """As ``Place`` has it; it is closed when many others were asked for."""
        if name not in self._open:
            descriptor = self._folder.open(name)
            if len(self._open) >= _OPEN_FILES:
                os.close(self._open.popitem(last=False)[1])
            self._open[name] = descriptor
        self._open.move_to_end(name)
        return self._open[name]

    def stage(self, name: str, pieces: Iterable[bytes]) -> str:
        """As ``Place`` has it."""
        self._folder.make(mode=0o700)
        return stage(self.work, name, pieces)

    def keep(self, name: str, to: str) -> None:
        """As ``Place`` has it."""
        self.work.sync(name)
        self.work.move(name, self._folder, to)
        self._folder.sync()

    def keep_all(self, names: Iterable[str]) -> None:
        """As ``Place`` has it."""
        for name in names:
            self.work.move(name, self._folder, name)
        self._folder.sync()

    def create(self, name: str, data: bytes) -> None:
        """As ``Place`` has it."""
        with open(self.work.create(name, 0o600), "wb") as file:
            file.write(data)
        self.work.sync(name)
        try:
            self.work.link(name, self._folder, name)
            self._folder.sync()
        finally:
            self.work.remove(name)

    def remove(self, name: str) -> None:
        """As ``Place`` has it."""
        self._folder.remove(name)

    def clear(self) -> None:
        """As ``Place`` has it."""
        for name in (LISTING, *self._folder.names()):
            if name != self.work.path.name:
                self._folder.clear(name)

    def close(self) -> None:
        """As ``Place`` has it."""
        while self._open:
            os.close(self._open.popitem()[1])
        with suppress(OSError):
            self._folder.clear(self.work.path.name)
            for name in filter(_is_left, self._folder.names()):
                self._folder.clear(name)
            self._folder.remove_folder()  # does nothing to one that is not empty
        self._folder.close()


def _host() -> str:
    return xxh3_64_hexdigest(os.uname().nodename.encode())


def _is_left(name: str) -> bool:
    """Whether a folder is that of a process of this host that was killed."""
    match = _PASSING.fullmatch(name)
    if not match or match[2] != _host():
        return False
    return is_alive(f"process {match[1]} on {os.uname().nodename}".encode()) is False


def stage(work: Folder, name: str, pieces: Iterable[bytes]) -> str:
    """Write a new file; its hash."""
    digest = xxh3_128()
    with open(work.create(name, 0o600), "wb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()
