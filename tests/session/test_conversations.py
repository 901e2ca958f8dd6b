"""The conversations of a session as records: which are written, what is found, and what a run makes of several."""

import gzip
import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tokenizers import Tokenizer, models

from chatsquash import Options, convert, convert_session
from chatsquash.checks import rules
from chatsquash.results.verify import verify
from tests.conftest import assistant, cases, user, write_log
from tests.outputs import comparable, findings, manifest, report
from tests.trees import logs

PLAIN = Options(anonymize=False)


def given(**options: Any) -> Options:
    return Options(anonymize=False, **options)


def outcome(lines: list[Any], options: Options = PLAIN):
    (found,) = convert_session([json.dumps(line) for line in lines], options)
    return found


# Findings

TURNS = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ m.tool_calls }}</s>\n{% endfor %}"
PLAIN_TEMPLATE = f"{TURNS}{{% if add_generation_prompt %}}<assistant>{{% endif %}}"
OTHER_PROMPT = f"{TURNS}{{% if add_generation_prompt %}}<assistant><think>{{% endif %}}"
ONE_CALL = "{% for m in messages if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one call at a time') }}{% endfor %}x"
REPLY = given(samples="reply")


def auto(template: str) -> Options:
    return given(samples="auto", template=json.dumps([{"default": template}, {}]).encode())


def cut_off() -> list[Any]:
    """The only reply reached its limit."""
    log = logs.Log()
    log.add(user("Which test fails?"), says="The test", finish="length")
    return log.lines


def with_ids(*, text: str = "", breaks: bool = False) -> list[Any]:
    """Two replies with token ids; ``breaks``: the second prompt does not continue the first reply."""
    log = logs.Log()
    question = user(f"Which test fails? {text}")
    one = log.add(question, says="test_sum.")
    log.add(question, one, user("Fix it."), says="Done.")
    first, second = (line["response"] for line in log.lines)
    first["prompt_token_ids"], first["choices"][0]["token_ids"] = [1, 2], [3, 4]
    second["prompt_token_ids"], second["choices"][0]["token_ids"] = [1, 2, 3, 9 if breaks else 4, 5], [6, 7]
    return log.lines


TOKENS = given(samples="tokens", preset="hf")
ANONYMIZED = Options(samples="tokens", preset="hf", anonymize_key=b"k" * 16)


def calling_twice() -> list[Any]:
    """A reply with two calls."""
    log = logs.Log(tools=[logs.READ])
    two = [logs.calling("read_file", "{}", f"call_{number}")["tool_calls"][0] for number in (1, 2)]
    log.add(user("Which test fails?"), says=assistant(None, tool_calls=two))
    return log.lines


def switched(first: str, second: str | None) -> list[Any]:
    """The second of three replies is from another model, or from one that the log does not name."""
    log = logs.Log()
    one = log.add(user("Which test fails?"), says="The test of sums.", model=first)
    two = log.add(user("Which test fails?"), one, user("Mend it."), says="It is mended.", model=second)
    log.add(user("Which test fails?"), one, user("Mend it."), two, user("Thanks."), says="Sure.", model=first)
    return log.lines


def other_scout() -> list[Any]:
    """A sub-agent runs on another model than the agent."""
    lines = logs.subagent()
    for line in lines:
        if line["request"]["messages"][0] == logs.SCOUT:
            line["request"]["model"] = "small"
    assert {line["request"]["model"] for line in lines} == {"gpt-4.1", "small"}
    return lines


def fitting(most: int) -> Options:
    """With a tokenizer of which each text is one token."""
    tokenizer = Tokenizer(models.WordLevel({"x": 0}, unk_token="x")).to_str().encode()
    return given(tokenizer=tokenizer, max_tokens=most, too_long="cut", system="drop")


def front(most: int) -> Options:
    """The same for samples, which lose their first exchanges."""
    return replace(fitting(most), too_long="front", samples="reply")


def twice_said() -> list[Any]:
    """A client that goes on after a reply without anything that a user says."""
    log = logs.Log()
    log.add(user("Which test fails?"), says=assistant("The test of"))
    log.add(user("Which test fails?"), assistant("The test of"), says=assistant("sums."))
    return log.lines


