"""Edits lead from one list of messages to the next; what is the same object is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash.core import edits as edits_module
from chatsquash.core.edits import align, difference, replay
from chatsquash.core.model import AddedRun, Entry, KeptRun, Response
from tests.conftest import cases

MESSAGES = [{"role": "user", "content": str(number)} for number in range(8)]
A, B, C, D = MESSAGES[:4]
TWIN = dict(A)  # equal, and another object

LISTS = st.lists(st.sampled_from(MESSAGES), max_size=10)
DISTINCT = st.lists(st.sampled_from(MESSAGES), max_size=8, unique_by=id)


@cases(
    "before, after, edits",
    ("nothing from nothing", [], [], ()),
    ("all is new", [], [A, B], (AddedRun((A, B)),)),
    ("all is gone", [A, B], [], ()),
    ("the same", [A, B], [A, B], (KeptRun(0, 2),)),
    ("more at the end", [A, B], [A, B, C, D], (KeptRun(0, 2), AddedRun((C, D)))),
    ("less at the end", [A, B, C], [A, B], (KeptRun(0, 2),)),
    ("less at the start", [A, B, C], [B, C], (KeptRun(1, 3),)),
    ("a clock in the first message", [A, B, C], [D, B, C], (AddedRun((D,)), KeptRun(1, 3))),
    ("one put in", [A, B], [A, C, B], (KeptRun(0, 1), AddedRun((C,)), KeptRun(1, 2))),
    ("one taken out", [A, B, C], [A, C], (KeptRun(0, 1), KeptRun(2, 3))),
    ("swapped", [A, B], [B, A], (KeptRun(1, 2), KeptRun(0, 1))),
    ("said twice", [A, B], [A, B, A, B], (KeptRun(0, 2), KeptRun(0, 2))),
    ("an equal message is another one", [A, B], [TWIN, B], (AddedRun((TWIN,)), KeptRun(1, 2))),
    ("the same object twice in a row", [A, A, B], [A, A, B], (KeptRun(0, 3),)),
)
def test_the_edits_of(before, after, edits):
    found = difference(before, after)
    assert found == edits
    assert [each is other for each, other in zip(replay(before, found), after, strict=True)] == [True] * len(after)


@given(LISTS, LISTS)
def test_replaying_the_difference_gives_what_comes_after(before, after):
    replayed = replay(before, difference(before, after))
    assert [id(message) for message in replayed] == [id(message) for message in after]


@given(LISTS, LISTS)
def test_runs_are_not_empty_and_only_what_is_new_is_added(before, after):
    known = {id(message) for message in before}
    previous = None
    for run in difference(before, after):
        if isinstance(run, AddedRun):
            assert run.messages
            assert not known & {id(message) for message in run.messages}
            assert not isinstance(previous, AddedRun)
        else:
            assert 0 <= run.start < run.stop <= len(before)
            assert not isinstance(previous, KeptRun) or previous.stop != run.start, "runs that touch are one run"
        previous = run


@given(LISTS, DISTINCT)
def test_what_only_grew_is_one_kept_run_and_one_added(before, more):
    new = tuple(dict(message) for message in more)
    expected = (*([KeptRun(0, len(before))] if before else []), *([AddedRun(new)] if new else []))
    assert difference(before, [*before, *new]) == expected


@given(LISTS, LISTS)
def test_neither_list_is_changed(before, after):
    copies = list(before), list(after)
    replay(before, difference(before, after))
    assert (before, after) == copies


RUNS = st.lists(
    st.one_of(
        st.tuples(st.integers(0, 7), st.integers(1, 4)),
        st.lists(st.sampled_from([*MESSAGES, {"role": "user", "content": 1}, {"role": "user", "content": True}])),
    ),
    max_size=5,
)


@given(st.lists(st.sampled_from(MESSAGES), min_size=1, max_size=8), RUNS)
def test_edits_that_are_the_difference_already_stay_as_the_whole_comparison_makes_them(before, runs):
    made = edits_module.Builder()
    for run in runs:
        if isinstance(run, tuple):
            made.keep(min(run[0], len(before) - 1), min(run[0] + run[1], len(before)))
        else:
            made.add([dict(message) for message in run])
    edits = made.edits
    found = align(before, replay(before, edits), edits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits_module, "_is_aligned", lambda *_: False)
        whole = align(before, replay(before, edits), edits)
    assert found[1] == whole[1]
    assert [*map(id, found[0])] == [*map(id, whole[0])]


@cases(
    "edits, kept",
    ("what only grew", (KeptRun(0, 3), AddedRun((A,))), 3),
    ("what was cut", (KeptRun(0, 2),), 2),
    ("a new beginning", (AddedRun((A,)), KeptRun(1, 3)), 0),
    ("a beginning from elsewhere", (KeptRun(1, 3),), 0),
    ("nothing", (), 0),
)
def test_an_entry_knows_how_much_of_the_beginning_it_kept(edits, kept):
    assert Entry(1, None, None, [], edits, [], Response()).shared_prefix == kept
