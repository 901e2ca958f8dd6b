"""Marks of assistant messages: wherever a reply goes on its way to a record, its mark says where it stands."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import jsonschema_rs
import pytest

from chatsquash import Options
from chatsquash.core.marks import FLAGS
from chatsquash.core.model import Mark
from chatsquash.core.outcome import Record
from chatsquash.dataset.option_rules import matching_pairs
from chatsquash.records import presets
from chatsquash.session.plan import plan
from chatsquash.session.select import select
from tests.checks.rows import assistant, call, result, user
from tests.modifiers import combinations
from tests.session.streams import entry, stream

COMBINATIONS = combinations(unpaired=("cut", "close"))
ROUNDS = [2, pytest.param(4, marks=pytest.mark.long)]
"""Conversations that are tried with each combination; more in the long tests."""


VALIDATORS = {name: jsonschema_rs.validator_for(presets.get_preset(name).SCHEMA) for name in presets.names()}


def talked(rng: Random) -> list[dict[str, Any]]:
    """A conversation in which the number of each assistant message stands in all that it says."""
    messages: list[dict[str, Any]] = [user("Begin.")]
    for number in range(rng.randint(3, 9)):
        said, thought = f"<{number}> I say.", f"<{number}> I think."
        calls = [
            call(f"c{number}-{each}", arguments=json.dumps({"q": f"<{number}>"})) for each in range(rng.randint(0, 2))
        ]
        kind = rng.choice(("text", "both", "calls", "thought", "alone"))
        fields = {"reasoning_content": thought} if kind in ("thought", "alone") else {}
        if kind in ("calls", "alone"):
            said = ""
        if kind in ("text", "alone") or (not calls and not said):
            calls, said = [], said if fields else f"<{number}> I say."
        messages.append(
            assistant(said, *calls, **fields) if calls else {"role": "assistant", "content": said, **fields}
        )
        answered = calls[: rng.choice((len(calls), len(calls), 0))]
        messages += [result("done", each["id"]) for each in answered]
        messages += rng.choice(([], [user("Go on.")], [user("Go on."), {"role": "system", "content": "Be brief."}]))
    return [*messages, user("The last."), assistant("<99> I end.")]


def numbers(message: dict[str, Any]) -> set[str]:
    """The numbers of the messages that a record's message is made of."""
    text = json.dumps(message)
    return {each for each in [*map(str, range(10)), "99"] if f"<{each}>" in text}


def finished(messages: list[dict[str, Any]], **options: Any) -> tuple[Record | None, list[str]]:
    """The record, if the preset can hold it, and the number of each assistant message that it was made of."""
    snapshot = select(stream(entry(*messages[:-1], reply=messages[-1]))).snapshot
    assert snapshot
    spoken = [each for each in messages if each["role"] == "assistant"]
    marks = [Mark((at,), "" if at % 3 else "not-logged") for at in range(len(spoken))]
    steps = plan(Options(anonymize=False, integrity_analysis=False, **options), None)
    made, _ = steps.make_record(snapshot, has_private=False, source="openai_chat", marks=marks)
    return made if isinstance(made, Record) else None, [numbers(each).copy().pop() for each in spoken]


def effective(name: str, options: dict[str, Any]) -> dict[str, Any]:
    idle = {pair.idle for pair in matching_pairs(Options(preset=name, **options))}
    return {each: value for each, value in options.items() if each not in idle}


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("name", presets.names())
def test_a_mark_says_where_its_reply_stands_whatever_is_done_to_it(name, rounds):
    rng = Random(name)
    held = 0
    for combination in COMBINATIONS:
        options = effective(name, combination)
        for _ in range(rounds):
            record, numbered = finished(talked(rng), preset=name, **options)
            if record is None:
                continue
            held += 1
            written = json.loads(record.line)
            said = written.get("messages") or written["conversations"]
            assistants = [
                at
                for at, each in enumerate(said)
                if each.get("role", each.get("from")) in ("assistant", "gpt", "function_call")
            ]
            assert [mark.place for mark in record.marks] == assistants
            for mark in record.marks:
                found = numbers(said[mark.place])
                assert found <= {numbered[at] for at in mark.at}, (options, mark, said)
                assert mark.why == ("" if all(at % 3 for at in mark.at) else "not-logged")
                if options.get("loss", "none") != "none":
                    assert said[mark.place]["weight"] == int(not mark.why)
    assert held > len(COMBINATIONS)


@pytest.mark.parametrize("name", presets.names())
@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_changes_nothing_else(name, flag):
    if name in ("openai", "mistral") and flag != "weight":
        return
    for seed in range(20):
        messages = talked(Random(seed))
        options = effective(name, {"unpaired": "close", "merge_consecutive": seed % 2 == 0})
        plain, _ = finished(messages, preset=name, **options)
        flagged, _ = finished(messages, preset=name, loss=flag, **options)
        assert (plain is None) == (flagged is None)
        if plain is None or flagged is None:
            continue
        record = json.loads(flagged.line)
        assert VALIDATORS[name].is_valid(record)
        for message in record.get("messages") or record["conversations"]:
            message.pop(flag, None)
        assert record == json.loads(plain.line)
        assert (plain.unflagged, flagged.marks) == (b"", plain.marks)


CLOSED = ("openai", "mistral")
ODD = [("weight", 2), ("weight", True), ("training", 1), ("loss", 0)]


@pytest.mark.parametrize("name", [name for name in presets.names() if name != "chat"])
@pytest.mark.parametrize("flag, value", [*ODD, *((flag, yes) for flag, (_, yes) in FLAGS.items())])
def test_a_schema_holds_flags_and_what_else_they_say_is_refused(name, flag, value):
    record, _ = finished([user(), assistant("<1>")], preset=name)
    assert record
    said = json.loads(record.line)
    (said.get("messages") or said["conversations"])[-1][flag] = value
    is_right = type(value) is type(FLAGS[flag][0]) and value in FLAGS[flag]
    assert VALIDATORS[name].is_valid(said) == (is_right and (name not in CLOSED or flag == "weight"))


def test_equal_records_with_other_flags_are_known_as_equal():
    messages = [user(), assistant(), user("and"), assistant("yes")]
    snapshot = select(stream(entry(*messages[:-1], reply=messages[-1]))).snapshot
    for name in ("chat", "hf"):
        steps = plan(Options(anonymize=False, loss="weight", preset=name), None)
        one, other = (
            steps.make_record(snapshot, has_private=False, source="openai_chat", marks=[Mark((0,), why), Mark((1,))])[0]
            for why in ("", "rewritten")
        )
        assert one.line != other.line
        assert one.unflagged == other.unflagged != b""
