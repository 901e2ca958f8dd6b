"""Read-only stores of files through fsspec: web servers, the Hugging Face Hub and SFTP hosts."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from errno import EACCES, EIO, ENOENT, ENOTSUP
from typing import Any, TypeVar

from fsspec.asyn import sync

from chatsquash.storage.stores.base import (
    StaleError,
    Store,
    StoredBytes,
    StoredObject,
    state,
    stored_object,
    valid_size,
)

T = TypeVar("T")
_TRIES = 6
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
"""The approximate number of seconds before the first retry, and the maximum before any retry."""
_SECONDS = 120
"""The timeout of a request in seconds."""
_PASSING = (429, 500, 502, 503, 504)
"""The status codes after which a request is repeated."""


def open_store(scheme: str, host: str) -> Store:
    """Open the store of a host; raise ``ImportError`` if its library is not installed, or ``OSError``."""
    if scheme in ("https", "http"):
        return Web()
    if scheme == "hf":
        from huggingface_hub import HfFileSystem

        return FileTree(HfFileSystem(skip_instance_cache=True), f"{host}/")
    from sshfs import SSHFileSystem

    user, _, place = host.rpartition("@")
    name, _, port = place.partition(":")
    arguments = {**({"username": user} if user else {}), **({"port": int(port)} if port else {})}
    with _without_secrets():
        # Without known hosts, it would accept any host key.
        known: Any = {"known_hosts": (), "connect_timeout": 15, "login_timeout": 30, "skip_instance_cache": True}
        return FileTree(SSHFileSystem(name, **known, **arguments), "/")


class Web:
    """Single files, addressed by URL."""

    def __init__(self) -> None:
        from fsspec.implementations.http import HTTPFileSystem

        # Compressed logs are read as stored, without decoding.
        self._files: Any = HTTPFileSystem(
            encoded=True, client_kwargs={"auto_decompress": False}, skip_instance_cache=True, use_listings_cache=False
        )

    def status(self, key: str) -> StoredObject | None:
        """See ``Store``."""
        try:
            piece = self.get(key, 0, 1, None)
        except FileNotFoundError:
            return None
        return StoredObject(key, valid_size(piece.size), piece.state)

    def list(self, folder: str) -> Iterator[Iterable[StoredObject]]:
        """Return nothing, because web servers cannot be listed."""
        del folder
        yield from ()

    def inside(self, folder: str) -> Iterable[str]:
        """Return nothing, because web servers cannot be listed."""
        del folder
        return ()

    def get(self, key: str, start: int, size: int, tag: str | None) -> StoredBytes:
        """See ``Store``."""
        piece: StoredBytes = _patiently(
            lambda: sync(self._files.loop, self._get, key, start, size, tag, timeout=_SECONDS)
        )
        return piece

    async def _get(self, key: str, start: int, size: int, tag: str | None) -> StoredBytes:
        session = await self._files.set_session()
        headers = {"Range": f"bytes={start}-{start + size - 1}", "Accept-Encoding": "identity"}
        # Weak tags cannot be used in conditions, and some servers ignore conditions, so the response is also checked.
        headers |= {"If-Match": tag} if tag and not tag.startswith("W/") else {}
        async with session.get(self._files.encode_url(key), headers=headers) as answer:
            if answer.status == 412:
                raise StaleError
            if answer.status == 416:
                return StoredBytes(b"", start, None, tag)
            _raise_for_status(answer.status)
            if answer.url.scheme != key.partition(":")[0]:
                raise OSError(ENOTSUP, "the server redirects to an unencrypted connection, or to this machine")
            if answer.status != 206 and start:
                raise OSError(ENOTSUP, "the server does not support range requests, which files of this size need")
            seen = answer.headers.get("ETag")
            if tag and seen and seen != tag:
                raise StaleError
            data = bytearray()
            while len(data) < size and (more := await answer.content.read(size - len(data))):
                data += more
            total = _size(answer.headers, len(data))
            if len(data) < min(size, total - start):
                raise _PassingError(EIO, "the server's response was truncated")
            version = f"{answer.headers['Last-Modified']} {total}" if "Last-Modified" in answer.headers else None
            return StoredBytes(bytes(data), total, state(seen, version), seen)


class FileTree:
    """Files in folders."""

    def __init__(self, files: Any, root: str) -> None:
        self._files, self._root = files, root

    def status(self, key: str) -> StoredObject | None:
        """See ``Store``."""
        try:
            info = _patiently(lambda: self._files.info(self._root + key))
        except FileNotFoundError:
            return None
        return self._stored_file(info, key) if info["type"] == "file" else None

    def list(self, folder: str) -> Iterator[Iterable[StoredObject]]:
        """See ``Store``."""
        infos = _patiently(lambda: self._files.find(self._root + folder, detail=True))
        yield [self._stored_file(info, self._key(path)) for path, info in infos.items() if info["type"] == "file"]

    def inside(self, folder: str) -> Iterable[str]:
        """See ``Store``."""
        infos = _patiently(lambda: self._files.ls(self._root + folder, detail=True))
        return [self._key(info["name"]) for info in infos if info["type"] == "file"]

    def get(self, key: str, start: int, size: int, tag: str | None) -> StoredBytes:
        """See ``Store``."""
        status = self.status(key)
        if status is None:
            raise OSError(ENOENT, "there is no such file")
        if tag and tag != str(status.state):
            raise StaleError

        def read() -> bytes:
            with self._files.open(self._root + key, "rb", block_size=size, cache_type="none") as file:
                file.seek(start)
                return bytes(file.read(size))

        data = _patiently(read) if start < status.size else b""
        return StoredBytes(data, status.size, status.state, str(status.state))

    def _key(self, path: str) -> str:
        return path.removeprefix(self._root).removeprefix(self._root.lstrip("/"))

    @staticmethod
    def _stored_file(info: dict[str, Any], key: str) -> StoredObject:
        tag = info.get("blob_id") or info.get("mtime") or None
        return stored_object(key, info["size"] or 0, state(None, f"{tag} {info['size']}" if tag else None))


class _PassingError(OSError):
    """An error that may not occur again when the request is repeated."""


def _patiently(call: Callable[[], T]) -> T:
    """Run a call, and repeat it after transient errors with growing random pauses."""
    for tried in range(1, _TRIES):
        try:
            with _without_secrets():
                return call()
        except _PassingError:
            longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2**tried)
            time.sleep(random.uniform(_FIRST_PAUSE, longest))  # noqa: S311 - not for cryptography
    with _without_secrets():
        return call()


@contextmanager
def _without_secrets() -> Iterator[None]:
    """Convert library errors to ``OSError`` with new messages."""
    # Messages of the libraries may contain URLs with signatures.
    try:
        yield
    except FileNotFoundError:
        raise OSError(ENOENT, "there is no such file") from None
    except PermissionError:
        raise OSError(EACCES, "access was denied") from None
    except (StaleError, _PassingError):
        raise
    except Exception as problem:  # noqa: BLE001 - each library has different errors
        raise _readable_error(problem) from None


def _readable_error(problem: Exception) -> OSError:
    answer = getattr(problem, "response", None)
    status = getattr(answer, "status_code", None)
    if isinstance(status, int):
        try:
            _raise_for_status(status)
        except OSError as answer_error:
            return answer_error
    if isinstance(problem, OSError) and problem.errno == ENOTSUP and problem.strerror:
        return OSError(ENOTSUP, problem.strerror)
    name = type(problem).__name__
    if name in ("HostKeyNotVerifiable", "PermissionDenied"):
        known = {"HostKeyNotVerifiable": "the host key is not in known_hosts", "PermissionDenied": "access was denied"}
        return OSError(EACCES, known[name])
    is_passing = name.startswith(("Client", "Server", "FSTimeout", "Timeout", "Connection", "Protocol"))
    return (_PassingError if is_passing else OSError)(EIO, f"it could not be reached or read: {name}")


def _raise_for_status(status: int) -> None:
    """Raise ``OSError`` for an error response."""
    if status in (404, 410):
        raise FileNotFoundError(ENOENT, "there is no such file")
    if status in (401, 403):
        raise PermissionError(EACCES, "access was denied")
    if status in _PASSING:
        raise _PassingError(EIO, f"the server returned {status}")
    if status >= 300:
        raise OSError(ENOTSUP, f"the server returned {status}")


def _size(headers: Any, read: int) -> int:
    """Return the size of a file according to the headers of a response."""
    total = headers.get("Content-Range", "").rpartition("/")[2] or headers.get("Content-Length", "")
    return int(total) if total.isdecimal() else read
