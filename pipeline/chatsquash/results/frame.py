"""Reads the session table of an output folder as a polars frame."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.text import error_text
from chatsquash.dataset.session_table import SESSIONS, row_of
from chatsquash.results.output import LONGEST
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
_BATCH = 2_000

DAMAGE = (ValueError, TypeError, AttributeError, RecursionError, OverflowError)
"""Exceptions raised by reading members of a damaged row."""


def frame(output: str | PathLike[str]) -> pl.DataFrame:
    """Return the session table of an output folder: a row for each record, and for each session without one.

    docs/output.md lists the columns.  Raises ``UsageError`` for a folder without a table, and for a table that this
    version of chatsquash did not write.

    >>> import tempfile, pathlib
    >>> from chatsquash import convert
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "s.jsonl").write_text('{"request": {"messages": [{"role": "user", "content": "hi"}]}}')
    >>> _ = convert(folder, folder / "out")
    >>> frame(folder / "out").select("row", "session", "turns").rows()
    [(1, 's', 0)]
    """
    with closing(Folder(Path(fspath(output)))) as folder:
        return frame_of(folder)


def table_lines(output: str | PathLike[str], kind: type[T]) -> Iterator[T]:
    """Yield the lines of the session table of an output folder as a type with some members; raises like ``frame``."""
    decode = msgspec.json.Decoder(kind).decode
    with closing(Folder(Path(fspath(output)))) as folder:
        path = folder.path / SESSIONS
        try:
            with folder.open_file(SESSIONS) as file:
                while line := file.readline(LONGEST):
                    yield decode(line)
        except FileNotFoundError:
            raise _missing(path) from None
        except OSError as problem:
            raise _unreadable(path, problem) from None
        except (*DAMAGE, msgspec.MsgspecError) as problem:
            raise _unknown(path, problem) from None


def _missing(path: Path) -> UsageError:
    return UsageError(f"{path}: no session table; use an output folder of chatsquash convert")


def _unreadable(path: Path, problem: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be read ({problem.strerror})")


def _unknown(path: Path, problem: BaseException) -> UsageError:
    return UsageError(f"{path}: not a session table of this version of chatsquash: {error_text(problem)}")


def frame_of(folder: Folder) -> pl.DataFrame:
    """Return the session table of an open output folder; raises like ``frame``."""
    import polars as pl  # slow to import, and not needed by conversions

    from chatsquash.dataset.where import SCHEMA

    path = folder.path / SESSIONS
    frames = [pl.DataFrame(schema=SCHEMA)]
    rows: list[dict[str, object]] = []
    try:
        with folder.open_file(SESSIONS) as file:
            while line := file.readline(LONGEST):
                rows.append(row_of(jsonio.loads(line)))
                if len(rows) == _BATCH:
                    frames.append(frame_of_rows(rows))
                    rows = []
        return pl.concat([*frames, frame_of_rows(rows)])
    except FileNotFoundError:
        raise _missing(path) from None
    except OSError as problem:
        raise _unreadable(path, problem) from None
    except (*DAMAGE, pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise _unknown(path, problem) from None


def frame_of_rows(rows: list[dict[str, object]]) -> pl.DataFrame:
    """Return rows of the session table as a frame."""
    import polars as pl

    from chatsquash.dataset.where import SCHEMA

    return pl.DataFrame({name: [row.get(name) for row in rows] for name in SCHEMA}, schema=SCHEMA)
