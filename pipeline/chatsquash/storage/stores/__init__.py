"""Remote stores of logs and datasets, a row each, and their URLs; a store is opened when a path first names it.

Nothing here is imported for local files. A store is opened in the process that uses it, since background threads of its
library do not survive a fork. Credentials are never taken from a URL, and never shown.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from importlib import import_module
from typing import NamedTuple

from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.core.text import quote
from chatsquash.core.urls import REMOTE, refuse_unknown
from chatsquash.storage.stores.base import Store, StoredBytes, StoredObject, WritableStore

__all__ = ["Store", "StoredBytes", "StoredObject", "address", "listable", "locate", "shown", "store", "writable"]


class StoreKind(Struct, frozen=True):
    """A kind of store."""

    module: str
    """A module of this package; its ``open_store`` returns the store of a scheme and a bucket or host."""
    name: str
    """The name in messages."""
    is_writable: bool = False
    is_listable: bool = True


ROWS = {
    "s3": StoreKind("objects", "Amazon S3, and what speaks like it", is_writable=True),
    "gs": StoreKind("objects", "Google Cloud Storage", is_writable=True),
    "az": StoreKind("objects", "Azure Blob Storage", is_writable=True),
    "https": StoreKind("files", "a web server", is_listable=False),
    "http": StoreKind("files", "a web server on this machine", is_listable=False),
    "hf": StoreKind("files", "the Hugging Face Hub"),
    "sftp": StoreKind("files", "a host by SFTP"),
}
"""The stores by the schemes of their URLs."""


def locate(path: str) -> tuple[Store, str]:
    """The store and the key that a URL names; raises ``UsageError`` for an invalid URL."""
    place = address(path)
    return store(place), place.key


def store(place: Address) -> Store:
    """The store of an address, opened once in this process.

    Raises ``UsageError`` if its library is not installed, or the settings in the environment cannot be used.
    """
    return _open_store(place.scheme, place.host, os.getpid())


def writable(place: Address) -> WritableStore:
    """The same for writing; raises ``UsageError`` for a read-only store."""
    if not ROWS[place.scheme].is_writable:
        able = ", ".join(f"{scheme}://" for scheme, row in ROWS.items() if row.is_writable)
        raise UsageError(f"{place.shown}: is only read; write to a folder, or to one of {able}")
    return _open_store(place.scheme, place.host, os.getpid())  # type: ignore[return-value]


def listable(place: Address) -> bool:
    """Whether its store can be listed."""
    return ROWS[place.scheme].is_listable


@lru_cache(maxsize=64)
def _open_store(scheme: str, host: str, process: int) -> Store:
    del process  # a fork opens its own
    try:
        remote: Store = import_module(f"chatsquash.storage.stores.{ROWS[scheme].module}").open_store(scheme, host)
    except ImportError as problem:
        why = f"{scheme}:// needs {problem.name or 'a library'}, which is not installed"
        raise UsageError(f"{why}: pip install 'chatsquash[remote]'") from None
    return remote


_HOSTS = {
    "s3": r"[A-Za-z0-9][A-Za-z0-9._-]*",
    "gs": r"[A-Za-z0-9][A-Za-z0-9._-]*",
    "az": r"[a-z0-9$][a-z0-9-]*",
    "hf": r"[A-Za-z0-9._-]+",
    "https": r"[^@/\s]+",
    "http": r"(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?",
    "sftp": r"(?:[^@:/\s]+@)?[^@:/\s]+(?::\d+)?",
}
"""Buckets and hosts that a URL may name."""
_WEB = ("https", "http")
_SECRET = re.compile("key|secret|token|sig|credential|passw", re.IGNORECASE)
"""Matches the names of query members that contain credentials."""
_CREDENTIALS = "holds credentials, which are taken from the environment and the store's own files only"


class Address(NamedTuple):
    """A URL in its parts."""

    scheme: str
    host: str
    """The bucket, the container or the host."""
    key: str
    """The rest, as it is written; for ``https`` the complete URL."""

    @property
    def shown(self) -> str:
        """The URL as messages and reports show it."""
        return shown(self.key) if self.scheme in _WEB else f"{self.scheme}://{self.host}/{self.key}"

    def url(self, key: str) -> str:
        """The URL of another key of the same store."""
        return f"{self.scheme}://{self.host}/{key}"


def address(given: str) -> Address:
    """The parts of a URL; raises ``UsageError`` if it does not name a store, or contains credentials."""
    scheme, _, rest = given.partition("://")
    if scheme not in REMOTE:
        refuse_unknown(given)
    host, _, key = rest.partition("/")
    user = host.rpartition("@")[0]
    if ":" in user or (user and scheme != "sftp") or (scheme in ("s3", "gs", "az") and ":" in host):
        raise UsageError(f"{scheme}://...: {_CREDENTIALS}: leave them out of the URL")
    if scheme not in _WEB and _holds_secret(key):
        raise UsageError(f"{scheme}://{host}/...: {_CREDENTIALS}: leave out what stands behind the question mark")
    if not re.fullmatch(_HOSTS[scheme], host):
        what = "only https:// leads to other machines" if scheme == "http" else "names no bucket, container or host"
        raise UsageError(f"{quote(shown(given))}: {what}; write {scheme}://NAME/PATH")
    return Address(scheme, host, given if scheme in _WEB else key)


def _holds_secret(key: str) -> bool:
    """Whether a key ends in a query with a member that is a credential by its name."""
    members = (each.partition("=") for each in re.split("[?&]", key)[1:])
    return any(equals and _SECRET.search(name) for name, equals, _ in members)


def shown(path: str) -> str:
    """A URL without the query, which may be a signature; any other path unchanged."""
    return re.split(r"[?#]", path, maxsplit=1)[0] if path.startswith(("https://", "http://")) else path
