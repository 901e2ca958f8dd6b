"""What URLs name in stores: files by themselves, below a folder, fitting a glob, or in a list of URLs."""

from __future__ import annotations

import glob
from array import array
from collections.abc import Iterator
from errno import EACCES

from msgspec import Struct, field

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.model import OURS
from chatsquash.core.text import quote
from chatsquash.sources.globs import fits
from chatsquash.sources.outputs import output_error
from chatsquash.storage import stores
from chatsquash.storage.stores import Address, Store, StoredObject
from chatsquash.storage.stores.base import LONGEST_KEY

_LIST = ".txt"
_LONGEST_LIST = 64 << 20
"""Bytes of a list of URLs."""
_NO_KEY = "names no file"


class ListedFile(Struct, frozen=True):
    """A file in a store, as a listing has it."""

    path: str
    """Its URL."""
    name: str
    """Its path below what was named."""
    size: int
    state: int | None


def entry_log(entry: ListedFile) -> Log:
    """A file in a store as a log."""
    return Log(entry.path, stores.without_query(entry.path), entry.name, entry.size, modified=entry.state)


class Listing(Struct):
    """What a URL names, in the order in which a folder on a disk is gone through: part by part of the names."""

    out: str | None = None
    """The URL of the output, which is never read."""
    earlier: list[str] = field(default_factory=list)
    """The folders that another run wrote its output to, which are passed over."""
    _out: str | None = None
    """What the keys of the output begin with, where it is in the store that is listed."""
    _keys: bytearray = field(default_factory=bytearray)
    _numbers: array[int] = field(default_factory=lambda: array("q"))

    def entries(self, given: str) -> Iterator[ListedFile]:
        """The files that a URL names; raises ``UsageError`` for one that names none, and for what cannot be listed."""
        place = stores.address(given)
        try:
            yield from self._entries(place)
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            raise UsageError(f"{place.display_url}: cannot be listed ({why})") from None

    def _entries(self, place: Address) -> Iterator[ListedFile]:
        store = stores.store(place)
        self._out = _inside(self.out, place)
        if self._out is not None and f"{place.key}/".startswith(self._out):
            raise UsageError(
                f"{place.display_url}: lies in the output, which is never read; choose another with --output"
            )
        status = _status(store, place.key)
        if status and not place.display_url.endswith("/"):
            if not stores.listable(place) and place.display_url.lower().endswith(_LIST):
                yield from self._of_list(store, place, status)
            else:
                yield _entry(place, status, place.display_url.rpartition("/")[2])
            return
        if not stores.listable(place):
            raise UsageError(
                f"{place.display_url}: {_NO_KEY}; folders cannot be listed there: write a text file of URLs"
            )
        folder, pattern = _divide(place.key)
        count = 0
        for each in self._entries_below(store, folder, "" if pattern else place.display_url):
            name = each.key[len(folder) :].lstrip("/")
            if not pattern or _fits(tuple(name.split("/")), pattern):
                count += 1
                yield _entry(place, each, name)
        if not count:
            raise UsageError(f"{place.display_url}: {'nothing matches' if pattern else 'nothing lies there'}")

    def _of_list(self, store: Store, place: Address, entry: StoredObject) -> Iterator[ListedFile]:
        """The files of a text file with a URL on each line; empty lines and those with # are none."""
        if entry.size > _LONGEST_LIST:
            raise UsageError(f"{place.display_url}: has more than {_LONGEST_LIST:,} bytes, so it is not a list of URLs")
        text = bytes(store.get(place.key, 0, _LONGEST_LIST, None).data).decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            url = line.strip()
            if not url or url.startswith("#"):
                continue
            if not url.startswith(f"{place.scheme}://"):
                raise UsageError(f"{place.display_url}:{number}: is not a URL that begins with {place.scheme}://")
            named = stores.address(url)
            if len(named.display_url) > LONGEST_KEY:
                raise UsageError(f"{place.display_url}:{number}: is a URL of more than {LONGEST_KEY:,} characters")
            if (there := _status(stores.store(named), named.key)) is None:
                raise UsageError(f"{place.display_url}:{number}: {quote(named.display_url)} {_NO_KEY}")
            yield _entry(named, there, named.display_url.partition("://")[2])

    def _entries_below(self, store: Store, folder: str, named: str) -> Iterator[StoredObject]:
        """What lies below a folder, without the outputs of earlier runs; ``named`` is its URL where all of it is."""
        keys, numbers = bytearray(), array("q")
        ours: set[str] = set()
        last, is_sorted = "", True
        for page in store.list(folder):
            for each in page:
                if self._out is not None and each.key.startswith(self._out):
                    continue
                if f"/{OURS}/" in f"/{each.key}":
                    ours.add(f"/{each.key}".partition(f"/{OURS}/")[0].removeprefix("/"))
                    continue
                order = _order(each.key)
                is_sorted = is_sorted and last <= order
                last = order
                keys += each.key.encode("utf-8", "surrogatepass")
                numbers.extend((len(keys), each.size, -1 if each.state is None else each.state))
        self._keys, self._numbers = keys, numbers
        if named and folder.rstrip("/") in ours:
            raise output_error(named)
        ours.discard(folder.rstrip("/"))
        self.earlier = sorted(ours)
        places: Iterator[int] = iter(range(len(numbers) // 3))
        if not is_sorted:
            places = iter(sorted(places, key=lambda at: _order(self._at(at).key)))
        yield from self._without(ours, map(self._at, places))

    def _at(self, at: int) -> StoredObject:
        start = self._numbers[3 * at - 3] if at else 0
        stop, size, state = self._numbers[3 * at : 3 * at + 3]
        return StoredObject(self._keys[start:stop].decode("utf-8", "surrogatepass"), size, None if state < 0 else state)

    @staticmethod
    def _without(ours: set[str], entries: Iterator[StoredObject]) -> Iterator[StoredObject]:
        """The same without outputs, and without the empty objects that some programs let stand for folders."""
        before: StoredObject | None = None
        for each in entries:
            if before and not (before.size == 0 and each.key.startswith(f"{before.key}/")):
                yield before
            before = None if _is_below(each.key, ours) else each
        if before:
            yield before


def _inside(out: str | None, place: Address) -> str | None:
    """What the keys of the output begin with, if it is in the same store as a place."""
    if out is None:
        return None
    there = stores.address(out)
    folder = "".join(f"{part}/" for part in there.key.split("/") if part)
    return folder if (there.scheme, there.host) == (place.scheme, place.host) else None


def _is_below(key: str, folders: set[str]) -> bool:
    if not folders:
        return False
    parts = key.split("/")
    return any("/".join(parts[:count]) in folders for count in range(len(parts)))


def _status(store: Store, key: str) -> StoredObject | None:
    """What stands under a key; whoever may only list is not told, and lists."""
    try:
        return store.status(key) if key and not key.endswith("/") else None
    except OSError as problem:
        if problem.errno == EACCES:
            return None
        raise


def _entry(place: Address, stored: StoredObject, name: str) -> ListedFile:
    path = place.url(stored.key) if stores.listable(place) else place.key
    return ListedFile(path, name, stored.size, stored.state)


def _order(key: str) -> str:
    """A key so that texts compare as its parts do, one after the other."""
    return key.replace("/", "\0")


def _divide(key: str) -> tuple[str, tuple[str, ...]]:
    """The folder that is listed, with a slash behind it, and the pattern of what is wanted below it."""
    parts = [part for part in key.split("/") if part]
    fixed = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    pattern = (*parts[fixed:], "**") if fixed < len(parts) else ()
    return "".join(f"{part}/" for part in parts[:fixed]), pattern


def _fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a name fits, as on a disk: what begins with a dot only where the pattern says so."""
    shallow = pattern[: pattern.index("**")]
    hidden = any(part[:1] == "." and fit[:1] != "." for part, fit in zip(parts, shallow, strict=False))
    return not hidden and fits(parts, pattern)
