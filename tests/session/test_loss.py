"""Which messages are trained on: the flags of records, what is counted of them, and who reads them back."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.checks import schemas
from chatsquash.core import chat
from chatsquash.records import presets
from chatsquash.results.check import check
from chatsquash.results.stats import stats
from chatsquash.results.verify import verify
from tests.conftest import assistant, cases, table, user, write_log
from tests.outputs import comparable, findings, manifest, report
from tests.trees import logs
from tests.trees.logs import AGENT, READ, Log, calling, result

SAMPLES = sorted((Path(__file__).parents[2] / "sample_logs").rglob("*.json*"))


def outcome(lines: list[Any], **options: Any) -> Any:
    (found,) = convert_session(
        [json.dumps(line) for line in lines], Options(**{"anonymize": False, "loss": "weight", **options})
    )
    return found


def weights(record: Any) -> str:
    """The flags of a record's assistant messages."""
    said = json.loads(record.line)
    messages = said.get("messages") or said["conversations"]
    return " ".join(
        str(each["weight"])
        for each in messages
        if each.get("role", each.get("from")) not in ("system", "user", "tool", "human", "observation")
    )


# What each message gets


def few_shot() -> list[Any]:
    """The client puts an example of its own before what the user asks."""
    log = Log()
    log.add(AGENT, user("2 + 2"), assistant("4"), user("3 + 3"), says="6")
    return log.lines


def prefilled() -> list[Any]:
    """The client begins the reply, and sends it back as one message."""
    log = Log()
    log.add(AGENT, user("Name a fruit as JSON."), assistant('{"fruit":'), says='"apple"}')
    log.add(
        AGENT, user("Name a fruit as JSON."), assistant('{"fruit":"apple"}'), user("Another."), says='{"fruit":"pear"}'
    )
    return log.lines


def injected() -> list[Any]:
    """The client puts a message of the assistant behind a reply."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(
        AGENT,
        user("Which test fails?"),
        one,
        user("Go on."),
        assistant("I have to be brief."),
        user("Mend it."),
        says="It is mended.",
    )
    return log.lines


def filtered() -> list[Any]:
    """A service stopped a reply for what it says."""
    return limited("content_filter")


def limited(finish: str = "length") -> list[Any]:
    """A reply reached its limit, and the conversation went on."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of", finish=finish)
    log.add(AGENT, user("Which test fails?"), one, user("Go on."), says="sums.")
    return log.lines


ERRORS = (
    "API Error: 529 Overloaded",
    "[API Error: quota exceeded]",
    '{"error": {"message": "Rate limit reached", "type": "tokens"}}',
    "litellm.RateLimitError: too many requests",
    "Error code: 429 - {'error': {'message': 'Too many'}}",
    "503 Service Unavailable",
    "Request timed out.",
)
NO_ERRORS = (
    "API Errors are listed in the manual.",
    '{"error": null, "fruit": "apple"}',
    '{"error": "none was found"}',
    '[{"error": {"message": "x"}}]',
    '{"error": {"message": "x"}',
    "500 tests pass.",
    "The ValueError: it is raised in line 3.",
    "Error: the variable is not defined, so I define it.",
    "Request timed out. I raised the limit, and now it answers.",
)


def failing(text: str) -> list[Any]:
    """A reply that is an error, or not."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says=text)
    log.add(AGENT, user("Which test fails?"), one, user("Go on."), says="The test of sums.")
    return log.lines


def malformed(arguments: str = '{"path": "a.p') -> list[Any]:
    """A call has other arguments than a JSON object, and the conversation continues."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Mend the failing test."))
    one = log.add(*asked, says=calling("read_file", arguments))
    log.add(*asked, one, result("Error: no path"), says="Which test?")
    return log.lines


def corrected(
    first: str = "Error: no such file", second: str = "def add(): ...", other: str = "read_file"
) -> list[Any]:
    """A call fails, and another one after it does what it was to."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Mend the failing test."))
    one = log.add(*asked, says=calling("read_file", '{"path": "a.py"}'))
    two = log.add(*asked, one, result(first), says=calling(other, '{"path": "b.py"}', "call_2"))
    log.add(*asked, one, result(first), two, result(second, "call_2"), says="It is mended.")
    return log.lines


def together() -> list[Any]:
    """The model goes on without being asked."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(AGENT, user("Which test fails?"), one, says="It adds strings.")
    return log.lines


