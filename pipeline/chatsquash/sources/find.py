"""Discover session logs. The order of the result depends only on the names of the files."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable
from errno import ELOOP, ENOENT
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec import Struct, field

from chatsquash.checks import archives
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import STAGING_FOLDER, Finding, Violation
from chatsquash.core.options import Options
from chatsquash.core.text import escape
from chatsquash.sources.compression import HEAD, KINDS, ExpandedFile, recognise, stem, uncompressed
from chatsquash.sources.identity import read_at, status_of
from chatsquash.sources.logs import Copies, Logs, duplicate_log
from chatsquash.sources.names import (
    ARCHIVE_SCHEME,
    LOGS,
    MARK,
    Root,
    check_dates,
    container,
    expand,
    fits,
    has_magic,
    is_archive,
    is_between,
    is_folder,
    matches,
    may_be_document,
    may_be_part,
    path_day,
    suffix_of,
    url_suffix,
)
from chatsquash.sources.open import raw
from chatsquash.sources.outputs import is_output, output_error, output_not_read, output_of
from chatsquash.storage import is_remote, refuse_unknown
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.sources.archives import ArchiveEntry

NO_SUFFIX, LINKED_FOLDER, BROKEN_LINK, SPECIAL = "no suffix", "linked folder", "broken link", "special file"
SAME_FILE, EARLIER_OUTPUT, SECOND_COPY = "same file again", "earlier output", "second copy"
NESTED, STORED_ARCHIVE = "archive in an archive", "archive in a store"

IsReadable = Callable[[str, Options], bool | str]
"""Returns whether a file is read; a string describes a file that is only read as part of another one."""


class Discovery(Struct):
    """The logs to convert, and counts of the other files."""

    logs: Logs = field(default_factory=Logs)
    others: Counter[str] = field(default_factory=Counter)
    """Files that are not session logs, counted by suffix or by a description such as ``linked folder``."""
    passed_over: int = 0
    """The number of session logs that the options exclude."""
    findings: list[Finding] = field(default_factory=list)
    """Findings about individual files."""


def discover(  # noqa: PLR0913, PLR0917
    logs: Iterable[str],
    options: Options,
    is_readable: IsReadable,
    out: Path | str | None = None,
    days_of: Callable[[Log], list[str]] = lambda _: [],
    expanded: Callable[[], Folder] | None = None,
) -> Discovery:
    """Return the session logs in folders, files, globs and URLs.

    Args:
        logs: The arguments: paths, globs and URLs.
        options: The options that select logs.
        is_readable: Returns whether a file with a document suffix is read, or describes what it is a part of.
        out: The output folder or its URL, which is never read.
        days_of: Returns the days of the sessions in a log without a date in its path; only called if options select by
            day.
        expanded: Returns the folder for copies of compressed archives. Without it, each process creates its own.

    Raises:
        UsageError: An argument does not exist, or a date is invalid.
    """
    check_dates(options.since, options.until)
    discovery = Discovery()
    search = _Search(options, is_readable, out, days_of, expanded, discovery, Copies(discovery.logs))
    for argument in logs:
        if is_remote(argument):
            search.add_url(argument)
        elif argument.startswith(ARCHIVE_SCHEME):
            search.add_stored(argument)
        else:
            search.add_argument(argument)
    return discovery


class _Search(Struct):
    """Collects files in the order of their paths, without duplicates."""

    options: Options
    is_readable: IsReadable
    out: Path | str | None
    days_of: Callable[[Log], list[str]]
    expanded: Callable[[], Folder] | None
    discovery: Discovery
    copies: Copies
    seen: set[int] = field(default_factory=set)
    """A number per file that combines device and inode, because pairs take more memory."""
    outputs: set[str] = field(default_factory=set)
    """The outputs of earlier runs that were already reported."""

    def add_argument(self, argument: str) -> None:
        """Add a file, a folder, an archive member or the matches of a glob."""
        path = Path(argument)
        try:
            is_folder = stat.S_ISDIR(os.stat(argument).st_mode)  # noqa: PTH116 - Path("") would be the current folder
        except OSError as problem:
            if "://" in argument:
                refuse_unknown(argument)
            if inside := container(argument):
                self._add_member(argument, *inside)
                return
            if not has_magic(argument):
                raise UsageError(f"{argument}: cannot be read ({problem.strerror})") from None
            for root in expand(argument):
                self._add_match(root)
            return
        if self._is_out(path):
            raise UsageError(f"{argument}: is in the output folder, which is never read; choose another with --output")
        if is_folder and is_output(path):
            raise output_error(argument)
        if output := output_of(path):
            raise output_error(argument, output)
        if is_folder:
            self._add_folder(Root(path, PurePosixPath()))
        else:
            self._add_file(str(path), path.name, (suffix_of(path.name),))

    def add_url(self, url: str) -> None:
        """Add the files in a store that a URL refers to."""
        from chatsquash.sources.listings import Listing, entry_log  # not needed for local files

        suffixes = url_suffix(url)
        listing = Listing(self.out if isinstance(self.out, str) else None)
        for entry in listing.entries(url):
            above = entry.name.rpartition("/")[0]
            if above and matches(above, self.options.exclude):
                continue  # excluded folders are not searched on disk either
            # Two arguments may refer to the same URL.
            if (key := hash(entry.path)) in self.seen:
                self.discovery.others[SAME_FILE] += 1
                continue
            self.seen.add(key)
            if is_archive(entry.name):
                self.discovery.others[STORED_ARCHIVE] += 1
            elif self._is_log(entry.path, entry.name, suffixes):
                self._add(entry_log(entry))
        for folder in listing.earlier_outputs:
            self._note_output(folder, folder)

    def _add_match(self, root: Root) -> None:
        path = root.base / root.below
        inside = (root.base / part for part in (root.below, *root.below.parents) if part.parts)
        if self._is_out(path) or any(map(self._is_earlier_output, inside)):
            return
        if output := output_of(path):
            self._note_output(str(output), os.path.realpath(output))
            return
        if not path.is_dir():
            self._add_file(str(path), root.below.as_posix(), root.suffixes)
        elif path.is_symlink() and not self.options.follow_links:
            self.discovery.others[LINKED_FOLDER] += 1
        else:
            self._add_folder(root)

    def _add_folder(self, root: Root) -> None:
        visited: set[str] = set()  # prevents endless recursion through links to parent folders
        pending = self._scan(
            str(root.base / root.below), "" if root.below == PurePosixPath() else str(root.below), visited
        )
        above = len(root.below.parts)
        while pending:
            path, name, item = pending.pop()
            if not is_folder(item):
                if not root.rest or fits(tuple(name.split("/"))[above:], root.rest):
                    self._add_file(path, name, root.suffixes, may_be_link=item.is_symlink())
            elif item.is_symlink() and not self.options.follow_links:
                self.discovery.others[LINKED_FOLDER] += 1
            elif not matches(name, self.options.exclude) and not self._is_earlier_output(Path(path)):
                pending += self._scan(path, name, visited)

    def _scan(self, folder: str, below: str, visited: set[str]) -> list[tuple[str, str, os.DirEntry[str]]]:
        """List a folder in reverse order: the path of each entry, its name under the root, and the entry."""
        real_path = os.path.realpath(folder)
        if real_path in visited or self._is_out(Path(real_path)):
            return []
        visited.add(real_path)
        try:
            with os.scandir(folder) as items:
                names = sorted(items, key=attrgetter("name"), reverse=True)
        except OSError as problem:
            hint = "fix its permissions, or skip it with --exclude"
            raise UsageError(f"{folder}: cannot be listed ({problem.strerror}); {hint}") from None
        # Paths are joined as strings, because there may be many and Path takes ten times as long.
        path = "" if folder == "." else folder.rstrip("/") + "/"
        name = f"{below}/" if below else ""
        return [(path + item.name, name + item.name, item) for item in names]

    def _add_file(self, path: str, name: str, suffixes: tuple[str, ...], *, may_be_link: bool = True) -> None:
        """Add a file if it is a log, or the logs among the members of an archive."""
        if is_archive(name):
            self._add_archive(path, name)
        elif self._is_log(path, name, suffixes):
            self._add_regular_file(path, name, may_be_link=may_be_link)

    def add_stored(self, argument: str) -> None:
        """Add the logs in an archive that ``chatsquash archive`` wrote, or one of them."""
        from chatsquash.sources import archive_logs  # few runs need it

        archive, only = container(argument) or (argument, None)
        try:
            members = archive_logs.select(archive, only)
        except OSError as problem:
            raise UsageError(f"{argument}: cannot be read ({problem.strerror})") from None
        if only and not members:
            raise UsageError(f"{argument}: cannot be read (the archive has no such file)")
        suffixes = (suffix_of(only),) if only else ()
        for each in members:
            path = f"{archive}{MARK}{each.name}"
            if (key := hash(path)) in self.seen:
                self.discovery.others[SAME_FILE] += 1
                continue
            self.seen.add(key)
            if is_archive(each.name):
                self.discovery.others[NESTED] += 1
            elif self._is_log(path, each.log_name, suffixes):
                self._add(Log(path, path, each.log_name, each.size, modified=each.version))

    def _add_member(self, argument: str, archive: str, member: str) -> None:
        """Add an archive member given as an argument, whatever its suffix."""
        if not os.path.isfile(archive):  # noqa: PTH113
            raise UsageError(f"{argument}: cannot be read (there is no such archive)")
        if not self._add_archive(archive, PurePosixPath(archive).name, member):
            raise UsageError(f"{argument}: cannot be read (the archive has no such member)")

    def _add_archive(self, path: str, name: str, only: str | None = None) -> bool:
        """Add the members of an archive in order, or only one; unreadable members are reported.

        Returns whether the archive has any members to consider.
        """
        from chatsquash.sources.archives import too_large  # few runs need it

        if matches(name, self.options.exclude):
            self.discovery.passed_over += 1
            return True
        try:
            if (contents := self._archive_members(path, only)) is None:
                return True
            readable_path, modified, members = contents
        except OSError as problem:
            self._note(archives.unreadable_archive(problem.strerror or type(problem).__name__), path)
            return True
        suffixes = (suffix_of(only),) if only else ()
        for each in members:
            inner = f"{MARK}{each.name}"
            if each.problem:
                self._note(archives.archive_member(each.problem), path + inner)
            elif is_archive(each.name):
                self.discovery.others[NESTED] += 1
            elif not self._is_log(readable_path + inner, name + inner, suffixes):
                continue
            elif reason := too_large(each, self.options):
                self._note(archives.archive_member(reason), path + inner)
            else:
                self._add(Log(readable_path + inner, path + inner, name + inner, each.size, modified=modified))
        return bool(members)

    def _archive_members(self, path: str, only: str | None) -> tuple[str, int, list[ArchiveEntry]] | None:
        """Return the path to open for an archive, its modification time, and the members that are not added yet.

        ``None`` if the archive, or the ``only`` member, is already added.
        """
        from chatsquash.sources.archives import entries  # few runs need it
        from chatsquash.sources.scratch import expand_tar, expand_tar_once

        with raw(path) as file:
            key = hash(status_of(file))
            own_key = key if only is None else hash((key, only))
            if not self.seen.isdisjoint((key, own_key)):
                self.discovery.others[SAME_FILE] += 1
                return None
            self.seen.add(own_key)
            modified = os.fstat(file.fileno()).st_mtime_ns
            kind = recognise(read_at(file, HEAD, 0))
            if kind is None:
                return path, modified, self._new_members(key, only, entries(file))
            with ExpandedFile(file, kind, self.options) as compressed:
                readable_path = (
                    expand_tar(self.expanded(), compressed)
                    if self.expanded
                    else expand_tar_once(compressed, status_of(file))
                )
                if compressed.problem:
                    self._note(archives.truncated_archive(compressed.problem), path)
        with raw(readable_path) as file:
            return readable_path if self.expanded else path, modified, self._new_members(key, only, entries(file))

    def _new_members(self, key: int, only: str | None, members: list[ArchiveEntry]) -> list[ArchiveEntry]:
        if only is not None:
            return [each for each in members if each.name == only]
        return [each for each in members if hash((key, each.name)) not in self.seen]

    def _note(self, fact: Violation, path: str) -> None:
        """Report a file that is not read."""
        name = stem(Log(path, path, path, 0))
        self.discovery.findings.append(Finding(fact.code, fact.severity, name, path, None, None, fact.text))

    def _is_log(self, path: str, name: str, suffixes: tuple[str, ...]) -> bool:
        """Return whether a file is a log to convert, based on its name; other files are counted."""
        suffix = suffix_of(name)
        plain = uncompressed(name) if suffix in KINDS else name
        is_log = suffix_of(plain) in (*LOGS, *suffixes) or suffix in suffixes
        answer = is_log or (may_be_document(plain) and self.is_readable(path, self.options))
        if is_log and not suffixes and may_be_part(plain):
            part = self.is_readable(path, self.options)
            answer = part if isinstance(part, str) else True
        if isinstance(answer, str):
            self.discovery.others[answer] += 1
        elif not answer:
            self.discovery.others[escape(suffix) or NO_SUFFIX] += 1
        elif (self.options.include and not matches(name, self.options.include)) or matches(name, self.options.exclude):
            self.discovery.passed_over += 1
        else:
            return True
        return False

    def _add_regular_file(self, path: str, name: str, *, may_be_link: bool) -> None:
        try:
            status = os.stat(path)  # noqa: PTH116 - as in _inside
        except OSError as problem:
            if problem.errno in (ENOENT, ELOOP):
                self.discovery.others[BROKEN_LINK] += 1
            else:
                self._add(Log(path, path, name, 0))  # the conversion reports the error
            return
        if not stat.S_ISREG(status.st_mode):
            self.discovery.others[SPECIAL] += 1
        elif may_be_link and os.path.islink(path) and self._is_out(Path(path)):  # noqa: PTH114
            return
        elif (key := status.st_dev << 64 | status.st_ino) in self.seen:  # possibly under another name
            self.discovery.others[SAME_FILE] += 1
        else:
            self.seen.add(key)
            self._add(Log(path, path, name, status.st_size, modified=status.st_mtime_ns))

    def _add(self, log: Log) -> None:
        full = self.options.limit is not None and len(self.discovery.logs) >= self.options.limit
        if full or not self._is_in_range(log):
            self.discovery.passed_over += 1
        elif first := self.copies.earlier_copy(log):
            self.discovery.others[SECOND_COPY] += 1
            self.discovery.findings.append(duplicate_log(first, log, self.options))
        else:
            self.discovery.logs.append(log)

    def _is_in_range(self, log: Log) -> bool:
        since, until = self.options.since, self.options.until
        if since is None and until is None:
            return True
        path_date = path_day(log.name)
        try:
            days = [path_date] if path_date else self.days_of(log)
        except (OSError, MemoryError):
            return True  # the conversion reports the error
        return any(is_between(day, since, until) for day in days)

    def _is_out(self, path: Path) -> bool:
        # realpath is used because Path.resolve raises an error for links to themselves.
        return isinstance(self.out, Path) and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.out))

    def _is_earlier_output(self, folder: Path) -> bool:
        """Return whether a folder is the output of another run; report it once, unless it is temporary."""
        if STAGING_FOLDER.fullmatch(folder.name):
            return True
        if not is_output(folder) or self._is_out(folder):
            return False
        self._note_output(str(folder), os.path.realpath(folder))
        return True

    def _note_output(self, folder: str, real_path: str) -> None:
        """Count and report the output of another run, unless this was already done."""
        if real_path not in self.outputs:
            self.outputs.add(real_path)
            self.discovery.others[EARLIER_OUTPUT] += 1
            self.discovery.findings.append(output_not_read(folder))