def withheld() -> list[Any]:
    """A reply whose reasoning is encrypted."""
    log = logs.Log()
    details = [{"type": "reasoning.encrypted", "data": "abc"}]
    log.add(user("Which test fails?"), says=assistant("The test of sums.", reasoning_details=details))
    return log.lines


def thought() -> list[Any]:
    """A reply whose reasoning is logged, which is the last one."""
    return logs.stripped()[-1:]


def refused() -> list[Any]:
    """A session whose clock goes back, and whose replies are not in one conversation."""
    return logs.lone()[::-1]


class Row(NamedTuple):
    code: str
    log: Any
    expected: str | None
    """What the finding says; ``None`` where nothing is found."""
    line: int | None = None
    options: Options = PLAIN


MAIN, ALL = given(conversations="main"), given(conversations="all")
ROWS = [
    Row("replies-repeated", logs.regenerated, "1 reply in more than one record would be trained on several times: --loss flags each only once", 4, ALL),
    Row("replies-repeated", logs.regenerated, None, None, given(conversations="all", loss="weight")),
    Row("replies-lost", logs.grows, None),
    Row("replies-lost", logs.clock, None),
    Row("replies-lost", logs.reworded, None),
    Row("replies-lost", logs.regenerated, "3 of 4 logged replies are in the records; 1 is not: 1 on another branch (--conversations all keeps 1)", 4),
    Row("replies-lost", logs.regenerated, "3 of 4 logged replies are in the records; 1 is not: 1 on another branch (--conversations all keeps 1)", 4, MAIN),
    Row("replies-lost", logs.regenerated, None, None, ALL),
    Row("replies-lost", logs.retried, "2 of 3 logged replies are in the records; 1 is not: 1 retried", 3),
    Row("replies-lost", logs.same_words, "2 of 3 logged replies are in the records; 1 is not: 1 duplicate", 3, ALL),
    Row("replies-lost", logs.subagent, "2 of 4 logged replies are in the records; 2 are not: 2 of sub-agents (--conversations all keeps 2)", 4),
    Row("replies-lost", logs.title_last, "1 of 2 logged replies are in the records; 1 is not: 1 of another conversation (--conversations all keeps 1)", 2),
    Row("replies-lost", logs.title_last, "1 of 2 logged replies are in the records; 1 is not: 1 side request (--conversations all keeps 1)", 2, MAIN),
    Row("replies-lost", refused, None),
    Row("unrelated-conversations", logs.nameless(logs.by_turns), "3 conversations without a session_id that do not build on each other; the record has 2 of 6 replies: --complete keeps all of them"),
    Row("unrelated-conversations", logs.nameless(logs.by_turns), "3 conversations without a session_id that do not build on each other; the record has 2 of 6 replies: --complete keeps all of them", None, given(sessions_by="file")),
    Row("unrelated-conversations", logs.by_turns, None),
    Row("unrelated-conversations", logs.nameless(logs.by_turns), None, None, MAIN),
    Row("unrelated-conversations", lambda: logs.nameless(logs.by_turns)()[::3], None),
    *(Row("unrelated-conversations", logs.nameless(log), None) for log in (
        logs.grows, logs.regenerated, logs.edited, logs.rewound, logs.compacted, logs.compacted_twice, logs.with_titles,
        logs.subagent, logs.wrapped_subagent, logs.retried, logs.same_words, logs.windows,
    )),
    Row("reasoning-lost", logs.grows, None),
    Row("reasoning-lost", thought, None),
    Row("reasoning-lost", withheld, None),
    Row("reasoning-lost", logs.stripped, "3 of 3 replies had reasoning, 1 of them in the records; --restore reasoning restores all reasoning in the log", 3),
    Row("reasoning-lost", logs.stripped, "3 of 3 replies had reasoning, 1 of them in the records; --restore reasoning restores all reasoning in the log", 3, ALL),
    Row("reasoning-withheld", logs.grows, None),
    Row("reasoning-withheld", logs.stripped, None),
    Row("reasoning-withheld", withheld, "the reasoning of 1 reply was withheld by the provider", 1),
    Row("reasoning-withheld", withheld, "the reasoning of 1 reply was withheld by the provider", 1, MAIN),
    Row("reasoning-restored", logs.stripped, None),
    Row("reasoning-restored", thought, None, None, given(restore="all")),
    Row("reasoning-restored", logs.stripped, None, None, given(restore="results")),
    Row("reasoning-restored", logs.stripped, "the reasoning of 2 messages was restored from the logged replies", 3, given(restore="reasoning")),
    Row("reasoning-lost", logs.stripped, None, None, given(restore="all")),
    Row("context-restored", logs.emptied, None),
    Row("context-restored", logs.grows, None, None, given(restore="all")),
    Row("context-restored", logs.emptied, None, None, given(restore="reasoning")),
    Row("context-restored", logs.emptied, "restored 1 result that later requests did not contain; 1 reply did not see them", 3, given(restore="results")),
    Row("restore-ambiguous", logs.emptied, None, None, given(restore="results")),
    Row("restore-ambiguous", logs.left_out_between, None),
    Row("restore-ambiguous", logs.left_out_between, "1 message not restored because several logged messages match", 10, given(restore="results")),
    Row("no-sample", logs.grows, None, None, REPLY),
    Row("no-sample", cut_off, "the only logged reply in the requested conversations cannot be trained on", 1, REPLY),
    Row("no-verdict", logs.grows, None, None, REPLY),
    Row("no-verdict", logs.grows, "2 replies without evidence of a preference: not written", None, given(samples="reply", sample_shape="kto", preset="hf")),
    Row("joined-reply", logs.grows, None, None, REPLY),
    Row("joined-reply", twice_said, "the reply shares its message with another reply: remove --merge-consecutive", 2, given(samples="reply", merge_consecutive=True)),
    Row("not-rendered", logs.grows, None, None, auto(PLAIN_TEMPLATE)),
    Row("not-rendered", calling_twice, "the template raises TemplateError: one call at a time", 1, auto(ONE_CALL)),
    Row("context-mismatch", logs.grows, None, None, auto(PLAIN_TEMPLATE)),
    Row("context-mismatch", logs.grows, "the rendering of 2 replies does not begin with the prompt that the template renders for the same request", 1, auto(OTHER_PROMPT)),
    Row("token-break", with_ids, None, None, TOKENS),
    Row("token-break", lambda: with_ids(breaks=True), "1 reply starts a new sample (template): the server rendered earlier messages to other token ids, although the client did not change them", 2, TOKENS),
    Row("token-ids-missing", with_ids, None, None, TOKENS),
    Row("token-ids-missing", logs.grows, "2 replies have no logged token ids of both the prompt and the reply", 2, TOKENS),
    Row("private-tokens", with_ids, None, None, ANONYMIZED),
    Row("private-tokens", lambda: with_ids(text="jane.doe@harbour.org"), "the context of 2 replies contains text that is anonymized, which token ids cannot be: --no-anonymize writes them", 2, ANONYMIZED),
    Row("truncated-to-fit", logs.grows, None, None, fitting(99)),
    Row("truncated-to-fit", logs.grows, "the record had 4 tokens, more than 3: 1 exchange removed from its end", 2, fitting(3)),
    Row("front-truncated", logs.grows, None, None, front(99)),
    Row("front-truncated", logs.grows, "1 sample had more than 3 tokens: exchanges removed after the system prompt", 2, front(3)),
    Row("restore-not-applied", logs.emptied, None, None, REPLY),
    Row("restore-not-applied", logs.emptied, "samples have the context that the client sent, so --restore has no effect", 1, given(samples="reply", restore="all")),
    Row("mixed-models", logs.grows, None),
    Row("mixed-models", lambda: switched("gpt-4.1", "small"), "replies of 2 models are trained on: 2 of 'gpt-4.1', 1 of 'small'; --loss-model GLOB selects models", 3),
    Row("mixed-models", lambda: switched("gpt-4.1", "small"), "replies of 2 models are trained on: 2 of 'gpt-4.1', 1 of 'small'; --loss-model GLOB selects models", 3, given(loss="weight")),
    Row("mixed-models", lambda: switched("gpt-4.1", "small"), "replies of 2 models are trained on: 2 of 'gpt-4.1', 1 of 'small'; --loss-model GLOB selects models", 3, REPLY),
    Row("mixed-models", lambda: switched("gpt-4.1", "small"), None, None, given(samples="last")),
    Row("mixed-models", lambda: switched("gpt-4.1", "small"), None, None, given(only_model=("*",))),
    Row("mixed-models", lambda: switched("gpt-4.1", "small"), None, None, given(loss="weight", loss_model=("*",))),
    Row("mixed-models", lambda: switched("gpt-4.1", "openai/GPT-4.1-2025-04-14"), None),
    Row("mixed-models", lambda: switched("gpt-4.1", "gpt-4.1@20250414-v1:0"), None),
    Row("mixed-models", lambda: switched("gpt-4.1", "gpt-4.1-latest"), None),
    Row("mixed-models", lambda: switched("gpt-4.1", "gpt-4.1-mini"), "replies of 2 models are trained on: 2 of 'gpt-4.1', 1 of 'gpt-4.1-mini'; --loss-model GLOB selects models", 3),
    Row("mixed-models", lambda: switched("gpt-4.1", None), None),
    Row("mixed-models", other_scout, None, None, ALL),
    Row("mixed-models", other_scout, None),
    Row("unknown-model", lambda: switched("gpt-4.1", None), None),
    Row("unknown-model", lambda: switched("gpt-4.1", None), None, None, given(loss="weight")),
    Row("unknown-model", lambda: switched("gpt-4.1", None), "1 reply is not trained on because the log does not contain the model, which --loss-model requires", 3, given(loss="weight", loss_model=("*",))),
    Row("unknown-model", lambda: switched("gpt-4.1", None), "1 reply is not trained on because the log does not contain the model, which --loss-model requires", 3, given(samples="reply", loss_model=("*",))),
    Row("unknown-model", lambda: switched("gpt-4.1", "small"), None, None, given(loss="weight", loss_model=("gpt*",))),
    Row("side-request-selected", logs.regenerated, None),
    Row("side-request-selected", logs.title_last, "the record was made from a side request: --conversations main selects the user's conversation", 2),
    Row("side-request-selected", logs.title_last, None, None, MAIN),
    Row("side-request-selected", logs.title_last, None, None, ALL),
    Row("side-request-selected", lambda: logs.subagent()[:3], "the record was made from a sub-agent's request: --conversations main selects the user's conversation", 3),
    Row("side-request-selected", lambda: logs.subagent()[:3], None, None, MAIN),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[f"{row.code} {number}" for number, row in enumerate(ROWS)])
