"""Turns become messages; a run that a request repeats is taken over only where it begins in the same state."""

from typing import Any

import pytest

from chatsquash.core.blocks import Text, Turn
from chatsquash.core.edits import replay
from chatsquash.core.model import AddedRun, KeptRun
from chatsquash.formats import formats
from chatsquash.formats.base import LoadedTurn, TurnError, not_usual
from chatsquash.reading.exchange import LineError
from chatsquash.reading.turns import Turns, follow, no_turns


class Counting:
    """A made-up format: a turn ``n`` gives that many messages, numbered on; ``+`` waits for what comes behind."""

    NAME, TURNS, SYSTEM, START = "counting", "turns", ("system",), 0
    usual = staticmethod(not_usual)

    def __init__(self) -> None:
        self.loaded: list[Any] = []

    def system(self, value):
        if value == "bad":
            raise TurnError("is bad")
        return [said("system", value)] if value else []

    def load(self, turn, state):
        self.loaded.append(turn)
        if turn == "bad":
            raise TurnError("is none")
        if turn == "+":
            return LoadedTurn([], state + 1)
        return LoadedTurn([said("user", state + number) for number in range(turn)], state + turn)

    def close(self, state):
        return [said("end", state)] if state >= 100 else []


def said(role: str, text: Any) -> Turn:
    return Turn(role, (Text(str(text)),))


def request(form: Counting, before: Turns, edits, *turns: Any, system: Any = None) -> Turns:
    return follow(form, before, list(turns), edits, system)


def contents(turns: Turns) -> list[Any]:
    return [int(each["content"]) if each["content"].isdecimal() else each["content"] for each in turns.messages]


def message(number: int) -> dict[str, Any]:
    return {"role": "user", "content": str(number)}


@pytest.fixture
def form():
    return Counting()


def test_what_is_kept_is_not_loaded_again(form):
    first = request(form, no_turns(form), (AddedRun((1, 2)),), 1, 2)
    second = request(form, first, (KeptRun(0, 2), AddedRun((1,))), 1, 2, 1)
    assert form.loaded == [1, 2, 1]
    assert contents(second) == [0, 1, 2, 3]
    assert second.edits == (KeptRun(0, 3), AddedRun((message(3),)))
    assert all(a is b for a, b in zip(first.messages, second.messages, strict=False))
    assert first.messages == [message(0), message(1), message(2)], "what is shared is never changed"


def test_turns_behind_a_changed_one_are_kept_where_the_state_is_the_same(form):
    first = request(form, no_turns(form), (AddedRun((1, 1, 2)),), 1, 1, 2)
    second = request(form, first, (AddedRun(("+",)), KeptRun(1, 3)), "+", 1, 2)
    assert form.loaded == [1, 1, 2, "+"]
    assert contents(second) == [1, 2, 3]
    assert second.edits == (KeptRun(1, 4),)
    assert second.stops == [0, 0, 1, 3]


def test_turns_behind_a_changed_one_are_loaded_again_where_the_state_is_another(form):
    first = request(form, no_turns(form), (AddedRun((1, 1, 2)),), 1, 1, 2)
    second = request(form, first, (AddedRun((2,)), KeptRun(1, 3)), 2, 1, 2)
    assert form.loaded == [1, 1, 2, 2, 1, 2]
    assert contents(second) == [0, 1, 2, 3, 4]
    assert second.edits == (AddedRun(tuple(map(message, range(5)))),)


def test_another_order_and_a_turn_said_twice(form):
    first = request(form, no_turns(form), (AddedRun(("+", 0, 0, 1)),), "+", 0, 0, 1)
    second = request(form, first, (KeptRun(0, 1), KeptRun(3, 4), KeptRun(3, 4)), "+", 1, 1)
    assert contents(second) == [1, 2]
    assert replay(first.messages, second.edits) == second.messages


def test_a_system_prompt_that_is_the_same_object_is_kept(form):
    system = "s"
    first = request(form, no_turns(form), (AddedRun((1,)),), 1, system=system)
    second = request(form, first, (KeptRun(0, 1), AddedRun((1,))), 1, 1, system=system)
    assert second.edits == (KeptRun(0, 2), AddedRun((message(1),)))


