"""The sessions most worth a look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.text import counted

if TYPE_CHECKING:
    import polars as pl

MOST = 50
BY_CHANCE = 10
_SEED = 20_260
"""What the ten by chance follow from, so that the same sessions are shown each time."""
Key = tuple[str, str]
"""A session: its log and its id."""


class Picked(NamedTuple):
    """A session that was chosen."""

    facts: dict[str, Any]
    """The first of its lines of the session table."""
    why: list[str]

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
    rows = table.select(key, "replies_lost", "findings_error", "characters").with_row_index("row_of_table")
    rows = rows.unique("key", keep="first", maintain_order=True).with_row_index("at")
    rows = rows.join(counts, on="key", how="left", maintain_order="left")
    ranked = {
        name: rows.filter(pl.col(name) > 0).sort(name, "at", descending=[True, False]).head(MOST)["at"].to_list()
        for name in ("replies_lost", "findings_error", "secrets", "characters")
    }
    longest = set(ranked["characters"][:BY_CHANCE])
    picked = list(dict.fromkeys(_in_turns(list(ranked.values()))))[: MOST - BY_CHANCE]
    rest = set(range(len(rows))) - set(picked)
    digests = rows["key"].to_list()
    chance = sorted(rest, key=lambda at: (xxh3_64_intdigest(digests[at].encode("utf-8", "replace"), _SEED), at))[
        :BY_CHANCE
    ]
    taken = rows[[*picked, *chance]]
    facts = table[taken["row_of_table"]].with_columns(taken["at"], taken["secrets"]).to_dicts()
    return [Picked(each, [*_why(each, longest, at >= len(picked))]) for at, each in enumerate(facts)]


def _in_turns(lists: list[list[int]]) -> Iterator[int]:
    for place in range(max(map(len, lists))):
        yield from (each[place] for each in lists if place < len(each))


def _why(row: dict[str, Any], longest: set[int], is_by_chance: bool) -> Iterator[str]:
    if lost := row["replies_lost"]:
        yield counted(lost, "lost reply", "lost replies")
    if errors := row["findings_error"]:
        yield counted(errors, "error")
    if secrets := row["secrets"]:
        yield counted(secrets, "kind of secret", "kinds of secrets")
    if row["left_out"] or row["filtered"]:
        yield "no record"
    if row["characters"] is not None:
        characters = counted(row["characters"], "character")
        yield f"one of the longest, {characters}" if row["at"] in longest else characters
    if is_by_chance:
        yield "by chance"