def test_what_is_found_on_replies(row):
    found = [(each.line, each.text) for each in outcome(row.log(), row.options).findings if each.code == row.code]
    assert found == ([] if row.expected is None else [(row.line, row.expected)])


@pytest.mark.parametrize("code", sorted(code for code, rule in rules().items() if rule.kind == "replies"))
def test_every_finding_on_replies_has_a_passing_and_a_failing_row(code):
    assert {row.expected is None for row in ROWS if row.code == code} == {True, False}


# Which conversations become records


def texts(record: bytes) -> str:
    """What is said in a record behind the system prompt, in short."""
    messages = [each for each in json.loads(record)["messages"] if each["role"] not in ("system", "tool")]
    return " / ".join((each.get("content") or "call")[:12].strip() for each in messages)


BEGUN = "Which test f / The test of"
CHOSEN = [
    (logs.grows, "last main all", [f"{BEGUN} / Mend it. / It is mended"]),
    (logs.regenerated, "last main", [f"{BEGUN} / Why? / It starts fr / Mend it. / It is mended"]),
    (logs.regenerated, "all", [f"{BEGUN} / Why? / It adds stri", f"{BEGUN} / Why? / It starts fr / Mend it. / It is mended"]),
    (logs.rewound, "last main", [f"{BEGUN} / Remove it. / The test is / Now run the / The others p"]),
    (logs.rewound, "all", [f"{BEGUN} / Remove it. / The test is / Now run the / The others p", f"{BEGUN} / Explain the / It adds stri"]),
    (logs.title_last, "last", ["Which test f / A failing te"]),
    (logs.title_last, "main", ["Which test f / The test of"]),
    (logs.title_last, "all", ["Which test f / The test of", "Which test f / A failing te"]),
    (logs.compacted, "main", ["This session / All tests pa"]),
    (logs.compacted, "all", ["Mend the fai / call / add() starts", "Mend the fai / call / add() starts / Write a summ / The user wan", "This session / All tests pa"]),
    (logs.compacted_twice, "main", ["This session / Shall I make"]),
    (logs.subagent, "last main", ["Who calls ad / call / main() calls"]),
    (logs.subagent, "all", ["Find every p / call / Only main()", "Who calls ad / call / main() calls"]),
    (logs.retried, "last main all", [f"{BEGUN} / Mend it. / It is mended"]),
    (logs.lone, "last main", ["How large is / It has 40 fi"]),
    (logs.unanswered, "last", [f"{BEGUN} / Mend it."]),
    (logs.unanswered, "main all", [BEGUN]),
]  # fmt: skip
CHOSEN_EACH = [(log, each, expected) for log, modes, expected in CHOSEN for each in modes.split()]


