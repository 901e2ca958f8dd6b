"""Which files are session logs, in an order that depends on nothing but their names."""

from __future__ import annotations

import glob
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
from chatsquash.core.urls import is_remote, refuse_unknown
from chatsquash.sources.compression import HEAD, KINDS, ExpandedFile, recognise, stem, uncompressed
from chatsquash.sources.copies import Copies, duplicate_log
from chatsquash.sources.globs import Root, expand, fits, is_folder, matches
from chatsquash.sources.identity import read_at, status_of
from chatsquash.sources.logs import Logs
from chatsquash.sources.names import (
    LOGS,
    MARK,
    check_dates,
    container,
    is_archive,
    is_between,
    may_be_document,
    may_be_part,
    path_day,
    suffix_of,
    url_suffix,
)
from chatsquash.sources.open import raw
from chatsquash.sources.outputs import is_output, output_error, output_not_read, output_of
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.sources.archives import ArchiveEntry

NO_SUFFIX, LINKED_FOLDER, BROKEN_LINK, SPECIAL = "no suffix", "linked folder", "broken link", "special file"
SAME_FILE, EARLIER_OUTPUT, SECOND_COPY = "same file again", "earlier output", "second copy"
NESTED, STORED_ARCHIVE = "archive in an archive", "archive in a store"

IsReadable = Callable[[str, Options], bool | str]
"""Whether a file is to be read; a text says what it is that is not read by itself."""


class Discovery(Struct):
    """The logs to convert, and what else lay beside them."""

    logs: Logs = field(default_factory=Logs)
    others: Counter[str] = field(default_factory=Counter)
    """What is no session log: files by suffix, or in words, as in ``linked folder``."""
    passed_over: int = 0
    """Session logs that the options leave aside."""
    findings: list[Finding] = field(default_factory=list)
    """What was found on the way about single files."""


def discover(  # noqa: PLR0913, PLR0917
    logs: Iterable[str],
    options: Options,
    is_readable: IsReadable,
    out: Path | str | None = None,
    days_of: Callable[[Log], list[str]] = lambda _: [],
    expanded: Callable[[], Folder] | None = None,
) -> Discovery:
    """The session logs in directories, files, globs and URLs; ``out``, the output folder or its URL, is never read.

    ``expanded`` gives the folder for copies of compressed archives, without which each process makes its own.
    ``is_readable`` says whether a file with the suffix of documents is read, or what it is a part of.
    ``days_of`` gives the days of the sessions in a log whose path has none; it is asked only where options choose by
    day.  Raises ``UsageError`` for an argument that names nothing and for a date that is none.
    """
    check_dates(options.since, options.until)
    discovered = Discovery()
    search = _Search(options, is_readable, out, days_of, expanded, discovered, Copies(discovered.logs))
    for given in logs:
        if is_remote(given):
            search.stored(given)
        else:
            search.argument(given)
    return discovered


