"""Samples for KTO and reinforcement learning: labels with their evidence, and prompts with the outcome."""

import json
from pathlib import Path

import polars as pl
import pytest

from chatsquash import Options, convert, convert_session
from chatsquash.core.errors import UsageError
from chatsquash.results.verify import verify
from chatsquash.session import label_files
from tests.conftest import assistant, cases, user, write_log
from tests.outputs import comparable, findings, manifest, report
from tests.reading.test_scores import helicone
from tests.session.test_preferences import ONE, OTHER, branching
from tests.trees import logs
from tests.trees.logs import AGENT, READ, Log, calling, result

SAMPLES = Path(__file__).parents[2] / "sample_logs"
PLAIN = {"anonymize": False, "workers": 1}
KTO = {"preset": "hf", "format": "jsonl", "samples": "reply", "sample_shape": "kto"}
PROMPTS = {"preset": "hf", "format": "jsonl", "samples": "first", "sample_shape": "prompt"}
LABELLED = label_files.pack(b'{"id": "r0", "label": "bad"}', "labels.jsonl", Options())
DENIAL = "The user doesn't want to proceed with this tool use. The tool use was rejected."
"""As Claude Code writes it into the result of a denied call."""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Convert one log; return the rows, whose summary is in ``manifest``."""
    monkeypatch.chdir(tmp_path)

    def make(lines, **options):
        write_log(tmp_path / "logs/a.jsonl", *lines)
        convert("logs", "out", Options(**PLAIN, **options))
        return rows(Path("out"))

    return make


def rows(folder):
    return [json.loads(line) for path in sorted(folder.glob("data/*.jsonl")) for line in path.read_bytes().splitlines()]


def said(messages):
    (message,) = messages
    return message.get("content") or message["tool_calls"][0]["function"]["name"]


def labels(made_rows):
    return [(said(each["completion"]), each["label"], each["evidence"]) for each in made_rows]


# Labels and their evidence


def commented(*comments, first="It is mended."):
    """A session in which the user comments on each reply, and a last reply without a comment."""
    log = Log()
    history = [AGENT, user("Mend it.")]
    for number, comment in enumerate(comments):
        history += [log.add(*history, says=first if not number else f"Reply {number}."), user(comment)]
    log.add(*history, says="Any time.")
    return log.lines


def denied(answer=DENIAL, after="I will only read."):
    log = Log(tools=[READ])
    call = log.add(AGENT, user("Mend it."), says=calling("read_file", '{"path": "a"}'))
    log.add(AGENT, user("Mend it."), call, result(answer), says=after)
    return log.lines


def recommented(one, two):
    """The user went back to a reply and commented on it again."""
    log = Log()
    reply = log.add(AGENT, user("Mend it."), says="It is mended.")
    log.add(AGENT, user("Mend it."), reply, user(one), says="One.")
    two_reply = log.add(AGENT, user("Mend it."), reply, user(two), says="Two.")
    log.add(AGENT, user("Mend it."), reply, user(two), two_reply, user("Go on with the rest of it."), says="Three.")
    return log.lines


@cases(
    "log, options, expected",
    ("thanks are good", lambda: commented("Thanks, it works now."), {}, [("It is mended.", True, "last_user thanks: thanks")]),
    ("a complaint is bad", lambda: commented("It still fails with the same error."), {}, [("It is mended.", False, "last_user complaint: still fails")]),
    ("a correction is bad", lambda: commented("No, revert that please."), {}, [("It is mended.", False, "last_user correction: no")]),
    ("each comment counts for the reply before it", lambda: commented("No, that is not it.", "Run the tests.", "Perfect, thank you."), {}, [("It is mended.", False, "last_user correction: no"), ("Reply 2.", True, "last_user thanks: perfect")]),
    ("a request is no comment", lambda: commented("Now run the tests of it."), {}, []),
    ("a denied call is bad", denied, {}, [("read_file", False, "denied")]),
    ("a call that failed is not denied", lambda: denied("permission denied: a"), {}, []),
    ("contradictory comments do not count", lambda: recommented("Thanks, perfect.", "No, that is wrong."), {"conversations": "all"}, []),
    ("comments that agree count", lambda: recommented("Thanks, perfect.", "Great, thank you."), {"conversations": "all"}, [("It is mended.", True, "last_user thanks: thanks")]),
    ("of two replies to a request, the log tells which one the user continued", logs.regenerated, {"conversations": "all"}, [("It adds strings.", False, "regenerated"), ("It starts from one instead of zero.", True, "regenerated")]),
    ("only replies of the requested conversations are written", logs.regenerated, {}, [("It starts from one instead of zero.", True, "regenerated")]),
    ("a truncated reply is never written, whatever the user says", lambda: truncated("No, that is wrong."), {}, []),
)  # fmt: skip
def test_a_label_has_its_evidence(made, log, options, expected):
    assert labels(made(log(), **KTO, **options)) == expected


@pytest.mark.parametrize("is_left", [False, True])
def test_labels_of_an_agents_file_come_from_its_paths_and_comments(made, is_left):
    _, line, reply = branching()
    left = [line("3", "2", 2, user("No.")), line("4", "3", 3, reply("I do not know.", "m9"))] if is_left else []
    lines, _, _ = branching(left=left)
    kind = "rewound" if is_left else "regenerated"
    comment = "last_user correction: no"
    expected = [(ONE, True, kind), (OTHER, False, comment if is_left else kind)]
    assert sorted(labels(made(lines, **KTO, conversations="all"))) == sorted(expected)


def test_of_many_paths_of_an_agents_file_the_last_one_is_good(made):
    _, line, reply = branching()
    lines = [line("1", None, 0, user("Why?"))]
    for at in range(40):
        lines += [line(f"a{at}", "1", at, reply(f"Path {at}.", f"m{at}")), line(f"b{at}", f"a{at}", at, user("Go on with it.")), line(f"c{at}", f"b{at}", at, reply("Well.", f"n{at}"))]  # fmt: skip
    found = labels(made(lines, **KTO, conversations="all"))
    assert sorted(found) == sorted((f"Path {at}.", at == 39, "rewound") for at in range(40))


def truncated(comment):
    log = Log()
    reply = log.add(AGENT, user("Mend it."), says="It is men", finish="length")
    log.add(AGENT, user("Mend it."), reply, user(comment), says="I see.")
    return log.lines


def test_an_agents_file_without_a_reply_has_no_row(tmp_path):
    lines = [
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-13T10:00:00Z", "lastUpdated": "2026-01-13T10:00:00Z", "kind": "main"},
        {"id": "m1", "timestamp": "2026-01-13T10:00:01Z", "type": "user", "content": [{"text": "Hi."}]},
    ]  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    (outcome,) = convert_session(path, Options(**KTO, anonymize=False))
    assert (outcome.account.format, [*outcome.records]) == ("gemini_cli", [])


def test_the_user_of_a_sub_agent_is_a_model_whose_comments_do_not_count(made):
    log = Log(tools=[READ, logs.TASK])
    call = log.add(AGENT, user("Mend it."), says=calling("task", '{"prompt": "Find where add() is."}'))
    found = log.add(logs.SCOUT, user("Find where add() is."), says="In sum.py.")
    log.add(logs.SCOUT, user("Find where add() is."), found, user("Thanks, perfect."), says="Done.")
    log.add(AGENT, user("Mend it."), call, result("Done."), says="Mended.")
    assert made(log.lines, **KTO, conversations="all") == []


def test_a_row_is_that_of_trl(made):
    # trl 1.16.0, trainer/kto_trainer.py: prompt and completion are lists of messages, label is a boolean.
    (row,) = made(denied(), **KTO)
    assert list(row) == ["prompt", "completion", "tools", "label", "evidence"]
    assert [each["role"] for each in row["prompt"]] == ["system", "user"]
    assert (row["completion"][0]["role"], row["label"]) == ("assistant", False)


@cases(
    "log, rows, expected",
    ("a label decides before a comment", lambda: commented("Thanks, perfect."), [{"id": "r0", "label": "bad"}], [("It is mended.", False, "--loss-labels")]),
    ("a label decides before a denial", denied, [{"id": "r0", "weight": 1}], [("read_file", True, "--loss-labels")]),
    ("any reply may have a label", logs.grows, [{"id": "r1", "label": "good"}, {"id": "r0", "label": "bad"}], [("The test of sums.", False, "--loss-labels"), ("It is mended.", True, "--loss-labels")]),
    ("not one that broke off", lambda: truncated("Go on."), [{"id": "r0", "label": "bad"}], []),
)  # fmt: skip
def test_labels_of_annotators_decide_first(made, log, rows, expected):
    packed = label_files.pack("\n".join(map(json.dumps, rows)).encode(), "labels.jsonl", Options())
    assert labels(made(log(), **KTO, loss_labels=packed)) == expected


@cases(
    "members, expected",
    ("thumbs down", {"feedback_rating": False}, [("a", False, "score feedback_rating")]),
    ("thumbs up", {"feedback_rating": True}, [("a", True, "score feedback_rating")]),
    ("a number of any scale is no verdict", {"scores": {"tone": {"value": 7, "valueType": "number"}}}, []),
)
def test_a_score_with_a_clear_meaning_decides_before_comments(made, members, expected):
    assert labels(made([helicone("a", **members)], **KTO)) == expected


def test_replies_without_a_verdict_are_counted(made):
    assert len(made(commented("Thanks.", "Run the tests."), **KTO, trace_replies=True)) == 1
    counts = manifest()["counts"]
    assert counts["samples"] == {"desirable": 1, "undesirable": 0}
    assert counts["replies"]["lost"] == {"no-verdict": 2}
    assert [(each["status"], each["why"]) for each in report("replies.jsonl")] == [("carried", None), *[("lost", "no-verdict")] * 2]  # fmt: skip
    assert [each["text"] for each in findings("no-verdict")] == ["2 replies without evidence of a preference: not written"]  # fmt: skip


def test_a_session_without_a_verdict_is_skipped_and_nothing_is_missing(made):
    assert made(logs.grows(), **KTO) == []
    counts = manifest()["counts"]
    assert counts["sessions"]["left_out"] == {"no-verdict": 1}
    assert counts["findings"] == {"info": {"no-verdict": 1}}


def test_equal_replies_with_different_labels_are_both_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *commented("Thanks."))
    write_log(tmp_path / "logs/b.jsonl", *commented("That is wrong."))
    convert("logs", "out", Options(**PLAIN, **KTO))
    assert [each["label"] for each in rows(Path("out"))] == [True, False]


# Prompts


def turns():
    log = Log(tools=[READ])
    call = log.add(AGENT, user("Mend it."), says=calling("read_file", '{"path": "a"}'))
    history = [AGENT, user("Mend it."), call, result("def add(): ...")]
    reply = log.add(*history, says="Mended.")
    log.add(*history, reply, user("Thanks. Run the tests."), says="They pass.", finish="length")
    return log.lines


def test_the_first_prompt_has_the_outcome_of_its_conversation(made):
    (row,) = made(turns(), **PROMPTS)
    assert [each["content"] for each in row["prompt"]] == [AGENT["content"], "Mend it."]
    assert [*row][:2] == ["prompt", "tools"]
    assert (row["last_user"], row["truncated"], row["finish"], row["exit"]) == ("thanks", True, "length", None)


def test_every_turn_of_the_user_is_a_prompt(made):
    found = made(turns(), **{**PROMPTS, "samples": "reply"})
    assert [each["prompt"][-1]["content"] for each in found] == ["Mend it.", "Thanks. Run the tests."]
    assert all(each["prompt"][-1]["role"] == "user" and "completion" not in each for each in found)


def test_the_replies_after_a_prompt_are_counted_and_those_in_it_are_carried(made):
    made(turns(), **{**PROMPTS, "samples": "reply"}, trace_replies=True)
    assert [(each["status"], each["why"], each["loss"]) for each in report("replies.jsonl")] == [
        ("carried", None, 0),
        ("carried", None, 0),
        ("lost", "prompts-only", 0),
    ]
    assert manifest()["counts"]["findings"] == {"warning": {"reply-truncated": 1}}
    made(turns(), **PROMPTS, replace=True)
    assert manifest()["counts"]["replies"]["lost"] == {"prompts-only": 2, "not-first": 1}


def asked_three_times():
    """Two replies that begin turns with a verdict on each, and a last reply without one."""
    return commented("Thanks, it works.", "No, that is wrong.")


FEWER = {
    ("first", "prompt-completion"): ["carried", "not-first", "not-first"],
    ("first", "messages"): ["carried", "not-first", "not-first"],
    ("first", "kto"): ["carried", "not-first", "no-verdict"],
    ("first", "prompt"): ["prompts-only", "not-first", "not-first"],
    ("last", "prompt-completion"): ["carried", "carried", "carried"],
    ("last", "messages"): ["carried", "carried", "carried"],
    ("last", "kto"): ["not-last", "not-last", "no-verdict"],
    ("last", "prompt"): ["carried", "carried", "prompts-only"],
}
"""What becomes of each reply, with --samples and --sample-shape."""


def claude_code():
    _, line, reply = branching()
    texts = ("Thanks, it works.", "No, that is wrong.", "Go on.")
    found = [line("1", None, 0, user("Mend it."))]
    for at in range(3):
        found.append(line(f"a{at}", f"u{at - 1}" if at else "1", 2 * at + 1, reply(f"Reply {at}.", f"m{at}")))
        if at < 2:
            found.append(line(f"u{at}", f"a{at}", 2 * at + 2, user(texts[at])))
    return found


@pytest.mark.parametrize("lines", [asked_three_times, claude_code], ids=["a gateway", "a file of an agent"])
@pytest.mark.parametrize("samples, shape", FEWER, ids=" ".join)
def test_a_reply_without_a_sample_has_the_reason(made, samples, shape, lines):
    """Also the sums of run.json balance, which verify compares with the report."""
    options = {**KTO, "samples": samples, "sample_shape": shape, "trace_replies": True}
    made(lines(), **options)
    assert [each["why"] or each["status"] for each in report("replies.jsonl")] == FEWER[samples, shape]
    assert verify(Path("out")).problems == []
    assert not findings("replies-lost")


def test_a_prompt_uses_no_calls_of_its_reply():
    options = Options(**PLAIN, **{**PROMPTS, "samples": "reply"})
    (outcome,) = convert_session([json.dumps(line) for line in turns()], options)
    assert [(each.usage.calls, each.usage.assistant_turns) for each in outcome.records] == [(0, 0), (1, 1)]


def test_equal_prompts_are_duplicates(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *commented("Thanks."))
    write_log(tmp_path / "logs/b.jsonl", *commented("That is wrong.", first="It is not."))
    summary = convert("logs", "out", Options(**PLAIN, **PROMPTS))
    assert (summary.written, summary.duplicates) == (1, 1)
    assert len(rows(Path("out"))) == 1


def test_a_reply_that_follows_no_message_of_the_user_has_no_prompt(made):
    log = Log()
    log.add(AGENT, says="Hello.")
    assert made(log.lines, **PROMPTS) == []
    assert manifest()["counts"]["sessions"]["left_out"] == {"no-sample": 1}


# All shapes


@pytest.mark.parametrize("packing", ["jsonl", "parquet"])
@pytest.mark.parametrize("options", [KTO, PROMPTS], ids=["kto", "prompt"])
def test_workers_reuse_and_verify_agree(tmp_path, monkeypatch, options, packing):
    monkeypatch.chdir(tmp_path)
    options = {**options, "format": packing, "anonymize": False, "conversations": "all"}
    convert(SAMPLES, "one", Options(**options, workers=1))
    convert(SAMPLES, "two", Options(**options, workers=2))
    assert comparable("one") == comparable("two")
    assert not verify(Path("one")).problems
    again = convert(SAMPLES, "one", Options(**options, workers=1))
    assert (again.unchanged, again.written) == (True, again.written)
    write_log(tmp_path / "more/a.jsonl", *commented("Thanks."))
    for name in ("one", "two"):
        convert([SAMPLES, tmp_path / "more"], name, Options(**options, full=name == "two"))
    assert comparable("one") == comparable("two")


def test_parquet_has_the_types_of_the_columns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *commented("Thanks."))
    convert("logs", "kto", Options(**PLAIN, **{**KTO, "format": "parquet"}, metadata=True))
    convert("logs", "prompts", Options(**PLAIN, **{**PROMPTS, "format": "parquet"}, metadata=True))
    kto, prompts = (pl.read_parquet(f"{name}/data/*.parquet") for name in ("kto", "prompts"))
    assert (kto.schema["label"], kto.schema["evidence"], kto.schema["exit"]) == (pl.Boolean, pl.String, pl.Int64)
    assert kto["label"].to_list() == [True]
    assert (prompts.schema["reward"], prompts["last_user"].to_list()) == (pl.Float64, ["thanks"])
    assert prompts.columns.count("last_user") == 1


@cases(
    "options, message",
    ("labels without samples", {"preset": "hf", "sample_shape": "kto"}, "sample_shape='kto' has no effect without samples; add it, as in samples='reply'"),
    ("prompts without samples", {"preset": "hf", "sample_shape": "prompt"}, "sample_shape='prompt' has no effect without samples; add it, as in samples='reply'"),
    ("labels of several replies", {**KTO, "samples": "auto", "template": b"[{}, {}]"}, "samples='auto' with sample_shape='kto': a label judges one reply; use samples='reply'"),
    ("labels in another preset", {**KTO, "preset": "sharegpt"}, "sample_shape='kto': not supported by preset='sharegpt'; choose one of chat, hf, text"),
    ("prompts in another preset", {**PROMPTS, "preset": "openai"}, "sample_shape='prompt': not supported by preset='openai'; choose one of chat, hf, text"),
    ("labels and flags", {**KTO, "loss": "training"}, "loss='training': the prompt and the completion already determine what is trained on; remove it, or add sample_shape='messages'"),
    ("labels and pairs", {**KTO, "pairs": "logged"}, "pairs='logged' with sample_shape='kto': rows with labels contain the replies of pairs; remove one of them"),
    ("prompts and flags", {**PROMPTS, "loss": "training"}, "loss='training' with sample_shape='prompt': a prompt has no reply to train on; remove one of them"),
    ("prompts and pairs", {**PROMPTS, "pairs": "logged"}, "pairs='logged' with sample_shape='prompt': a prompt has no reply to compare; remove one of them"),
    ("prompts and log probabilities", {**PROMPTS, "keep": "logprobs"}, "keep='logprobs' with sample_shape='prompt': a prompt has no reply with log probabilities; remove one of them"),
    ("prompts that are shortened", {**PROMPTS, "samples": "reply", "tokenizer": b"x", "max_tokens": 9, "too_long": "front"}, "too_long='front' with sample_shape='prompt': prompts above the limit are dropped, because a shorter one is another task; remove it"),
    ("prompts and models", {**PROMPTS, "loss_model": ("m*",)}, "loss_model with sample_shape='prompt': a prompt has no reply to train on; remove one of them"),
    ("prompts and labels", {**PROMPTS, "loss_labels": LABELLED}, "loss_labels with sample_shape='prompt': a prompt has no reply to train on; remove one of them"),
    ("prompts without a folder", {"samples": "reply", "sample_shape": "prompt"}, "sample_shape='prompt' has no effect without format; add it, as in format='jsonl'"),
)  # fmt: skip
def test_contradictions_are_refused_with_the_reason(tmp_path, options, message):
    write_log(tmp_path / "logs/a.jsonl", *logs.grows())
    with pytest.raises(UsageError) as caught:
        convert(tmp_path / "logs", tmp_path / "out", Options(**options))
    assert str(caught.value) == message


def test_hostile_texts_cost_nothing_but_their_label(made):
    comments = ["\ud800", "Thanks" * 100_000, "<a>" * 100_000, ""]
    log = Log()
    history = [AGENT, user("Mend it.")]
    for comment in comments:
        history += [log.add(*history, says="Yes."), user(comment)]
    log.add(*history, says=assistant("Done."))
    made(log.lines, **KTO)
    assert manifest()["counts"]["sessions"]["seen"] == 1
