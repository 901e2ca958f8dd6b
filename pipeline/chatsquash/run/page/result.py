"""An output folder as the page reads it: no link is followed, and what is no result is an error."""

from __future__ import annotations

import csv
import io
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatsquash import jsonio
from chatsquash.errors import UsageError
from chatsquash.folder import Folder
from chatsquash.report.frame import frame
from chatsquash.run.verify import Place, manifest
from chatsquash.write.claim import inside

if TYPE_CHECKING:
    import polars as pl

_AGAIN = "chatsquash verify says what changed; convert again"


class Result:
    """What a run left in a folder.  Raises ``UsageError`` for what is none, and for a link in the place of a file."""

    def __init__(self, folder: Folder, path: Path) -> None:
        self.folder, self.path = folder, path
        self.run: dict[str, Any] = manifest(Place(folder, path))
        try:
            self.files = [inside(each["path"]) for each in self.run["outputs"]]
            self.run["counts"]["sessions"]["seen"], self.run["options"]["max_tokens"]
        except (KeyError, TypeError, ValueError) as problem:
            raise self.damaged("run.json") from problem
        for name in self.files:
            status = folder.status(name)
            if status is None or not stat.S_ISREG(status.st_mode):
                raise UsageError(f"{path / name}: is no file: {_AGAIN}")

    def damaged(self, name: str) -> UsageError:
        """The error for a file that cannot be read as what it is."""
        return UsageError(f"{self.path / name}: is not as chatsquash wrote it: {_AGAIN}")

    def table(self) -> pl.DataFrame:
        """The session table."""
        return frame(self.path)

    def lines(self, name: str, *members: str) -> Iterator[dict[str, Any]]:
        """The objects of a report, which have these members; none where the run did not write it."""
        if name not in self.files:
            return
        with self.folder.reading(name) as file:
            for line in file:
                try:
                    told = jsonio.loads(line)
                except (ValueError, RecursionError):
                    told = None
                if not isinstance(told, dict) or not set(members) <= told.keys():
                    raise self.damaged(name)
                yield told

    def rows(self, name: str, *columns: str) -> list[dict[str, str]]:
        """The rows of a table with these columns; none where the run did not write it."""
        if name not in self.files:
            return []
        try:
            rows = list(csv.DictReader(io.StringIO(self.folder.read(name).decode(), newline="")))
        except (ValueError, csv.Error):
            raise self.damaged(name) from None
        if any(not set(columns) <= row.keys() or None in row.values() for row in rows):
            raise self.damaged(name)
        return rows
