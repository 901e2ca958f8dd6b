"""Stores that hold logs and datasets elsewhere, a row each, opened when a path first names one.

Nothing here is imported for local files.  A store is opened in the process that uses it: what its library keeps
running does not survive a fork.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module

from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.storage.stores.address import Address, address, shown
from chatsquash.storage.stores.base import Piece, Store, Stored, WritableStore

__all__ = ["Piece", "Store", "Stored", "address", "listable", "located", "shown", "store", "writable"]


class Row(Struct, frozen=True):
    """A kind of store."""

    module: str
    """Below this package; its function ``opened`` gives the store of a scheme and a bucket or host."""
    name: str
    """As messages say it."""
    is_writable: bool = False
    is_listable: bool = True


ROWS = {
    "s3": Row("objects", "Amazon S3, and what speaks like it", is_writable=True),
    "gs": Row("objects", "Google Cloud Storage", is_writable=True),
    "az": Row("objects", "Azure Blob Storage", is_writable=True),
    "https": Row("files", "a web server", is_listable=False),
    "http": Row("files", "a web server on this machine", is_listable=False),
    "hf": Row("files", "the Hugging Face Hub"),
    "sftp": Row("files", "a host by SFTP"),
}
"""The stores by the schemes of their URLs."""


def located(path: str) -> tuple[Store, str]:
    """The store that a URL names, and the key of what it names there; raises ``UsageError`` for a wrong one."""
    place = address(path)
    return store(place), place.key


def store(place: Address) -> Store:
    """The store of an address, opened once in this process.

    Raises ``UsageError`` where what it needs is not installed, or what it is told by the environment cannot be used.
    """
    return _opened(place.scheme, place.host, os.getpid())


def writable(place: Address) -> WritableStore:
    """The same, to be written to; raises ``UsageError`` for a store that is only read."""
    if not ROWS[place.scheme].is_writable:
        able = ", ".join(f"{scheme}://" for scheme, row in ROWS.items() if row.is_writable)
        raise UsageError(f"{place.shown}: is only read; write to a folder, or to one of {able}")
    return _opened(place.scheme, place.host, os.getpid())  # type: ignore[return-value]


def listable(place: Address) -> bool:
    """Whether its store tells what is there."""
    return ROWS[place.scheme].is_listable


@lru_cache(maxsize=64)
def _opened(scheme: str, host: str, process: int) -> Store:
    del process  # a fork opens its own
    try:
        opened: Store = import_module(f"chatsquash.storage.stores.{ROWS[scheme].module}").opened(scheme, host)
    except ImportError as problem:
        why = f"{scheme}:// needs {problem.name or 'a library'}, which is not installed"
        raise UsageError(f"{why}: pip install 'chatsquash[remote]'") from None
    return opened
