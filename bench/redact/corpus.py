"""The corpus: records with planted secrets and look-alikes, and records of ordinary work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from bench.redact import personal
from bench.redact.contexts import Context, contexts
from bench.redact.encodings import forms
from bench.redact.kinds import TOLD, Kind, is_aside, kinds
from bench.redact.lookalikes import lookalikes
from bench.redact.shapes import Value, text
from bench.redact.transcripts import Planted, Record, record

PLAIN = "plain"


class Size(NamedTuple):
    """How much of everything there is."""

    plain: int
    """Contexts of a kind."""
    encoded: int
    """Encoded forms of a kind, of all that there are alone and beside the plain value."""
    lookalikes: int
    """How often each look-alike is drawn."""
    personal: int
    """How often each kind of personal data stands in each of its contexts."""
    ordinary: int
    """Records of ordinary work."""


WHOLE = Size(plain=12, encoded=12, lookalikes=6, personal=40, ordinary=480)
QUICK = Size(plain=3, encoded=3, lookalikes=1, personal=4, ordinary=20)


class Case(NamedTuple):
    """A secret that is planted in a record."""

    kind: str
    context: str
    form: str
    """``plain``, or how it is encoded."""
    beside: bool
    """Whether its plain value stands in the record, too."""
    aside: bool
    text: str
    """What it stands in."""
    parts: list[str]
    """The characters of which nothing may be left."""
    plain: str = ""
    """What the plain value stands in beside it."""


class Kept(NamedTuple):
    """A look-alike that is planted in a record."""

    name: str
    aside: bool
    text: str


class Made(NamedTuple):
    """A record, and what is planted in it."""

    record: Record
    cases: list[Case]
    kept: list[Kept]


class _Group(NamedTuple):
    """What stands in one record."""

    planted: list[Planted]
    case: Case | None = None
    kept: Kept | None = None


_LEFT = 8
"""Characters of a part of a secret that says anything of it, where others do."""


def dense(size: Size) -> list[Made]:
    """Records with secrets and look-alikes."""
    rng = Random("secrets in transcripts")
    groups = [*_secrets(rng, size), *_lookalikes(rng, size)]
    rng.shuffle(groups)
    return list(_records(rng, groups, 11))


def private(size: Size) -> dict[str, list[Made]]:
    """Records with personal data, by kind: a record has one kind only."""
    made = {}
    for name, each in personal.PERSONAL.items():
        rng = Random(f"personal data: {name}")
        groups: list[_Group] = []
        for number, (where, context) in enumerate(each.contexts * size.personal):
            value = personal.around(rng, context, each.make(rng))
            context_name = f"{name} {number % len(each.contexts)}"
            case = _case(name, context_name, value)._replace(aside=is_aside(context_name))
            groups.append(_Group([Planted(where, value.text)], case))
        for number, (where, template) in enumerate(each.lookalikes * size.personal):
            groups.append(_kept(f"{name} {number % len(each.lookalikes)}", where, text(rng, template)))
        rng.shuffle(groups)
        made[name] = list(_records(rng, groups, 5))
    return made


def ordinary(size: Size) -> Iterator[Record]:
    """Records of agents at work in which nothing is planted."""
    rng = Random("ordinary work")
    return (record(rng, [], rng.randint(4, 40)) for _ in range(size.ordinary))


def _secrets(rng: Random, size: Size) -> Iterator[_Group]:
    places, used = contexts(), Counter[str]()
    for kind in kinds():
        for context, value in _placed(rng, kind, places, used, size.plain):
            made = context.around(rng, kind, value)
            yield _Group([Planted(context.where, made.text)], _case(kind.name, context.name, made))
        wanted = [(form, beside) for form in forms() for beside in (False, True)]
        for form, beside in rng.sample(wanted, min(size.encoded, len(wanted))):
            if kind.how == TOLD and form.startswith("split") and not beside:
                continue  # nobody can say where it ends, since its form tells nothing
            (placed,) = _placed(rng, kind, places, used, 1)
            yield from _encoded(rng, kind, placed, form, beside=beside)


def _placed(
    rng: Random, kind: Kind, places: list[Context], used: Counter[str], count: int
) -> Iterator[tuple[Context, Value]]:
    """Values in contexts that may hold them, every other in one that has been used least."""
    taken: set[str] = set()
    for number in range(count):
        value = kind.draw(rng)
        open_ = [each for each in places if each.holds(kind, value.text) and each.name not in taken]
        if not open_:
            return
        least = min(used[each.name] for each in open_) if number % 2 else None
        chosen = rng.choice([each for each in open_ if least is None or used[each.name] == least])
        used[chosen.name] += 1
        taken.add(chosen.name)
        yield chosen, value


def _encoded(rng: Random, kind: Kind, placed: tuple[Context, Value], name: str, *, beside: bool) -> Iterator[_Group]:
    context, value = placed
    made = forms()[name](rng, kind, context, value)
    if made is None:
        return
    where, encoded = made
    plain = context.around(rng, kind, value).text if beside else ""
    planted = [Planted(where, encoded.text), *([Planted(context.where, plain)] if beside else [])]
    case = _case(kind.name, context.name, encoded)._replace(form=name, beside=beside, plain=plain)
    yield _Group(planted, case)


def _case(kind: str, context: str, value: Value) -> Case:
    lines = [line for part in value.parts() for line in part.split("\n")]
    parts = [line for line in lines if len(line) >= _LEFT] or lines
    aside = is_aside(kind) or is_aside(context)
    return Case(kind, context, PLAIN, beside=False, aside=aside, text=value.text, parts=parts)


def _lookalikes(rng: Random, size: Size) -> Iterator[_Group]:
    for each in lookalikes():
        for _ in range(size.lookalikes):
            yield _kept(each.name, each.where, text(rng, each.template) + "\n")


def _kept(name: str, where: str, written: str) -> _Group:
    return _Group([Planted(where, written)], kept=Kept(name, is_aside(name), written))


def _records(rng: Random, groups: list[_Group], most: int) -> Iterator[Made]:
    done = 0
    while done < len(groups):
        some = groups[done : done + rng.randint(2, most)]
        done += len(some)
        made = record(rng, [planted for group in some for planted in group.planted], rng.randint(0, 2))
        cases = [group.case for group in some if group.case]
        yield Made(made, cases, [group.kept for group in some if group.kept])
