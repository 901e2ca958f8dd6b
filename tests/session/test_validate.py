"""One session id throughout and a clock that goes forward; all entries go on whatever is found."""

import pytest
from msgspec.structs import replace

from chatsquash.session.stages.checking import validate
from tests.checks.rows import user
from tests.conftest import cases
from tests.session.streams import entry, noted, stream, taken, texts

SECOND = 10**9


def session(*fields):
    """A session of entries with these ids and times, each ``id@time``, where either may be missing."""
    parts = [field.split("@") for field in fields]
    return stream(*(entry(user(), session_id=name or None, at=int(at) if at else None) for name, at in parts))


IDS = ("session-id-mismatch",)
TIMES = ("timestamp-order",)
INVALID = [
    ("another id", ["s1@1", "s2@2"], [(2, *IDS)], "s1"),
    ("another id in another case", ["s1@1", "S1@2"], [(2, *IDS)], "s1"),
    ("another id behind an entry without one", ["s1@1", "@2", "s2@3"], [(3, *IDS)], "s1"),
    ("another id once, however often it comes", ["s1@1", "s2@2", "s1@3", "s3@4"], [(2, *IDS)], "s1"),
    ("another id that is only white space", ["s1@1", " @2"], [(2, *IDS)], "s1"),
    ("an earlier time", ["s1@5", "s1@4"], [(2, *TIMES)], "s1"),
    ("an earlier time by a nanosecond", [f"s1@{SECOND}", f"s1@{SECOND - 1}"], [(2, *TIMES)], "s1"),
    ("an earlier time than before an entry without one", ["s1@5", "s1@", "s1@4"], [(3, *TIMES)], "s1"),
    ("a time of 0 is a time", ["s1@0", "s1@-1"], [(2, *TIMES)], "s1"),
    ("an earlier time once, however often it comes", ["s1@5", "s1@4", "s1@3"], [(2, *TIMES)], "s1"),
    ("a jump back, where each other step goes forward", ["s1@5", "s1@6", "s1@1", "s1@2"], [(3, *TIMES)], "s1"),
    ("both, each at its first line", ["s1@5", "s1@4", "s2@6"], [(2, *TIMES), (3, *IDS)], "s1"),
    ("both in one line", ["s1@5", "s2@4"], [(2, *IDS), (2, *TIMES)], "s1"),
]


@cases(
    "fields, name",
    ("no entries", [], None),
    ("one entry", ["s1@1"], "s1"),
    ("one id and times that increase", ["s1@1", "s1@2", "s1@3"], "s1"),
    ("a nanosecond is later", [f"s1@{SECOND}", f"s1@{SECOND + 1}"], "s1"),
    ("times before 1970", ["s1@-2", "s1@-1", "s1@0"], "s1"),
    ("no ids", ["@1", "@2"], None),
    ("no times", ["s1@", "s1@"], "s1"),
    ("neither", ["@", "@"], None),
    ("an entry without an id is not compared", ["s1@1", "@2", "s1@3"], "s1"),
    ("the first id may come late", ["@1", "s1@2"], "s1"),
    ("an entry without a time is not compared", ["s1@1", "s1@", "s1@2"], "s1"),
    ("ids are compared as they are", ["S1@1", "S1@2"], "S1"),
)
@pytest.mark.parametrize("keep", [False, True])
def test_a_session_is_valid_with(fields, name, keep):
    out, found = taken(validate(session(*fields), keep=keep, merge=keep))
    assert out == list(session(*fields))
    assert (found.findings((), "s", "a"), found.invalid, found.id) == ([], None, name)


def validated(*fields, **options):
    """The entries that go on, without what was found at them, and what the lines come to."""
    out, found = taken(validate(session(*fields), **options))
    return [replace(each, findings=()) for each in out], found


@cases(
    "fields, expected",
    ("an equal time", ["s1@5", "s1@5"], (2, 1)),
    ("equal times, which are counted", ["s1@5", "s1@5", "s1@5", "s1@6", "s1@6"], (2, 3)),
    ("an equal time around an entry without one", ["s1@5", "s1@", "s1@5"], (3, 1)),
    ("an equal time of 0", ["s1@0", "s1@0"], (2, 1)),
)
@pytest.mark.parametrize("keep", [False, True])
def test_a_session_stays_in_file_order_with(fields, expected, keep):
    out, session_found = validated(*fields, keep=keep)
    assert out == list(session(*fields))
    line, count = expected
    (found,) = session_found.findings((), "s", "a")
    assert (found.code, found.severity, found.line) == ("equal-timestamps", "warning", line)
    assert found.text.startswith(f"{count} entr")
    assert not session_found.invalid


def test_equal_times_do_not_excuse_a_clock_that_goes_back():
    _, found = validated("s1@5", "s1@5", "s1@4", keep=False)
    assert [(each.code, each.line) for each in found.findings((), "s", "a")] == [
        ("equal-timestamps", 2),
        ("timestamp-order", 3),
    ]
    assert found.invalid.code == "timestamp-order"


@pytest.mark.parametrize("sentence, fields, expected, name", INVALID, ids=[row[0] for row in INVALID])
def test_a_session_is_left_out_with(sentence, fields, expected, name):
    out, found = validated(*fields, keep=False)
    assert out == list(session(*fields)), "every line is accounted for"
    assert noted(found) == [(*fact, "error") for fact in expected]
    assert (found.invalid.code, found.id) == (expected[0][1], name)


@pytest.mark.parametrize("sentence, fields, expected, name", INVALID, ids=[row[0] for row in INVALID])
def test_of_a_session_that_is_kept_only_the_clock_may_be_wrong(sentence, fields, expected, name):
    out, found = validated(*fields, keep=True)
    assert [each.line for each in out] == list(range(1, len(fields) + 1)), "file order, not that of the times"
    assert noted(found) == [(line, code, "warning" if (code,) == TIMES else "error") for line, code in expected]
    assert (found.invalid is not None, found.id) == (any((code,) == IDS for _, code in expected), name)


@pytest.mark.parametrize("sentence, fields, expected, name", INVALID, ids=[row[0] for row in INVALID])
def test_a_session_that_is_merged_has_warnings_with(sentence, fields, expected, name):
    out, found = validated(*fields, keep=True, merge=True)
    assert out == list(session(*fields))
    assert noted(found) == [(*fact, "warning") for fact in expected]
    assert (found.invalid, found.id) == (None, name)


def test_the_findings_say_which_lines_and_what_to_do():
    _, found = validated("s1@5", "s1@4", "s2@6", keep=False)
    keep = "(--on-invalid keep --sessions-by file joins them)"
    assert texts(found, "session-id-mismatch") == [
        f"session_id is 's2', but line 1 has 's1': --sessions-by id separates them {keep}"
    ]
    assert texts(found, "timestamp-order") == [
        "timestamp is earlier than that of line 1 (--on-invalid keep converts it anyway)"
    ]
