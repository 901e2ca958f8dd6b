"""The shared folder of shards: the files of the listing, results and markers, which every machine can access."""

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
MAX_SHARDS = 100_000
"""Maximum number of shards."""
_OPEN_FILES = 64
_PASSING = re.compile(r"tmp-(\d{1,9})-([0-9a-f]{16})-[0-9a-f]{16}")
"""The name of a folder for unfinished files, with its process and host."""


class Shard(Struct, frozen=True):
    """The 1-based number of a shard, and the number of shards."""

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
        """The file that marks the shard as converted."""
        return f"done-{self._file_name}.json"

    @property
    def _file_name(self) -> str:
        return f"{self.number:05}-of-{self.count:05}"


def parse_shard(text: str) -> Shard:
    """Parse a shard such as ``3/64``; raise ``UsageError`` if it is invalid."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and len(text) < 20):
        raise UsageError(f"--shard {text!r}: not a shard; use the form K/N, for example 3/64")
    shard = Shard(int(number), int(count))
    if shard.count < 1:
        raise UsageError(f"--shard {text}: the number of shards must be at least 1 (for example 3/64)")
    if not 1 <= shard.number <= shard.count:
        raise UsageError(f"--shard {text}: the shard number must be between 1 and {shard.count}")
    return shard


def command_argument(out: str) -> str:
    """Return an output folder as an argument of a command."""
    return quote(f"./{out}" if out.startswith("-") else out)


class Place(Protocol):
    """Files, by names without folders. All methods raise ``OSError``."""

    out: str
    """The output folder, as shown in messages."""
    can_copy: bool
    """Whether files have descriptors."""
    work: Folder
    """A folder of this process for unfinished files; removed by ``close``."""

    def display_path(self, name: str) -> str:
        """Return a file as shown in messages."""

    def read(self, name: str) -> bytes:
        """Read a small file."""

    def lines(self, name: str) -> Iterator[bytes]:
        """Yield the lines of a file."""

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes, or ``None`` if it does not exist."""

    def read_at(self, name: str, size: int, offset: int) -> bytes:
        """Read bytes of a file; fewer if it ends earlier."""

    def descriptor(self, name: str) -> int:
        """Return the descriptor of an open file from which the system can copy."""

    def stage(self, name: str, pieces: Iterable[bytes]) -> str:
        """Write a file to ``work``, and return its hash."""

    def keep(self, name: str, to: str) -> None:
        """Move a file of ``work`` here under its final name; an existing file has the same content."""

    def keep_all(self, names: Iterable[str]) -> None:
        """Move files of ``work`` here; their content may be lost in a power failure."""

    def create(self, name: str, data: bytes) -> None:
        """Write a small new file; raise ``FileExistsError`` if the name exists."""

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""

    def clear(self) -> None:
        """Remove everything except ``work``, the listing first."""

    def close(self) -> None:
        """Close all open files, and remove ``work``."""


class FolderPlace:
    """A folder under an output folder; no link in it is followed."""

    can_copy = True

    def __init__(self, out: Path) -> None:
        self.out = str(out)
        self._folder = Folder(out).folder(OURS).folder(NAME)
        self.work = self._folder.folder(f"tmp-{os.getpid()}-{_host()}-{os.urandom(8).hex()}")
        self._open: OrderedDict[str, int] = OrderedDict()

    def display_path(self, name: str) -> str:
        """See ``Place``."""
        return str(Path(self.out, OURS, NAME, name))

    def read(self, name: str) -> bytes:
        """See ``Place``."""
        return self._folder.read(name)

    def lines(self, name: str) -> Iterator[bytes]:
        """See ``Place``."""
        with open(self._folder.open(name), "rb") as file:
            yield from file

    def size(self, name: str) -> int | None:
        """See ``Place``."""
        status = self._folder.status(name)
        return status.st_size if status else None

    def read_at(self, name: str, size: int, offset: int) -> bytes:
        """See ``Place``."""
        return os.pread(self.descriptor(name), size, offset)

    def descriptor(self, name: str) -> int:
        """See ``Place``; the descriptor is closed after many others were opened."""
        if name not in self._open:
            descriptor = self._folder.open(name)
            if len(self._open) >= _OPEN_FILES:
                os.close(self._open.popitem(last=False)[1])
            self._open[name] = descriptor
        self._open.move_to_end(name)
        return self._open[name]

    def stage(self, name: str, pieces: Iterable[bytes]) -> str:
        """See ``Place``."""
        self._folder.make(mode=0o700)
        return stage(self.work, name, pieces)

    def keep(self, name: str, to: str) -> None:
        """See ``Place``."""
        self.work.sync(name)
        self.work.move(name, self._folder, to)
        self._folder.sync()

    def keep_all(self, names: Iterable[str]) -> None:
        """See ``Place``."""
        for name in names:
            self.work.move(name, self._folder, name)
        self._folder.sync()

    def create(self, name: str, data: bytes) -> None:
        """See ``Place``."""
        with open(self.work.create(name, 0o600), "wb") as file:
            file.write(data)
        self.work.sync(name)
        try:
            self.work.link(name, self._folder, name)
            self._folder.sync()
        finally:
            self.work.remove(name)

    def remove(self, name: str) -> None:
        """See ``Place``."""
        self._folder.remove(name)

    def clear(self) -> None:
        """See ``Place``."""
        for name in (LISTING, *self._folder.names()):
            if name != self.work.path.name:
                self._folder.clear(name)

    def close(self) -> None:
        """See ``Place``."""
        while self._open:
            os.close(self._open.popitem()[1])
        with suppress(OSError):
            self._folder.clear(self.work.path.name)
            for name in filter(_is_stale, self._folder.names()):
                self._folder.clear(name)
            self._folder.remove_folder()  # fails for a folder that is not empty
        self._folder.close()


def _host() -> str:
    return xxh3_64_hexdigest(os.uname().nodename.encode())


def _is_stale(name: str) -> bool:
    """Return whether a folder belongs to a killed process of this host."""
    match = _PASSING.fullmatch(name)
    if not match or match[2] != _host():
        return False
    return is_alive(f"process {match[1]} on {os.uname().nodename}".encode()) is False


def stage(work: Folder, name: str, pieces: Iterable[bytes]) -> str:
    """Write a new file, and return its hash."""
    digest = xxh3_128()
    with open(work.create(name, 0o600), "wb") as file:
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
    return digest.hexdigest()
