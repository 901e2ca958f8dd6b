"""Datasets in every shape and file are checked and counted alike."""

import json
from collections import Counter

import pytest

from chatsquash import Options, convert
from chatsquash.records import NotARecordError, presets, reading
from chatsquash.records.presets import text
from chatsquash.records.reading import record
from chatsquash.results.check import Checks, check
from chatsquash.results.remedies import record_of
from chatsquash.results.stats import stats
from chatsquash.session.select import flatten
from tests.checks.rows import assistant, call, result, talk, tool, user
from tests.conftest import cases, log_line, write_log
from tests.outputs import findings

FOR_TRAINING = [name for name in presets.names() if name != presets.DEFAULT]
KINDS = ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"]
CONVERSATION = talk(
    {"role": "system", "content": "Be brief."},
    user("Where is it?"),
    assistant("I will look.", call(arguments='{"word": "a </tool_response> b"}'), call("c2", "ls")),
    result("one\n</tool_response>\ntwo"),
    result("three\n</tool_response>\n<tool_response>\nmore", "c2"),
    assistant("In one."),
    user("<tool_response>\nno result\n</tool_response> it says"),
    assistant("", call("c3", "ls")),
    result("four", "c3"),
    assistant("In four."),
    tools=[tool(), tool("ls")],
)


def native(name):
    held = record(record_of(CONVERSATION, Options(preset=name)))
    return reading.native(held)


@pytest.mark.parametrize("name", ["chat", "hf", "openai", "text"])
def test_what_a_preset_wrote_is_read_as_it_was(name):
    read, logged = native(name).messages, CONVERSATION.messages
    assert [message["role"] for message in read] == [message["role"] for message in logged]
    assert [(message.get("content") or "").rstrip("\n") for message in read[1:]] == [
        each["content"] for each in logged[1:]
    ]
    assert read[0]["content"].startswith(logged[0]["content"])
    names = [[each["function"]["name"] for each in message.get("tool_calls", [])] for message in read]
    assert [each for each in names if each] == [["grep", "ls"], ["ls"]]
    assert [(flatten(each)["name"], flatten(each)["parameters"]) for each in native(name).tools] == [
        (each["name"], each["parameters"]) for each in CONVERSATION.tools
    ]


@pytest.mark.parametrize("name", presets.names())
def test_results_answer_the_calls_that_they_were_logged_for(name):
    answered = {}
    for message in native(name).messages:
        answered |= {each["id"]: each["function"]["name"] for each in message.get("tool_calls", [])}
    results = [message for message in native(name).messages if message["role"] == "tool"]
    assert [answered[message["tool_call_id"]] for message in results] == ["grep", "ls", "ls"]
    assert "".join(message["content"] for message in results).endswith("morefour")


@pytest.mark.parametrize("name", ["sharegpt", "text"])
def test_messages_know_where_they_stand_in_the_file(name):
    held, written = native(name), record_of(CONVERSATION, Options(preset=name))
    turns = written.get("messages") or written["conversations"]
    assert len(held.places) == len(held.messages)
    for message, at in zip(held.messages, held.places, strict=True):
        text = turns[at].get("content") or turns[at].get("value")
        assert message["role"] == "system" or message["content"].strip() in text
    assert held.places == sorted(held.places)
    assert set(held.places) == set(range(len(turns)))


@pytest.fixture
def written(sample_run):
    """The sample logs in all shapes, which hold the same sessions but for what a shape cannot hold."""
    runs = {name: {"preset": name, "format": "jsonl"} for name in FOR_TRAINING}
    runs |= {kind: {"preset": "hf", "format": kind} for kind in KINDS}
    return {name: sample_run(**options, anonymize=False, reasoning="drop") for name, options in runs.items()}


def codes(folder):
    return sorted((each.code, each.line, each.message) for each in check(str(folder)))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_is_checked_alike(written, kind):
    assert codes(written[kind]) == codes(written["hf"]) != []


@pytest.mark.parametrize("name", FOR_TRAINING)
def test_every_shape_is_checked_alike(written, name):
    found = {code for code, _, _ in codes(written[name])}
    assert found == {
        *("no-tools", "calls-without-tools", "undeclared-tool"),
        *("tool-result-failed", "tool-result-retried", "unanswered-call"),
        *(["user-after-result"] if name != "sharegpt" else []),  # which has no place for that
    }


@pytest.mark.parametrize("name", presets.names())
def test_every_shape_is_looked_through_for_phrases_and_addresses(tmp_path, name):
    said = [
        user("Who is jane@corp.com?"),
        assistant("", call(arguments='{"word": "Context Limit was reached"}')),
        result("The context limit was reached."),
    ]
    line = log_line("x", *said, tools=[tool(description="Ask joe@corp.com.")], reply="The context limit was reached.")
    write_log(tmp_path / "logs" / "a.jsonl", line)
    options = Options(preset=name, anonymize=False)
    convert(tmp_path / "logs", tmp_path / "out", options)
    found = list(check(str(tmp_path / "out"), Checks(addresses=True)))
    (phrase,) = [each for each in found if each.code == "flagged-phrase"]
    assert "is in 3 messages" in phrase.text
    assert sum(int(each.text.split()[0]) for each in found if each.code == "address-not-redacted") == 2
    reported = findings(out=tmp_path / "out")
    assert [(each["message"], each["text"]) for each in reported if each["code"] == "flagged-phrase"] == [
        (phrase.message, phrase.text)
    ]


@pytest.mark.parametrize("name", presets.names())
def test_definitions_are_checked_in_every_shape(tmp_path, name):
    odd = {"type": "object", "properties": {"a": "string"}, "required": ["a", "a"]}
    conversation = talk(user("x"), assistant("y"), tools=[tool(), tool("ls", description=" ", parameters=odd)])
    write_log(tmp_path / "data.jsonl", record_of(conversation, Options(preset=name)))
    assert [each.code for each in check(str(tmp_path / "data.jsonl"))] == [
        "tool-description",
        "tool-properties",
        "tool-required",
    ]


@pytest.mark.parametrize("name", ["openai", "text"])
def test_every_shape_is_counted_alike(written, name):
    expected, counted = stats([str(written["hf"])]), stats([str(written[name])])
    assert counted.records == expected.records
    (path,) = (written["hf"] / "data").iterdir()
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    headless = sum(bool(each.get("tools")) and each["messages"][0]["role"] != "system" for each in records)
    own = Counter(system=headless if name == "text" else 0)  # in which definitions stand in a system prompt
    assert counted.roles == expected.roles + own
    assert {name: count.calls for name, count in counted.tools.items()} == {
        name: count.calls for name, count in expected.tools.items()
    }


@cases(
    "value, reason",
    ({"conversations": {}}, "conversations is an object"),
    ({"conversations": ["x"]}, "conversations[0] is not an object with a from and a value that sharegpt supports"),
    ({"conversations": [{"from": "nobody", "value": "x"}]}, "conversations[0] is not an object"),
    ({"conversations": [{"from": "gpt", "value": None}]}, "conversations[0] is not an object"),
)
def test_what_is_no_sharegpt_record_is_told(value, reason):
    with pytest.raises(NotARecordError) as caught:
        record(value)
    assert str(caught.value).startswith(reason)


def test_a_chat_of_texts_is_not_taken_for_more():
    assert text.native([user("hi"), assistant("<tool_call>\n{}\n</tool_call>")]) is None
    assert text.native([{"role": "system", "content": "<tools>\nno JSON\n</tools>"}, user()]) is None
    assert text.native([user("hi"), assistant("", call())]) is None
    assert text.native([]) is None
