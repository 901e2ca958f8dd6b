"""A store in a local folder: objects are files that appear complete or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from errno import EEXIST, ENOTSUP
from pathlib import Path

from chatsquash.storage.folder import Folder
from chatsquash.storage.stores.base import StaleError, StoredBytes, StoredObject, state, stored_object

PARTIAL = ".new"
"""The suffix of a file that is being written."""
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600


class LocalStore:
    """A folder whose files are objects; links in it are never followed."""

    def __init__(self, path: Path) -> None:
        self._folder = Folder(path)

    def status(self, key: str) -> StoredObject | None:
        """See ``Store``."""
        try:
            status = self._folder.status(key) if key else None
        except (FileNotFoundError, ValueError):
            return None
        return _stored_file(key, status) if status and stat.S_ISREG(status.st_mode) else None

    def list(self, folder: str) -> Iterator[Iterable[StoredObject]]:
        """See ``Store``."""
        above = folder.rstrip("/")
        base = self._folder.path / above
        for path, _, names in os.walk(base):
            below = os.path.relpath(path, self._folder.path)
            prefix = "" if below == "." else f"{below}/"
            page = (self.status(prefix + name) for name in names if not name.endswith(PARTIAL))
            yield [each for each in page if each]

    def inside(self, folder: str) -> Iterable[str]:
        """See ``Store``."""
        base = self._folder.path / folder.rstrip("/")
        with suppress(FileNotFoundError), os.scandir(base) as entries:
            prefix = f"{folder.rstrip('/')}/" if folder else ""
            names = [each.name for each in entries if each.is_file(follow_symlinks=False)]
            return [prefix + name for name in names if not name.endswith(PARTIAL)]
        return []

    def get(self, key: str, start: int, size: int, tag: str | None) -> StoredBytes:
        """See ``Store``."""
        descriptor = self._folder.open(key)
        try:
            status = os.fstat(descriptor)
            current = _stored_file(key, status)
            if tag is not None and tag != str(current.state):
                raise StaleError
            data = _read_at(descriptor, max(0, min(size, status.st_size - start)), start)
        finally:
            os.close(descriptor)
        return StoredBytes(data, current.size, current.state, str(current.state))

    def put(self, key: str, data: bytes) -> None:
        """See ``WritableStore``."""
        partial = self._write_partial(key, data)
        try:
            self._folder.move(partial, self._folder, key)
        except BaseException:
            self._folder.remove(partial)
            raise
        self._sync_names(key)

    def create(self, key: str, data: bytes, instead: str | None = None) -> None:
        """See ``WritableStore``; replacing an object by its tag is not supported."""
        if instead is not None:
            raise OSError(ENOTSUP, "a folder cannot replace a file by its tag")
        if self.status(key):
            raise FileExistsError(EEXIST, "an object with this key already exists")
        partial = self._write_partial(key, data)
        try:
            self._folder.link(partial, self._folder, key)
        finally:
            self._folder.remove(partial)
        self._sync_names(key)

    def upload(self, key: str, path: Path) -> None:
        """See ``WritableStore``."""
        self.put(key, path.read_bytes())

    def delete(self, keys: Iterable[str]) -> None:
        """See ``WritableStore``."""
        for key in keys:
            self._folder.remove(key)

    def remove_partial(self, before: float) -> int:
        """Remove files whose writing was interrupted before a time; return their number."""
        count = 0
        for path, _, names in os.walk(self._folder.path):
            for name in names:
                file = Path(path, name)
                with suppress(FileNotFoundError):
                    if name.endswith(PARTIAL) and file.lstat().st_mtime < before:
                        file.unlink()
                        count += 1
        return count

    def _write_partial(self, key: str, data: bytes) -> str:
        """Write and flush an object under another name; return that name."""
        above = key.rpartition("/")[0]
        self._folder.make(above, _PRIVATE_FOLDER)
        partial = f"{key}.{os.urandom(8).hex()}{PARTIAL}"
        try:
            with open(self._folder.create(partial, _PRIVATE_FILE), "wb") as file:
                file.write(data)
            self._folder.sync(partial)
        except BaseException:
            self._folder.remove(partial)
            raise
        return partial

    def _sync_names(self, key: str) -> None:
        """Flush the names in all folders of a key to the disk."""
        above = key.rpartition("/")[0]
        while above:
            self._folder.sync(above)
            above = above.rpartition("/")[0]
        self._folder.sync()


def _stored_file(key: str, status: os.stat_result) -> StoredObject:
    version = f"{status.st_ino} {status.st_mtime_ns} {status.st_size}"
    return stored_object(key, status.st_size, state(None, version), status.st_mtime)


def _read_at(descriptor: int, size: int, start: int) -> bytes:
    pieces = list[bytes]()
    while size > 0 and (piece := os.pread(descriptor, size, start)):
        pieces.append(piece)
        start, size = start + len(piece), size - len(piece)
    return b"".join(pieces)