@pytest.mark.parametrize("log, conversations, expected", CHOSEN_EACH, ids=[f"{row[0].__name__} {row[1]}" for row in CHOSEN_EACH])  # fmt: skip
def test_a_record_holds_one_conversation(log, conversations, expected):
    found = [texts(record.line) for record in outcome(log(), given(conversations=conversations)).records]
    assert [each.replace("The test of sums.", "The test of") for each in found] == expected


def test_results_that_are_put_back_answer_their_calls():
    (record,) = outcome(logs.windows(), given(conversations="all")).records
    messages = json.loads(record.line)["messages"]
    pairs = [
        (one["tool_calls"][0]["id"], two["tool_call_id"]) for one, two in pairwise(messages) if two["role"] == "tool"
    ]
    assert len(pairs) == 4
    assert all(asked == answered for asked, answered in pairs)


@cases(
    "log, options, kinds",
    (logs.compacted, {}, ["main", "side", "compacted"]),
    (logs.compacted, {"side": False}, ["main", "compacted"]),
    (logs.compacted, {"subagents": False}, ["main", "side", "compacted"]),
    (logs.subagent, {}, ["subagent", "main"]),
    (logs.subagent, {"subagents": False}, ["main"]),
    (logs.subagent, {"side": False}, ["subagent", "main"]),
    (logs.regenerated, {"side": False, "subagents": False}, ["branch", "main"]),
)
def test_kinds_that_are_not_wanted_are_left_out_and_counted(log, options, kinds):
    every = outcome(log(), ALL)
    found = outcome(log(), given(conversations="all", **options))
    assert [record.kind for record in found.records] == kinds
    missing = Counter(record.kind for record in every.records) - Counter(kinds)
    assert found.replies.coverage.not_chosen == dict(missing)
    assert found.replies.coverage.conversations == len(every.records)


