"""Samples of at most so many tokens that begin after their first exchanges: ``--too-long front``."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert, convert_session
from chatsquash.core.errors import UsageError
from tests.conftest import assistant, cases, examples, user, write_log
from tests.dataset.test_images import PNG, image
from tests.outputs import report
from tests.session.test_lengths import SYSTEM, TOKENIZER, lines
from tests.trees.logs import calling, result

FRONT = {"tokenizer": TOKENIZER, "too_long": "front", "samples": "reply", "anonymize": False}
SHAPES = ("chat", "hf", "openai", "mistral", "text", "sharegpt")


def exchange(messages, finish="stop", at=0, reply=None):
    choice = {"message": reply or messages[-1], "finish_reason": finish}
    request = {"messages": messages if reply else messages[:-1]}
    return {"timestamp": f"2026-01-13T10:{at:02}:00Z", "session_id": "s1", "request": request, "response": {"id": f"r{at}", "choices": [choice]}}  # fmt: skip


def grown(*messages):
    """A log with a request for each message of the assistant."""
    asked = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    return [exchange([*messages[: at + 1]], at=at) for at in asked]


def outcome(log, **options):
    (found,) = convert_session([json.dumps(line) for line in log], Options(**{**FRONT, **options}))
    return found


def values(log, **options):
    return [json.loads(record.line) for record in outcome(log, **options).records]


def said(value):
    """The words of a sample, by message."""
    if "completion" in value:
        messages = [*value["prompt"], *value["completion"]]
    else:
        messages = value["messages"] if "messages" in value else value["conversations"]
    return [message.get("content", message.get("value")) or "call" for message in messages]


def test_exchanges_after_the_system_prompt_are_removed():
    """Of three exchanges, those that fit: the samples of the last one begin at a later prompt."""
    log = lines()
    assert [said(value)[:3] for value in values(log, preset="hf", max_tokens=16)] == [
        ["Be brief.", "one two three", "call"],
        ["Be brief.", "one two three", "call"],
        ["Be brief.", "one two three", "call"],
        ["Be brief.", "six", "seven eight nine ten"],
    ]
    found = outcome(log, preset="hf", max_tokens=8)
    assert [(record.front_truncated, record.tokens) for record in found.records] == [(0, 7), (4, 7), (6, 4)]
    assert [said(json.loads(record.line)) for record in found.records][1:] == [
        ["Be brief.", "six", "seven eight nine ten"],
        ["Be brief.", "eleven", "twelve"],
    ]


def test_the_session_has_a_finding_with_the_number_of_samples():
    found = outcome(lines(), preset="hf", max_tokens=8)
    assert [each.text for each in found.findings if each.code == "front-truncated"] == [
        "2 samples had more than 8 tokens: exchanges removed after the system prompt"
    ]


@pytest.mark.parametrize("preset", SHAPES)
def test_every_preset_keeps_its_shape(preset):
    """The last sample has the system prompt and its last exchange, whatever the form of calls and results."""
    whole = outcome(lines(), preset=preset, max_tokens=10**6).records[-1]
    short = outcome(lines(), preset=preset, max_tokens=whole.tokens - 1).records[-1]
    full, rest = json.loads(whole.line), json.loads(short.line)
    assert said(rest)[-2:] == said(full)[-2:]
    assert rest.get("system") == full.get("system")
    kept = len(said(rest))
    assert said(rest) in ([*said(full)[:1], *said(full)[-kept + 1 :]], said(full)[-kept:])
    assert short.front_truncated == len(said(full)) - kept > 0
    assert rest.get("tools") == full.get("tools")


def test_a_sample_whose_last_exchange_does_not_fit_is_filtered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *lines())
    options = {**FRONT, "max_tokens": 3, "preset": "hf", "trace_replies": True}
    summary = convert("logs", "out", Options(**options))
    assert (summary.written, dict(summary.filtered)) == (0, {"--max-tokens": 1})
    rows = report("replies.jsonl")
    assert [row["why"] for row in rows] == ["filtered"] * 4


def test_the_flags_of_the_rest_are_in_their_place():
    value = values(lines(), preset="hf", sample_shape="messages", max_tokens=12)[-1]
    assert [(each["role"], each.get("training")) for each in value["messages"]] == [
        ("system", None), ("user", None), ("assistant", False), ("user", None), ("assistant", True),
    ]  # fmt: skip


def test_a_call_is_not_divided_from_its_result():
    """A user's message between a call and its result begins no exchange."""
    call = calling("ls", "{}")
    log = [exchange([user("one two three"), call, user("four"), result("five"), user("six"), assistant("seven")])]
    texts = [said(value) for most in range(3, 9) for value in values(log, preset="chat", max_tokens=most)]
    assert {tuple(each) for each in texts if len(each) < 6} == {("six", "seven")}


def test_adjacent_messages_of_the_user_are_one_prompt():
    log = [exchange([user("one two"), assistant("three"), user("four"), user("five"), assistant("six")])]
    (value,) = values(log, preset="hf", max_tokens=4)
    assert said(value) == ["four", "five", "six"]


