"""A folder that we write to: the one place where a name below the output folder becomes a file.

A folder is held by a descriptor, and names are looked up from there part by part, no link being followed.  So nothing
that takes the place of a folder or a file, before a run or while it goes on, leads to anywhere else.
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

if lacking := platform.missing():
    raise UsageError(
        f"chatsquash reads and writes files by calls of POSIX systems, and {lacking} is missing here; "
        "run it on Linux or macOS, on Windows in WSL (Windows Subsystem for Linux)"
    )

NEVER_WAITING = os.O_NONBLOCK | os.O_CLOEXEC
"""Flags that do not wait for the other end of a pipe, should one stand in the place of a file."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | NEVER_WAITING
_NEW = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LEVELS = 16
"""Folders in folders that are looked into; what we write is not half as deep."""
_LARGEST = 2 << 30
"""Bytes of a file that is read at once: a manifest of ten million logs has fewer."""
_DEPTH = 64
"""Parts of a name; only ``redact`` writes such, since its outputs are in folders like those of its inputs."""


class Folder:
    """A folder, and what is done below it; names are relative, their parts joined by ``/``.

    The path of the outermost folder may lead over links, those of folders in it may not.  It is opened when it is first
    needed, and anew in a process that it is sent to.  Raises ``OSError`` for what the system refuses, for links on the
    way included, and ``ValueError`` for a name that leads elsewhere.
    """

    def __init__(self, path: Path, above: Folder | None = None, name: str = "") -> None:
        self.path = path.absolute()
        self._above, self._name = above, name
        self._descriptor: int | None = None
        self._inner: dict[str, Folder] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_descriptor": None, "_inner": {}}

    def folder(self, name: str) -> Folder:
        """A folder in this one, which need not be there yet."""
        return self._inner.setdefault(name, Folder(self.path / name, self, name))

    @property
    def descriptor(self) -> int:
        """The open folder."""
        if self._descriptor is None and self._above is None:
            self._descriptor = os.open(self.path, _FOLDER)
        elif self._descriptor is None and self._above is not None:
            with self._above.parent_of(self._name) as (folder, last):
                self._descriptor = os.open(last, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        assert self._descriptor is not None
        return self._descriptor

    def close(self) -> None:
        """Close this folder and those in it; what needs one of them after that opens it anew."""
        for each in self._inner.values():
            each.close()
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    @contextmanager
    def parent_of(self, name: str) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that a name stands in, and the last part of the name."""
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

    # What is there

    def status(self, name: str) -> os.stat_result | None:
        """What stands under a name, a link as itself; ``None`` where nothing does."""
        try:
            with self.parent_of(name) as (folder, last):
                return os.stat(last, dir_fd=folder, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self) -> list[str]:
        """What stands in this folder."""
        with os.scandir(self.descriptor) as entries:
            return [each.name for each in entries]

    def strange(self) -> Iterator[str]:
        """What is neither a file nor a folder, and what lies deeper than anything of ours."""
        return _strange(self.descriptor, "", _LEVELS)

    def open(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o600) -> int:
        """A descriptor of a regular file; it may be made, and is never cut."""
        try:
            with self.parent_of(name) as (folder, last):
                descriptor = os.open(last, flags | _FILE, mode, dir_fd=folder)
        except OSError as problem:
            if problem.errno == ELOOP:
                raise OSError(ELOOP, "it is a link, which is not followed") from None
            raise
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode):
            return descriptor
        os.close(descriptor)
        is_folder = stat.S_ISDIR(mode)
        raise OSError(EINVAL, "it is a folder" if is_folder else "it is no regular file")

    def read(self, name: str) -> bytes:
        """What is in a file; raises ``OSError`` for one with more bytes than any of ours has."""
        with open(self.open(name), "rb") as file:
            if os.fstat(file.fileno()).st_size > _LARGEST:
                raise OSError(EFBIG, f"it has more than {_LARGEST:,} bytes")
            return file.read()

    def reading(self, name: str) -> BinaryIO:
        """A file, to be read."""
        return open(self.open(name), "rb")

    # What is changed

    def make(self, name: str = "", mode: int = 0o777) -> None:
        """Make a folder with those above it, as far as they are not there."""
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
        """A descriptor of a new file, to which is appended; the folders that it needs are made."""
        try:
            return self._create(name, mode)
        except FileNotFoundError:
            self.make(name.rpartition("/")[0])
            return self._create(name, mode)

    def _create(self, name: str, mode: int) -> int:
        with self.parent_of(name) as (folder, last):
            return os.open(last, _NEW, mode, dir_fd=folder)

    def append(self, name: str, known: tuple[int, int]) -> int:
        """A descriptor of a file that we made, to append to; of no other that took its place."""
        descriptor = self.open(name, os.O_WRONLY)  # not O_APPEND, to which the system copies nothing by itself
        if platform.identity(descriptor) == known:
            os.lseek(descriptor, 0, os.SEEK_END)
            return descriptor
        os.close(descriptor)
        raise OSError(ESTALE, f"{self.path / name}: another file took its place")

    def replace(self, name: str, data: bytes, mode: int = 0o666) -> None:
        """Write a file of ours, so that it is there whole or as it was."""
        try:
            self.write_new(name, data, mode)
            self.sync(f"{name}.new")
            self.move(f"{name}.new", self, name)
        except BaseException:
            self.remove(f"{name}.new")
            raise

    def write_new(self, name: str, data: bytes, mode: int = 0o666) -> None:
        """Write what will replace a file, beside that."""
        self.remove(f"{name}.new")
        with open(self.create(f"{name}.new", mode), "wb") as file:
            file.write(data)

    def move(self, name: str, folder: Folder, to: str) -> None:
        """Give a file another place, also in the place of another; the folders that it needs are made."""
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
        """Let a file stand in another place, too, where nothing does; without hard links it is moved there."""
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
        """Remove a file, or a link and not what it leads to; there may be none."""
        with suppress(FileNotFoundError), self.parent_of(name) as (folder, last):
            os.unlink(last, dir_fd=folder)

    def remove_folder(self, name: str = "") -> None:
        """Remove a folder in this one, or this one; it has to be empty."""
        if name:
            with self.parent_of(name) as (folder, last):
                os.rmdir(last, dir_fd=folder)
        elif self._above:
            self._above.remove_folder(self._name)
        else:
            self.path.rmdir()

    def clear(self, name: str) -> None:
        """Remove a folder with all that is in it, as far as that can be; there may be none."""
        if inner := self._inner.get(name):
            inner.close()
        with suppress(OSError), self.parent_of(name) as (folder, last):
            _clear(last, folder, _DEPTH + 2)  # a name in a folder of a journal folder

    def sync(self, name: str = "") -> None:
        """Make sure that a file's bytes, or the names in this folder, reach the disk."""
        if not name:
            platform.sync(self.descriptor)
            return
        with self.parent_of(name) as (folder, last):
            descriptor = os.open(last, os.O_RDONLY | _FILE, dir_fd=folder)
        try:
            platform.sync(descriptor)
        finally:
            os.close(descriptor)


def inside(name: Any) -> str:
    """A name that leads neither elsewhere nor into a folder of ours, whoever wrote it; raises ``ValueError``."""
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


def above(name: str) -> list[str]:
    """The folders that a name is in, the outermost first."""
    return [str(folder) for folder in reversed(PurePosixPath(name).parents) if folder.parts]


def _parts(name: str) -> list[str]:
    parts = name.split("/")
    if {"", ".", ".."}.intersection(parts):
        raise ValueError(name)
    return parts


def _strange(descriptor: int, inside: str, levels: int) -> Iterator[str]:
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
                    yield from _strange(folder, f"{name}/", levels - 1)
                finally:
                    os.close(folder)


def _clear(name: str, above: int, levels: int) -> None:
    """Remove what stands there; what cannot be removed stays, with the folders that hold it."""
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
