"""Which records are wanted."""

from chatsquash.core.accounting import Account, Usage
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.outcome import (
    Facts,
    Outcome,
    Record,
    SessionAccount,
    SessionFindings,
    SessionPrivacy,
    SessionRecords,
)
from chatsquash.dataset.filters import FilterResult, Filters
from tests.conftest import cases

NOTHING = Usage(0, (), 1, 2, 0, ())
ACCOUNT = Account(selected=1, superseded=3, cut=1, cleaned=2, unreadable=1, blank=1)


def job(name="a"):
    return Log(f"/logs/{name}.jsonl", f"{name}.jsonl", f"{name}.jsonl", 10)


def outcome(record=b'{"messages":[]}', *, turns=2, model="gpt-5-mini", codes=(), errors=(), left_out=None):
    findings = [Finding(code, "warning", "s", "a.jsonl", 1, None, "text") for code in codes]
    findings += [Finding(code, "error", "s", "a.jsonl", 1, None, "text") for code in errors]
    made = Record(record, NOTHING._replace(assistant_turns=turns), facts=Facts(model=model)) if record else None
    return Outcome(
        "s",
        SessionRecords([made] if made else []),
        SessionFindings(left_out, findings),
        SessionAccount(lines=9, counts=ACCOUNT, cleanup_counts={"info_messages": 1}, dropped={"title_requests": 2}),
        privacy=SessionPrivacy(addresses=4),
    )


@cases("options, made, expected",
    ("as many turns as are wanted", {"min_turns": 2, "max_turns": 2}, {"turns": 2}, None),
    ("too few turns", {"min_turns": 2}, {"turns": 1}, ("--min-turns", "the assistant has 1 turn")),
    ("none are too few", {"min_turns": 1}, {"turns": 0}, ("--min-turns", "the assistant has 0 turns")),
    ("too many turns", {"max_turns": 0}, {"turns": 1}, ("--max-turns", "the assistant has 1 turn")),
    ("as long as may be", {"max_chars": 4}, {"record": "äöüß".encode()}, None),
    ("too long", {"max_chars": 3}, {"record": "äöüß".encode()}, ("--max-chars", "the record has 4 characters")),
    ("no such finding", {"drop": ("no-tools",)}, {"codes": ["cleaned"]}, None),
    ("a finding", {"drop": ("short-tail", "no-tools")}, {"codes": ["no-tools"]}, ("--drop no-tools", "the session has no-tools")),
    ("no error", {"drop": ("errors",)}, {"codes": ["short-tail", "cleaned"]}, None),
    (
        "any error",
        {"drop": ("errors",)},
        {"codes": ["short-tail"], "errors": ["undeclared-tool", "role-sequence"]},
        ("--drop errors", "the session has the error undeclared-tool"),
    ),
    ("a model that fits", {"only_model": ("claude*", "gpt-?-mini")}, {}, None),
    ("globs tell case", {"only_model": ("GPT*",)}, {}, ("--only-model", "the model is 'gpt-5-mini'")),
    ("no model", {"only_model": ("*",)}, {"model": None}, ("--only-model", "the log names no model")),
    ("the first of several", {"max_turns": 0, "max_chars": 1}, {"record": b"{}"}, ("--max-turns", "the assistant has 2 turns")),
)  # fmt: skip
def test_a_record_is_filtered_for_a_reason(options, made, expected):
    before = outcome(**made)
    found = Filters(Options(**options)).apply(job(), before)
    if expected is None:
        assert found == FilterResult(before)
        return
    option, why = expected
    assert (found.filtered, found.duplicates) == ((option,), 0)
    assert (found.outcome.record, found.outcome.left_out) == (None, "filtered")
    assert found.outcome.findings[-1] == Finding(
        "filtered", "info", "s", "a.jsonl", None, None, f"filtered by {option}: {why}"
    )


def test_the_lines_of_a_filtered_session_are_left_out_and_nothing_else_of_it_counts():
    found = Filters(Options(min_turns=3)).apply(job(), outcome()).outcome
    assert found.account.counts == Account(cleaned=2, left_out=5, unreadable=1, blank=1)
    assert sum(found.account.counts) == sum(ACCOUNT)
    assert (found.records, found.account.cleanup_counts, found.privacy.addresses) == ([], {}, 0)
    assert found.account.dropped == {"title_requests": 2}, "they stand in a line of their own"


def test_a_session_that_was_left_out_is_not_filtered():
    before = outcome(None, left_out="empty-session")
    assert Filters(Options(min_turns=3, drop_duplicates=True)).apply(job(), before) == FilterResult(before)


def test_equal_records_are_written_once():
    sieve = Filters(Options(drop_duplicates=True))
    records = [b'{"a":1}', b'{"a":2}', b'{"a":1}', b'{"a": 1}', b'{"a":2}']
    found = [sieve.apply(job(f"s{n}"), outcome(record)) for n, record in enumerate(records)]
    assert [each.duplicates for each in found] == [0, 0, 1, 0, 1]
    assert found[4].outcome.findings[-1].text.startswith("identical to the record of s1.jsonl, which is written")


def test_so_are_those_of_one_file():
    sieve = Filters(Options(drop_duplicates=True))
    same = job()
    assert [sieve.apply(same, outcome()).duplicates for _ in range(3)] == [0, 1, 1]


@cases(
    "options, once",
    ({}, False),
    ({"drop_duplicates": True}, True),
    ({"format": "jsonl"}, True),
    ({"split": "train=1"}, True),
    ({"preset": "hf"}, True),
    ({"format": "jsonl", "drop_duplicates": False}, False),
)
def test_duplicates_go_where_it_is_asked_for_and_in_a_dataset_folder(options, once):
    sieve = Filters(Options(**options))
    assert [sieve.apply(job(), outcome()).duplicates for _ in range(2)] == [0, int(once)]


def test_a_filtered_record_is_no_first_one():
    sieve = Filters(Options(drop_duplicates=True, drop=("no-tools",)))
    found = [sieve.apply(job(), outcome(codes=codes)) for codes in (["no-tools"], [], [])]
    assert [(each.filtered, each.duplicates) for each in found] == [(("--drop no-tools",), 0), ((), 0), ((), 1)]
