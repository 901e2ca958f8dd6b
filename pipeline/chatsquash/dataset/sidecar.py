"""A private file in the folder of a result, which is not part of the dataset and is removed with the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from chatsquash.core.errors import UsageError
from chatsquash.core.model import OURS
from chatsquash.dataset import claim
from chatsquash.storage import commit
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import lock, unlock

_PRIVATE = 0o600


class LockedResult:
    """The folder of a result, locked against runs."""

    def __init__(self, out: Folder) -> None:
        self.folder = out
        self._ours = out.folder(OURS)
        self._known = claim.recorded_files(self._ours)

    def put(self, name: str, data: bytes) -> None:
        """Write the file atomically; the next run removes it with the result."""
        refuse_foreign(self.folder.path, name)
        try:
            # Written to the private folder first, in which no foreign file can have this name.
            self._ours.write_new(name, data, _PRIVATE)
            self._ours.sync(f"{name}.new")
            # The record is updated before the file is added, so that no file is missing from it.
            self._ours.replace(claim.RECORD, claim.record({*self._known, name}))
            self._ours.move(f"{name}.new", self.folder, name)
            self.folder.sync()
        except OSError as problem:
            raise UsageError(f"{self.folder.path / name}: cannot be written ({problem.strerror})") from None


@contextmanager
def locked_result(path: Path) -> Iterator[LockedResult]:
    """Lock the folder of a result.

    Raises:
        UsageError: If the folder has no finished result or contains links, or if a run is writing to it.
    """
    with closing(Folder(path)) as out:
        try:
            claim.refuse_links(out, path)
            if not out.status(commit.RUN) or not out.status(OURS) or commit.is_pending(out.folder(OURS)):
                raise UsageError(f"{path}: no finished run in this folder; convert again, or choose another folder")
            handle = lock(out.folder(OURS), "lock")
        except BlockingIOError as owner:
            who = f" ({owner.strerror})" if owner.strerror else ""
            raise UsageError(f"{path}: a run is writing to this folder{who}; wait until it ends") from None
        except OSError as problem:
            raise UsageError(f"{path}: cannot be written to ({problem.strerror})") from None
        try:
            yield LockedResult(out)
        finally:
            unlock(handle)


def refuse_foreign(path: Path, name: str) -> None:
    """Raise ``UsageError`` if a folder contains links or a file would replace one that chatsquash did not write."""
    with closing(Folder(path)) as out:
        claim.refuse_links(out, path)
        claims = claim.Claim(out, path)
        claims.ours = claim.recorded_files(out.folder(OURS)) if out.status(OURS) else []
        claims.refuse_foreign(name)
