"""The page of a result: read from its folder, and written beside it."""

from __future__ import annotations

from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path

from chatsquash.errors import UsageError
from chatsquash.report.frame import frame
from chatsquash.report.page.data import Content
from chatsquash.report.page.page import page
from chatsquash.report.reading import damaged
from chatsquash.run.page import figures
from chatsquash.run.page.choose import chosen
from chatsquash.run.page.findings import Findings
from chatsquash.run.page.lengths import Observer, lengths
from chatsquash.run.page.sessions import sessions
from chatsquash.run.result import ResultFolder
from chatsquash.urls import refuse_remote
from chatsquash.write.beside import beside, refuse_foreign
from chatsquash.write.commit import RUN

PAGE = "report.html"
_NEEDED = ("altair", "vl_convert")
_COUNTS = {"sessions", "conversations", "lines", "replies", "reasoning", "findings", "secrets", "addresses"}
"""What the page shows of the counts of ``run.json``."""


def refuse(output: str | PathLike[str]) -> None:
    """Raise ``UsageError`` where no report can be written: what draws charts is missing, or its place is taken."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"a report needs {' and '.join(missing)}: pip install 'chatsquash[report]'")
    refuse_remote(fspath(output))
    refuse_foreign(Path(fspath(output)), PAGE)


def report(output: str | PathLike[str], observe: Observer | None = None) -> Path:
    """Write ``report.html`` into an output folder, for its owner alone; gives its path.

    It follows from the folder and from the logs that ``run.json`` names.  ``observe`` is told how much of the records
    is read.  Raises ``UsageError`` for a folder without a
    result, for one that a run is writing to, and where the packages of the extra ``report`` are missing.
    """
    refuse(output)
    out = Path(fspath(output))
    with beside(out) as place:
        place.put(PAGE, page(content(ResultFolder(place.folder), observe)))
    return out / PAGE


def content(result: ResultFolder, observe: Observer | None = None) -> Content:
    """What the page of a result shows."""
    if not result.counts.keys() >= _COUNTS:
        raise damaged(result.folder, RUN)
    table = frame(result.folder.path)
    places = table.select("file", "row")  # a join copies what it is of
    measured = places.join(lengths(result, observe), on=["file", "row"], how="left", maintain_order="left")
    table = table.with_columns(measured["characters"])
    found = Findings(result)
    picked = chosen(table, found.secrets)
    return Content(
        title=figures.title(result, table),
        figures=[*figures.figures(result, table)],
        charts=[*figures.charts(result, table)],
        findings=found.shown,
        found=found.count,
        sessions=[*sessions(result, picked, found)],
        total=result.counts["sessions"]["seen"],
    )
