"""Work grows with what a conversation has: told from the lines that are run, which are as many on every machine."""

import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chatsquash
from chatsquash.core.blocks import Media, Reasoning, Text
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.formats import calls, get_format, writing
from chatsquash.formats.calls import State
from chatsquash.translate import logs
from chatsquash.translate.conversations import losses
from tests.conftest import log_line
from tests.formats.kinds import answers, asks, calling, conversation, gives, says

SERVICES = ("anthropic", "gemini", "ollama", "openai_chat", "openai_responses")


def numbers(count):
    return [f"c{number}" for number in range(count)]


def pairs(ids, results=None):
    return conversation(asks(), says(*map(calling, ids)), answers(*(gives(to=each) for each in results or ids)))


def of_one_id(count):
    return pairs(["c"] * count)


def in_reverse(count):
    return pairs(numbers(count), numbers(count)[::-1])


def of_one_id_in_turns(count):
    return conversation(asks(), *(turn for _ in range(count) for turn in (says(calling()), answers())))


def in_turns_in_a_row(count):
    called, came = (
        [says(calling(each)) for each in numbers(count)],
        [answers(gives(to=each)) for each in numbers(count)],
    )
    return conversation(asks(), *called, *came)


def with_long_names(count):
    tools = [{"type": "function", "function": {"name": "a" * 100 + each, "parameters": {}}} for each in numbers(count)]
    return conversation(asks(), tools=tools)


def of_thoughts_and_calls(count):
    return conversation(
        asks(), says(*(b for each in numbers(count) for b in (Reasoning(each), Text(each), calling(each))))
    )


def of_encrypted_thoughts(count):
    thoughts = [Reasoning("", "openai", "", "e", f"rs_{each}") for each in numbers(count)]
    return conversation(asks(), says(*(b for thought in thoughts for b in (thought, calling(thought.id)))))


def of_texts(count):
    return conversation(asks(), *map(says, numbers(count)))


def of_images(count):
    return conversation(asks(*(b for each in numbers(count) for b in (each, Media("image", "image/png", "AA==")))))


def of_unknown_names(count):
    called = [{"functionCall": {"name": "f", "args": {}}}] * count
    came = [{"functionResponse": {"name": f"g{each}", "response": {}}} for each in numbers(count)]
    return {"contents": [{"role": "model", "parts": called}, {"role": "user", "parts": came}]}


def written(make, name):
    return lambda count: chatsquash.dump(make(count), name)


def dump(name, **more):
    return lambda given: chatsquash.dump(given, name, **more)


def load(name):
    return lambda given: chatsquash.load(given, name)


def lost(name):
    return lambda given: losses(given, name)


CASES = [
    *((f"sent to {name}: {what}", make, dump(name, sendable=True)) for name in SERVICES for what, make in (("calls of one id", of_one_id), ("such in turns of their own", of_one_id_in_turns), ("names that begin alike", with_long_names))),
    *((f"read as {name}: {what}", written(make, name), load(name)) for name in (*SERVICES, "portable", "oumi", "pydantic_ai", "model_messages") for what, make in (("calls of one id", of_one_id), ("results in reverse", in_reverse), ("calls in turns in a row", in_turns_in_a_row))),
    *((f"written as {name}: {what}", make, dump(name)) for name in ("gemini", "ollama") for what, make in (("calls of one id", of_one_id), ("results in reverse", in_reverse), ("calls in turns in a row", in_turns_in_a_row))),
    ("read as gemini: results of names that no call has", of_unknown_names, load("gemini")),
    ("written as gemini: such", lambda count: chatsquash.load(of_unknown_names(count), "gemini"), dump("gemini")),
    ("written as vercel_ai: texts and images", of_images, dump("vercel_ai")),
    ("lost in portable: thoughts, texts and calls of one turn", of_thoughts_and_calls, lost("portable")),
    ("lost in gemini: encrypted thoughts and calls of one turn", of_encrypted_thoughts, lost("gemini")),
    ("lost in openai_responses: turns in a row", of_texts, lost("openai_responses")),
]  # fmt: skip


def lines(work, given) -> int:
    """How many lines of Python are run, those of loops in one line among them."""
    count = 0

    def ran(_frame, event, _arg):
        nonlocal count
        count += event == "line"
        return ran

    before = sys.gettrace()
    sys.settrace(ran)
    try:
        work(given)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("make, work", [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_twice_as_much_costs_twice_as_much(make, work):
    work(make(4))  # the first run loads modules, too
    short, middle, long = (lines(work, make(count)) for count in (50, 100, 200))
    assert (long - middle) / (middle - short) < 2.5


def test_a_long_turn_of_openai_responses_is_not_copied_for_each_of_its_items():
    form = get_format("openai_responses")
    state = form.START
    for each in numbers(1000):
        state = form.load({"type": "function_call", "call_id": each, "name": "f", "arguments": "{}"}, state).state
        assert len(state.open) <= 50
    assert sum(map(len, (state.open, *state.before))) == 1000
    assert len(state.before) < 10
    assert len(form.close(state)[0].blocks) == 1000


def test_what_stood_between_texts_is_not_searched_for_each(monkeypatch):
    seen = []
    monkeypatch.setattr(writing.chat, "join", lambda _texts, _by_assistant, breaks: seen.append(type(breaks)) or "")
    writing.text_of([Text("a"), calling(), Text("b")])
    assert seen == [set]


@given(st.data())
def test_calls_are_found_alike_however_many_they_are(data):
    """Few open calls are searched one by one, many by their ids and names."""
    ids, names = st.sampled_from(["", "a", "b", "c"]), st.sampled_from([None, "", "f", "g"])
    blocks = st.lists(st.builds(lambda ident, name: calling(ident or "d", name=name), ids, names), max_size=5)
    one_by_one, indexed = State(), State()
    with pytest.MonkeyPatch.context() as patch:
        for _ in range(data.draw(st.integers(1, 12))):
            ident, name = data.draw(ids), data.draw(names)
            step = data.draw(st.sampled_from([
                lambda state: (None, state.after_calls(said, by_assistant=True)),
                lambda state: state.answer(ident, name),
                lambda state: (None, state.without({ident, "d"})),
                lambda state: (state.is_open(0, ident), state.evolve(by_assistant=False)),
                lambda state: (state.is_open(1, name or ""), state),
            ]))  # fmt: skip
            said = data.draw(blocks)
            patch.setattr(calls, "FEW", 1000)
            found, one_by_one = step(one_by_one)
            patch.setattr(calls, "FEW", 1)
            told, indexed = step(indexed)
            assert (told, indexed.orphan) == (found, one_by_one.orphan)
            assert (*(call for run in indexed.before for call in run), *indexed.open) == one_by_one.open


def test_a_log_of_many_sessions_is_not_split_for_each_of_them():
    class Data(bytes):
        splits = 0

        def split(self, *arguments):
            Data.splits += 1
            return super().split(*arguments)

    rows = [log_line(f"{number}", reply="Hi", session_id=f"s{number}") for number in range(50)]
    data = Data(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    found = logs.sessions(Log("", "a.jsonl", "a.jsonl", len(data)), data, Options())
    assert [each.session for each in found] == [f"s{number}" for number in range(50)]
    assert [each.conversation.messages[0]["content"] for each in found] == [f"{number}" for number in range(50)]
    assert Data.splits <= 1
