"""Remote stores of logs and datasets and their URLs; a store is opened when a path first refers to it.

Nothing here is imported for local files. A store is opened in the process that uses it, because background threads of
its library do not survive a fork. Credentials are never read from a URL and never displayed.
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
from chatsquash.storage import REMOTE, refuse_unknown
from chatsquash.storage.stores.base import Store, StoredBytes, StoredObject, WritableStore

__all__ = [
    "Store",
    "StoredBytes",
    "StoredObject",
    "address",
    "listable",
    "locate",
    "store",
    "without_query",
    "writable",
]


class StoreKind(Struct, frozen=True):
    """A kind of store."""

    module: str
    """A module in this package; its ``open_store`` returns the store for a scheme and a bucket or host."""
    name: str
    """The name in messages."""
    is_writable: bool = False
    is_listable: bool = True


ROWS = {
    "s3": StoreKind("objects", "Amazon S3 and compatible services", is_writable=True),
    "gs": StoreKind("objects", "Google Cloud Storage", is_writable=True),
    "az": StoreKind("objects", "Azure Blob Storage", is_writable=True),
    "https": StoreKind("files", "a web server", is_listable=False),
    "http": StoreKind("files", "a web server on this machine", is_listable=False),
    "hf": StoreKind("files", "the Hugging Face Hub"),
    "sftp": StoreKind("files", "an SFTP host"),
}
"""The stores by URL scheme."""


def locate(path: str) -> tuple[Store, str]:
    """Return the store and the key of a URL; raise ``UsageError`` if it is invalid."""
    place = address(path)
    return store(place), place.key


def store(place: Address) -> Store:
    """Return the store of an address, opened once per process.

    Raises:
        UsageError: Its library is not installed, or the settings in the environment are invalid.
    """
    return _open_store(place.scheme, place.host, os.getpid())


def writable(place: Address) -> WritableStore:
    """Return the store of an address for writing; raise ``UsageError`` if it is read-only."""
    if not ROWS[place.scheme].is_writable:
        able = ", ".join(f"{scheme}://" for scheme, row in ROWS.items() if row.is_writable)
        raise UsageError(f"{place.display_url}: cannot be written to; use a folder, or one of {able}")
    return _open_store(place.scheme, place.host, os.getpid())  # type: ignore[return-value]


def listable(place: Address) -> bool:
    """Return whether the store of an address can be listed."""
    return ROWS[place.scheme].is_listable


@lru_cache(maxsize=64)
def _open_store(scheme: str, host: str, process: int) -> Store:
    del process  # only a cache key, because a fork needs a new store
    try:
        remote: Store = import_module(f"chatsquash.storage.stores.{ROWS[scheme].module}").open_store(scheme, host)
    except ImportError as problem:
        why = f"{scheme}:// requires {problem.name or 'a library'}, which is not installed"
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
"""The buckets and hosts that are allowed in a URL."""
_WEB = ("https", "http")
_SECRET = re.compile("key|secret|token|sig|credential|passw", re.IGNORECASE)
"""Matches the names of query parameters that contain credentials."""
_CREDENTIALS = "contains credentials, which are only read from the environment and the store's own files"


class Address(NamedTuple):
    """A URL split into its parts."""

    scheme: str
    host: str
    """The bucket, container or host."""
    key: str
    """The rest as written; for ``https``, the entire URL."""

    @property
    def display_url(self) -> str:
        """The URL as shown in messages and reports."""
        return without_query(self.key) if self.scheme in _WEB else f"{self.scheme}://{self.host}/{self.key}"

    def url(self, key: str) -> str:
        """Return the URL of another key in the same store."""
        return f"{self.scheme}://{self.host}/{key}"


def address(url: str) -> Address:
    """Parse a URL; raise ``UsageError`` if it does not refer to a store or contains credentials."""
    scheme, _, rest = url.partition("://")
    if scheme not in REMOTE:
        refuse_unknown(url)
    host, _, key = rest.partition("/")
    user = host.rpartition("@")[0]
    if ":" in user or (user and scheme != "sftp") or (scheme in ("s3", "gs", "az") and ":" in host):
        raise UsageError(f"{scheme}://...: {_CREDENTIALS}; remove them from the URL")
    if scheme not in _WEB and _has_credential(key):
        raise UsageError(f"{scheme}://{host}/...: {_CREDENTIALS}; remove the query from the URL")
    if not re.fullmatch(_HOSTS[scheme], host):
        what = (
            "http:// is only supported for this machine" if scheme == "http" else "no valid bucket, container or host"
        )
        raise UsageError(f"{quote(without_query(url))}: {what}; write {scheme}://NAME/PATH")
    return Address(scheme, host, url if scheme in _WEB else key)


def _has_credential(key: str) -> bool:
    """Return whether a key ends with a query that has a parameter with the name of a credential."""
    members = (each.partition("=") for each in re.split("[?&]", key)[1:])
    return any(equals and _SECRET.search(name) for name, equals, _ in members)


def without_query(path: str) -> str:
    """Return a URL without its query, which may be a signature; other paths are returned unchanged."""
    return re.split(r"[?#]", path, maxsplit=1)[0] if path.startswith(("https://", "http://")) else path
