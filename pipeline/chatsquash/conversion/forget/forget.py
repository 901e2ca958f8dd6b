"""Removes sessions from a finished result: the result is written again without them, in its folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from errno import EIO
from pathlib import Path
from typing import NamedTuple

from chatsquash.conversion.forget.remaining import RemainingResult
from chatsquash.conversion.forget.selection import Match, Removal, SessionPatterns, select
from chatsquash.conversion.merge_options import merged_options
from chatsquash.conversion.merge_results import MergedRun, write_results
from chatsquash.conversion.shards import place
from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.core.options import Options
from chatsquash.core.platform import name_full_folder
from chatsquash.core.text import pluralize, quote
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.dataset.store import Output
from chatsquash.results.output import is_result
from chatsquash.results.receipts import Receipts
from chatsquash.storage import commit, refuse_remote
from chatsquash.storage.folder import Folder, parent_folders


class ForgetRequest(NamedTuple):
    """What to remove, and callbacks."""

    arguments: Sequence[str]
    """Ids of sessions, paths of logs, and globs for both."""
    is_dry_run: bool
    show: Callable[[Sequence[Match]], None]
    """Receives the sessions."""
    confirm: Callable[[], bool]
    """Returns whether the user confirmed the removal."""


class ForgetOutcome(NamedTuple):
    """The outcome of ``forget``."""

    matches: Sequence[Match] = ()
    remaining: int = 0
    """The number of other sessions."""
    duplicates: int = 0
    """The number of those without a record because a removed one was equal."""
    pages: Sequence[str] = ()
    """Files about the result, such as ``report.html``, that were deleted because they are out of date."""
    foreign_files: Sequence[str] = ()
    """Files in the folder that chatsquash did not write, which may contain texts of the sessions."""
    is_confirmed: bool = True
    forgotten_at: str = ""
    """The time of an earlier removal, if all arguments were already carried out."""


def forget(out: str, request: ForgetRequest) -> ForgetOutcome:
    """Remove sessions from all files of a result, and add a receipt for each.

    The result is the one of a run over the other logs, with the outcome of each session as it was. It is staged and
    committed as in ``convert``: a killed command leaves the old result, the new one, or a commit that the next command
    completes. The journal for incremental runs is removed before, because it contains texts of the sessions.

    Args:
        out: The output folder of ``convert`` or ``merge``.
        request: What to remove, and callbacks.

    Raises:
        UsageError: The folder is not a result or was changed, an argument selects nothing, or nothing would remain.
        OSError: Writing failed; the folder is unchanged.
    """
    path = Path(out)
    refuse_remote(out)
    if not is_result(path) and not (path / OURS / commit.PLAN).is_file():
        raise UsageError(f"{out}: not a result of chatsquash convert; use its output folder")
    if _has_files(shards := path / OURS / place.NAME):
        raise UsageError(
            f"{shards}: contains shards with texts of sessions; run chatsquash merge, or delete the folder"
        )
    with ExitStack() as stack:
        output = None
        if not request.is_dry_run:
            output = Output(path)  # also completes the commit of a killed run
            stack.callback(output.discard)
            stack.push(lambda _, problem, __: name_full_folder(problem, path))
        result = stack.enter_context(closing(RemainingResult(out)))
        result.removal, earlier = _select(result, request.arguments)
        removal = result.removal
        if not removal.matches:
            return ForgetOutcome(forgotten_at=earlier)
        request.show(removal.matches)
        if output is None or not request.confirm():
            return ForgetOutcome(removal.matches, removal.remaining, is_confirmed=False)
        return _rewrite(result, output)


def _rewrite(result: RemainingResult, output: Output) -> ForgetOutcome:
    """Write the result again without the sessions."""
    path, removal = output.path, result.removal
    _stage(result, output)
    names = {each.name for each in output.staged_files()}
    other_files = _other_files(path, set(result.outputs))
    # Before the commit: a command that is killed after it would not know what the journal contains.
    output.clear(output.journal)
    _refuse_remains(path, "journal")
    output.commit()
    _refuse_remains(path, *commit.BACKUPS)
    _remove_empty_folders(path, result.outputs)
    foreign_files = _other_files(path, names)
    pages = [name for name in other_files if not (path / name).exists()]
    return ForgetOutcome(removal.matches, removal.remaining, removal.duplicates, pages, foreign_files)


def _select(result: RemainingResult, arguments: Sequence[str]) -> tuple[Removal, str]:
    """Select the sessions; also return the time of an earlier removal if an argument was already carried out."""
    requests = SessionPatterns(arguments)
    removal = select(result.stored_lines, requests)
    receipts, earlier = Receipts(result.receipts()), ""
    for argument in requests.unused:
        receipt = receipts.find_request(argument)
        if receipt is None:
            hint = f"{SESSIONS} lists the sessions and their logs"
            raise UsageError(f"{result.path}: no session or log matches {quote(argument)}; {hint}")
        earlier = receipt.forgotten_at
    if removal.matches and not removal.remaining:
        count = pluralize(len(removal.matches), "session")
        raise UsageError(f"{result.path}: these are all of its {count}; delete the folder instead")
    return removal, earlier


def _stage(result: RemainingResult, output: Output) -> None:
    """Stage the result without the sessions."""
    started = time.monotonic()
    options, options_json = merged_options([result], Options())
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    sessions = ((each.session, each.path, each.argument, each.records) for each in result.removal.matches)
    receipts = Receipts(result.receipts()).with_more(sessions, now)
    write_results([result], output, MergedRun(options, options_json, started), receipts=receipts)


def _refuse_remains(path: Path, *names: str) -> None:
    """Raise ``OSError`` if files of the sessions could not be deleted from ``.chatsquash``."""
    for folder in (path / OURS / name for name in names):
        if _has_files(folder):
            raise OSError(
                EIO, "contains texts of the sessions and cannot be deleted; run the same command again", folder
            )


def _has_files(folder: Path) -> bool:
    return any(each.is_file() for each in folder.rglob("*"))


def _remove_empty_folders(path: Path, names: Iterable[str]) -> None:
    """Remove the folders of these files that have become empty."""
    with closing(Folder(path)) as folder:
        for parent in sorted({each for name in names for each in parent_folders(name)}, reverse=True):
            with suppress(OSError):  # only removes empty folders
                folder.remove_folder(parent)


def _other_files(path: Path, ours: set[str]) -> list[str]:
    """Return the files in a folder that are not those of a result."""
    names = (each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file() or each.is_symlink())
    return sorted(name for name in names if name not in {*ours, commit.RUN} and not name.startswith(f"{OURS}/"))