class _Search(Struct):
    """Takes files in the order of their paths, each once."""

    options: Options
    is_readable: IsReadable
    out: Path | str | None
    days_of: Callable[[Log], list[str]]
    expanded: Callable[[], Folder] | None
    discovered: Discovery
    copies: Copies
    seen: set[int] = field(default_factory=set)
    """Devices and inodes in one number each, which takes less memory than pairs."""
    outputs: set[str] = field(default_factory=set)
    """The outputs of earlier runs that were met."""

    def argument(self, given: str) -> None:
        """What an argument names: a file, a folder, or whatever fits it as a glob."""
        path = Path(given)
        try:
            is_folder = stat.S_ISDIR(os.stat(given).st_mode)  # noqa: PTH116 - Path("") would be the present folder
        except OSError as problem:
            if "://" in given:
                refuse_unknown(given)
            if inside := container(given):
                self._member(given, *inside)
                return
            if not glob.has_magic(given):
                raise UsageError(f"{given}: cannot be read ({problem.strerror})") from None
            for root in expand(given):
                self._fitting(root)
            return
        if self._is_out(path):
            raise UsageError(f"{given}: lies in the output folder, which is never read; choose another with --output")
        if is_folder and is_output(path):
            raise output_error(given)
        if output := output_of(path):
            raise output_error(given, output)
        if is_folder:
            self._folder(Root(path, PurePosixPath()))
        else:
            self._file(str(path), path.name, (suffix_of(path.name),))

    def stored(self, given: str) -> None:
        """What a URL names in a store."""
        from chatsquash.sources.listings import Listing, entry_log  # which local files do not need

        asked = url_suffix(given)
        listing = Listing(self.out if isinstance(self.out, str) else None)
        for entry in listing.entries(given):
            above = entry.name.rpartition("/")[0]
            if above and matches(above, self.options.exclude):
                continue  # as folders that are not looked into
            # The same URL twice, by two arguments, is the same file.
            if (met := hash(entry.path)) in self.seen:
                self.discovered.others[SAME_FILE] += 1
                continue
            self.seen.add(met)
            if is_archive(entry.name):
                self.discovered.others[STORED_ARCHIVE] += 1
            elif self._is_wanted(entry.path, entry.name, asked):
                self._add(entry_log(entry))
        for folder in listing.earlier:
            self._note_output(folder, folder)

    def _fitting(self, root: Root) -> None:
        path = root.base / root.below
        inside = (root.base / part for part in (root.below, *root.below.parents) if part.parts)
        if self._is_out(path) or any(map(self._is_earlier_output, inside)):
            return
        if output := output_of(path):
            self._note_output(str(output), os.path.realpath(output))
            return
        if not path.is_dir():
            self._file(str(path), root.below.as_posix(), root.asked)
        elif path.is_symlink() and not self.options.follow_links:
            self.discovered.others[LINKED_FOLDER] += 1
        else:
            self._folder(root)

    def _folder(self, root: Root) -> None:
        entered: set[str] = set()  # a link to where we were already would never end
        todo = self._inside(
            str(root.base / root.below), "" if root.below == PurePosixPath() else str(root.below), entered
        )
        above = len(root.below.parts)
        while todo:
            path, name, item = todo.pop()
            if not is_folder(item):
                if not root.rest or fits(tuple(name.split("/"))[above:], root.rest):
                    self._file(path, name, root.asked, linked=item.is_symlink())
            elif item.is_symlink() and not self.options.follow_links:
                self.discovered.others[LINKED_FOLDER] += 1
            elif not matches(name, self.options.exclude) and not self._is_earlier_output(Path(path)):
                todo += self._inside(path, name, entered)

    def _inside(self, folder: str, below: str, entered: set[str]) -> list[tuple[str, str, os.DirEntry[str]]]:
        """What is in a folder, the first name last: each path, its name below the root, and what it is."""
        real = os.path.realpath(folder)
        if real in entered or self._is_out(Path(real)):
            return []
        entered.add(real)
        try:
            with os.scandir(folder) as items:
                names = sorted(items, key=attrgetter("name"), reverse=True)
        except OSError as problem:
            hint = "mend its permissions, or pass it over with --exclude"
            raise UsageError(f"{folder}: cannot be listed ({problem.strerror}); {hint}") from None
        # Put together as texts, since there may be many and a Path takes ten times as long.
        path = "" if folder == "." else folder.rstrip("/") + "/"
        name = f"{below}/" if below else ""
        return [(path + item.name, name + item.name, item) for item in names]

    def _file(self, path: str, name: str, asked: tuple[str, ...], *, linked: bool = True) -> None:
        """A file, which is a log if its suffix is that of logs or asked for; of an archive its members may be."""
        if is_archive(name):
            self._archive(path, name)
        elif self._is_wanted(path, name, asked):
            self._take(path, name, linked=linked)

    def _member(self, given: str, archive: str, member: str) -> None:
        """A member of an archive that an argument names, whatever its suffix."""
        if not os.path.isfile(archive):  # noqa: PTH113
            raise UsageError(f"{given}: cannot be read (there is no such archive)")
        if not self._archive(archive, PurePosixPath(archive).name, member):
            raise UsageError(f"{given}: cannot be read (the archive has no such member)")

    def _archive(self, path: str, name: str, only: str | None = None) -> bool:
        """The members of an archive, in order, or one; those that are no files of its own are told.

        Whether there was anything to look at.
        """
        from chatsquash.sources.archives import too_large  # which few runs need

        if matches(name, self.options.exclude):
            self.discovered.passed_over += 1
            return True
        try:
            if (contents := self._members(path, only)) is None:
                return True
            copied, modified, members = contents
        except OSError as problem:
            self._note(archives.unreadable_archive(problem.strerror or type(problem).__name__), path)
            return True
        asked = (suffix_of(only),) if only else ()
        for each in members:
            inner = f"{MARK}{each.name}"
            if each.problem:
                self._note(archives.archive_member(each.problem), path + inner)
            elif is_archive(each.name):
                self.discovered.others[NESTED] += 1
            elif not self._is_wanted(copied + inner, name + inner, asked):
                continue
            elif beyond := too_large(each, self.options):
                self._note(archives.archive_member(beyond), path + inner)
            else:
                self._add(Log(copied + inner, path + inner, name + inner, each.size, modified=modified))
        return bool(members)

    def _members(self, path: str, only: str | None) -> tuple[str, int, list[ArchiveEntry]] | None:
        """What to open for an archive, when it was changed, and its members, those left that no argument named before.

        ``None`` for an archive, or a member of this name, that was met before.
        """
        from chatsquash.sources.archives import entries  # which few runs need
        from chatsquash.sources.scratch import tar_in, tar_of

        with raw(path) as file:
            key = hash(status_of(file))
            own = key if only is None else hash((key, only))
            if not self.seen.isdisjoint((key, own)):
                self.discovered.others[SAME_FILE] += 1
                return None
            self.seen.add(own)
            modified = os.fstat(file.fileno()).st_mtime_ns
            kind = recognise(read_at(file, HEAD, 0))
            if kind is None:
                return path, modified, self._new_members(key, only, entries(file))
            with ExpandedFile(file, kind, self.options) as compressed:
                copied = tar_in(self.expanded(), compressed) if self.expanded else tar_of(compressed, status_of(file))
                if compressed.problem:
                    self._note(archives.truncated_archive(compressed.problem), path)
        with raw(copied) as file:
            return copied if self.expanded else path, modified, self._new_members(key, only, entries(file))

    def _new_members(self, key: int, only: str | None, members: list[ArchiveEntry]) -> list[ArchiveEntry]:
        if only is not None:
            return [each for each in members if each.name == only]
        return [each for each in members if hash((key, each.name)) not in self.seen]

    def _note(self, fact: Violation, path: str) -> None:
        """A fact about a file that is not read."""
        name = stem(Log(path, path, path, 0))
        self.discovered.findings.append(Finding(fact.code, fact.severity, name, path, None, None, fact.text))

    def _is_wanted(self, path: str, name: str, asked: tuple[str, ...]) -> bool:
        """Whether a file is a log to convert, by its name; what else it is is counted."""
        suffix = suffix_of(name)
        plain = uncompressed(name) if suffix in KINDS else name
        is_log = suffix_of(plain) in (*LOGS, *asked) or suffix in asked
        answer = is_log or (may_be_document(plain) and self.is_readable(path, self.options))
        if is_log and not asked and may_be_part(plain):
            part = self.is_readable(path, self.options)
            answer = part if isinstance(part, str) else True
        if isinstance(answer, str):
            self.discovered.others[answer] += 1
        elif not answer:
            self.discovered.others[escape(suffix) or NO_SUFFIX] += 1
        elif (self.options.include and not matches(name, self.options.include)) or matches(name, self.options.exclude):
            self.discovered.passed_over += 1
        else:
            return True
        return False

    def _take(self, path: str, name: str, *, linked: bool) -> None:
        try:
            status = os.stat(path)  # noqa: PTH116 - as in _inside
        except OSError as problem:
            if problem.errno in (ENOENT, ELOOP):
                self.discovered.others[BROKEN_LINK] += 1
            else:
                self._add(Log(path, path, name, 0))  # converting it will say what is wrong
            return
        if not stat.S_ISREG(status.st_mode):
            self.discovered.others[SPECIAL] += 1
        elif linked and os.path.islink(path) and self._is_out(Path(path)):  # noqa: PTH114
            return
        elif (met := status.st_dev << 64 | status.st_ino) in self.seen:  # under whatever name
            self.discovered.others[SAME_FILE] += 1
        else:
            self.seen.add(met)
            self._add(Log(path, path, name, status.st_size, modified=status.st_mtime_ns))

    def _add(self, log: Log) -> None:
        full = self.options.limit is not None and len(self.discovered.logs) >= self.options.limit
        if full or not self._in_time(log):
            self.discovered.passed_over += 1
        elif first := self.copies.met(log):
            self.discovered.others[SECOND_COPY] += 1
            self.discovered.findings.append(duplicate_log(first, log, self.options))
        else:
            self.discovered.logs.append(log)

    def _in_time(self, log: Log) -> bool:
        since, until = self.options.since, self.options.until
        if since is None and until is None:
            return True
        named = path_day(log.name)
        try:
            days = [named] if named else self.days_of(log)
        except (OSError, MemoryError):
            return True  # so that converting it will say what is wrong
        return any(is_between(day, since, until) for day in days)

    def _is_out(self, path: Path) -> bool:
        # realpath, since Path.resolve raises for links that lead to themselves
        return isinstance(self.out, Path) and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.out))

    def _is_earlier_output(self, folder: Path) -> bool:
        """Whether another run wrote a folder, which is then passed over; it counts once, unless it is temporary."""
        if STAGING_FOLDER.fullmatch(folder.name):
            return True
        if not is_output(folder) or self._is_out(folder):
            return False
        self._note_output(str(folder), os.path.realpath(folder))
        return True

    def _note_output(self, folder: str, real: str) -> None:
        """Count and name an output of another run, once."""
        if real not in self.outputs:
            self.outputs.add(real)
            self.discovered.others[EARLIER_OUTPUT] += 1
            self.discovered.findings.append(output_not_read(folder))
