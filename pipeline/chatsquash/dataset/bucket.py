"""An output folder in a store: its existing files, the lock of a run, and the commit of new files."""

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
"""Files of at least this many bytes are uploaded one at a time, in several parallel parts."""
_MAX_READ = 256 << 20
"""Maximum number of bytes read from a record or ``run.json``."""
_RELEASE_TIMEOUT = 5
"""Seconds to wait for the removal of the lock at the end of a run."""
_ANOTHER = "or choose another location with --output"


class Bucket:
    """A folder in a store; it can be written to once it is claimed."""

    def __init__(self, url: str) -> None:
        place = stores.address(url)
        self._place = place
        self._store = stores.writable(place)
        self._folder = "".join(f"{part}/" for part in place.key.split("/") if part)
        if {".", ".."}.intersection(self._folder.split("/")):
            raise UsageError(f"{place.display_url}: the path contains . or ..; remove it")
        self.display_path = place.url(self._folder).rstrip("/")
        self.ours: set[str] = set()
        """Names of files that earlier runs wrote."""
        self._others: set[str] = set()
        """Names of all other files in the folder."""
        self._is_claimed = False
        self._token = os.urandom(16).hex()

    # Existing files

    def open_file(self, name: str) -> BinaryIO:
        """Open a file for reading; may raise ``OSError``."""
        return io.BufferedReader(StoredLog(self._place.url(self._folder + name)), 1 << 20)

    def read(self, name: str) -> bytes:
        """Return the content of a file; may raise ``OSError``."""
        with self.open_file(name) as file:
            return file.read(_MAX_READ)

    def status(self, name: str) -> stores.StoredObject | None:
        """Return the status of a file, or ``None`` if it does not exist."""
        return self._store.status(self._folder + name)

    def close(self) -> None:
        """Do nothing, because no file is kept open."""

    # The claim

    def claim(self, *, force: bool) -> None:
        """Claim the folder until ``release``.

        Raises:
            UsageError: If the folder contains foreign files but no chatsquash result, unless ``force``; if another
                run is writing to it; if it cannot be written to.
        """
        try:
            self._look(force=force)
            self._is_claimed = True  # set first, because the lock may exist even if the response is lost
            self._lock()
            self._look(force=force)  # another run may have written files before the lock was taken
        except OSError as problem:
            self.release()
            raise UsageError(f"{self.display_path}: cannot be written to ({problem.strerror})") from None
        except BaseException:
            self.release()
            raise

    def refuse_foreign(self, *names: str) -> None:
        """Raise ``UsageError`` if one of these files would replace a file that chatsquash did not write."""
        for name in names:
            if name in self._others:
                why = "not written by chatsquash, but would be overwritten"
                raise UsageError(f"{self.display_path}/{name}: {why}; move it elsewhere, {_ANOTHER}")

    def release(self) -> None:
        """Release the lock; if it cannot be removed in time, it remains like the lock of a killed run."""
        if self._is_claimed:
            self._is_claimed = False
            with suppress(OSError):  # including a timeout
                PendingCall(self._unlock).result(_RELEASE_TIMEOUT)

    def _unlock(self) -> None:
        if self._is_locked():
            self._store.delete([self._folder + _LOCK])

    def _look(self, *, force: bool) -> None:
        """List the files, and divide them into written and foreign files, based on the record or ``run.json``."""
        names = {each.key.removeprefix(self._folder) for page in self._store.list(self._folder) for each in page}
        inner = {name for name in names if name.startswith(f"{OURS}/")}
        self.ours = self._read_record(names)
        self._others = names - inner - self.ours
        is_ours = RUN in self.ours or inner - {_LOCK}
        if self._others and not is_ours and not force:
            hint = "choose another with --output, or add to it with --force"
            raise UsageError(f"{self.display_path}: folder is not empty and was not written by chatsquash; {hint}")

    def _read_record(self, names: set[str]) -> set[str]:
        name = f"{OURS}/{RECORD}"
        try:
            if name in names:
                return {validate_name(each) for each in json.loads(self.read(name))["files"]}
            if RUN in names:
                return {RUN, *(validate_name(each["path"]) for each in json.loads(self.read(RUN))["outputs"])}
        except (ValueError, KeyError, TypeError, RecursionError):
            if name in names:
                hint = "remove it, after which all other files in the folder are treated as foreign"
                raise UsageError(f"{self.display_path}/{name}: file is damaged; {hint}, {_ANOTHER}") from None
        return set()

    # The lock

    def _lock(self) -> None:
        """Take the lock.

        Two runs that start at the same time exclude each other only if the store supports conditional writes.
        """
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
            if lock.get("token") != self._token and self._is_stale(lock):
                self._store.create(key, data, instead=tag)
        except OSError as problem:
            if problem.errno != ENOTSUP:
                raise
            if not self.status(_LOCK):
                self._store.put(key, data)

    def _read_lock(self) -> tuple[dict[str, Any], str | None]:
        """Return the content of the lock and its tag."""
        try:
            piece = self._store.get(self._folder + _LOCK, 0, 4096, None)
            content = json.loads(bytes(piece.data))
        except (FileNotFoundError, ValueError, RecursionError):
            return {}, None
        return (content if isinstance(content, dict) else {}), piece.tag

    def _is_locked(self) -> bool:
        return self._read_lock()[0].get("token") == self._token

    @staticmethod
    def _is_stale(lock: dict[str, Any]) -> bool:
        """Return whether the lock belongs to a process of this host that no longer runs."""
        owner = str(lock.get("owner", "")).encode("utf-8", "replace")
        return is_alive(owner) is False

    def _lock_error(self, lock: dict[str, Any]) -> UsageError:
        started = lock.get("begun")
        since = ""
        with suppress(TypeError, ValueError, OverflowError, OSError):
            since = f", since {datetime.fromtimestamp(started, UTC):%Y-%m-%d %H:%M} UTC"  # type: ignore[arg-type]
        who = escape(str(lock.get("owner", "unknown process"))[:200])
        hint = f"wait for it; if it is gone, remove {self.display_path}/{_LOCK}"
        text = f"another run is writing to this folder ({who}{since})"
        return UsageError(f"{self.display_path}: {text}: {hint}, {_ANOTHER}")

    # The commit

    def put(self, folder: Path, names: list[str]) -> None:
        """Upload files of a folder, ``run.json`` last, and remove files that only earlier runs wrote.

        Raises:
            UsageError: If a file is too large for any store; nothing is changed then.
        """
        for name in names:
            refuse_large(f"{self.display_path}/{name}", (folder / name).stat().st_size)
        self._refuse_lost()
        obsolete = sorted(self.ours.difference(names))
        key = self._folder
        # Written before the files, so that no file is missing from the record if the upload is interrupted.
        self._store.put(f"{key}{OURS}/{RECORD}", record({*names, *obsolete}))
        # Without run.json during the upload, an incomplete output never counts as a result.
        if RUN in self.ours:
            self._store.delete([key + RUN])
        sizes = {name: (folder / name).stat().st_size for name in names if name != RUN}
        small = [name for name, size in sizes.items() if size < _LARGE]
        several(partial(self._upload, folder, name) for name in small)
        for name in sizes.keys() - set(small):
            self._upload(folder, name)
        self._store.delete([key + name for name in obsolete if name != RUN])
        self._refuse_lost()
        self._upload(folder, RUN)
        if obsolete:
            with suppress(OSError):  # the record then lists removed files, which is harmless
                self._store.put(f"{key}{OURS}/{RECORD}", record(names))

    def _upload(self, folder: Path, name: str) -> None:
        try:
            self._store.upload(self._folder + name, folder / name)
        except OSError as problem:
            why = f"{self.display_path}/{name}: cannot be written ({problem.strerror})"
            raise OSError(problem.errno, why) from None

    def _refuse_lost(self) -> None:
        if not self._is_locked():
            raise ChatsquashError(f"{self.display_path}: another run took over the lock, so nothing more was written")