def interrupted() -> list[Any]:
    """The client says something in the model's name, right behind a reply."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    log.add(
        AGENT, user("Which test fails?"), one, assistant("I was interrupted."), user("Mend it."), says="It is mended."
    )
    return log.lines


def divided(finish: str = "stop") -> list[Any]:
    """A reply has a text beside its call."""
    log = Log(tools=[READ])
    asked = (AGENT, user("Mend the failing test."))
    one = log.add(*asked, says=calling("read_file", '{"path": "a.py"}', text="I look."), finish=finish)
    log.add(*asked, one, result("def add(): ..."), says="It is mended.")
    return log.lines


class Row(NamedTuple):
    sentence: str
    log: list[Any]
    options: dict[str, Any]
    weights: list[str]
    flags: list[dict[str, int]]


ALL, RESTORED = {"conversations": "all"}, {"restore": "results"}
SKIP = {"loss_skip_failed": True}
ROWS = [
    Row("whole replies are trained on", logs.grows(), {}, ["1 1"], [{"": 2}]),
    Row("so are those of a session without branches in every shape", logs.grows(), {"preset": "text"}, ["1 1"], [{"": 2}]),
    Row("an example of the client's is not", few_shot(), {}, ["0 1"], [{"": 1, "not-logged": 1}]),
    Row("a beginning of the client's is not, nor what it makes of the two", prefilled(), {}, ["0 1"], [{"": 1, "not-logged": 1}]),
    Row("a message that the client puts in is not", injected(), {}, ["1 0 1"], [{"": 2, "not-logged": 1}]),
    Row("another wording is not", logs.reworded(), {}, ["0 1"], [{"": 1, "rewritten": 1}]),
    Row("but the reply is, in a record of its own", logs.reworded(), ALL, ["1", "0 1"], [{"": 1}, {"": 1, "rewritten": 1}]),
    Row("a reply that reached its limit is not", limited(), {}, ["0 1"], [{"": 1, "truncated": 1}]),
    Row("a reply that broke off is not", logs.broken(), {}, ["1 0"], [{"": 1, "truncated": 1}]),
    Row("a reply that was asked for again is", logs.retried(), {}, ["1 1"], [{"": 2}]),
    Row("a last request without a reply changes nothing", logs.unanswered(), {}, ["1"], [{"": 1}]),
    Row("a reply that a filter stopped is not", filtered(), {}, ["0 1"], [{"": 1, "truncated": 1}]),
    Row("of a reply logged twice one is", logs.twice(), ALL, ["1 1"], [{"": 2}]),
    Row("what several records hold is trained on in the trunk", logs.regenerated(), ALL, ["0 1", "1 1 1"], [{"": 1, "other-record": 1}, {"": 3}]),
    Row("a summary is trained on in its request", logs.compacted(), ALL, ["1 1", "0 0 1", "1"], [{"": 2}, {"": 1, "other-record": 2}, {"": 1}]),
    Row("without side requests their replies are not in any record", logs.compacted(), {**ALL, "side": False}, ["1 1", "1"], [{"": 2}, {"": 1}]),
    Row("a sub-agent's replies are trained on", logs.subagent(), ALL, ["1 1", "1 1"], [{"": 2}, {"": 2}]),
    Row("a reply that did not see what is restored is not", logs.emptied(), RESTORED, ["1 1 0"], [{"": 2, "context-restored": 1}]),
    Row("unless that is asked for", logs.emptied(), {**RESTORED, "restored_loss": 1}, ["1 1 1"], [{"": 3}]),
    Row("nor where nothing is restored", logs.emptied(), {}, ["1 1 1"], [{"": 3}]),
    Row("restored reasoning changes nothing", logs.stripped(), {"restore": "reasoning"}, ["1 1 1"], [{"": 3}]),
    Row("calls that failed are trained on", corrected(), {}, ["1 1 1"], [{"": 3}]),
    Row("unless they were corrected and that is asked for", corrected(), SKIP, ["0 1 1"], [{"": 2, "failed-call": 1}]),
    Row("what was never corrected stays", corrected(second="Error: no such file"), SKIP, ["1 1 1"], [{"": 3}]),
    Row("what another tool does corrects nothing", corrected(other="list_files"), SKIP, ["1 1 1"], [{"": 3}]),
    Row("a call that worked stays", corrected(first="def test(): ..."), SKIP, ["1 1 1"], [{"": 3}]),
    Row("what follows each other stays apart", together(), {}, ["1 1"], [{"": 2}]),
    Row("or is one message, which is trained on if both are", together(), {"merge_consecutive": True}, ["1"], [{"": 1}]),
    Row("also where a preset joins them", together(), {"preset": "mistral"}, ["1"], [{"": 1}]),
    Row("a message of the client's is joined to a reply", interrupted(), {"merge_consecutive": True}, ["0 1"], [{"": 1, "not-logged": 1}]),
    Row("also by a preset", interrupted(), {"preset": "sharegpt"}, ["0 1"], [{"": 1, "not-logged": 1}]),
    Row("all parts of a divided reply are trained on", divided(), {"split_text_and_calls": True}, ["1 1 1"], [{"": 3}]),
    Row("all parts of one that is not are not", divided("length"), {"split_text_and_calls": True}, ["0 0 1"], [{"": 1, "truncated": 2}]),
    Row("a call with malformed arguments is not", malformed(), {"preset": "openai"}, ["0 1"], [{"": 1, "malformed-call": 1}]),
    Row("empty arguments are not malformed", malformed(""), {"preset": "hf"}, ["1 1"], [{"": 2}]),
    *(Row(f"an error is not: {text}", failing(text), {}, ["0 1"], [{"": 1, "error-text": 1}]) for text in ERRORS),
    *(Row(f"this is none: {text}", failing(text), {}, ["1 1"], [{"": 2}]) for text in NO_ERRORS),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.sentence for row in ROWS])
def test_an_assistant_message_is_trained_on_or_not(row):
    records = outcome(row.log, **row.options).records
    assert [weights(record) for record in records] == row.weights
    assert [record.flags for record in records] == row.flags


def test_what_is_trained_on_is_what_the_report_says():
    for row in ROWS:
        found = outcome(row.log, trace_replies=True, **row.options)
        said = Counter((reply.record, reply.message) for reply in found.replies.rows if reply.loss)
        flagged = Counter()
        for number, record in enumerate(found.records):
            written = json.loads(record.line)
            places = [
                at for at, each in enumerate(written.get("messages") or written["conversations"]) if each.get("weight")
            ]
            flagged.update((number, at) for at in places)
        assert said.keys() <= flagged.keys(), row.sentence
        if (
            not {"merge_consecutive", "split_text_and_calls"} & row.options.keys()
            and row.options.get("preset") != "mistral"
        ):
            assert said == flagged, row.sentence


def test_without_the_option_a_record_has_no_flags():
    assert outcome(logs.regenerated(), conversations="all", loss="none", trace_replies=True).records[1].flags == {}
    (record,) = outcome(logs.grows(), loss="none").records
    assert b"weight" not in record.line


@pytest.mark.parametrize("loss, no, yes", [("weight", 0, 1), ("training", False, True), ("loss", False, True)])
@pytest.mark.parametrize("preset", ["chat", "hf"])
def test_a_flag_is_a_member_of_assistant_messages(loss, no, yes, preset):
    (record,) = outcome(few_shot(), loss=loss, preset=preset).records
    flags = [(each["role"], each.get(loss)) for each in json.loads(record.line)["messages"]]
    assert flags[1:] == [("user", None), ("assistant", no), ("user", None), ("assistant", yes)]
    assert [type(flag) for _, flag in flags if flag is not None] == [type(no)] * 2


@pytest.mark.parametrize("preset", ["chat", "hf", "text", "sharegpt"])
def test_trainable_is_a_member_of_every_message_and_true_only_for_what_is_trained_on(preset):
    # tinker-cookbook 0.6.1, renderers/base.py: with TrainOnWhat.CUSTOMIZED each message must have the member.
    (record,) = outcome(few_shot(), loss="trainable", preset=preset).records
    value = json.loads(record.line)
    turns = value.get("messages", value.get("conversations"))
    first = 0 if preset == "sharegpt" else 1  # sharegpt keeps the system prompt elsewhere
    assert [each["trainable"] for each in turns][first:] == [False, False, False, True]
    assert not presets_problem(preset, value)


def presets_problem(preset: str, value: Any) -> str:
    """Why a record does not match the schema of its preset; the specified record has none."""
    schema = getattr(presets.get_preset(preset), "SCHEMA", None)
    return schemas.first_problem(schema, value) if schema else ""


def test_a_flag_takes_the_place_of_a_member_that_was_logged():
    lines = logs.grows()
    lines[1]["request"]["messages"][2]["weight"] = 0.5
    for options in ({}, {"anonymize": True, "anonymize_key": b"k" * 16}):
        (record,) = outcome(lines, **options).records
        assert weights(record) == "1 1"


def test_addresses_are_replaced_beside_flags():
    lines = json.loads(json.dumps(logs.grows()).replace("The test of sums.", "Ask jane@corp.com."))
    (record,) = outcome(lines, anonymize=True, anonymize_key=b"k" * 16).records
    assert b"corp" not in record.line
    assert weights(record) == "1 1"


# Several records of a session


def refused_trunk() -> list[Any]:
    """The trunk ends with a call that no preset can hold, a branch before it does not."""
    lines = logs.regenerated()
    lines[-1]["response"]["choices"][0]["message"] = assistant(None, function_call={"name": "f", "arguments": "{}"})
    return lines


def test_a_reply_of_a_conversation_that_is_refused_is_trained_on_in_another():
    found = outcome(refused_trunk(), preset="hf", conversations="all", trace_replies=True)
    assert [weights(record) for record in found.records] == ["1 1"]
    assert [(each.record, each.message, each.loss) for each in found.replies.rows] == [
        (0, 2, 1), (0, 4, 1), (None, None, 0), (None, None, 0),
    ]  # fmt: skip


def test_a_reply_of_a_conversation_that_is_filtered_is_trained_on_in_another():
    longest = max(len(record.line) for record in outcome(logs.regenerated(), conversations="all").records)
    found = outcome(logs.regenerated(), conversations="all", max_chars=longest - 1, trace_replies=True)
    assert [weights(record) for record in found.records] == ["1 1"]
    assert [(each.why, each.record, each.message, each.loss) for each in found.replies.rows] == [
        (None, 0, 2, 1), (None, 0, 4, 1), ("filtered", None, None, 0), ("filtered", None, None, 0),
    ]  # fmt: skip


def limited_twice() -> list[Any]:
    """A branch and the trunk go on from a reply that reached its limit."""
    log = Log()
    one = log.add(AGENT, user("Which test fails?"), says="The test of", finish="length")
    log.add(AGENT, user("Which test fails?"), one, user("Go on."), says="sums.")
    two = log.add(AGENT, user("Which test fails?"), one, user("And?"), says="It adds strings.")
    log.add(AGENT, user("Which test fails?"), one, user("And?"), two, user("Mend it."), says="It is mended.")
    return log.lines


def test_a_reply_that_is_trained_on_nowhere_is_in_the_first_record_that_holds_it():
    found = outcome(limited_twice(), conversations="all", trace_replies=True)
    assert [weights(record) for record in found.records] == ["0 1", "0 1 1"]
    assert [(each.record, each.message, each.loss) for each in found.replies.rows] == [
        (0, 2, 0),
        (0, 4, 1),
        (1, 4, 1),
        (1, 6, 1),
    ]


def cut_trunk() -> list[Any]:
    """In the trunk a call has no result, in a branch it has one."""
    log = Log(tools=[READ])
    one = log.add(AGENT, user("Which test fails?"), says="The test of sums.")
    asked = (AGENT, user("Which test fails?"), one, user("Why?"))
    two = log.add(*asked, says=calling("read_file", '{"path": "a.py"}'))
    log.add(*asked, two, result("def add(): ..."), says="It adds strings.")
    three = log.add(*asked, two, user("Never mind."), says="As you like.")
    log.add(*asked, two, user("Never mind."), three, user("Remove it."), says="The test is gone.")
    return log.lines


def test_a_reply_that_is_cut_out_of_its_own_record_is_trained_on_in_another():
    found = outcome(cut_trunk(), preset="hf", unpaired="cut", conversations="all", trace_replies=True)
    assert [weights(record) for record in found.records] == ["0 1 1", "1"]
    assert [(each.status, each.why, each.record, each.message, each.loss) for each in found.replies.rows] == [
        ("carried", None, 1, 2, 1), ("carried", None, 0, 4, 1), ("carried", None, 0, 6, 1),
        ("lost", "cut", None, None, 0), ("lost", "cut", None, None, 0),
    ]  # fmt: skip


def test_addresses_of_records_that_are_made_anew_are_counted_once():
    lines = json.loads(json.dumps(refused_trunk()).replace("The test of sums.", "Ask jane@corp.com."))
    options = {"preset": "hf", "conversations": "all", "anonymize": True, "anonymize_key": b"k" * 16}
    assert outcome(lines, **options).privacy.addresses == 1
    assert outcome(lines, loss="none", **options).privacy.addresses == 1


def worded_anew() -> list[Any]:
    """The trunk has the first reply in other words, a branch that ended before has it as it was."""
    log = Log()
    one = log.add(
        AGENT, user("Which test fails?"), says="The test of sums fails.\nIt compares 3 with 4, which is wrong."
    )
    log.add(AGENT, user("Which test fails?"), one, user("Remove it."), says="The test is gone.")
    short = assistant("The test of sums fails.")
    two = log.add(AGENT, user("Which test fails?"), short, user("Mend it."), says="It is mended.")
    log.add(AGENT, user("Which test fails?"), short, user("Mend it."), two, user("Run all."), says="All pass.")
    return log.lines


def test_a_reply_is_trained_on_where_it_stands_in_its_own_words():
    found = outcome(worded_anew(), conversations="all", trace_replies=True)
    assert [weights(record) for record in found.records] == ["1 1", "0 1 1"]
    assert [(each.status, each.record, each.loss) for each in found.replies.rows] == [
        ("carried", 0, 1), ("carried", 0, 1), ("carried", 1, 1), ("carried", 1, 1),
    ]  # fmt: skip


# A run


@pytest.fixture
def here(here):
    for name in ("grows", "regenerated", "compacted", "reworded", "emptied", "broken"):
        lines = [{**line, "session_id": name} for line in getattr(logs, name)()]
        write_log(here / "logs" / f"{name}.jsonl", *lines)
    return here


def given(**options: Any) -> Options:
    return Options(**{"anonymize": False, "loss": "weight", "conversations": "all", "restore": "all", **options})


def test_the_summary_and_the_card_count_what_is_trained_on(here):
    summary = convert("logs", "out", given(preset="hf"))
    counted = {"trained": 15, "not_trained": {"context-restored": 1, "other-record": 3, "rewritten": 1, "truncated": 1}}
    assert manifest()["counts"]["loss"] == counted
    line = "21 of the assistant: 15 trained on, 1 context-restored, 3 other-record, 1 rewritten, 1 truncated"
    assert table(summary)["messages"] == line
    card = Path("out/README.md").read_text("utf-8")
    assert (
        "- assistant messages: 15 trained on + 6 not (context-restored: 1, other-record: 3, rewritten: 1, truncated: 1), as marked by `weight`"
        in card
    )
    assert verify(Path("out")).problems == []


def test_the_summary_says_if_nothing_is_trained_on(here):
    """As after a typing error in the name of a model."""
    summary = convert("logs", "out", given(preset="hf", loss_model=("examle*",)))
    assert table(summary)["messages"].startswith("21 of the assistant: none trained on, ")


def test_without_the_option_nothing_is_counted(here):
    summary = convert("logs", "out", given(preset="hf", loss="none"))
    assert manifest()["counts"]["loss"] == {}
    assert "messages" not in table(summary)
    assert "- assistant messages: " not in Path("out/README.md").read_text("utf-8")


@cases(
    "preset, loss, named",
    ("chat", "weight", None),
    ("hf", "weight", "TRL, axolotl, Unsloth, ms-swift, Oumi and Megatron-Bridge do"),
    ("hf", "training", "TRL, Unsloth, ms-swift, Oumi and Megatron-Bridge do"),
    ("hf", "loss", "TRL, axolotl, Unsloth, Oumi and Megatron-Bridge do"),
    ("openai", "weight", None),
    ("mistral", "weight", None),
    ("sharegpt", "loss", "LLaMA-Factory does"),
    ("text", "weight", "verl, torchtune, NeMo Automodel and Unsloth Studio do"),
    ("hf", "none", None),
)
def test_trainers_that_do_not_read_the_flag_are_named_once(here, preset, loss, named):
    convert("logs", "out", given(preset=preset, loss=loss, restore="none"))
    texts = [each["text"].split(" not read")[0] for each in findings("loss-not-read")]
    assert texts == ([named] if named else [])


def test_equal_records_are_written_once_with_the_flags_of_the_first(here):
    """The second session has the words of the first reply from elsewhere."""
    write_log(here / "two" / "a.jsonl", *logs.grows())
    write_log(here / "two" / "b.jsonl", {**logs.grows()[1], "session_id": "s2"})
    summary = convert("two", "out", given(drop_duplicates=True, trace_replies=True))
    (file,) = Path("out").glob("*.jsonl")
    (line,) = file.read_text("utf-8").splitlines()
    assert [each["weight"] for each in json.loads(line)["messages"] if each["role"] == "assistant"] == [1, 1]
    assert summary.counts()["sessions"]["duplicates"] == 1
    assert [(each["session"], each["status"], each["why"], each["loss"]) for each in report("replies.jsonl")] == [
        ("s1", "carried", None, 1), ("s1", "carried", None, 1), ("s2", "lost", "duplicate", 0),
    ]  # fmt: skip
    convert("two", "both", given(drop_duplicates=False))
    (file,) = Path("both").glob("*.jsonl")
    assert len(file.read_text("utf-8").splitlines()) == 2


@pytest.mark.parametrize("preset", presets.names())
@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_who_reads_records_takes_their_flags(here, preset, format):
    options = {"preset": preset, "format": format, "restore": "results"}
    convert("logs", "plain", given(loss="none", **options))
    convert("logs", "out", given(**options))
    assert verify(Path("out")).problems == []
    plain, flagged = ([each._replace(file="") for each in check(folder)] for folder in ("plain", "out"))
    assert plain == flagged
    plain, flagged = (stats([folder]) for folder in ("plain", "out"))
    assert (plain.records, plain.with_calls, plain.with_tools) == (
        flagged.records,
        flagged.with_calls,
        flagged.with_tools,
    )


@pytest.mark.parametrize("loss, dtype", [("weight", pl.Int64), ("training", pl.Boolean)])
def test_columns_of_parquet_hold_the_flag(here, loss, dtype):
    convert("logs", "out", given(preset="text", format="parquet", loss=loss))
    frame = pl.read_parquet("out/data/*.parquet")
    struct = frame.schema["messages"].inner
    assert [(each.name, each.dtype) for each in struct.fields] == [
        ("role", pl.String),
        ("content", pl.String),
        (loss, dtype),
    ]
    flags = Counter(message[loss] for row in frame["messages"].to_list() for message in row)
    assert flags[True] == manifest()["counts"]["loss"]["trained"]
    assert None not in flags
    named = {"weight": "int64", "training": "bool"}[loss]
    assert f"  - name: {loss}\n    dtype: {named}\n" in Path("out/README.md").read_text("utf-8").replace("\n  ", "\n")


def test_workers_and_reruns_give_the_same_bytes(here):
    options = {"preset": "hf", "trace_replies": True}
    convert("logs", "one", given(workers=1, **options))
    convert("logs", "two", given(workers=2, **options))
    assert comparable("one") == comparable("two")
    write_log(here / "logs" / "z.jsonl", *logs.edited())
    assert convert("logs", "one", given(**options)).reused == 6
    convert("logs", "full", given(**options))
    assert comparable("one") == comparable("full")
    assert convert("logs", "one", given(loss_skip_failed=True, **options)).reused == 0


# Files of agents say themselves what a model gave


def test_replies_that_a_file_names_are_trained_on(tmp_path):
    flags: Counter[str] = Counter()
    for path in SAMPLES:
        for each in convert_session(path, Options(anonymize=False, loss="weight")):
            for record in each.records:
                flags.update(record.flags)
                assert sum(record.flags.values()) == sum(
                    m["role"] == "assistant" for m in json.loads(record.line)["messages"]
                )
    assert flags[""] > 100


@cache
def plain(path: Path) -> list[Any]:
    return convert_session(path, Options(anonymize=False, trace_replies=True))


@pytest.mark.parametrize("preset", presets.names())
def test_replies_of_the_sample_logs_stand_where_the_report_says(preset):
    """Their text stands in the message that is named, as it does in the specified record."""
    compared = 0
    changes = {"merge_consecutive": True, "system": "drop"} | (
        {} if preset in ("mistral", "sharegpt") else {"split_text_and_calls": True}
    )
    media = {} if preset == "chat" else {"media": "drop", "unpaired": "close"}
    for path in SAMPLES:
        changed = convert_session(path, Options(anonymize=False, trace_replies=True, preset=preset, **changes, **media))
        for one, other in zip(plain(path), changed, strict=True):
            for before, after in zip(one.replies.rows, other.replies.rows, strict=True):
                if before.message is None or after.message is None or not one.records or not other.records:
                    continue
                record = json.loads(other.records[0].line)
                said = (record.get("messages") or record["conversations"])[after.message]
                text = chat.joined_text(json.loads(one.records[0].line)["messages"][before.message]) or ""
                where = said.get("content") or said.get("value") or ""
                if where or "tool_calls" not in said:
                    assert "".join(text.split()) in "".join(
                        chat.joined_text({"role": "assistant", "content": where}).split()
                    )
                    compared += bool(text)
    assert compared > 20
