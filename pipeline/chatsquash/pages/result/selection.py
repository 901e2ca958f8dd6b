"""The sessions most worth a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.core.text import counted

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


class Picked(NamedTuple):
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


def chosen(table: pl.DataFrame, secrets: Counter[Key]) -> list[Picked]:
    """The sessions: in turns the next by lost replies, errors, secrets and length, then ten by chance.

    Sessions that are there for several reasons say so; where some reasons have too few, others have more.
    """
    import polars as pl

    found = Counter({f"{log}\n{session}": count for (log, session), count in secrets.items()})
    counts = pl.DataFrame(
        {"key": list(found), "secrets": list(found.values())}, schema={"key": pl.String, "secrets": pl.Int64}
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
        Picked(each, [*_why(each, long, is_all, at >= len(picked))], others[key])
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
    found: dict[str, list[dict[str, Any]]] = {key: [] for key in taken["key"]}
    for key, row in zip(same["key"], rows, strict=True):
        found[key].append(row)
    return found


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
        yield counted(lost, "lost reply", "lost replies")
    if errors := row["findings_error"]:
        yield counted(errors, "error")
    if secrets := row["secrets"]:
        yield counted(secrets, "kind of secret", "kinds of secrets")
    if row["left_out"] or row["filtered"]:
        yield "no record"
    if row["at"] in long:
        yield f"one of the longest, {counted(row['characters'], 'character')}"
    elif row["characters"] is not None and not is_all:
        yield counted(row["characters"], "character")
    if is_by_chance and not is_all:
        yield "by chance"
