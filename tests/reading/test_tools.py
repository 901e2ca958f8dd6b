"""A tool definition is parsed once, however often it comes again."""

import pytest

from chatsquash.core import jsonio
from chatsquash.reading import repeats as module
from chatsquash.reading.repeats import KnownTools
from tests.conftest import cases

A, B, C = (b'{"name":"%s"}' % name for name in (b"a", b"b", b"c"))


def learn(known: KnownTools, *definitions: bytes) -> list:
    return known.learn(b"[" + b",".join(definitions) + b"]", jsonio.loads)


@cases(
    "before, after, same",
    ("the same list is the same object", (A, B), (A, B), [0, 1]),
    ("another order has the same objects", (A, B), (B, A), [1, 0]),
    ("a list with one more has the others' objects", (A, B), (A, C, B), [0, None, 1]),
    ("other white space makes another object", (A,), (A.replace(b":", b": "),), [None]),
)
def test_definitions_with_the_same_bytes_are_one_object(before, after, same):
    known = KnownTools()
    first, second = learn(known, *before), learn(known, *after)
    assert second == [jsonio.loads(each) for each in after]
    assert [next((at for at, tool in enumerate(first) if tool is each), None) for each in second] == same
    assert (first is second) == (before == after)


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "_MOST", 2)
    monkeypatch.setattr(module, "_LARGE", 20)
    known = KnownTools()
    learn(known, A, B, b'{"name":"far too long to keep"}')
    assert set(known.single) == {A, B}
    learn(known, C)
    assert set(known.single) == {C}


def test_a_definition_is_held_once_and_what_is_refused_is_not_learnt():
    held = []

    def hold(new, length):
        held.append(new)
        assert length == len(A)
        if jsonio.loads(C) in new:
            raise ValueError

    known = KnownTools(hold)
    first = learn(known, A, B)
    learn(known, B, A)
    for _ in range(2):
        with pytest.raises(ValueError):
            learn(known, A, C)
    assert held == [[jsonio.loads(each) for each in new] for new in ((A, B), (C,), (C,))]
    assert learn(known, A, B) == first


def test_tools_that_are_no_list_are_parsed_as_they_are():
    assert KnownTools().learn(b'{"name":"a"}', jsonio.loads) == {"name": "a"}


def test_lists_without_known_definitions_are_not_split_for_a_while(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 2)
    monkeypatch.setattr(module, "_WHILE", 3)
    known = KnownTools()
    paused = []
    for number in range(9):
        definitions = [b'{"name":"%d%b"}' % (number, name) for name in (b"a", b"b")]
        assert learn(known, *definitions) == [jsonio.loads(each) for each in definitions]
        paused.append(known.paused)
    assert paused == [0, 3, 2, 1, 0, 3, 2, 1, 0]
    first, second = learn(known, A, B), learn(known, B, A)
    assert (first[0], first[1]) == (second[1], second[0])


def test_a_list_that_is_not_split_is_refused_as_if_it_were(monkeypatch):
    def refuse(new, length):
        raise ValueError

    for check, raw in ((refuse, b"[%b]" % A), (None, b'[{"a":1},{"a":NaN}]'), (None, b'[{"a":1}')):
        reasons = []
        for paused in (0, 3):
            known = KnownTools(check)
            known.paused = paused
            with pytest.raises(ValueError) as problem:
                known.learn(raw, jsonio.loads)
            reasons.append(str(problem.value))
            assert known.raw == b""
        assert reasons[0] == reasons[1]
