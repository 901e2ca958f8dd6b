"""The sessions most worth a look: chosen from the session table with record lengths, and from the findings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.core.accounting import ELSEWHERE
from chatsquash.core.model import Severity
from chatsquash.core.text import pluralize
from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records.line import NotARecordError
from chatsquash.records.places import rows
from chatsquash.records.reading import parse, record, texts
from chatsquash.results.frame import frame_of
from chatsquash.results.output import ResultFolder, damage
from chatsquash.results.types import FindingRow, SessionRow
from chatsquash.storage.commit import RUN

if TYPE_CHECKING:
    import polars as pl
if TYPE_CHECKING:
    import polars as pl

if TYPE_CHECKING:
    import polars as pl

MOST = 50
BY_CHANCE = 10
_SEED = 20_260
"""What the ten by chance follow from, so that the same sessions are shown each time."""
_LONG = 2
"""How many times as long as half of all a record is that is long."""
Key = tuple[str, str]
"""A session: its log and its id."""


class Pick(NamedTuple):
    """A session that was chosen."""

    facts: dict[str, Any]
    """The line of the session table about the record that is shown."""
    why: list[str]
    others: list[dict[str, Any]]
    """The lines about its other records."""

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.facts["log"], self.facts["session"]


def pick_sessions(table: pl.DataFrame, secrets: Counter[Key]) -> list[Pick]:
    """The sessions: in turns the next by lost replies, errors, secrets and length, then ten by chance.

    Sessions that are there for several reasons say so; where some reasons have too few, others have more.
    """
    import polars as pl

    keys = Counter({f"{log}\n{session}": count for (log, session), count in secrets.items()})
    counts = pl.DataFrame(
        {"key": list(keys), "secrets": list(keys.values())}, schema={"key": pl.String, "secrets": pl.Int64}
    )
    key = pl.concat_str(["log", "session"], separator="\n").alias("key")
    # Of all rows only what they are chosen by, since the other columns take most of the memory.
    keyed = table.select(key, _rank(), "replies_lost", "findings_error", "characters").with_row_index("row_of_table")
    rows = keyed.sort("rank", maintain_order=True).unique("key", keep="first", maintain_order=True)
    rows = rows.sort("row_of_table").with_row_index("at")
    rows = rows.join(counts, on="key", how="left", maintain_order="left")
    ranked = {
        name: rows.filter(pl.col(name) > 0).sort(name, "at", descending=[True, False]).head(MOST)["at"].to_list()
        for name in ("replies_lost", "findings_error", "secrets", "characters")
    }
    is_all = len(rows) <= MOST
    picked = list(dict.fromkeys(_in_turns(list(ranked.values()))))[: MOST - BY_CHANCE]
    rest = set(range(len(rows))) - set(picked)
    digests = rows["key"].to_list()
    chance = sorted(rest, key=lambda at: (xxh3_64_intdigest(digests[at].encode("utf-8", "replace"), _SEED), at))[
        :BY_CHANCE
    ]
    taken = rows[[*picked, *chance]]
    others = _others(table, keyed, taken)
    facts = table[taken["row_of_table"]].with_columns(taken["at"], taken["secrets"]).to_dicts()
    long = _long(rows, ranked["characters"])
    return [
        Pick(each, [*_why(each, long, is_all, at >= len(picked))], others[key])
        for at, (each, key) in enumerate(zip(facts, taken["key"], strict=True))
    ]


def _rank() -> pl.Expr:
    """Which record of a session is shown: that of its main conversation before all others."""
    import polars as pl

    is_main = pl.col("kind").is_null() | (pl.col("kind") == "main")
    has_none = pl.col("file").is_null()
    return pl.when(has_none).then(2).when(is_main).then(0).otherwise(1).alias("rank")


def _others(table: pl.DataFrame, keyed: pl.DataFrame, taken: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """By their keys, the other records of the sessions that are shown."""
    import polars as pl

    same = keyed.filter(pl.col("key").is_in(taken["key"].to_list()) & (pl.col("rank") < 2))
    same = same.filter(~pl.col("row_of_table").is_in(taken["row_of_table"].to_list()))
    rows = table[same["row_of_table"]].select("file", "row", "line", "kind", "sample").to_dicts()
    others: dict[str, list[dict[str, Any]]] = {key: [] for key in taken["key"]}
    for key, row in zip(same["key"], rows, strict=True):
        others[key].append(row)
    return others


def _in_turns(lists: list[list[int]]) -> Iterator[int]:
    for place in range(max(map(len, lists))):
        yield from (each[place] for each in lists if place < len(each))


def _long(rows: pl.DataFrame, ranked: list[int]) -> set[int]:
    """The longest sessions, as far as they are longer than most."""
    known = rows["characters"].drop_nulls()
    if len(known) <= BY_CHANCE:
        return set()
    half = known.sort().to_list()[len(known) // 2]
    sizes = dict(zip(ranked, rows["characters"][ranked], strict=True))
    return {at for at in ranked[:BY_CHANCE] if sizes[at] >= _LONG * half}


def _why(row: dict[str, Any], long: set[int], is_all: bool, is_by_chance: bool) -> Iterator[str]:
    if lost := row["replies_lost"]:
        yield pluralize(lost, "lost reply", "lost replies")
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
        yield "by chance"


_MOST_FINDINGS = 1500
"""Findings that the page may hold."""
_OF_SESSION = 60
_SEVERITIES = ("error", "warning", "info")
_SECRETS = "secret-found"


class Findings:
    """The findings of a result."""

    def __init__(self, result: ResultFolder) -> None:
        self._result = result
        self.codes: Counter[tuple[Severity, str]] = Counter()
        """How many there are by severity and code."""
        self.secrets: Counter[Key] = Counter()
        """Sessions in whose records secrets were found."""
        for each in self._all():
            self.codes[each["severity"], each["code"]] += 1
            if each["code"] == _SECRETS:
                self.secrets[each["file"] or "", each["session"] or ""] += 1
        self.shown = self._select()

    def _all(self) -> Iterable[FindingRow]:
        return self._result.objects(FINDINGS, FindingRow)

    def _select(self) -> list[FindingRow]:
        """Those that the page has room for: the first of each code."""
        most = _most_of_each(self.codes.values(), _MOST_FINDINGS)
        taken: dict[tuple[Severity, str], list[FindingRow]] = defaultdict(list)
        for each in self._all():
            of_code = taken[each["severity"], each["code"]]
            if len(of_code) < most:
                of_code.append(each)
        return [each for of_code in taken.values() for each in of_code]

    def of(self, keys: set[Key], places: set[str]) -> tuple[dict[Key, list[FindingRow]], Counter[Key]]:
        """The first findings of sessions, and how many each has; ``places`` are those of records that are shown.

        A session with several records has those of the one that is shown, and those of no record.
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


