"""An output in a store, which is staged in a local temporary folder."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from chatsquash.core.errors import UsageError
from chatsquash.dataset.bucket import Bucket
from chatsquash.dataset.store import Output
from chatsquash.storage.commit import RUN

_NO_RESULT = "the output is incomplete without run.json; run the same command again to rewrite it"


class StoredOutput(Output):
    """An output folder in a store; raises the same errors as ``Output``.

    Files are staged in a temporary folder that only its owner can read, and uploaded by ``commit``. Nothing is stored
    for later runs, so each run converts all logs.
    """

    resumes = False

    def __init__(self, url: str, *, force: bool = False) -> None:
        self._bucket = Bucket(url)
        self._bucket.claim(force=force)
        self._temporary = tempfile.TemporaryDirectory(prefix="chatsquash-", ignore_cleanup_errors=True)
        self._memory = b""
        try:
            super().__init__(Path(self._temporary.name) / "out")
        except BaseException:
            self._clean_up()
            raise
        self.display_path = self._bucket.display_path

    def result(self) -> tuple[bytes, float] | None:
        """See ``Output``."""
        if RUN not in self._bucket.ours:
            return None
        try:
            manifest, status = self._bucket.read(RUN), self._bucket.status(RUN)
        except OSError:
            return None
        return (manifest, status.changed) if status else None

    def refuse_foreign(self, *names: str) -> None:
        """See ``Output``."""
        self._bucket.refuse_foreign(*names)
        super().refuse_foreign(*names)

    def read_memory(self) -> tuple[bytes, bool]:
        """Return nothing until the commit, because no memory of earlier runs is stored."""
        return self._memory, bool(self._memory)

    def is_decided(self) -> bool:
        """Return false: a later run cannot finish an interrupted upload."""
        return False

    def commit(self, memory: bytes = b"") -> None:
        """Upload all files, ``run.json`` last, and remove files that only earlier runs wrote."""
        names = [each.name for each in self.staged_files()]
        super().commit(memory)
        try:
            self._bucket.put(self.path, names)
        except UsageError:
            raise
        except BaseException as problem:
            problem.add_note(_NO_RESULT)
            raise
        self._memory = memory

    def discard(self) -> None:
        """See ``Output``; also removes the temporary folder."""
        super().discard()
        self._clean_up()

    def _clean_up(self) -> None:
        self._bucket.release()
        with suppress(OSError):
            self._temporary.cleanup()
