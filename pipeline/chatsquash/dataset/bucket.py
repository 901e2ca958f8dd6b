"""An output in a store: what is ours there, the lock of a run, and how its files take their places."""

from __future__ import annotations

import io
import json
import os
import time
from contextlib import suppress
from datetime import UTC, datetime
from errno import ENOTSUP
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.model import OURS
from chatsquash.core.text import escape
from chatsquash.dataset.claim import RECORD, record
from chatsquash.sources.remote import StoredLog
from chatsquash.storage import stores
from chatsquash.storage.commit import RUN
from chatsquash.storage.folder import validate_name
from chatsquash.storage.lock import is_alive, owner
from chatsquash.storage.stores.base import PendingCall, refuse_large, several

_LOCK = f"{OURS}/lock"
_LARGE = 256 << 20
"""Bytes from which on a file is written alone, in several parts at a time."""
_MOST = 256 << 20
"""Bytes of a record or a ``run.json`` that is looked at."""
_PATIENCE = 5
"""Seconds that a run waits at its end for its lock to be removed."""
_ANOTHER = "or choose another place with --output"


class Bucket:
    """A folder in a store, by the names of what is in it; it may be written to once it is claimed."""

    def __init__(self, url: str) -> None:
        place = stores.address(url)
        self._place = place
        self._store = stores.writable(place)
        self._folder = "".join(f"{part}/" for part in place.key.split("/") if part)
        if {".", ".."}.intersection(self._folder.split("/")):
            raise UsageError(f"{place.display_url}: has a part that is . or ..; remove it")
        self.shown = place.url(self._folder).rstrip("/")
        self.ours: set[str] = set()
        """What earlier runs wrote."""
        self._others: set[str] = set()
        """What else is there."""
        self._is_claimed = False
        self._token = os.urandom(16).hex()

    # What is there

    def open_file(self, name: str) -> BinaryIO:
        """A file, to be read; raises ``OSError``."""
        return io.BufferedReader(StoredLog(self._place.url(self._folder + name)), 1 << 20)

    def read(self, name: str) -> bytes:
        """What is in a file; raises ``OSError``."""
        with self.open_file(name) as file:
            return file.read(_MOST)

    def status(self, name: str) -> stores.StoredObject | None:
        """What stands under a name."""
        return self._store.status(self._folder + name)

    def close(self) -> None:
        """Nothing is open."""

    # The claim

    def claim(self, *, force: bool) -> None:
        """Make it ours until ``release``.

        Raises ``UsageError`` for one that holds files of others and no result of ours, unless ``force``, and where
        another run is writing.
        """
        try:
            self._look(force=force)
            self._is_claimed = True  # or may be, where an answer is lost
            self._lock()
            self._look(force=force)  # what another run has written meanwhile
        except OSError as problem:
            self.release()
            raise UsageError(f"{self.shown}: cannot be written to ({problem.strerror})") from None
        except BaseException:
            self.release()
            raise

    def refuse_foreign(self, *names: str) -> None:
        """Raise ``UsageError`` where one of these files would take the place of something that is not ours."""
        for name in names:
            if name in self._others:
                why = "was not written by chatsquash and would be overwritten"
                raise UsageError(f"{self.shown}/{name}: {why}; move it away, {_ANOTHER}")

    def release(self) -> None:
        """Let another run write there; a lock that cannot be removed soon is left, as that of a killed run is."""
        if self._is_claimed:
            self._is_claimed = False
            with suppress(OSError):  # also for want of time
                PendingCall(self._unlock).result(_PATIENCE)

    def _unlock(self) -> None:
        if self._is_locked():
            self._store.delete([self._folder + _LOCK])

    def _look(self, *, force: bool) -> None:
        """Take stock: what is ours by the record of it and by ``run.json``, and what is not."""
        names = {each.key.removeprefix(self._folder) for page in self._store.list(self._folder) for each in page}
        inner = {name for name in names if name.startswith(f"{OURS}/")}
        self.ours = self._read_record(names)
        self._others = names - inner - self.ours
        is_ours = RUN in self.ours or inner - {_LOCK}
        if self._others and not is_ours and not force:
            hint = "choose another with --output, or add to it with --force"
            raise UsageError(f"{self.shown}: is not empty and was not written by chatsquash; {hint}")

    def _read_record(self, names: set[str]) -> set[str]:
        name = f"{OURS}/{RECORD}"
        try:
            if name in names:
                return {validate_name(each) for each in json.loads(self.read(name))["files"]}
            if RUN in names:
                return {RUN, *(validate_name(each["path"]) for each in json.loads(self.read(RUN))["outputs"])}
        except (ValueError, KeyError, TypeError, RecursionError):
            if name in names:
                hint = "remove it, after which all that stands beside it counts as foreign"
                raise UsageError(f"{self.shown}/{name}: is damaged; {hint}, {_ANOTHER}") from None
        return set()

    # The lock

    def _lock(self) -> None:
        """Take the lock, as far as the store can tell two runs apart that want it at once."""
        self._take()
        if not self._is_locked():
            raise self._lock_error(self._read_lock()[0])

    def _take(self) -> None:
        data = json.dumps({"owner": owner(), "begun": int(time.time()), "token": self._token}).encode()
        key = self._folder + _LOCK
        try:
            self._store.create(key, data)
        except FileExistsError:
            lock, tag = self._read_lock()
            if lock.get("token") != self._token and self._is_left(lock):
                self._store.create(key, data, instead=tag)
        except OSError as problem:
            if problem.errno != ENOTSUP:
                raise
            if not self.status(_LOCK):
                self._store.put(key, data)

    def _read_lock(self) -> tuple[dict[str, Any], str | None]:
        """What the lock says, and its tag."""
        try:
            piece = self._store.get(self._folder + _LOCK, 0, 4096, None)
            said = json.loads(bytes(piece.data))
        except (FileNotFoundError, ValueError, RecursionError):
            return {}, None
        return (said if isinstance(said, dict) else {}), piece.tag

    def _is_locked(self) -> bool:
        return self._read_lock()[0].get("token") == self._token

    @staticmethod
    def _is_left(lock: dict[str, Any]) -> bool:
        """Whether the lock is that of a process of this host that runs no more."""
        owner = str(lock.get("owner", "")).encode("utf-8", "replace")
        return is_alive(owner) is False

    def _lock_error(self, lock: dict[str, Any]) -> UsageError:
        begun = lock.get("begun")
        since = ""
        with suppress(TypeError, ValueError, OverflowError, OSError):
            since = f", since {datetime.fromtimestamp(begun, UTC):%Y-%m-%d %H:%M} UTC"  # type: ignore[arg-type]
        who = escape(str(lock.get("owner", "nobody knows which"))[:200])
        hint = f"wait for it; if it is gone, remove {self.shown}/{_LOCK}"
        return UsageError(f"{self.shown}: another run is writing there ({who}{since}): {hint}, {_ANOTHER}")

    # The commit

    def put(self, folder: Path, names: list[str]) -> None:
        """Put files of a folder in their places, ``run.json`` last, and remove what only earlier runs wrote.

        While they are on their way there is no ``run.json``.  Raises ``UsageError`` for a file that no store takes,
        before anything is changed.
        """
        for name in names:
            refuse_large(f"{self.shown}/{name}", (folder / name).stat().st_size)
        self._refuse_lost()
        gone = sorted(self.ours.difference(names))
        key = self._folder
        self._store.put(f"{key}{OURS}/{RECORD}", record({*names, *gone}))
        if RUN in self.ours:
            self._store.delete([key + RUN])
        sizes = {name: (folder / name).stat().st_size for name in names if name != RUN}
        small = [name for name, size in sizes.items() if size < _LARGE]
        several(partial(self._upload, folder, name) for name in small)
        for name in sizes.keys() - set(small):
            self._upload(folder, name)
        self._store.delete([key + name for name in gone if name != RUN])
        self._refuse_lost()
        self._upload(folder, RUN)
        if gone:
            with suppress(OSError):  # it says too much, which does no harm
                self._store.put(f"{key}{OURS}/{RECORD}", record(names))

    def _upload(self, folder: Path, name: str) -> None:
        try:
            self._store.upload(self._folder + name, folder / name)
        except OSError as problem:
            why = f"{self.shown}/{name}: cannot be written ({problem.strerror})"
            raise OSError(problem.errno, why) from None

    def _refuse_lost(self) -> None:
        if not self._is_locked():
            raise ChatsquashError(f"{self.shown}: another run took this one's lock away, so nothing more was written")