@pytest.mark.parametrize(("old", "new"), [("s", "t"), ("s", None), (None, "t")])
def test_another_system_prompt_changes_nothing_behind_it(form, old, new):
    first = request(form, no_turns(form), (AddedRun((1, 2)),), 1, 2, system=old)
    second = request(form, first, (KeptRun(0, 2),), 1, 2, system=new)
    assert form.loaded == [1, 2]
    assert contents(second) == [*([new] if new else []), 0, 1, 2]
    assert second.edits[-1] == KeptRun(int(old is not None), 3 + (old is not None))
    third = request(form, second, (KeptRun(0, 2), AddedRun((1,))), 1, 2, 1, system=old)
    assert contents(third) == [*([old] if old else []), 0, 1, 2, 3]
    assert replay(second.messages, third.edits) == third.messages


def test_messages_still_open_behind_the_last_turn_are_added_anew(form):
    first = request(form, no_turns(form), (AddedRun((1,)), AddedRun(("+",) * 99)), 1, *("+" * 99))
    second = request(form, first, (KeptRun(0, 100), AddedRun((1,))), 1, *("+" * 99), 1)
    assert contents(first) == [0, 100]
    assert contents(second) == [0, 100, 101]
    assert second.edits == (KeptRun(0, 1), AddedRun(tuple(second.messages[1:])))
    assert second.messages[1]["role"] == "user", "what was open in one request is said by the turn that closes it"


@pytest.mark.parametrize(("turns", "place"), [(("bad",), 0), ((1, 2, "bad", 1), 2)])
def test_a_turn_that_is_none_is_named_by_its_place(form, turns, place):
    with pytest.raises(LineError) as raised:
        request(form, no_turns(form), (AddedRun(turns),), *turns)
    assert (raised.value.code, str(raised.value)) == ("bad-entry", f"request.turns[{place}]: is none")


def test_a_bad_turn_behind_kept_ones_is_named_by_its_place(form):
    first = request(form, no_turns(form), (AddedRun((1, 2)),), 1, 2)
    with pytest.raises(LineError, match=r"^request\.turns\[2\]: is none$"):
        request(form, first, (KeptRun(0, 2), AddedRun(("bad",))), 1, 2, "bad")


def test_a_system_prompt_that_is_none_is_named(form):
    with pytest.raises(LineError, match=r"^request\.system: is bad$"):
        request(form, no_turns(form), (), system="bad")


CALLS = {
    "gemini": lambda ident: {"role": "model", "parts": [{"functionCall": {"name": "f", "id": ident}}]},
    "openai_responses": lambda ident: {"type": "function_call", "name": "f", "call_id": ident, "arguments": "{}"},
    "anthropic": lambda ident: {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "id": ident, "input": {}}]},
    "gemini_interactions": lambda ident: {"type": "function_call", "name": "f", "id": ident, "arguments": {}},
    "bedrock": lambda ident: {"role": "assistant", "content": [{"toolUse": {"name": "f", "toolUseId": ident, "input": {}}}]},
    "ollama": lambda ident: {"role": "assistant", "tool_calls": [{"id": ident, "function": {"name": "f"}}]},
    "openai_chat": lambda ident: {"role": "assistant", "tool_calls": [{"id": ident, "function": {"name": "f"}}]},
}  # fmt: skip
ASKS = {
    "gemini": {"role": "user", "parts": [{"text": "u"}]}, "openai_responses": {"role": "user", "content": "u"},
    "gemini_interactions": {"type": "user_input", "content": "u"},
}  # fmt: skip


@pytest.mark.parametrize("name", formats())
def test_ids_are_made_up_anew_behind_a_call_that_no_longer_lacks_one(name):
    form, ask = formats()[name], ASKS.get(name, {"role": "user", "content": "u"})
    turns = [CALLS[name](None), ask, CALLS[name](None)]
    first = follow(form, no_turns(form), turns, (AddedRun(tuple(turns)),), None)
    changed = [CALLS[name]("logged"), *turns[1:]]
    second = follow(form, first, changed, (AddedRun((changed[0],)), KeptRun(1, 3)), None)
    assert ids(first) == ["call_1", "call_2"]
    assert ids(second) == ["logged", "call_1"]


def ids(turns: Turns) -> list[str]:
    return [call["id"] for each in turns.messages for call in each.get("tool_calls", [])]
