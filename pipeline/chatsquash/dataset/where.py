"""Records by a condition of SQL over the columns of the session table."""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome, Record
from chatsquash.core.text import MAX_QUOTED, error_text, quote, suggestion
from chatsquash.dataset.session_table import COLUMNS, EXAMPLE, Kind, RecordOutcome, columns_by_kind, line_of, row_of

_TYPES: dict[Kind, type[pl.DataType]] = {"text": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
SCHEMA = {column.name: _TYPES[column.kind] for column in COLUMNS}
_LATE = {column.name for column in COLUMNS if column.known_late}
_PIECE = re.compile(
    r"""[\s,]++ | (?P<text>'(?:[^']|'')*+') | (?P<name>"(?:[^"]|"")*+"|`[^`]*+`) | (?P<comment>--|/\*)
      | (?P<number>\d[\w.]*+) | (?P<word>\w++) | (?P<sign>[][()<>=!+\-*/%.|&^~:;])""",
    re.VERBOSE,
)
_QUERY = re.compile("SELECT|EXISTS|VALUES|WITH|(?:READ|SCAN)_\\w*", re.IGNORECASE)
"""Words with which a query or the name of a table function begins, none of which a condition needs."""
_END = re.compile(r"(?<![\"`\w])end(?![\"`\w])", re.IGNORECASE)
_QUOTE_END = '; the column end is written "end", since SQL has a word of this name'
_MOST = 500
"""Words and signs of a condition; the time that polars takes grows with the third power of their number."""


class Where:
    """Tells which records fulfil a condition; one that is not known counts as not fulfilled, as SQL has it.

    So does one that the values of a record do not allow, which are those of a log.
    """

    def __init__(self, condition: str) -> None:
        """Raises ``UsageError`` for what is no condition over the columns."""
        self._expression = condition_of(condition)
        self._schema = {name: SCHEMA[name] for name in dict.fromkeys(self._expression.meta.root_names())}

    def holds(self, log: Log, outcome: Outcome, record: Record) -> bool:
        """Whether a record fulfils it."""
        row = row_of(line_of(log, outcome, record, None, RecordOutcome()))
        frame = pl.DataFrame([[row[name]] for name in self._schema], schema=self._schema)
        return matching(frame, self._expression).height == 1


def matching(frame: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """The rows that fulfil a condition; a row whose values do not allow it, such as a cast, does not."""
    try:
        return frame.filter(condition)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        if frame.height <= 1:
            return frame.clear()
    half = frame.height // 2
    return pl.concat([matching(frame[:half], condition), matching(frame[half:], condition)])


def condition_of(condition: str, *, written: bool = False) -> pl.Expr:
    """A condition over the columns, for rows of records that are ``written`` over all of them.

    Raises ``UsageError`` for what is no such condition.
    """

    def wrong(why: str) -> UsageError:
        columns = columns_by_kind(written=written)
        listed = f"for example {EXAMPLE!r}; columns: {columns}; see chatsquash explain columns"
        return UsageError(f"--where {condition!r}: {why} ({listed})")

    if why := _refusal(condition):
        raise wrong(why)
    try:
        expression = pl.sql_expr(condition)
        names = expression.meta.root_names()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        text = f"it is not a condition of SQL: {error_text(problem)}"
        raise wrong(text + (_QUOTE_END if _END.search(condition) else "")) from None
    for name in names:
        if why := _refusal_of_name(name, written=written):
            raise wrong(why)
    used = _examples(names)
    try:
        sample = pl.DataFrame({name: [None, None] for name in SCHEMA}, schema=SCHEMA).select(expression)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise wrong(f"a value does not fit its column: {used}") from None
    if sample.dtypes[0] != pl.Boolean:
        raise wrong(f"it is neither true nor false: {used}")
    if sample.height == 1 or not names:
        raise wrong("it says the same of all records: name columns, and leave sums and counts out")
    return expression


def _refusal_of_name(name: str, *, written: bool) -> str | None:
    """Why a condition cannot name a column of this name."""
    if name in _LATE and not written:
        return f"the column {name} is known once a record is written only: choose another one"
    if name in SCHEMA:
        return None
    near = suggestion(name, SCHEMA, f"if it is a text, write '{name}'")
    return f"the session table has no column {name}; {near}"


def _examples(names: Iterable[str]) -> str:
    """Columns with the values that they have, each with a condition."""
    columns = {column.name: column for column in COLUMNS}
    chosen = [columns[name] for name in dict.fromkeys(names)] or [columns["turns"]]
    return ", ".join(f"{each.name} has {each.values}, as in {each.example}" for each in chosen)


def _refusal(condition: str) -> str | None:
    """Why polars does not get to see a condition: it opens what a query names as it parses that.

    So a text in which nothing can hide a query is taken apart here: no comments, and no literals but plain ones.
    """
    at = count = 0
    before = ""
    while at < len(condition):
        piece = _PIECE.match(condition, at)
        if piece is None or piece["comment"] or _is_unpaired(piece[0]):
            return (
                f"{quote(condition[at : at + 2])} has no place in a condition: quote texts with '' and names with \"\""
            )
        if piece["text"] and before == "word" and condition[at - 1].isalnum():
            return f"{quote(condition[at - 1 : at + MAX_QUOTED // 2])}: a text begins with a quote, not with a letter"
        if (word := piece["word"]) and (_QUERY.fullmatch(word) or (word.upper() == "FROM" and before == "(")):
            return f"{word} begins a query of its own: write a condition over the columns alone"
        if not piece[0].isspace():
            before = piece[0] if piece["sign"] else piece.lastgroup or ""
        count += piece.lastgroup in ("word", "name", "sign")
        if count > _MOST:
            return f"it has more than {_MOST} words and signs"
        at = piece.end()
    return None


def _is_unpaired(text: str) -> bool:
    """Whether a text has half of a pair of surrogates, which UTF-8 cannot write."""
    return any("\ud800" <= char <= "\udfff" for char in text)
