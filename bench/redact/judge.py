"""What is left of secrets, and what became of look-alikes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import orjson

from bench.redact.corpus import Case, Kept, Made
from bench.redact.transcripts import Record, texts

LEFT = 8
"""So many consecutive characters of a secret may not be left."""


class Verdict(NamedTuple):
    """What came of a record."""

    missed: list[tuple[Case, str]]
    """Secrets of which something is left, and what that is."""
    hit: list[Kept]
    """Look-alikes that are not as they were."""
    left_out: bool = False
    """Whether the record could not be searched."""


def judged(made: Made, written: Record | None) -> Verdict:
    """What a record that was written has left; in one that was left out, nothing was found and everything was hit."""
    if written is None:
        return Verdict([(case, "all of it") for case in made.cases], made.kept, left_out=True)
    joined = "\0".join(texts(written))
    seen = {joined[at : at + LEFT] for at in range(len(joined))}
    missed = [(case, left) for case in made.cases if (left := _left(case, made.record, seen, joined))]
    return Verdict(missed, [kept for kept in made.kept if kept.text not in joined])


def _left(case: Case, record: Record, seen: set[str], joined: str) -> str:
    """Something of a secret that is left, and that does not stand in the rest of the record, too."""
    left = [
        piece
        for part in case.parts
        for piece in _pieces(part)
        if (piece in seen or (len(piece) < LEFT and piece in joined))
    ]
    if not left:
        return ""
    rest = "\0".join(texts(record)).replace(case.text, "")
    rest = rest.replace(case.plain, "") if case.plain else rest
    return next((piece for piece in left if piece not in rest), "")


def changes(before: bytes, after: bytes) -> Iterator[str]:
    """What is otherwise in the texts of a record that was written, a line each."""
    for one, other in zip(texts(orjson.loads(before)), texts(orjson.loads(after)), strict=True):
        if one != other:
            at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
            yield f"changed {one[max(0, at - 60) : at + 60]!r}"


def _pieces(part: str) -> Iterator[str]:
    return (part[at : at + LEFT] for at in range(max(1, len(part) - LEFT + 1)))


class Share(NamedTuple):
    """How many of how many."""

    some: int
    whole: int

    def __str__(self) -> str:
        return f"{100 * self.some / self.whole:.1f}% of {self.whole:,}" if self.whole else "none"


def recall(made: Iterable[Made], verdicts: Iterable[Verdict], *, aside: bool) -> dict[tuple[str, bool], Share]:
    """The share of secrets that is found, by form, and whether beside the plain value."""
    planted = Counter(_group(case) for each in made for case in each.cases if case.aside == aside)
    missed = Counter(_group(case) for each in verdicts for case, _ in each.missed if case.aside == aside)
    return {group: Share(count - missed[group], count) for group, count in planted.items()}


def joined(shares: dict[tuple[str, bool], Share], forms: Iterable[str] | None = None) -> Share:
    """Several shares as one."""
    chosen = [share for (form, _), share in shares.items() if forms is None or form in forms]
    return Share(sum(share.some for share in chosen), sum(share.whole for share in chosen))


def hits(made: Iterable[Made], verdicts: Iterable[Verdict], *, aside: bool) -> Share:
    """The share of look-alikes that is hit."""
    planted = sum(kept.aside == aside for each in made for kept in each.kept)
    return Share(sum(kept.aside == aside for each in verdicts for kept in each.hit), planted)


def told(verdicts: Iterable[Verdict], *, aside: bool) -> Iterator[str]:
    """What was missed and hit, a line each."""
    for verdict in verdicts:
        for case, left in verdict.missed:
            if aside or not case.aside:
                form = f"{case.form}{' beside' if case.beside else ''}"
                yield f"missed {case.kind} in {case.context}, {form}: {left!r} is left of {_shown(case.text, left)}"
        for kept in verdict.hit:
            if aside or not kept.aside:
                yield f"hit {kept.name}: {kept.text[:200]!r}"


def _shown(written: str, left: str) -> str:
    at = max(0, written.find(left))
    return repr(written[max(0, at - 120) : at + 80])


def _group(case: Case) -> tuple[str, bool]:
    return case.form, case.beside