def _most_of_each(counts: Iterable[int], most: int) -> int:
    """How many of each kind there may be, so that all together are no more than ``most``."""
    left, ordered = most, sorted(counts)
    for at, wanted in enumerate(ordered):
        share = left // (len(ordered) - at)
        if wanted > share:
            return share
        left -= wanted
    return most


def table(result: ResultFolder, observe: Observer | None = None) -> pl.DataFrame:
    """The session table with two columns more.

    ``characters`` are those of the record, and ``replies_elsewhere`` the replies for which another record stands;
    ``replies_lost`` are the others.  Raises ``UsageError`` for a table that no run wrote.
    """
    import polars as pl

    if SESSIONS not in result.outputs:
        raise damage(result.folder, RUN)
    elsewhere = [_elsewhere(result, each) for each in result.objects(SESSIONS, SessionRow)]
    frame = frame_of(result.folder)
    if len(frame) != len(elsewhere):
        raise damage(result.folder, SESSIONS)
    counts = pl.Series("replies_elsewhere", elsewhere, dtype=pl.Int64)
    places = frame.select("file", "row")  # a join copies what it is of
    measured = places.join(lengths(result, observe), on=["file", "row"], how="left", maintain_order="left")
    if len(measured) != len(frame):
        raise damage(result.folder, SESSIONS)
    return frame.with_columns(measured["characters"], counts, frame["replies_lost"] - counts)


def _elsewhere(result: ResultFolder, session: SessionRow) -> int:
    """For how many of a session's replies another record stands; raises for a record where none can be."""
    file, row = session["file"], session["row"]
    if (file is None) != (not row) or (file is not None and file not in result.record_files):
        raise damage(result.folder, SESSIONS)
    return session["replies"]["lost"].get(ELSEWHERE, 0)


Observer = Callable[[int, int], None]
"""Told how many bytes more are read, and the bytes of all files."""


def lengths(result: ResultFolder, observe: Observer | None = None) -> pl.DataFrame:
    """Of each record its file, its row and its characters, as ``chatsquash stats`` counts them."""
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
                more = min(size - done, len(row.data) + 1)  # what is compressed has more than its file
                done += more
                observe(more, total)
        of_file = pl.DataFrame(lengths_of_file, schema=schema, orient="row")
        frames.append(of_file.select(pl.lit(name).alias("file"), *schema))
    return pl.concat(frames)
