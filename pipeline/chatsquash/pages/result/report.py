"""The page of a result: read from its folder, and written beside it."""

from __future__ import annotations

from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path

from chatsquash.core.errors import UsageError
from chatsquash.core.urls import refuse_remote
from chatsquash.dataset.sidecar import beside, refuse_foreign
from chatsquash.pages.report.data import Content
from chatsquash.pages.report.page import page
from chatsquash.pages.result import figures
from chatsquash.pages.result.chart_data import charts
from chatsquash.pages.result.selection import chosen
from chatsquash.pages.result.sessions import Findings, sessions
from chatsquash.pages.result.table import Observer, table
from chatsquash.results.output import ResultFolder

PAGE = "report.html"
_NEEDED = ("altair", "vl_convert")


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
    told = result.typed_counts()
    rows = table(result, observe)
    found = Findings(result)
    picked = chosen(rows, found.secrets)
    return Content(
        title=figures.title(told, rows),
        run=[*figures.run(result, rows)],
        figures=[*figures.figures(result, told, rows)],
        charts=[*charts(result, told, rows)],
        findings=found.shown,
        found=found.codes,
        sessions=[*sessions(result, picked, found)],
        total=told.sessions.seen,
    )