def test_a_reply_that_is_only_context_is_lost_if_no_sample_has_it(tmp_path, monkeypatch):
    """A truncated reply has no sample of its own; the sample after it begins after it."""
    monkeypatch.chdir(tmp_path)
    first = [user("one two three"), assistant("four five six")]
    log = [exchange(first, finish="length"), exchange([*first, user("seven"), assistant("eight")], at=2)]
    write_log(tmp_path / "logs/a.jsonl", *log)
    convert("logs", "out", Options(**FRONT, max_tokens=4, trace_replies=True))
    assert [(row["status"], row["why"]) for row in report("replies.jsonl")] == [("lost", "cut"), ("carried", None)]


def test_images_of_removed_messages_are_removed():
    one, two = (user([image(data), {"type": "text", "text": "see"}]) for data in (PNG, PNG[:-1] + b"x"))
    log = [exchange([one, assistant("a b c d"), two, assistant("e")])]
    whole = outcome(log, preset="hf", media="keep", max_tokens=99).records[0]
    (record,) = outcome(log, preset="hf", media="keep", max_tokens=whole.tokens - 1).records
    value = json.loads(record.line)
    assert len(whole.images) == 2
    assert value["images"] == json.loads(whole.line)["images"][1:]
    assert list(record.images) == value["images"]


def test_the_column_marks_the_samples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *lines())
    convert("logs", "out", Options(**FRONT, preset="hf", max_tokens=8, metadata=True))
    (path,) = (tmp_path / "out/data").iterdir()
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [row.get("front_truncated") for row in rows] == [None, 4, 6]
    assert "front_truncated" in (tmp_path / "out/README.md").read_text("utf-8")


@cases(
    "options, message",
    ("records of conversations", {"samples": "session"}, "too_long='front' with samples='session': only samples of one reply"),
    ("groups of replies", {"samples": "auto", "template": b"x"}, "too_long='front' with samples='auto': only samples of one reply"),
    ("without a limit", {"max_tokens": None}, "too_long='front' has no effect without max_tokens"),
)  # fmt: skip
def test_front_requires_samples_of_one_reply(options, message):
    with pytest.raises(UsageError, match=message):
        outcome(lines(), **{"max_tokens": 9, **options})


WORDS = st.text("ab ", max_size=6).map(lambda text: text.strip() or "a")
TURNS = st.lists(st.one_of(
    st.tuples(st.just("user"), WORDS),
    st.tuples(st.just("assistant"), WORDS),
    st.tuples(st.just("call"), WORDS),
), min_size=1, max_size=12)  # fmt: skip


def conversation(turns, has_system):
    messages = [SYSTEM] if has_system else []
    for number, (kind, words) in enumerate(turns):
        call = calling("ls", "{}", f"call_{number}")
        messages += [call, result(words, f"call_{number}")] if kind == "call" else [{"role": kind, "content": words}]
    return [*messages, user("last"), assistant("end")]


@given(turns=TURNS, has_system=st.booleans(), most=st.integers(2, 25), preset=st.sampled_from(("chat", "hf")))
@examples(400)
def test_the_rest_is_the_longest_that_fits(turns, has_system, most, preset):
    """The law: the system prompt and a suffix of exchanges within the limit; with one more it would exceed the limit."""
    log = [exchange(conversation(turns, has_system))]
    options = {"preset": preset, "sample_shape": "messages", "integrity_analysis": False}
    found = convert_session([json.dumps(line) for line in log], Options(**FRONT, **options, max_tokens=10**6))[0]
    if not found.records:
        return
    whole = json.loads(found.records[0].line)["messages"]
    lead = int(whole[0]["role"] == "system")
    starts = [
        at for at, message in enumerate(whole)
        if message["role"] == "user" and at >= lead and (at == lead or whole[at - 1]["role"] != "user")
    ]  # fmt: skip
    candidates = [[*whole[:lead], *whole[start:]] for start in [lead, *starts] if start >= lead]
    lengths = [tokens(messages) for messages in candidates]
    (record,) = convert_session([json.dumps(line) for line in log], Options(**FRONT, **options, max_tokens=most))[
        0
    ].records or [None]
    fitting = [messages for messages, length in zip(candidates, lengths, strict=True) if length <= most]
    if not fitting:
        assert record is None
        return
    remaining = json.loads(record.line)["messages"]
    assert remaining == max(fitting, key=len)
    assert record.tokens <= most
    assert record.front_truncated == len(whole) - len(remaining)


def tokens(messages):
    """The words of messages: the tokenizer of these tests makes each word a token."""
    line = json.dumps({"messages": messages}).encode()
    from chatsquash.core import jsonio
    from chatsquash.records.reading import record
    from chatsquash.templates.counting import Counter, Tokenizer

    return Counter(Tokenizer(TOKENIZER), None)(record(jsonio.loads(line)))
