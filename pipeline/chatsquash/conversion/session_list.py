"""Lists the sessions of an output folder or of logs, with their distinguishing properties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from os.path import commonprefix
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatsquash.conversion.in_memory import read
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.core.text import hint
from chatsquash.dataset.session_table import COLUMNS, row_of
from chatsquash.records import places
from chatsquash.results.frame import frame_of, frame_of_rows
from chatsquash.results.output import is_output
from chatsquash.results.show import MIN_ID_LENGTH
from chatsquash.results.titles import ending, title_of_line, title_of_value
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    import polars as pl

FIELDS = ("id", "day", "agent", "model", "replies", "tokens", "outcome", "prompt", "session", "log")
"""The properties listed for a session."""
Row = dict[str, Any]


def list_sessions(
    paths: Sequence[str], options: Options, *, where: str | None = None, sort: str | None = None
) -> list[dict[str, Any]]:
    """List the sessions of an output folder or of logs that match a condition.

    Args:
        paths: An output folder, or logs.
        options: The options for reading logs.
        where: An SQL condition on the session table.
        sort: A column, with ``-`` for descending order.

    Returns:
        A dictionary with the members of ``FIELDS`` for each session.

    Raises:
        UsageError: If a source, the condition or the column cannot be used.
    """
    _refuse_unknown(sort)
    condition = _condition(where)
    if len(paths) == 1 and is_output(Path(paths[0])):
        with closing(Folder(Path(paths[0]))) as folder:
            frame = _with_numbers(frame_of(folder))
            prefixes = _prefixes(frame["session"])
            rows = _rows(frame, condition)
            prompts = _prompts(folder, rows)
    else:
        frame, known = _of_logs(paths, options)
        prefixes = _prefixes(frame["session"])
        rows = _rows(frame, condition)
        prompts = {row["nth"]: known[row["nth"]] for row in rows}
    entries = [(row, _entry(row, prefixes[row["session"]], prompts.get(row["nth"]))) for row in rows]
    return [entry for _, entry in _sorted(entries, sort)]


def _refuse_unknown(sort: str | None) -> None:
    known = [*FIELDS, *(each.name for each in COLUMNS if each.name not in FIELDS)]
    if sort is not None and sort.removeprefix("-") not in known:
        raise UsageError(f"--sort {sort}: unknown column; {hint(sort.removeprefix('-'), known)}")


def _condition(where: str | None) -> pl.Expr | None:
    if where is None:
        return None
    from chatsquash.dataset.where import condition_of  # slow to import

    return condition_of(where, include_late=True)


def _of_logs(paths: Sequence[str], options: Options) -> tuple[pl.DataFrame, list[str | None]]:
    """Return the session table of logs, and the first prompt of each session."""
    rows: list[Row] = []
    prompts: list[str | None] = []
    for session in read(paths, options):
        rows.append(row_of(session.facts))
        prompts.append(title_of_value(session.records[0]) if session.records else None)
    return frame_of_rows(rows).with_row_index("nth"), prompts


def _with_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Add the number of the session to each row, since a session may have several records."""
    import polars as pl

    first = pl.all_horizontal(pl.col(name).fill_null(1) == 1 for name in ("record", "sample"))
    return frame.with_columns(first.cum_sum().alias("nth"))


def _rows(frame: pl.DataFrame, condition: pl.Expr | None) -> list[Row]:
    """Return the first row of each session that matches a condition."""
    if condition is not None:
        from chatsquash.dataset.where import matching  # slow to import

        frame = matching(frame, condition)
    return frame.unique("nth", keep="first", maintain_order=True).to_dicts()


def _prompts(folder: Folder, rows: list[Row]) -> dict[int, str | None]:
    """Return the first prompts of records; each file is read once."""
    numbers_by_file: dict[str, dict[int, int]] = defaultdict(dict)
    for row in rows:
        if row["file"] is not None:
            numbers_by_file[row["file"]][row["row"]] = row["nth"]
    prompts: dict[int, str | None] = {}
    for name, numbers in numbers_by_file.items():
        for each in places.rows(folder, name):
            if (nth := numbers.get(each.number)) is not None:
                prompts[nth] = title_of_line(each.data)
    return prompts


def _entry(row: Row, prefix: str, prompt: str | None) -> dict[str, Any]:
    usage = [row[f"usage_{name}_tokens"] for name in ("prompt", "completion")]
    return {
        "id": prefix,
        "day": row["start"][:10] if row["start"] else None,
        "agent": row["format"],
        "model": row["model"],
        "replies": row["replies_logged"],
        "tokens": None if usage == [None, None] else sum(filter(None, usage)),
        "outcome": row["left_out"] or row["filtered"] or ending(row),
        "prompt": prompt,
        "session": row["session"],
        "log": row["log"],
    }


def _prefixes(sessions: Iterable[str]) -> dict[str, str]:
    """Return the shortest unique prefix of each id."""
    ids = sorted(set(sessions))
    common_lengths = [len(commonprefix(pair)) for pair in pairwise(ids)]  # noqa: RUF071 - characters are meant
    lengths_by_id = zip([0, *common_lengths], [*common_lengths, 0], strict=True)
    return {id_: id_[: max(MIN_ID_LENGTH - 1, *lengths) + 1] for id_, lengths in zip(ids, lengths_by_id, strict=False)}


def _sorted(entries: list[tuple[Row, dict[str, Any]]], sort: str | None) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Sort entries by a column; those without a value come last."""
    if sort is None:
        yield from entries
        return

    def value(each: tuple[Row, dict[str, Any]]) -> Any:
        row, entry = each
        return entry[name] if name in entry else row[name]

    name = sort.removeprefix("-")
    yield from sorted((each for each in entries if value(each) is not None), key=value, reverse=sort.startswith("-"))
    yield from (each for each in entries if value(each) is None)
