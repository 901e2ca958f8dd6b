"""Select the sessions most worth a look, by lost replies, errors, secrets and length."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.core.accounting import ELSEWHERE
from chatsquash.core.model import Severity
from chatsquash.core.text import pluralize
from chatsquash.dataset.claim import FINDINGS
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records import NotARecordError
from chatsquash.records.places import rows
from chatsquash.records.reading import parse, record, texts
from chatsquash.results.frame import frame_of
from chatsquash.results.output import ResultFolder, damage
from chatsquash.results.types import FindingRow, SessionRow
from chatsquash.storage.commit import RUN

if TYPE_CHECKING:
    import polars as pl

MOST = 50
BY_CHANCE = 10
_SEED = 20_260
"""Seed of the random sample, so that the same sessions are selected each time."""
_LONG = 2
"""Factor above the median from which a record counts as long."""
Key = tuple[str, str]
"""A session: its log and its id."""


class Pick(NamedTuple):
    """A selected session."""

    facts: dict[str, Any]
    """The session table row of the displayed record."""
    why: list[str]
    others: list[dict[str, Any]]
    """The rows of its other records."""

    @property
    def key(self) -> Key:
        """The log and the id of the session."""
        return self.facts["log"], self.facts["session"]


def pick_sessions(table: pl.DataFrame, secrets: Counter[Key]) -> list[Pick]:
    """Select sessions by lost replies, errors, secrets and length in turn, then ten at random.

    A session lists every reason that applies to it.  If a reason has too few sessions, the others get more.
    """
    import polars as pl

    keys = Counter({f"{log}\n{session}": count for (log, session), count in secrets.items()})
    counts = pl.DataFrame(
        {"key": list(keys), "secrets": list(keys.values())}, schema={"key": pl.String, "secrets": pl.Int64}
    )
    key = pl.concat_str(["log", "session"], separator="\n").alias("key")
    # Only the columns that are used for the selection, because the others take most of the memory.
    keyed = table.select(key, _rank(), "replies_lost", "findings_error", "characters").with_row_index("row_of_table")
    rows = keyed.sort("rank", maintain_order=True).unique("key", keep="first", maintain_order=True)
    rows = rows.sort("row_of_table").with_row_index("at")
    rows = rows.join(counts, on="key", how="left", maintain_order="left")
    rankings = {
        name: rows.filter(pl.col(name) > 0).sort(name, "at", descending=[True, False]).head(MOST)["at"].to_list()
        for name in ("replies_lost", "findings_error", "secrets", "characters")
    }
    is_all = len(rows) <= MOST
    by_reason = list(dict.fromkeys(_round_robin(list(rankings.values()))))[: MOST - BY_CHANCE]
    rest = set(range(len(rows))) - set(by_reason)
    digests = rows["key"].to_list()
    chance = sorted(rest, key=lambda at: (xxh3_64_intdigest(digests[at].encode("utf-8", "replace"), _SEED), at))[
        :BY_CHANCE
    ]
    selection = rows[[*by_reason, *chance]]
    others = _others(table, keyed, selection)
    facts = table[selection["row_of_table"]].with_columns(selection["at"], selection["secrets"]).to_dicts()
    long = _long(rows, rankings["characters"])
    return [
        Pick(each, [*_why(each, long, is_all, at >= len(by_reason))], others[key])
        for at, (each, key) in enumerate(zip(facts, selection["key"], strict=True))
    ]


def _rank() -> pl.Expr:
    """Rank the records of a session: the main conversation first, then other records, then none."""
    import polars as pl

    is_main = pl.col("kind").is_null() | (pl.col("kind") == "main")
    has_none = pl.col("file").is_null()
    return pl.when(has_none).then(2).when(is_main).then(0).otherwise(1).alias("rank")


def _others(table: pl.DataFrame, keyed: pl.DataFrame, selection: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Return the other records of the selected sessions by key."""
    import polars as pl

    same = keyed.filter(pl.col("key").is_in(selection["key"].to_list()) & (pl.col("rank") < 2))
    same = same.filter(~pl.col("row_of_table").is_in(selection["row_of_table"].to_list()))
    rows = table[same["row_of_table"]].select("file", "row", "line", "kind", "sample").to_dicts()
    others: dict[str, list[dict[str, Any]]] = {key: [] for key in selection["key"]}
    for key, row in zip(same["key"], rows, strict=True):
        others[key].append(row)
    return others


def _round_robin(lists: list[list[int]]) -> Iterator[int]:
    for place in range(max(map(len, lists))):
        yield from (each[place] for each in lists if place < len(each))


