"""Rows of an export in a Parquet file."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from chatsquash.core import jsonio
from chatsquash.core.options import Options
from chatsquash.sources.arrays import Readable
from chatsquash.sources.unfold.rows import KINDS
from chatsquash.storage.parquet_footer import row_groups

if TYPE_CHECKING:
    from chatsquash.storage.confine.process import Confined

NAME = "Parquet of rows"
WHAT = "a Parquet file whose columns are the members of another logger's lines"
SUFFIXES = (".parquet",)
COPIES = True

BEGINS = rb"PAR1"
# Files are read completely, because the schema is at the end.
_LONGEST = 1 << 30
"""The maximum size in bytes."""
_LINE = 3
"""The size in bytes of the line for a row without cells."""


def fits(head: bytes) -> str | None:
    """Return the evidence for Parquet."""
    # Whether the columns are those of an export is checked when reading, because the schema is at the end.
    del head
    return "Parquet"


def lines(file: Readable) -> Iterator[bytes]:
    """Yield a line for each row without null cells; yield nothing if the columns are not those of an export."""
    options: Options = getattr(file, "options", None) or Options()
    yield from map(jsonio.dumps, table_rows(file.read(_LONGEST + 1), KINDS, options))


def table_rows(data: bytes, kinds: Iterable[frozenset[str]], options: Options) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file without null cells; yield nothing if it does not have all columns of any kind.

    Raises:
        ValueError: The file cannot be read within the limits of the options.
    """
    from chatsquash.storage.confine.process import Confined  # few files need it

    if len(data) > _LONGEST:
        raise ValueError(f"has more than {_LONGEST:,} bytes")
    _reject_large(data, options)
    process = Confined("chatsquash.storage.confine.parquet", options.max_memory, options.max_database_time)
    try:
        _, names = _ask(process, data, options)
        if not any(kind <= {*names} for kind in kinds):
            return
        at, remaining = 0, len(data) * options.max_expansion
        while rows := _ask(process, b"%d" % at, options)[1]:
            at += len(rows)
            for row in rows:
                # In the footer, equal cells count only once.
                if (remaining := remaining - len(jsonio.dumps(row))) < 0:
                    raise ValueError(_beyond(options))
                yield row
    finally:
        process.close()


def _reject_large(data: bytes, options: Options) -> None:
    """Raise ``ValueError`` if a file expands beyond the limits according to its footer."""
    groups = row_groups(io.BytesIO(data))
    # Equal cells may take up no space in the file, but each row becomes a line.
    size = max(sum(sum(group.sizes.values()) for group in groups), _LINE * sum(group.rows for group in groups))
    if size > len(data) * options.max_expansion:
        raise ValueError(_beyond(options))
    if size > options.max_expanded:
        raise ValueError(f"expands to more than {options.max_expanded:,} bytes (--max-expanded allows more)")


def _beyond(options: Options) -> str:
    return f"expands to more than {options.max_expansion:,} times its size (--max-expansion allows more)"


def _ask(process: Confined, request: bytes, options: Options) -> tuple[str, list[Any]]:
    from chatsquash.storage.confine.process import EndedError, OutOfMemoryError, OutOfTimeError

    memory, seconds = options.max_memory, options.max_database_time
    try:
        process.begin(request)
        what, answer = jsonio.loads(process.answer(memory))
    except OutOfTimeError:
        raise ValueError(f"takes more than {seconds} s to read (--max-database-time allows more)") from None
    except OutOfMemoryError:
        raise ValueError(f"takes more than {memory:,} bytes of memory to read (--max-memory allows more)") from None
    except EndedError as problem:
        raise ValueError(f"cannot be read: {problem}") from None
    if what == "broken":
        raise ValueError(f"cannot be read: {answer}")
    return what, answer