def test_records_name_their_conversation_and_the_one_that_it_comes_from():
    main, side, compacted = outcome(logs.compacted(), ALL).records
    assert (main.parent, side.parent, compacted.parent) == (None, main.conversation, main.conversation)
    assert len({main.conversation, side.conversation, compacted.conversation}) == 3
    (last,) = outcome(logs.compacted(), MAIN).records
    assert (last.conversation, last.parent, last.line) == (compacted.conversation, main.conversation, compacted.line)


def many(count: int) -> list[Any]:
    """One question with so many answers, each of which went on."""
    log = logs.Log()
    for number in range(count):
        one = log.add(logs.AGENT, user("Name a number."), says=f"The number is {number}.")
        log.add(logs.AGENT, user("Name a number."), one, user("Why?"), says=f"I like {number}.")
    return log.lines


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_conversations_that_are_too_many_to_hold_are_read_again(tmp_path, suffix):
    lines = many(100)
    for number, line in enumerate(lines):
        line["timestamp"] = 1768298400 + number
    path = write_log(tmp_path / "a.jsonl", *lines)
    if suffix:
        path = path.with_suffix(".jsonl.gz")
        path.write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    (found,) = convert_session(path, ALL)
    assert [texts(record.line).split(" / ")[-1] for record in found.records] == [
        f"I like {n}."[:12] for n in range(100)
    ]


# A run


@pytest.fixture
def here(here):
    """The present folder is a new one with a log of each kind of session."""
    for name in ("grows", "regenerated", "compacted", "title_last", "subagent", "retried", "stripped", "cleaned_title"):
        lines = [{**line, "session_id": name} for line in getattr(logs, name)()]
        write_log(here / "logs" / f"{name}.jsonl", *lines)
    return here


