"""Records by a condition of SQL over the columns of the session table."""

from __future__ import annotations

from difflib import get_close_matches

import polars as pl

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome, Record
from chatsquash.dataset.session_table import COLUMNS, Kind, RecordOutcome, line_of, row_of

_TYPES: dict[Kind, type[pl.DataType]] = {"text": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
SCHEMA = {column.name: _TYPES[column.kind] for column in COLUMNS}
_LATE = {column.name for column in COLUMNS if column.known_late}


class Where:
    """Tells which records fulfil a condition; one that is not known counts as not fulfilled, as SQL has it.

    So does one that the values of a record do not allow, which are those of a log.
    """

    def __init__(self, condition: str) -> None:
        """Raises ``UsageError`` for what is no condition over the columns."""
        self._expression = _expression(condition)
        self._schema = {name: SCHEMA[name] for name in dict.fromkeys(self._expression.meta.root_names())}

    def holds(self, log: Log, outcome: Outcome, record: Record) -> bool:
        """Whether a record fulfils it."""
        row = row_of(line_of(log, outcome, record, None, RecordOutcome()))
        frame = pl.DataFrame([[row[name]] for name in self._schema], schema=self._schema)
        try:
            result = frame.select(self._expression)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):  # such as a cast of a text that is no number
            return False
        return result.height == 1 and result.item() is True


def _expression(condition: str) -> pl.Expr:
    said = f"--where {condition!r}"
    try:
        expression = pl.sql_expr(condition)
        names = expression.meta.root_names()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"{said}: it is no condition of SQL: {_first_line(problem)}") from None
    for name in names:
        if name in _LATE:
            raise UsageError(f"{said}: the column {name} is known once a record is written only: choose another one")
        if name.startswith("_POLARS"):
            raise UsageError(f"{said}: it holds a query of its own: write a condition over the columns alone")
        if name not in SCHEMA:
            near = get_close_matches(name, SCHEMA, 1, 0.0)[0]
            text = "" if get_close_matches(name, SCHEMA, 1) else f"; if it is a text, write '{name}'"
            raise UsageError(f"{said}: the session table has no column {name}; the nearest one is {near}{text}")
    try:
        sample = pl.DataFrame({name: [None, None] for name in SCHEMA}, schema=SCHEMA).select(expression)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"{said}: {_first_line(problem)}") from None
    kind = sample.dtypes[0]
    if kind != pl.Boolean:
        raise UsageError(f"{said}: it gives {kind}, and not true or false: compare it with something")
    if sample.height == 1 or not names:
        raise UsageError(f"{said}: it says the same of all records: name columns, and leave sums and counts out")
    return expression


def _first_line(problem: BaseException) -> str:
    return str(problem).strip().partition("\n")[0]
