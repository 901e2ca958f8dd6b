"""Lines that could not be read, as they may be kept: without credentials, and without what is to be replaced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from chatsquash.core.log import Log
from chatsquash.core.model import RejectedLine
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.redact.credentials import without_credentials
from chatsquash.redact.hits import Finder
from chatsquash.redact.privacy import Privacy
from chatsquash.sources import unfold
from chatsquash.sources.joined_files import opened_log
from chatsquash.sources.open import open_file
from chatsquash.sources.unfolding import UnfoldedFile

_PIECE = 1 << 20


def rejected_lines(log: Log, outcome: Outcome, options: Options, names: Privacy) -> Iterator[Iterable[bytes]]:
    """Each line of a log that could not be read, as ``Given.rejected`` has it; it is read before the next one is.

    There are none of captures of HTTP, in which keys and cookies stand.
    """
    if not may_be_kept(log, options):
        return
    if outcome.privacy.unreadable_lines:
        yield from ([line] for line in outcome.privacy.unreadable_lines)
        return
    with opened_log(log, options) as file:
        for rejected in outcome.report.rejected:
            yield kept_line(file, rejected, names)


def may_be_kept(log: Log, options: Options) -> bool:
    """Whether lines of a log may be copied; not of a capture of HTTP, nor of what can no longer be told from one."""
    files = [(piece.path, piece.shown) for piece in log.pieces] or [(log.path, log.shown)]
    if not log.is_copy:
        return all(_may_be_kept(path, options) for path, _ in files)
    try:
        return all(_may_be_kept(shown, options) for _, shown in files)
    except OSError:
        return False


def _may_be_kept(path: str, options: Options) -> bool:
    with open_file(path, options) as file:
        if isinstance(file, UnfoldedFile) and not file.unfolding.COPIES:
            return False
        head = file.folded(unfold.HEAD) if isinstance(file, UnfoldedFile) else file.read(unfold.HEAD)
        return not unfold.may_be_capture(path, head)


def kept_line(file: BinaryIO, rejected: RejectedLine, names: Privacy, also: Finder | None = None) -> Iterator[bytes]:
    """A line of an open log in pieces; what ``also`` finds is replaced, too."""
    return names.pieces(without_credentials(_pieces(file, rejected)), also)


def _pieces(file: BinaryIO, rejected: RejectedLine) -> Iterator[bytes]:
    """The bytes of a line, a moderate number at a time."""
    file.seek(rejected.offset)
    length = rejected.length
    while length and (piece := file.read(min(length, _PIECE))):
        length -= len(piece)
        yield piece
