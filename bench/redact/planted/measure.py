"""What the redaction finds of the second corpus, and what it changes beyond values."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import orjson

from bench.redact import product
from bench.redact.judge import LEFT, Share
from bench.redact.planted.corpus import Sample, samples
from bench.redact.transcripts import texts

GOALS = {"plain": 98.5, "beside": 96.0, "known": 96.0, "phones": 95.0, "paths": 99.0, "look-alikes": 0.4}
"""Percent; of look-alikes at most, of all others at least."""
_ALL_KINDS = "secrets,phones,paths"
_WHAT = {
    "plain": "secrets, plain",
    "beside": "encoded secrets, plain elsewhere in the session",
    "known": "encoded secrets, plain in an earlier session (`--redact-known`)",
    "phones": "phone numbers",
    "paths": "home directories",
    "look-alikes": "false positives",
}


class Outcome(NamedTuple):
    """What happened to a sample."""

    sample: Sample
    written: str
    left: str
    """Something that is left of the value; of a look-alike, its text if it is not as it was."""


def outcomes(only: str = "") -> Iterator[Outcome]:
    """What happens to each sample, or to those of a group."""
    rng = Random("records of the second corpus")
    sessions = [(each, each.records(rng)) for each in samples()]
    chosen = [(sample, records) for sample, records in sessions if only in ("", sample.group)]
    earlier = [orjson.dumps(record) for _, records in chosen for record in records[:-1]]
    redacts, redacts_known = product.redacts(_ALL_KINDS), product.redacts(_ALL_KINDS, earlier)
    for sample, (*before, last) in chosen:
        written = (redacts_known if before else redacts)(orjson.dumps(last))
        after = "all of it" if written is None else "\0".join(texts(orjson.loads(written)))
        yield Outcome(sample, after, _left(sample, after))


def _left(sample: Sample, after: str) -> str:
    if not sample.parts:
        return "" if sample.text in after else sample.text
    pieces = (piece for part in sample.parts for piece in _windows(part))
    return next((piece for piece in pieces if piece in after), "")


def _windows(part: str) -> Iterator[str]:
    return (part[at : at + LEFT] for at in range(max(1, len(part) - LEFT + 1)))


def shares(judged: list[Outcome]) -> dict[str, Share]:
    """How much of each group is found, and how many look-alikes are hit."""
    whole = Counter(each.sample.group for each in judged)
    left = Counter(each.sample.group for each in judged if each.left)
    return {
        group: Share(left[group] if group == "look-alikes" else count - left[group], count)
        for group, count in whole.items()
    }


def report() -> Iterator[str]:
    """What was missed and hit, and the table."""
    judged = list(outcomes())
    yield from misses(judged)
    yield from table(judged)


def table(judged: list[Outcome]) -> Iterator[str]:
    """The shares as a table, next to the goals."""
    yield "| second corpus | share | goal |"
    yield "|---|---|---|"
    for group, share in shares(judged).items():
        bound = "at most" if group == "look-alikes" else "at least"
        yield f"| {_WHAT[group]} | {share} | {bound} {GOALS[group]}% |"
    yield ""


def misses(judged: list[Outcome]) -> Iterator[str]:
    """What is left, a line each."""
    for each in judged:
        if each.left:
            shown = re.sub(r"\s+", " ", each.sample.text)
            yield f"{each.sample.group} {each.sample.name}: {each.left!r} of {shown[:200]!r}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(report()))
