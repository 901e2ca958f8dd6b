"""The files that a run writes outside its output folder because an option names them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.dataset.reports.tables import USAGE
from chatsquash.dataset.store import Output
from chatsquash.sources.names import container

_PRIVATE, _PUBLIC = 0o600, 0o666


class _NamedFile(NamedTuple):
    """A file that an option names."""

    option: str
    path: Path
    mode: int

    @property
    def place(self) -> Path:
        """Its absolute path, with links in folders resolved."""
        return Path(os.path.realpath(self.path.absolute().parent), self.path.name)

    def refusal(self, why: str) -> UsageError:
        """Return the error for a file that cannot be written or must not be replaced."""
        return UsageError(f"{self.option} {self.path}: {why}; choose another file")


def _named_files(options: Options) -> list[_NamedFile]:
    options_and_paths = (
        ("--write-known", options.write_known, _PRIVATE),
        ("--tool-report-path", options.tool_report_path, _PUBLIC),
    )
    return [_NamedFile(option, Path(path), mode) for option, path, mode in options_and_paths if path]


def refuse_misplaced(options: Options, out: Path, logs: Iterable[Log]) -> None:
    """Refuse files that must not be written, before the conversion starts.

    Raises:
        UsageError: If a file is a log, is in the output folder, is not a regular file, or is named by two options.
        OSError: If its folder cannot be used.
    """
    options_by_place: dict[Path, str] = {}
    for each in _named_files(options):
        try:
            (each.path.absolute().parent / ".").stat()
        except OSError as problem:
            raise OSError(problem.errno, problem.strerror, str(each.path.absolute())) from None
        if (other := options_by_place.setdefault(each.place, each.option)) != each.option:
            raise each.refusal(f"is also the path of {other}")
        if each.place.is_relative_to(os.path.realpath(out)):
            raise each.refusal("is in the output folder")
        _refuse_replacing(each, logs)


def _refuse_replacing(file: _NamedFile, logs: Iterable[Log]) -> None:
    """Refuse a file that would replace a log, or anything except a regular file."""
    try:
        status = file.place.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise file.refusal("exists and is not a regular file")
    for log in logs:
        archive = container(log.display_path)
        with suppress(OSError, ValueError):  # the log was removed or is in a store
            if os.path.samestat(status, Path(archive[0] if archive else log.display_path).stat()):
                raise file.refusal("is a log")


def write_named(options: Options, out: Output, hashes: Callable[[], bytes]) -> None:
    """Write the files that options name; may raise ``OSError``.

    Args:
        options: The options of the run.
        out: The output of the run, with all its reports.
        hashes: The content of ``--write-known``.
    """
    for each in _named_files(options):
        data = hashes() if each.option == "--write-known" else out.staged_content(USAGE)
        out.write_elsewhere(each.path, data, each.mode)
