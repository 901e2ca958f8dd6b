"""Files in stores that URLs refer to: single files, folders, globs and lists of URLs."""

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
from chatsquash.sources.names import fits
from chatsquash.sources.outputs import output_error
from chatsquash.storage import stores
from chatsquash.storage.stores import Address, Store, StoredObject
from chatsquash.storage.stores.base import LONGEST_KEY

_LIST = ".txt"
_LONGEST_LIST = 64 << 20
"""The maximum size of a list of URLs in bytes."""
_NO_KEY = "not the URL of a file"


class ListedFile(Struct, frozen=True):
    """A file in the listing of a store."""

    path: str
    """The URL of the file."""
    name: str
    """The path under the folder or pattern in the argument."""
    size: int
    state: int | None


def entry_log(entry: ListedFile) -> Log:
    """Return a listed file as a log."""
    return Log(entry.path, stores.without_query(entry.path), entry.name, entry.size, modified=entry.state)


class Listing(Struct):
    """Lists the files of a URL in the order in which folders on disk are searched: names are compared part by part."""

    out: str | None = None
    """The URL of the output, which is never read."""
    earlier_outputs: list[str] = field(default_factory=list)
    """The folders that are skipped because they contain the output of another run."""
    _out_prefix: str | None = None
    """The prefix of the output's keys, if the output is in the listed store."""
    _keys: bytearray = field(default_factory=bytearray)
    _numbers: array[int] = field(default_factory=lambda: array("q"))

    def entries(self, url: str) -> Iterator[ListedFile]:
        """Yield the files that a URL refers to.

        Raises:
            UsageError: The URL refers to no file, or the store cannot be listed.
        """
        place = stores.address(url)
        try:
            yield from self._entries(place)
        except OSError as problem:
            why = problem.strerror or type(problem).__name__
            raise UsageError(f"{place.display_url}: cannot be listed ({why})") from None

    def _entries(self, place: Address) -> Iterator[ListedFile]:
        store = stores.store(place)
        self._out_prefix = _output_prefix(self.out, place)
        if self._out_prefix is not None and f"{place.key}/".startswith(self._out_prefix):
            raise UsageError(
                f"{place.display_url}: is in the output, which is never read; choose another with --output"
            )
        status = _status(store, place.key)
        if status and not place.display_url.endswith("/"):
            if not stores.listable(place) and place.display_url.lower().endswith(_LIST):
                yield from self._urls_in_list(store, place, status)
            else:
                yield _entry(place, status, place.display_url.rpartition("/")[2])
            return
        if not stores.listable(place):
            raise UsageError(f"{place.display_url}: {_NO_KEY}; folders cannot be listed there; use a text file of URLs")
        folder, pattern = _split_key(place.key)
        count = 0
        for each in self._entries_below(store, folder, "" if pattern else place.display_url):
            name = each.key[len(folder) :].lstrip("/")
            if not pattern or _fits(tuple(name.split("/")), pattern):
                count += 1
                yield _entry(place, each, name)
        if not count:
            raise UsageError(f"{place.display_url}: {'no match' if pattern else 'no files found'}")

    def _urls_in_list(self, store: Store, place: Address, entry: StoredObject) -> Iterator[ListedFile]:
        """Yield the files in a list of URLs, one per line; empty lines and comments (``#``) are skipped."""
        if entry.size > _LONGEST_LIST:
            raise UsageError(
                f"{place.display_url}: has more than {_LONGEST_LIST:,} bytes, which is too large for a list of URLs"
            )
        text = bytes(store.get(place.key, 0, _LONGEST_LIST, None).data).decode("utf-8", "replace")
        for number, line in enumerate(text.splitlines(), 1):
            url = line.strip()
            if not url or url.startswith("#"):
                continue
            if not url.startswith(f"{place.scheme}://"):
                raise UsageError(f"{place.display_url}:{number}: expected a URL that begins with {place.scheme}://")
            target = stores.address(url)
            if len(target.display_url) > LONGEST_KEY:
                raise UsageError(f"{place.display_url}:{number}: the URL has more than {LONGEST_KEY:,} characters")
            if (status := _status(stores.store(target), target.key)) is None:
                raise UsageError(f"{place.display_url}:{number}: {quote(target.display_url)} is {_NO_KEY}")
            yield _entry(target, status, target.display_url.partition("://")[2])

    def _entries_below(self, store: Store, folder: str, folder_url: str) -> Iterator[StoredObject]:
        """Yield the objects under a folder, without the outputs of earlier runs.

        ``folder_url`` is the URL of the folder if all of it is selected, in which case it must not be an output itself.
        """
        # Packed, because a store may contain very many objects.
        keys, numbers = bytearray(), array("q")
        outputs: set[str] = set()
        last, is_sorted = "", True
        for page in store.list(folder):
            for each in page:
                if self._out_prefix is not None and each.key.startswith(self._out_prefix):
                    continue
                if f"/{OURS}/" in f"/{each.key}":
                    outputs.add(f"/{each.key}".partition(f"/{OURS}/")[0].removeprefix("/"))
                    continue
                order = _order(each.key)
                is_sorted = is_sorted and last <= order
                last = order
                keys += each.key.encode("utf-8", "surrogatepass")
                numbers.extend((len(keys), each.size, -1 if each.state is None else each.state))
        self._keys, self._numbers = keys, numbers
        if folder_url and folder.rstrip("/") in outputs:
            raise output_error(folder_url)
        outputs.discard(folder.rstrip("/"))
        self.earlier_outputs = sorted(outputs)
        places: Iterator[int] = iter(range(len(numbers) // 3))
        if not is_sorted:
            places = iter(sorted(places, key=lambda at: _order(self._object_at(at).key)))
        yield from self._without_outputs(outputs, map(self._object_at, places))

    def _object_at(self, at: int) -> StoredObject:
        start = self._numbers[3 * at - 3] if at else 0
        stop, size, state = self._numbers[3 * at : 3 * at + 3]
        return StoredObject(self._keys[start:stop].decode("utf-8", "surrogatepass"), size, None if state < 0 else state)

    @staticmethod
    def _without_outputs(outputs: set[str], entries: Iterator[StoredObject]) -> Iterator[StoredObject]:
        """Yield the objects without outputs and without the empty objects that some programs create as folders."""
        before: StoredObject | None = None
        for each in entries:
            if before and not (before.size == 0 and each.key.startswith(f"{before.key}/")):
                yield before
            before = None if _is_below(each.key, outputs) else each
        if before:
            yield before


def _output_prefix(out: str | None, place: Address) -> str | None:
    """Return the prefix of the output's keys, if the output is in the same store as a URL."""
    if out is None:
        return None
    output = stores.address(out)
    folder = "".join(f"{part}/" for part in output.key.split("/") if part)
    return folder if (output.scheme, output.host) == (place.scheme, place.host) else None


def _is_below(key: str, folders: set[str]) -> bool:
    if not folders:
        return False
    parts = key.split("/")
    return any("/".join(parts[:count]) in folders for count in range(len(parts)))


def _status(store: Store, key: str) -> StoredObject | None:
    """Return the status of a key, or ``None`` without permission."""
    try:
        return store.status(key) if key and not key.endswith("/") else None
    except OSError as problem:
        # Listing may be allowed nevertheless.
        if problem.errno == EACCES:
            return None
        raise


def _entry(place: Address, item: StoredObject, name: str) -> ListedFile:
    path = place.url(item.key) if stores.listable(place) else place.key
    return ListedFile(path, name, item.size, item.state)


def _order(key: str) -> str:
    """Return a sort key that compares a name part by part."""
    return key.replace("/", "\0")


def _split_key(key: str) -> tuple[str, tuple[str, ...]]:
    """Split a key into the folder to list, with a trailing slash, and the pattern below it."""
    parts = [part for part in key.split("/") if part]
    first_magic = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    pattern = (*parts[first_magic:], "**") if first_magic < len(parts) else ()
    return "".join(f"{part}/" for part in parts[:first_magic]), pattern


def _fits(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Return whether a name matches a pattern."""
    # As on disk, a leading dot must be in the pattern.
    shallow = pattern[: pattern.index("**")]
    hidden = any(part[:1] == "." and fit[:1] != "." for part, fit in zip(parts, shallow, strict=False))
    return not hidden and fits(parts, pattern)
