"""What the lines of a log come to: each is accounted for, and what was found at it is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.checks import reading
from chatsquash.core.model import RejectedLine, RepeatedViolation, SkippedLine, Violation
from chatsquash.session.cleaning import clean
from chatsquash.session.select import select
from tests.checks.rows import assistant, user
from tests.conftest import cases
from tests.session.streams import entry, stream, taken

ASIDE = ("blank", "unreadable", "cleaned")
SIZES = st.integers(0, 99)
ENTRIES = st.builds(lambda count, size: entry(*[user()] * count, size=size), st.integers(0, 4), SIZES)
SKIPPED = st.builds(
    lambda **members: SkippedLine(**members),
    line=st.integers(1, 9),
    why=st.sampled_from(ASIDE),
    size=SIZES,
    lines=st.integers(1, 3),
)
NOTES = st.just(SkippedLine(lines=0, findings=(reading.cut_short("it ended"),)))


@given(st.lists(st.one_of(ENTRIES, SKIPPED, NOTES), max_size=9), st.booleans())
def test_every_line_and_every_byte_is_in_one_account(items, written):
    session = select(iter(items), trace_roles=False)
    lines, sizes = session.accounts(has_record=written)
    others = [each for each in items if isinstance(each, SkippedLine)]
    entries = [each for each in items if not isinstance(each, SkippedLine)]
    assert sum(lines) == session.lines.all == len(entries) + sum(each.lines for each in others)
    assert sum(sizes) == session.sizes.all == sum(each.size for each in items)
    for why in ASIDE:
        assert getattr(lines, why) == sum(each.lines for each in others if each.why == why)
        assert getattr(sizes, why) == sum(each.size for each in others if each.why == why)
    longest = max((len(each.messages) for each in entries), default=0)
    parts = [[], [], []], entries
    if entries and written:
        at = max(at for at, each in enumerate(entries) if len(each.messages) == longest)
        parts = [[entries[at]], entries[:at], entries[at + 1 :]], []
    used, left_out = parts
    assert (*lines[:3], lines.left_out) == (*map(len, used), len(left_out))
    assert (*sizes[:3], sizes.left_out) == tuple(sum(each.size for each in part) for part in (*used, left_out))


def test_a_line_without_an_entry_and_without_a_fault_is_left_out():
    lines, sizes = select(iter([SkippedLine(1, size=7)])).accounts(has_record=False)
    assert (lines.left_out, sum(lines)) == (1, 1)
    assert (sizes.left_out, sum(sizes)) == (7, 7)


NAIVE, LATE = RepeatedViolation("naive-timestamp"), reading.timestamp_order(1, keep=False)
WRONG = RepeatedViolation("wrong-type", ("response", "a string"))
OTHER = RepeatedViolation("wrong-type", ("response", "a number"))
BAD = SkippedLine(
    2, "unreadable", findings=(reading.bad_line("no JSON"),), rejected=RejectedLine(2, 5, 3, "bad-line", "no JSON")
)
CUT = SkippedLine(lines=0, findings=(reading.cut_short("it ended"),))


def at(line, *found, **fields):
    return entry(user(), line=line, findings=found, **fields)


@cases("items, later, expected",
    ("nothing", [at(1), at(2)], [], []),
    ("a fact at its line", [at(1), at(2, LATE)], [], [(2, "timestamp-order")]),
    ("several at one line, in order", [at(1), at(2, LATE, NAIVE)], [], [(2, "timestamp-order"), (2, "naive-timestamp")]),
    ("what may be found at many lines once, at the first", [at(1), at(2, NAIVE), at(3, NAIVE)], [], [(2, "naive-timestamp")]),
    ("once for each value", [at(1, WRONG), at(2, OTHER), at(3, WRONG)], [], [(1, "wrong-type"), (2, "wrong-type")]),
    ("lines without an entry, too", [at(1), BAD, at(3, LATE)], [], [(2, "bad-line"), (3, "timestamp-order")]),
    ("what is about the whole log first", [at(1, LATE), CUT], [], [(None, "cut-short"), (1, "timestamp-order")]),
    ("later findings by their lines", [at(1, NAIVE), at(3, LATE)], [(2, reading.stream_interrupted()), (None, reading.empty_session(0, 0))], [(None, "empty-session"), (1, "naive-timestamp"), (2, "stream-interrupted"), (3, "timestamp-order")]),
)  # fmt: skip
def test_findings_tell(items, later, expected):
    findings = select(iter(items), trace_roles=False).findings(later, "name", "a.jsonl")
    assert [(each.line, each.code) for each in findings] == expected
    assert {(each.session, each.file) for each in findings} <= {("name", "a.jsonl")}


def test_what_is_told_once_is_counted():
    session = select(iter([at(1, NAIVE), at(2), at(3, NAIVE), at(4, WRONG)]), trace_roles=False)
    naive, wrong = session.findings((), "s", "a")
    assert naive.text.startswith("no time zone in the timestamp of 2 entries")
    assert wrong.text.startswith("response is a string in 1 entry")


def test_where_a_line_that_cannot_be_read_stands_is_told():
    assert select(iter([at(1), BAD])).rejected == list(filter(None, [BAD.rejected]))


TITLE = {"role": "system", "content": "Reply with only a description in four words or less."}
FIRST = user("Here are the first few user messages:\nhi")


def test_what_was_found_at_entries_that_cleaning_drops_is_told_all_the_same():
    asked = entry(TITLE, FIRST, reply=assistant("A title"), findings=(NAIVE, LATE), session_id="other")
    out, session = taken(clean(stream(asked, entry(user(), findings=(NAIVE,)), asked)))
    assert [each.line for each in out] == [2]
    assert [(each.line, each.code) for each in session.findings((), "s", "a")] == [
        (1, "timestamp-order"),
        (1, "naive-timestamp"),
        (3, "timestamp-order"),
    ]
    assert session.repeats == {NAIVE: (1, 3)}
    assert (session.id, session.dropped) == ("s1", {"title_requests": 2})


@cases("ids, expected", ("the first that an entry names", [None, "a", "b"], "a"), ("none", [None, None], None))
def test_the_id_of_a_session_is(ids, expected):
    assert select(stream(*(entry(user(), session_id=each) for each in ids))).id == expected


@pytest.mark.parametrize("loaded", [[False, False], [False, True], [True, False]], ids=str)
def test_a_session_is_loaded_where_any_entry_is(loaded):
    assert select(stream(*(entry(user(), has_private=each) for each in loaded))).has_private == any(loaded)


MIXED = reading.session_id_mismatch("a", "b", 1, merge=False)


@cases("found, why",
    ("nothing", [], None),
    ("a clock that goes back", [LATE], LATE),
    ("two ids", [MIXED], MIXED),
    ("the first of both", [MIXED, LATE], MIXED),
    ("no warnings, which the user asked for", [reading.timestamp_order(1, keep=True)], None),
    ("no other errors", [reading.bad_line("no JSON"), Violation("error", "text", code="role-sequence")], None),
    ("one that stands behind others", [reading.bad_line("no JSON"), LATE, reading.cut_short("it ended")], LATE),
)  # fmt: skip
def test_a_session_is_invalid_for(found, why):
    assert select(iter([at(1, *found)])).invalid == why
