"""An output in a store, staged in a temporary folder of this machine."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

from chatsquash.core.errors import UsageError
from chatsquash.dataset.bucket import Bucket
from chatsquash.dataset.store import Output
from chatsquash.storage.commit import RUN

_NO_RESULT = "what was written is not a result without run.json, and the same command writes all of it anew"


class StoredOutput(Output):
    """An output folder in a store; errors as those of ``Output``.

    Files are staged in a temporary folder that its owner alone can read, and put under their names in ``commit``.
    Nothing is kept there for later runs, so each converts all.
    """

    resumes = False

    def __init__(self, url: str, *, force: bool = False) -> None:
        self._bucket = Bucket(url)
        self._bucket.claim(force=force)
        self._temporary = tempfile.TemporaryDirectory(prefix="chatsquash-", ignore_cleanup_errors=True)
        self._done = b""
        try:
            super().__init__(Path(self._temporary.name) / "out")
        except BaseException:
            self._give_up()
            raise
        self.shown = self._bucket.shown

    def result(self) -> tuple[bytes, float] | None:
        """As ``Output`` has it."""
        if RUN not in self._bucket.ours:
            return None
        try:
            written, status = self._bucket.read(RUN), self._bucket.status(RUN)
        except OSError:
            return None
        return (written, status.changed) if status else None

    def refuse_foreign(self, *names: str) -> None:
        """As ``Output`` has it."""
        self._bucket.refuse_foreign(*names)
        super().refuse_foreign(*names)

    def remembered(self) -> tuple[bytes, bool]:
        """Nothing, until all is written."""
        return self._done, bool(self._done)

    def is_decided(self) -> bool:
        """No next run finishes what this one began."""
        return False

    def commit(self, memory: bytes = b"") -> None:
        """Put all files in their places, ``run.json`` last; what only earlier runs wrote is removed."""
        names = [each.name for each in self.staged_files()]
        super().commit(memory)
        try:
            self._bucket.put(self.path, names)
        except UsageError:
            raise
        except BaseException as problem:
            problem.add_note(_NO_RESULT)
            raise
        self._done = memory

    def discard(self) -> None:
        """As ``Output`` has it; the temporary folder goes."""
        super().discard()
        self._give_up()

    def _give_up(self) -> None:
        self._bucket.release()
        with suppress(OSError):
            self._temporary.cleanup()
