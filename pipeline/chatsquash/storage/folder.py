"""Output folders: the only module in which a name under the output folder becomes a file.

A folder is opened as a descriptor, from which names are resolved part by part without following links. A link that
replaces a folder or a file, before or during a run, therefore never leads outside the output folder.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EFBIG, EINVAL, ELOOP, ESTALE
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS, STAGING_FOLDER

if missing_call := platform.missing():
    raise UsageError(
        f"chatsquash reads and writes files with POSIX system calls, and {missing_call} is missing on this system; "
        "run it on Linux or macOS, or on Windows in WSL (Windows Subsystem for Linux)"
    )

NEVER_WAITING = os.O_NONBLOCK | os.O_CLOEXEC
"""Flags for opening a file without blocking, in case it is a pipe."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | NEVER_WAITING
_NEW = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LEVELS = 16
"""The number of folder levels to search; output has less than half as many."""
_LARGEST = 2 << 30
"""The maximum size in bytes of a file that is read completely; a manifest of ten million logs is smaller."""
_DEPTH = 64
"""The maximum number of parts in a name; only ``redact`` writes deep folders, because its outputs mirror the inputs."""


class Folder:
    """A folder and the operations on files under it; names are relative, with parts joined by ``/``.

    The path of the outermost folder may contain links, but those of inner folders may not. The folder is opened on
    first use, and reopened in a process to which it is sent.

    Raises:
        OSError: The system rejects an operation, or a name contains a link.
        ValueError: A name leads outside the folder.
    """

    def __init__(self, path: Path, above: Folder | None = None, name: str = "") -> None:
        self.path = path.absolute()
        self._above, self._name = above, name
        self._descriptor: int | None = None
        self._inner: dict[str, Folder] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_descriptor": None, "_inner": {}}

    def folder(self, name: str) -> Folder:
        """Return a folder under this one, which need not exist yet."""
        return self._inner.setdefault(name, Folder(self.path / name, self, name))

    @property
    def descriptor(self) -> int:
        """The descriptor of the open folder."""
        if self._descriptor is None and self._above is None:
            self._descriptor = os.open(self.path, _FOLDER)
        elif self._descriptor is None and self._above is not None:
            with self._above.parent_of(self._name) as (folder, last):
                self._descriptor = os.open(last, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        assert self._descriptor is not None
        return self._descriptor

    def close(self) -> None:
        """Close this folder and the folders in it; later operations reopen them."""
        for each in self._inner.values():
            each.close()
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    @contextmanager
    def parent_of(self, name: str) -> Iterator[tuple[int, str]]:
        """Open the parent folder of a name; yield its descriptor and the last part of the name."""
        *folders, last = _parts(name)
        own = at = self.descriptor
        try:
            for each in folders:
                below = os.open(each, _FOLDER | os.O_NOFOLLOW, dir_fd=at)
                if at != own:
                    os.close(at)
                at = below
            yield at, last
        finally:
            if at != own:
                os.close(at)

    # Reading

    def status(self, name: str) -> os.stat_result | None:
        """Return the status of a name without following links, or ``None`` if it does not exist."""
        try:
            with self.parent_of(name) as (folder, last):
                return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self) -> list[str]:
        """Return the names in this folder."""
        with os.scandir(self.descriptor) as entries:
            return [each.name for each in entries]

    def unexpected_entries(self) -> Iterator[str]:
        """Yield entries that are neither files nor folders, or that are deeper than any output."""
        return _unexpected_entries(self.descriptor, "", _LEVELS)

    def open(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
        """Open a regular file, which the flags may create but never truncate; return the descriptor."""
        try:
            with self.parent_of(name) as (folder, last):
                descriptor = os.open(last, flags | _FILE, mode, dir_fd=folder)
        except OSError as problem:
            if problem.errno == ELOOP:
                raise OSError(ELOOP, "symbolic links are not followed") from None
            raise
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return descriptor
        os.close(descriptor)
        is_folder = stat.S_ISDIR(mode)
        raise OSError(EINVAL, "is a folder" if is_folder else "not a regular file")

    def read(self, name: str) -> bytes:
        """Return the content of a file; raise ``OSError`` if it is larger than any output that is read."""
        with open(self.open(name), "rb") as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                raise OSError(EFBIG, f"file is larger than {_LARGEST:,} bytes")
            return file.read()

    def open_file(self, name: str) -> BinaryIO:
        """Open a file for reading."""
        return open(self.open(name), "rb")

    # Writing

    def make(self, name: str = "", mode: int = 0o777) -> None:
        """Create a folder and its missing parents."""
        if not name and self._above:
            self._above.make(self._name, mode)
        elif not name:
            self.path.mkdir(mode, parents=True, exist_ok=True)
        parts = _parts(name) if name else []
        for count in range(1, len(parts) + 1):
            with self.parent_of("/".join(parts[:count])) as (folder, last):
                with suppress(FileExistsError):
                    os.mkdir(last, mode, dir_fd=folder)
                os.close(os.open(last, _FOLDER | os.O_NOFOLLOW, dir_fd=folder))

    def create(self, name: str, mode: int = 0o666) -> int:
        """Create a file and its missing parents; return a descriptor for appending."""
        try:
            return self._create(name, mode)
        except FileNotFoundError:
            self.make(name.rpartition("/")[0])
            return self._create(name, mode)

    def _create(self, name: str, mode: int) -> int:
        with self.parent_of(name) as (folder, last):
            return os.open(last, _NEW, mode, dir_fd=folder)

    def append(self, name: str, known: tuple[int, int]) -> int:
        """Open a file of this run for appending; raise ``OSError`` if it was replaced by another file."""
        descriptor = self.open(name, os.O_WRONLY)  # without O_APPEND, which copy_file_range does not support
        if platform.identity(descriptor) == known:
            os.lseek(descriptor, 0, os.SEEK_END)
            return descriptor
        os.close(descriptor)
        raise OSError(ESTALE, f"{self.path / name}: it was replaced by another file")

    def replace(self, name: str, data: bytes, mode: int = 0o666) -> None:
        """Replace a file atomically."""
        try:
            self.write_new(name, data, mode)
            self.sync(f"{name}.new")
            self.move(f"{name}.new", self, name)
        except BaseException:
            self.remove(f"{name}.new")
            raise

    def write_new(self, name: str, data: bytes, mode: int = 0o666) -> None:
        """Write the new version of a file next to it."""
        self.remove(f"{name}.new")
        with open(self.create(f"{name}.new", mode), "wb") as file:
            file.write(data)

    def move(self, name: str, folder: Folder, to: str) -> None:
        """Move a file, replacing an existing one; missing parents are created."""
        try:
            self._move(name, folder, to)
        except FileNotFoundError:
            if "/" not in to:
                raise
            folder.make(to.rpartition("/")[0])
            self._move(name, folder, to)

    def _move(self, name: str, folder: Folder, to: str) -> None:
        with self.parent_of(name) as (here, last), folder.parent_of(to) as (there, new):
            os.rename(last, new, src_dir_fd=here, dst_dir_fd=there)

    def link(self, name: str, folder: Folder, to: str) -> None:
        """Link a file to a name that must not exist; on a system without hard links, move the file."""
        if "/" in to:
            folder.make(to.rpartition("/")[0])
        with self.parent_of(name) as (here, last), folder.parent_of(to) as (there, new):
            try:
                os.link(last, new, src_dir_fd=here, dst_dir_fd=there, follow_symlinks=False)
            except FileExistsError:
                raise
            except (OSError, NotImplementedError):
                os.rename(last, new, src_dir_fd=here, dst_dir_fd=there)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself, if it exists."""
        with suppress(FileNotFoundError), self.parent_of(name) as (folder, last):
            os.unlink(last, dir_fd=folder)

    def remove_folder(self, name: str = "") -> None:
        """Remove an empty folder under this one, or this one."""
        if name:
            with self.parent_of(name) as (folder, last):
                os.rmdir(last, dir_fd=folder)
        elif self._above:
            self._above.remove_folder(self._name)
        else:
            self.path.rmdir()

    def clear(self, name: str) -> None:
        """Remove a folder with as much of its content as possible, if it exists."""
        if inner := self._inner.get(name):
            inner.close()
        with suppress(OSError), self.parent_of(name) as (folder, last):
            _clear(last, folder, _DEPTH + 2)  # the maximum depth of a name, below two levels of journal folders

    def sync(self, name: str = "") -> None:
        """Flush the bytes of a file, or the names in this folder, to the disk."""
        if not name:
            platform.sync(self.descriptor)
            return
        with self.parent_of(name) as (folder, last):
            descriptor = os.open(last, os.O_RDONLY | _FILE, dir_fd=folder)
        try:
            platform.sync(descriptor)
        finally:
            os.close(descriptor)


def validate_name(name: Any) -> str:
    """Return a name from an untrusted source if it stays under the folder; otherwise raise ``ValueError``.

    Names in journal folders are also rejected.
    """
    parts = PurePosixPath(name).parts
    is_plain = "/".join(parts) == name and ".." not in parts and b"\0" not in os.fsencode(name)
    if (
        not 0 < len(parts) <= _DEPTH
        or not is_plain
        or parts[0].casefold() == OURS
        or STAGING_FOLDER.fullmatch(parts[0].casefold())
    ):
        raise ValueError(name)
    return str(name)


def parent_folders(name: str) -> list[str]:
    """Return the parent folders of a name, outermost first."""
    return [str(folder) for folder in reversed(PurePosixPath(name).parents) if folder.parts]


def _parts(name: str) -> list[str]:
    parts = name.split("/")
    if {"", ".", ".."}.intersection(parts):
        raise ValueError(name)
    return parts


def _unexpected_entries(descriptor: int, inside: str, levels: int) -> Iterator[str]:
    with os.scandir(descriptor) as entries:
        for each in entries:
            name = f"{inside}{each.name}"
            if not each.is_dir(follow_symlinks=False):
                if not each.is_file(follow_symlinks=False):
                    yield name
            elif not levels:
                yield name
            else:
                folder = os.open(each.name, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
                try:
                    yield from _unexpected_entries(folder, f"{name}/", levels - 1)
                finally:
                    os.close(folder)


def _clear(name: str, above: int, levels: int) -> None:
    """Remove a file, or a folder with its content; entries that cannot be removed are left."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=above)
        return
    descriptor = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    try:
        with os.scandir(descriptor) as entries:
            names = [each.name for each in entries] if levels else []
        for each in names:
            with suppress(OSError):
                _clear(each, descriptor, levels - 1)
    finally:
        os.close(descriptor)
    os.rmdir(name, dir_fd=above)