def written(out="out") -> list[str]:
    """All records, by the order of the files' names."""
    return [line for path in sorted(Path(out).glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()]


def test_all_conversations_are_written_and_every_sum_holds(here):
    summary = convert("logs", "out", given(conversations="all", trace_replies=True))
    counts = manifest()["counts"]
    assert counts["sessions"] == {"seen": 8, "written": 8, "left_out": {}, "filtered": {}, "duplicates": 0, "joined": 0}
    assert counts["conversations"] == {
        "seen": 14, "written": 13, "not_chosen": {"side": 1}, "left_out": 0, "filtered": 0, "duplicates": 0,
    }  # fmt: skip
    replies = {"logged": 25, "carried": 23, "rewritten": 0, "lost": {"retry": 1, "side-request": 1}}
    assert (counts["replies"], len(written())) == (replies, 13)
    assert counts["reasoning"] == {"logged": 3, "carried": 1, "withheld": 0}
    assert summary.complete
    assert len(report("replies.jsonl")) == 25


def test_every_reply_stands_where_the_report_says(here):
    convert("logs", "out", given(conversations="all", trace_replies=True))
    for reply in report("replies.jsonl"):
        if not reply["record"]:
            continue
        name, row = reply["record"].rsplit(":", 1)
        record = json.loads((Path("out") / name).read_text("utf-8").splitlines()[int(row) - 1])
        line = json.loads(Path(reply["file"]).read_text("utf-8").splitlines()[reply["line"] - 1])
        said = line["response"]["choices"][0]["message"]
        message = record["messages"][reply["message"]]
        assert (message["role"], message.get("content")) == ("assistant", said.get("content")), reply


def test_each_whole_reply_is_to_be_trained_on_in_one_record(here):
    convert("logs", "out", given(conversations="all", trace_replies=True))
    places = Counter((each["record"], each["message"]) for each in report("replies.jsonl") if each["loss"])
    assert set(places.values()) == {1}
    assert places.total() == 23


def test_a_record_has_a_row_in_the_session_table_that_names_its_conversation(here):
    convert("logs", "out", given(conversations="all"))
    rows = [row for row in report("sessions.jsonl") if row["session"] == "compacted"]
    assert [(row["row"], row["kind"], row["turns"]) for row in rows] == [
        (2, "main", 1), (3, "side", 2), (4, "compacted", 1),
    ]  # fmt: skip
    first, *others = rows
    assert [row["parent"] for row in others] == [first["conversation"]] * 2
    assert {json.dumps(row["replies"]) for row in rows} == {'{"logged": 4, "carried": 4, "rewritten": 0, "lost": {}}'}
    assert {row["conversations"] for row in rows} == {3}


def test_the_default_writes_the_specified_record_and_says_nothing_of_conversations(here):
    convert("logs", "out", PLAIN)
    assert len(written()) == 8
    assert {(row["conversation"], row["parent"], row["kind"]) for row in report("sessions.jsonl")} == {
        (None, None, None)
    }
    assert not Path("out/reports/replies.jsonl").exists()


def test_filters_look_at_each_record_and_the_rest_is_written(here):
    summary = convert("logs", "out", given(conversations="all", min_turns=2, trace_replies=True))
    counts = summary.counts()
    assert all(sum(each["role"] == "assistant" for each in json.loads(line)["messages"]) > 1 for line in written())
    assert (counts["conversations"]["filtered"], counts["conversations"]["written"]) == (6, 7)
    assert counts["sessions"]["filtered"] == {"--min-turns": 2}
    assert counts["replies"]["lost"]["filtered"] == sum(each["why"] == "filtered" for each in report("replies.jsonl"))
    assert {each["filtered"] for each in report("sessions.jsonl") if each["file"]} == {None}
    assert verify(Path("out")).problems == []
    assert summary.complete


def test_a_reply_of_a_filtered_record_stands_in_another_one_that_has_it(here):
    """The trunk is filtered, the branch is not, and holds what both begin with."""
    write_log(here / "one" / "a.jsonl", *logs.regenerated())
    longest = max(len(line) for line in outcome_lines(logs.regenerated()))
    convert("one", "out", given(conversations="all", max_chars=longest - 1, trace_replies=True))
    assert [(each["line"], each["status"], each["why"]) for each in report("replies.jsonl")] == [
        (1, "carried", None), (2, "carried", None), (3, "lost", "filtered"), (4, "lost", "filtered"),
    ]  # fmt: skip


def test_of_replies_of_filtered_records_nothing_is_found(here):
    found = outcome(logs.stripped(), given(conversations="all", min_turns=9))
    assert {each.code for each in found.findings}.isdisjoint({"replies-lost", "reasoning-lost"})
    assert found.replies.coverage.lost == {"filtered": 3}
    (text,) = [
        each.text
        for each in outcome(logs.same_words(), given(conversations="all", min_turns=9)).findings
        if each.code == "replies-lost"
    ]
    assert text == "0 of 3 logged replies are in the records; 3 are not: 2 filtered, 1 duplicate"


def outcome_lines(lines: list[Any]) -> list[str]:
    return [record.line.decode() for record in outcome(lines, ALL).records]


def test_equal_records_are_written_once_and_their_replies_are_duplicates(here):
    write_log(here / "two" / "a.jsonl", *logs.regenerated())
    write_log(here / "two" / "b.jsonl", *[{**line, "session_id": "s2"} for line in logs.regenerated()])
    summary = convert("two", "out", given(conversations="all", drop_duplicates=True, trace_replies=True))
    counts = summary.counts()
    assert (counts["sessions"]["written"], counts["sessions"]["duplicates"]) == (1, 1)
    assert (counts["conversations"]["written"], counts["conversations"]["duplicates"]) == (2, 2)
    assert counts["replies"]["lost"] == {"duplicate": 4}
    fates = {(each["session"], each["status"], each["why"]) for each in report("replies.jsonl")}
    assert fates == {("s1", "carried", None), ("s2", "lost", "duplicate")}
    assert verify(Path("out")).problems == []


def test_a_limit_counts_sessions(here):
    summary = convert("logs", "out", given(conversations="all", limit=2))
    assert (summary.sessions, summary.counts()["conversations"]["written"]) == (2, len(written()))
    assert [row["session"] for row in report("sessions.jsonl")] == [
        "cleaned_title",
        "compacted",
        "compacted",
        "compacted",
    ]


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
def test_workers_give_the_same_bytes(here, conversations):
    options = {"conversations": conversations, "trace_replies": True}
    convert("logs", "one", given(workers=1, **options))
    convert("logs", "two", given(workers=2, **options))
    assert comparable("one") == comparable("two")


def test_a_rerun_takes_what_is_still_true_and_gives_the_same_bytes(here):
    options = given(conversations="all", trace_replies=True)
    convert("logs", "out", options)
    assert convert("logs", "out", options).unchanged
    write_log(here / "logs" / "z.jsonl", *logs.edited())
    assert convert("logs", "out", options).reused == 8
    convert("logs", "full", options)
    assert comparable("out") == comparable("full")


@cases("options", {"conversations": "main"}, {"conversations": "last"}, {"conversations": "all", "side": False})
def test_what_another_choice_of_conversations_gave_is_not_taken(here, options):
    convert("logs", "out", ALL)
    assert convert("logs", "out", given(**options)).reused == 0
    convert("logs", "full", given(**options))
    assert comparable("out") == comparable("full")


def test_an_interrupted_run_goes_on_and_gives_the_same_bytes(here):
    seen = []

    def observe(*_):
        seen.append(1)
        if len(seen) == 4:
            raise KeyboardInterrupt

    options = {"conversations": "all", "trace_replies": True}
    with pytest.raises(KeyboardInterrupt):
        convert("logs", "out", given(**options), observe)
    assert convert("logs", "out", given(resume=True, **options)).reused == 4
    convert("logs", "full", given(**options))
    assert comparable("out") == comparable("full")


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
def test_what_was_written_verifies(here, conversations):
    convert("logs", "out", given(conversations=conversations, trace_replies=True))
    assert verify(Path("out"), logs=True).problems == []


def test_replies_that_the_report_does_not_have_are_named(here):
    convert("logs", "out", given(trace_replies=True))
    run = manifest()
    run["counts"]["replies"].update(logged=26, carried=run["counts"]["replies"]["carried"] + 1)
    Path("out/run.json").write_text(json.dumps(run))
    assert verify(Path("out")).problems == ["out/run.json: counts 26 replies, but the reports have 25"]


SPLIT = {"split": "train=0.5,test=0.5", "conversations": "all", "metadata": True, "format": "jsonl"}


@pytest.mark.parametrize("split_by", ["prompt", "session", "scenario", "day"])
def test_all_conversations_of_a_session_are_in_one_split(here, split_by):
    for number in range(20):
        lines = [{**line, "session_id": f"more{number}"} for line in logs.compacted()]
        lines[0]["request"]["messages"][1]["content"] = f"Mend test {number}."
        write_log(here / "logs" / f"more-{number}-x.jsonl", *lines)
    summary = convert("logs", "out", given(split_by=split_by, **SPLIT))
    splits: dict[str, set[str]] = {}
    for path in Path("out/data").iterdir():
        for line in path.read_text("utf-8").splitlines():
            splits.setdefault(json.loads(line)["session_id"], set()).add(path.name.split("-")[0])
    assert {len(each) for each in splits.values()} == {1}
    assert set.union(*splits.values()) == ({"train", "test"} if split_by != "day" else set.union(*splits.values()))
    shares = [each["share"] for each in summary.counts()["splits"].values()]
    assert sum(shares) == pytest.approx(1)


def test_sessions_that_a_person_began_alike_are_in_one_split(here):
    """One of them has a sub-agent, whose conversation ends first."""
    log = logs.Log("s2")
    log.add(logs.AGENT, user("Who calls add()?"), says="Nobody does.")
    write_log(here / "two" / "a.jsonl", *logs.subagent())
    write_log(here / "two" / "b.jsonl", *log.lines)
    for seed in range(8):
        convert("two", "out", given(seed=seed, **SPLIT))
        assert len(list(Path("out/data").iterdir())) == 1


def test_columns_beside_the_record_name_its_conversation(here):
    convert("logs", "out", given(**SPLIT | {"split": None}))
    rows = [json.loads(line) for path in Path("out/data").iterdir() for line in path.read_text("utf-8").splitlines()]
    main, side, compacted = [row for row in rows if row["session_id"] == "compacted"]
    assert [row["kind"] for row in (main, side, compacted)] == ["main", "side", "compacted"]
    assert main["parent"] is None
    assert {side["parent"], compacted["parent"]} == {main["conversation"]}
    convert("logs", "last", given(format="jsonl", metadata=True))
    first = json.loads(next(Path("last/data").iterdir()).read_text("utf-8").splitlines()[0])
    assert not {"conversation", "parent", "kind"} & first.keys()


def test_a_conversation_that_a_preset_refuses_costs_no_other(here):
    """The user showed an image on the branch, which the preset has no place for."""
    lines = logs.edited()
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    lines[1]["request"]["messages"][-1]["content"] = [image]
    write_log(here / "one" / "a.jsonl", *lines)
    summary = convert("one", "out", given(conversations="all", preset="hf", media="refuse", trace_replies=True))
    counts = summary.counts()
    assert counts["sessions"]["written"] == 1
    assert counts["conversations"] == {
        "seen": 2, "written": 1, "not_chosen": {}, "left_out": 1, "filtered": 0, "duplicates": 0,
    }  # fmt: skip
    assert counts["replies"]["lost"] == {"refused": 1}
    assert [each["line"] for each in findings("media-dropped")] == [2]
    assert [(each["kind"], each["why"]) for each in report("replies.jsonl")] == [
        ("main", None), ("branch", "refused"), ("main", None), ("main", None),
    ]  # fmt: skip


def test_a_call_that_stands_in_several_records_counts_once(here):
    write_log(here / "one" / "a.jsonl", *logs.compacted())
    convert("one", "out", ALL)
    assert [(row["tool"], row["calls"]) for row in report("tools.csv")] == [("read_file", "1")]


@cases(
    "log, options",
    ("a request without a reply", lambda: logs.unanswered()[-1:], {"conversations": "main"}),
    ("a side request alone", lambda: logs.probe(), {"conversations": "main"}),
    ("a side request alone, and these are not wanted", lambda: logs.probe(), {"conversations": "all", "side": False}),
)
def test_a_session_without_a_conversation_that_was_asked_for_is_complete(here, log, options):
    write_log(here / "one" / "a.jsonl", *log())
    summary = convert("one", "out", given(**options))
    assert "" not in summary.left_out
    assert summary.complete