def _long(rows: pl.DataFrame, ranking: list[int]) -> set[int]:
    """Return the longest sessions, if they are clearly longer than the median."""
    known = rows["characters"].drop_nulls()
    if len(known) <= BY_CHANCE:
        return set()
    median = known.sort().to_list()[len(known) // 2]
    sizes = dict(zip(ranking, rows["characters"][ranking], strict=True))
    return {at for at in ranking[:BY_CHANCE] if sizes[at] >= _LONG * median}


def _why(row: dict[str, Any], long: set[int], is_all: bool, is_by_chance: bool) -> Iterator[str]:
    if lost_count := row["replies_lost"]:
        yield pluralize(lost_count, "lost reply", "lost replies")
    if errors := row["findings_error"]:
        yield pluralize(errors, "error")
    if secrets := row["secrets"]:
        yield pluralize(secrets, "kind of secret", "kinds of secrets")
    if row["left_out"] or row["filtered"]:
        yield "no record"
    if row["at"] in long:
        yield f"one of the longest, {pluralize(row['characters'], 'character')}"
    elif row["characters"] is not None and not is_all:
        yield pluralize(row["characters"], "character")
    if is_by_chance and not is_all:
        yield "random sample"


_MOST_FINDINGS = 1500
"""Maximum number of findings on the page."""
_OF_SESSION = 60
_SEVERITIES = ("error", "warning", "info")
_SECRETS = "secret-found"


class Findings:
    """The findings of a result."""

    def __init__(self, result: ResultFolder) -> None:
        self._result = result
        self.codes: Counter[tuple[Severity, str]] = Counter()
        """Numbers of findings by severity and code."""
        self.secrets: Counter[Key] = Counter()
        """Numbers of kinds of secrets by session."""
        for each in self._all():
            self.codes[each["severity"], each["code"]] += 1
            if each["code"] == _SECRETS:
                self.secrets[each["file"] or "", each["session"] or ""] += 1
        self.selected = self._select()

    def _all(self) -> Iterable[FindingRow]:
        return self._result.objects(FINDINGS, FindingRow)

    def _select(self) -> list[FindingRow]:
        """Select the findings that fit on the page: the first of each code."""
        limit = _most_of_each(self.codes.values(), _MOST_FINDINGS)
        selection: dict[tuple[Severity, str], list[FindingRow]] = defaultdict(list)
        for each in self._all():
            of_code = selection[each["severity"], each["code"]]
            if len(of_code) < limit:
                of_code.append(each)
        return [each for of_code in selection.values() for each in of_code]

    def of(self, keys: set[Key], places: set[str]) -> tuple[dict[Key, list[FindingRow]], Counter[Key]]:
        """Return the first findings of sessions, and the number of findings of each.

        Findings of records that are not in ``places``, the records on the page, are ignored.
        """
        findings: dict[Key, list[FindingRow]] = defaultdict(list)
        counts: Counter[Key] = Counter()
        for each in self._all():
            key = each["file"] or "", each["session"] or ""
            if key in keys and (not each["record"] or each["record"] in places):
                counts[key] += 1
                if len(findings[key]) < _OF_SESSION:
                    findings[key].append(each)
        for of_session in findings.values():
            of_session.sort(key=lambda each: _SEVERITIES.index(each["severity"]))
        return findings, counts


def _most_of_each(counts: Iterable[int], limit: int) -> int:
    """Return the limit per kind that keeps the sum within ``limit``."""
    remaining, ascending = limit, sorted(counts)
    for at, size in enumerate(ascending):
        share = remaining // (len(ascending) - at)
        if size > share:
            return share
        remaining -= size
    return limit


def table(result: ResultFolder, observe: Observer | None = None) -> pl.DataFrame:
    """Read the session table and add the columns ``characters`` and ``replies_elsewhere``.

    ``characters`` is the length of the record, and ``replies_elsewhere`` counts replies in another session's record,
    which are subtracted from ``replies_lost``.  Raises ``UsageError`` for a damaged table.
    """
    import polars as pl

    if SESSIONS not in result.outputs:
        raise damage(result.folder, RUN)
    elsewhere = [_elsewhere(result, each) for each in result.objects(SESSIONS, SessionRow)]
    frame = frame_of(result.folder)
    if len(frame) != len(elsewhere):
        raise damage(result.folder, SESSIONS)
    counts = pl.Series("replies_elsewhere", elsewhere, dtype=pl.Int64)
    places = frame.select("file", "row")  # fewer columns, because a join copies them
    with_lengths = places.join(lengths(result, observe), on=["file", "row"], how="left", maintain_order="left")
    if len(with_lengths) != len(frame):
        raise damage(result.folder, SESSIONS)
    return frame.with_columns(with_lengths["characters"], counts, frame["replies_lost"] - counts)


def _elsewhere(result: ResultFolder, session: SessionRow) -> int:
    """Count a session's replies in other records; raise ``UsageError`` for an impossible place of a record."""
    file, row = session["file"], session["row"]
    if (file is None) != (not row) or (file is not None and file not in result.record_files):
        raise damage(result.folder, SESSIONS)
    return session["replies"]["lost"].get(ELSEWHERE, 0)


Observer = Callable[[int, int], None]
"""Called with the number of bytes read since the last call, and the bytes of all record files."""


def lengths(result: ResultFolder, observe: Observer | None = None) -> pl.DataFrame:
    """Return the file, row and characters of each record, counted as in ``chatsquash stats``."""
    import polars as pl

    schema = {"row": pl.Int64, "characters": pl.Int64}
    total = sum(result.record_files.values())
    frames = [pl.DataFrame(schema={"file": pl.String, **schema})]
    for name, size in result.record_files.items():
        done = 0
        lengths_of_file: list[tuple[int, int]] = []
        for row in rows(result.folder, name):
            try:
                characters = sum(map(len, texts(record(parse(row.data)))))
            except NotARecordError:
                raise damage(result.folder, name) from None
            lengths_of_file.append((row.number, characters))
            if observe:
                more = min(size - done, len(row.data) + 1)  # a compressed file yields more bytes than its size
                done += more
                observe(more, total)
        of_file = pl.DataFrame(lengths_of_file, schema=schema, orient="row")
        frames.append(of_file.select(pl.lit(name).alias("file"), *schema))
    return pl.concat(frames)
