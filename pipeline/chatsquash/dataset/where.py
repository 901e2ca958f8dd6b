"""Filter records with an SQL condition on the columns of the session table."""

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
"""The first words of queries and table functions, which no condition needs."""
_END = re.compile(r"(?<![\"`\w])end(?![\"`\w])", re.IGNORECASE)
_QUOTE_END = '; write the column end as "end", since END is an SQL keyword'
_MAX_WORDS = 500
"""Maximum number of words and symbols; polars needs time that grows with the third power of their number."""


class Where:
    """Checks whether records match a condition; as in SQL, an unknown result is not a match.

    A record whose values, which come from a log, cause an error does not match either.
    """

    def __init__(self, condition: str) -> None:
        """Parse a condition; raise ``UsageError`` if it is invalid."""
        self._expression = condition_of(condition)
        self._schema = {name: SCHEMA[name] for name in dict.fromkeys(self._expression.meta.root_names())}

    def matches(self, log: Log, outcome: Outcome, record: Record) -> bool:
        """Return whether a record matches the condition."""
        row = row_of(line_of(log, outcome, record, None, RecordOutcome()).as_dict())
        frame = pl.DataFrame([[row[name]] for name in self._schema], schema=self._schema)
        return matching(frame, self._expression).height == 1


def matching(frame: pl.DataFrame, condition: pl.Expr) -> pl.DataFrame:
    """Return the rows that match a condition, without rows whose values cause an error, for example in a cast."""
    try:
        return frame.filter(condition)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        if frame.height <= 1:
            return frame.clear()
    # Dividing the rows isolates those that cause the error.
    half = frame.height // 2
    return pl.concat([matching(frame[:half], condition), matching(frame[half:], condition)])


def condition_of(condition: str, *, include_late: bool = False) -> pl.Expr:
    """Parse a condition on the columns.

    Args:
        condition: The text of the condition.
        include_late: Whether columns that are only known once records are written can be used.

    Raises:
        UsageError: If it is not a valid condition.
    """

    def wrong(why: str) -> UsageError:
        columns = columns_by_kind(include_late=include_late)
        hint = f"for example {EXAMPLE!r}; columns: {columns}; see chatsquash explain columns"
        return UsageError(f"--where {condition!r}: {why} ({hint})")

    if why := _refusal(condition):
        raise wrong(why)
    try:
        expression = pl.sql_expr(condition)
        names = expression.meta.root_names()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        text = f"it is not an SQL condition: {error_text(problem)}"
        raise wrong(text + (_QUOTE_END if _END.search(condition) else "")) from None
    for name in names:
        if why := _refusal_of_name(name, include_late=include_late):
            raise wrong(why)
    examples = _examples(names)
    try:
        sample = pl.DataFrame({name: [None, None] for name in SCHEMA}, schema=SCHEMA).select(expression)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise wrong(f"a value does not match the type of its column: {examples}") from None
    if sample.dtypes[0] != pl.Boolean:
        raise wrong(f"the result is neither true nor false: {examples}")
    if sample.height == 1 or not names:
        raise wrong("the result is the same for all records; use columns, without sums or counts")
    return expression


def _refusal_of_name(name: str, *, include_late: bool) -> str | None:
    """Return why a condition cannot use a column, or ``None`` if it can."""
    if name in _LATE and not include_late:
        return f"the column {name} is only known after records are written: choose another one"
    if name in SCHEMA:
        return None
    near = suggestion(name, SCHEMA, f"if it is text, write '{name}'")
    return f"the session table has no column {name}; {near}"


def _examples(names: Iterable[str]) -> str:
    """Describe the values of columns, with an example of a condition for each."""
    columns = {column.name: column for column in COLUMNS}
    selected = [columns[name] for name in dict.fromkeys(names)] or [columns["turns"]]
    return ", ".join(f"{each.name} has {each.values}, as in {each.example}" for each in selected)


def _refusal(condition: str) -> str | None:
    """Return why a condition is rejected before polars parses it, or ``None`` if it is accepted."""
    # Polars opens the tables of a query while parsing it, so only conditions that cannot hide a query are accepted:
    # those without comments and with only plain literals.
    at = count = 0
    before = ""
    while at < len(condition):
        piece = _PIECE.match(condition, at)
        if piece is None or piece["comment"] or _is_unpaired(piece[0]):
            return (
                f"{quote(condition[at : at + 2])} is not allowed in a condition: quote text with '' and names with \"\""
            )
        if piece["text"] and before == "word" and condition[at - 1].isalnum():
            return f"{quote(condition[at - 1 : at + MAX_QUOTED // 2])}: text must begin with a quote, not with a letter"
        if (word := piece["word"]) and (_QUERY.fullmatch(word) or (word.upper() == "FROM" and before == "(")):
            return f"{word} begins a query: write a condition on the columns"
        if not piece[0].isspace():
            before = piece[0] if piece["sign"] else piece.lastgroup or ""
        count += piece.lastgroup in ("word", "name", "sign")
        if count > _MAX_WORDS:
            return f"it has more than {_MAX_WORDS} words and symbols"
        at = piece.end()
    return None


def _is_unpaired(text: str) -> bool:
    """Return whether a text contains a lone surrogate, which UTF-8 cannot encode."""
    return any("\ud800" <= char <= "\udfff" for char in text)
