"""Which split a record belongs to."""

import pytest

from chatsquash.core.accounting import Account, Usage
from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Facts, Outcome, Record, SessionAccount, SessionRecords
from chatsquash.dataset.splits import Splits, parse
from tests.conftest import cases

HALVES = "train=0.5,test=0.5"


def session(name: str, prefix: str = "p", day: str = "2026-01-13", stem: str = ""):
    facts = Facts(prefix=prefix, session=name, source=name)
    record = Record(b"{}", Usage(0, (), 0, 0, 0, ()), facts=facts)
    file = f"{stem or name}.jsonl"
    outcome = Outcome(
        name, SessionRecords([record], day=day), account=SessionAccount(lines=1, counts=Account(selected=1))
    )
    return Log(file, file, file, 1), outcome, record


def names(options: Options, sessions) -> list[str]:
    splits = Splits(options)
    return [splits.assign(*each)[0] for each in sessions]


@cases(
    "text, expected",
    ("one split", "train=1", [("train", 1.0)]),
    ("several, in their order", "test=0.25, train=0.75", [("test", 0.25), ("train", 0.75)]),
    ("shares that a double rounds", "a=0.1,b=0.2,c=0.7", [("a", 0.1), ("b", 0.2), ("c", 0.7)]),
)
def test_splits_are_read(text, expected):
    assert [tuple(split) for split in parse(text)] == expected


@cases(
    "text, message",
    ("no name", "=1", "'' cannot be the name"),
    ("a name that leads elsewhere", "../x=1", "'../x' cannot be the name"),
    ("the name for all splits", "all=1", "'all' cannot be the name"),
    ("a name that YAML takes for no text", "No=1", "'No' cannot be the name"),
    ("no share", "train", "the share '' is not between 0 and 1"),
    ("no number", "train=x", "the share 'x' is not between 0 and 1"),
    ("not a number", "train=nan", "the share 'nan' is not between 0 and 1"),
    ("nothing", "train=0,test=1", "the share '0' is not between 0 and 1"),
    ("less than nothing", "train=-1,test=2", "the share '-1' is not between 0 and 1"),
    ("too little", "train=0.5,test=0.4", "do not add up to 1"),
    ("twice", "train=0.5,train=0.5", "two splits have the same name"),
    ("twice where files are told apart by more than case", "Train=0.5,train=0.5", "two splits have the same name"),
)
def test_what_names_no_splits_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_a_split_gets_about_its_share():
    sessions = [session(f"s{number}", f"p{number}") for number in range(2000)]
    found = names(Options(split="train=0.9,validation=0.1"), sessions)
    assert 140 < found.count("validation") < 260
    assert set(found) == {"train", "validation"}


def test_a_session_stays_in_its_split_when_others_are_added():
    sessions = [session(f"s{number}", f"p{number}") for number in range(100)]
    options = Options(split=HALVES)
    assert names(options, sessions)[::3] == names(options, sessions[::3])


def test_another_seed_divides_otherwise():
    sessions = [session(f"s{number}", f"p{number}") for number in range(100)]
    found = [tuple(names(Options(split=HALVES, seed=seed), sessions)) for seed in (0, 0, 1)]
    assert found[0] == found[1] != found[2]


KEPT_TOGETHER = {
    "prompt": [session(f"s{number}-{number}", "same", f"2026-01-{number:02}") for number in range(1, 31)],
    "session": [session("same", f"p{number}", f"2026-01-{number:02}", f"s{number}") for number in range(1, 31)],
    "scenario": [session(f"a-b-{number}", f"p{number}", f"2026-01-{number:02}") for number in range(1, 31)],
    "day": [session(f"s{number}", f"p{number}") for number in range(1, 31)],
}


@pytest.mark.parametrize("split_by", KEPT_TOGETHER)
def test_what_belongs_together_is_not_divided(split_by):
    for kept, sessions in KEPT_TOGETHER.items():
        found = set(names(Options(split=HALVES, split_by=split_by), sessions))
        assert len(found) == (1 if kept == split_by else 2), kept


def test_what_begins_alike_and_goes_apart_is_told():
    splits = Splits(Options(split=HALVES, split_by="session"))
    found = [(name, found and found.text) for name, found in (splits.assign(*session(f"s{n}")) for n in range(20))]
    first = found[0][0]
    for name, text in found:
        assert (text is None) == (name == first)
        assert text is None or text.startswith(f"in {name}, but begins like s0.jsonl in {first}:")
    assert {name for name, _ in found} == {"train", "test"}


def test_nothing_is_told_by_prompt():
    splits = Splits(Options(split=HALVES))
    assert [splits.assign(*session(f"s{n}", f"p{n % 3}"))[1] for n in range(20)] == [None] * 20


def drawn(name: str, options: Options) -> list:
    """Sessions of which so many belong to one group that is in a split."""
    groups = (f"p{number}" for number in range(1000))
    group = next(group for group in groups if names(options, [session("s", group)]) == [name])
    return [session(f"large{number}", group) for number in range(40)]


def test_a_share_that_is_missed_is_told_with_the_largest_group():
    options = Options(split="train=0.9,test=0.1")
    splits = Splits(options)
    for each in (*(session(f"s{n}", f"p{n}") for n in range(400)), *drawn("test", options)):
        splits.assign(*each)
    (found,) = splits.missed_shares()
    assert found.code == "split-share"
    assert "the split 'test' has" in found.text
    assert "instead of 10.00%; the largest group has 41 records in 'test' (first log: " in found.text


@cases("split, sizes, missed",
    ("no record", "train=0.5,test=0.5", (), []),
    ("shares that are met", "train=0.5,test=0.5", [1] * 60, []),
    ("more groups than a split should have, and one that is large", "train=0.5,test=0.5", [60, *[1] * 60], ["train", "test"]),
    ("too few groups to come out right", "train=0.5,test=0.5", [60, *[1] * 38], []),
    ("just enough of them", "train=0.5,test=0.5", [60, *[1] * 39], ["train", "test"]),
    ("a split that should have more, and one that should not", "train=0.9,test=0.1", [60, *[1] * 60], []),
    ("one split", "train=1", [60, *[1] * 60], []),
)  # fmt: skip
def test_shares_are_judged_where_there_are_groups_enough(split, sizes, missed, monkeypatch):
    splits = Splits(Options(split=split))
    even = iter(range(1000))  # groups go to the splits in turn, so that chance decides nothing
    monkeypatch.setattr(splits, "_draw", lambda _: splits.splits[next(even) % len(splits.splits)].name)
    for number, size in enumerate(sizes):
        for at in range(size):
            splits.assign(*session(f"s{number}-{at}", f"p{number}"))
    assert [found.text.split("'")[1] for found in splits.missed_shares()] == missed


@pytest.mark.parametrize("records, missed", [(24, False), (25, True), (16, False), (15, True)])
def test_a_fifth_is_the_bound(records, missed, monkeypatch):
    splits = Splits(Options(split="a=0.2,b=0.8"))
    monkeypatch.setattr(splits, "_draw", lambda name: "a" if int(name[1:]) < records else "b")
    for number in range(100):
        splits.assign(*session(f"s{number}", f"p{number}"))
    assert ("a" in [found.text.split("'")[1] for found in splits.missed_shares()]) == missed
