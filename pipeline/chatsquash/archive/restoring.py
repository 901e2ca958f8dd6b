"""Write files of an archive to a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from chatsquash.archive.selection import CopyProblem
from chatsquash.sources.names import matches
from chatsquash.storage.archive.files import (
    ArchivedFile,
    ArchivedFiles,
    SnapshotDamage,
    archived_files,
    snapshot_name,
)
from chatsquash.storage.archive.layout import DamageError, FileContent, chunk_id, split_ids
from chatsquash.storage.archive.repository import Archive
from chatsquash.storage.folder import Folder

_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_SUFFIX = ".new"
_DEEPEST = 256
"""The largest number of folders in a name."""


class RestoreReport(Struct):
    """The result of ``restore``."""

    files: int = 0
    size: int = 0
    problems: list[CopyProblem] = field(default_factory=list)


def restore(
    archive: Archive, output: Path, patterns: Iterable[str] = (), *, until: int | None = None, force: bool = False
) -> RestoreReport:
    """Write the files that match a pattern, or all; existing files are only replaced with ``force``."""
    archive.update_index()
    report = RestoreReport()
    folder = Folder(output)
    folder.make(mode=_PRIVATE_FOLDER)
    archived = archived_files(archive, until)
    report.problems += snapshot_problems(archived)
    for each in select(archived.files, patterns):
        try:
            _write(archive, each, folder, force=force)
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or "the name leads outside the folder"
            report.problems.append(CopyProblem(each.name, reason))
        else:
            report.files += 1
            report.size += each.entry.content.size
    return report


def snapshot_problems(archived: ArchivedFiles) -> list[CopyProblem]:
    """Return a problem for each snapshot that cannot be read."""
    return [snapshot_problem(each) for each in archived.damages]


def snapshot_problem(damage: SnapshotDamage) -> CopyProblem:
    """Return the problem of a snapshot that cannot be read."""
    return CopyProblem(snapshot_name(damage.key), damage.explanation)


def select(files: list[ArchivedFile], patterns: Iterable[str]) -> list[ArchivedFile]:
    """Return the files whose names match one of the patterns, or all if there are none."""
    globs = tuple(patterns)
    return [each for each in files if not globs or matches(each.name, globs)]


def _write(archive: Archive, file: ArchivedFile, folder: Folder, *, force: bool) -> None:
    if file.name.count("/") > _DEEPEST:
        raise OSError(36, "the name has too many folders")
    if folder.status(file.name) and not force:
        raise OSError(17, "exists already (--force replaces it)")
    above = file.name.rpartition("/")[0]
    partial = f"{above}/{os.urandom(8).hex()}{_SUFFIX}"  # no file of the user has this name
    folder.make(above, _PRIVATE_FOLDER)
    try:
        with open(folder.create(partial, _PRIVATE_FILE), "wb") as output:
            output.writelines(intact_chunks(archive, file.entry.content))
        with folder.parent_of(partial) as (parent, last), suppress(OverflowError):
            os.utime(last, ns=(file.entry.modified, file.entry.modified), dir_fd=parent, follow_symlinks=False)
        folder.move(partial, folder, file.name)
    except BaseException:
        folder.remove(partial)
        raise


def intact_chunks(archive: Archive, content: FileContent) -> Iterator[memoryview]:
    """Yield the chunks of a file; raise ``DamageError`` if one does not match its hash or the size is another one."""
    size = 0
    for identity in split_ids(archive.ids(content)):
        chunk = archive.chunk(identity)
        if chunk_id(chunk) != identity:
            raise DamageError(5, f"{archive.place}: chunk {identity.hex()} does not match its hash")
        size += len(chunk)
        if size > content.size:
            break
        yield chunk
    if size != content.size:
        raise DamageError(5, "has another size in the archive than in its snapshot")
