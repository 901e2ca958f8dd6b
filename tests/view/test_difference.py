"""What differs between two requests: true steps, in bounded time."""

import random

import pytest

from chatsquash.view import difference
from chatsquash.view.difference import steps
from tests.conftest import assistant, user

SAME = user("the same")
ROWS = {
    "nothing": ([], [], []),
    "a reply and a question more": ([user("a")], [user("a"), assistant("b"), user("c")], ["kept", "added"]),
    "another system prompt": ([user("a"), SAME], [user("b"), SAME], ["changed", "kept"]),
    "one gone from between": ([SAME, user("a"), SAME], [SAME, SAME], ["kept", "removed", "kept"]),
    "messages that repeat": ([user("a"), *[SAME] * 3_800, user("b")], [user("c"), user("d"), *[SAME] * 3_700, user("e")], ["removed", "added"]),
    "every other one another": (
        [user(str(at)) for at in range(3_900)],
        [user(str(at) if at % 2 else f"{at} x") for at in range(3_900)],
        ["changed", "kept"] * 1_950,
    ),
    "two that alternate": (
        [user("a"), *[SAME, assistant("b")] * 1_900, user("c")],
        [user("d"), *[assistant("b"), SAME] * 1_900, user("e")],
        ["removed", "added"],
    ),
}  # fmt: skip


class Counting(difference._Bounded):
    """Counts the pairs of equal messages that the search for the longest match really looks at."""

    seen = 0

    def __init__(self, first, other):
        super().__init__(first, other)
        places = self.b2j

        class Places(dict):
            def get(self, key, default=None):
                found = places.get(key, default)
                Counting.seen += 1 + len(found or ())
                assert Counting.seen <= difference._WORK
                return found

        self.b2j = Places()


@pytest.mark.parametrize(("before", "now", "kinds"), ROWS.values(), ids=ROWS)
def test_the_steps_are_found_in_bounded_time(monkeypatch, before, now, kinds):
    monkeypatch.setattr(difference, "_Bounded", Counting)
    monkeypatch.setattr(Counting, "seen", 0)
    found = steps(before, now)
    assert [step.kind for step in found] == kinds
    assert [message for step in found for message in step.before] == before
    assert [message for step in found for message in step.now] == now


@pytest.mark.parametrize("seed", range(20))
def test_the_steps_lead_from_one_request_to_the_other(seed, monkeypatch):
    monkeypatch.setattr(difference, "_WORK", seed * 10)
    rng = random.Random(seed)
    before, now = ([user(rng.choice("abcd")) for _ in range(rng.randrange(12))] for _ in range(2))
    found = steps(before, now)
    assert [message for step in found for message in step.before] == before
    assert [message for step in found for message in step.now] == now
    assert all(step.before == step.now for step in found if step.kind == "kept")
