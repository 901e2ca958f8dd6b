"""Replies as samples: each is trained on once, behind what its own logged request renders to."""

import json
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatsquash import Options, convert, convert_session
from chatsquash.results.verify import verify
from chatsquash.templates.render import Renderer
from chatsquash.templates.source import TemplateSource
from tests.conftest import assistant, cases, table, user, write_log
from tests.outputs import manifest, report
from tests.simulator.play import PARTIAL, play
from tests.templates.inference import TEMPLATES
from tests.trees import logs

SAMPLES = Path(__file__).parents[2] / "sample_logs"
PLAIN = {"anonymize": False, "workers": 1}


def packed(name: str) -> bytes:
    return json.dumps([{"default": TEMPLATES[name]}, {}]).encode()


def read_lines(path: Path) -> list:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def records(lines, **options):
    (outcome,) = convert_session([json.dumps(line) for line in lines], Options(**PLAIN, **options))
    return [json.loads(each.line) for each in outcome.records]


def said(messages):
    return " / ".join((each.get("content") or "call")[:12].strip() for each in messages if each["role"] != "system")


# Which samples, of which shape

GROWN = ["Which test f | The test of", "Which test f / The test of / Mend it. | It is mended"]


@cases(
    "log, options, expected",
    ("each reply behind its own request", logs.grows, {}, GROWN),
    ("of the conversation that the record is made of", logs.edited, {}, 3),
    ("of all conversations, each reply once", logs.edited, {"conversations": "all"}, 4),
    ("a reply that was sampled again has its own", logs.regenerated, {"conversations": "all"}, 4),
    ("what was emptied is empty behind that", logs.emptied, {}, 3),
    ("what broke off is none", logs.broken, {}, 1),
)
def test_a_sample_is_a_reply_behind_its_own_request(log, options, expected):
    made = records(log(), samples="reply", preset="hf", **options)
    told = [f"{said(each['prompt'])} | {said(each['completion'])}" for each in made]
    assert (told if isinstance(expected, list) else len(told)) == expected
    assert all(len(each["completion"]) == 1 for each in made)


@cases(
    "log, options, expected",
    ("of one conversation there is one", logs.grows, {}, GROWN[1:]),
    ("a conversation from which another one goes on has its own", logs.edited, {"conversations": "all"}, 2),
    ("a reply that was sampled again is that of a conversation", logs.regenerated, {"conversations": "all"}, 2),
    (
        "the conversation before a summary and the request for it have their own",
        logs.compacted,
        {"conversations": "all"},
        3,
    ),
    ("a last reply that broke off is none", logs.broken, {}, 0),
)
def test_the_last_sample_of_a_conversation_is_its_last_reply(log, options, expected):
    made = records(log(), samples="last", preset="hf", **options)
    told = [f"{said(each['prompt'])} | {said(each['completion'])}" for each in made]
    assert (told if isinstance(expected, list) else len(told)) == expected
    every = records(log(), samples="reply", preset="hf", **options)
    assert all(each in every for each in made)


def test_the_other_replies_of_a_conversation_are_carried_as_context(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *logs.grows())
    summary = convert("logs", "out", Options(**PLAIN, samples="last", preset="hf", trace_replies=True))
    assert (summary.written, summary.replies.total, summary.replies.carried) == (1, 2, 2)
    assert [(row["status"], row["loss"]) for row in report("replies.jsonl")] == [("carried", 0), ("carried", 1)]


def test_every_format_has_at_most_one_last_sample_for_each_conversation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {**PLAIN, "preset": "hf", "conversations": "all", "metadata": True, "drop_duplicates": False}
    convert(SAMPLES, "last", Options(**options, samples="last"))
    convert(SAMPLES, "reply", Options(**options, samples="reply"))
    lasts, replies = ((read_lines(tmp_path / name / "data/train-00000-of-00001.jsonl")) for name in ("last", "reply"))
    names = itemgetter("source", "session_id", "conversation")
    final = {names(each): len(each["prompt"]) for each in lasts}
    assert len(final) == len(lasts) > 50
    for each in replies:
        assert len(each["prompt"]) <= final.get(names(each), len(each["prompt"]))


def test_a_sample_has_the_context_and_the_tools_that_were_sent():
    lines = logs.emptied()
    lines[1]["request"]["tools"] = [logs.tool("other")]
    made = records(lines, samples="reply", preset="hf")
    results = [[each["content"] for each in sample["prompt"] if each["role"] == "tool"] for sample in made]
    assert results == [[], ["def add(): ..."], ["[cleared]", "def test(): ..."]]
    assert [sample["tools"][0]["function"]["name"] for sample in made] == ["read_file", "other", "read_file"]


FLAGS = [
    ("chat", {}, "weight", [0, 1]),
    ("hf", {}, "training", [False, True]),
    ("hf", {"loss": "loss"}, "loss", [False, True]),
    ("openai", {}, "weight", [0, 1]),
    ("mistral", {}, "weight", [0, 1]),
    ("text", {}, "weight", [0, 1]),
]


@pytest.mark.parametrize("preset, options, flag, expected", FLAGS, ids=[f"{row[0]} {row[2]}" for row in FLAGS])
def test_in_messages_only_the_last_reply_has_loss(preset, options, flag, expected):
    made = records(logs.grows(), samples="reply", sample_shape="messages", preset=preset, **options)
    last = [each[flag] for each in made[-1]["messages"] if each["role"] == "assistant"]
    assert (len(made), last) == (2, expected)


def test_sharegpt_has_no_place_for_flags():
    made = records(logs.grows(), samples="reply", preset="sharegpt")
    assert [[turn["from"] for turn in each["conversations"]] for each in made] == [
        ["human", "gpt"],
        ["human", "gpt"] * 2,
    ]


def test_a_reply_of_several_messages_is_the_completion():
    lines = logs.emptied()[:2]
    lines[0]["response"]["choices"][0]["message"]["content"] = "I read it."
    made = records(lines[:1], samples="reply", preset="hf", split_text_and_calls=True)
    assert [said(each["completion"]) for each in made] == ["I read it. / call"]


def test_a_sample_that_ends_with_calls_is_no_log_that_broke_off(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    summary = convert(SAMPLES / "documents", "out", Options(**PLAIN, preset="hf", samples="reply"))
    assert summary.written
    assert not any(code == "unanswered-call" for _, code in summary.findings)


def mended(finish="stop"):
    """A session whose tests fail, and pass before its last reply."""
    log = logs.Log()
    first, second = (logs.calling("bash", '{"command": "pytest"}', f"call_{number}") for number in (1, 2))
    log.add(user("Mend it."), says=first)
    failed = (user("Mend it."), first, logs.result("Exit code: 1", "call_1"))
    log.add(*failed, says=second)
    log.add(*failed, second, logs.result("Exit code: 0", "call_2"), says="It is mended.", finish=finish)
    return log.lines


@cases("samples, count", ("reply", 3), ("last", 1), ("auto", 1))
def test_a_sample_has_the_ending_of_its_conversation(samples, count):
    options = Options(**PLAIN, samples=samples, preset="hf", template=packed("im_start") if samples == "auto" else None)
    (outcome,) = convert_session([json.dumps(line) for line in mended()], options)
    assert [(each.ending.exit, each.ending.truncated) for each in outcome.records] == [(0, False)] * count


def test_a_last_reply_that_met_its_limit_is_the_ending_of_the_other_samples():
    options = Options(**PLAIN, samples="reply", preset="hf")
    (outcome,) = convert_session([json.dumps(line) for line in mended(finish="length")], options)
    assert [(each.ending.exit, each.ending.truncated) for each in outcome.records] == [(0, True)] * 2


def test_a_sample_of_a_file_has_the_ending_of_its_conversation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = {**PLAIN, "preset": "hf", "conversations": "all"}
    endings = []
    for samples in ("session", "reply"):
        convert(SAMPLES, "out", Options(**options, samples=samples, drop_duplicates=False, replace=True))
        rows = [row for row in report("sessions.jsonl") if row["file"]]
        columns = itemgetter("exit", "reward", "finish", "truncated", "failed_results", "last_user")
        endings.append({(row["log"], row["session"], row["conversation"]): columns(row) for row in rows})
    whole, divided = endings
    assert {name: whole[name] for name in divided} == divided


# As few as possible


@cases(
    "template, log, expected",
    ("a template that shows all shows each context whole", "im_start", logs.grows, 1),
    ("earlier reasoning is stripped behind the next prompt", "thinking", logs.stripped, 3),
    ("a template that shows none needs no more", "im_start", logs.stripped, 1),
    ("what was emptied divides", "im_start", logs.emptied, 2),
    ("a branch goes another way", "im_start", lambda: logs.regenerated()[:3], 2),
    ("tools before the last prompt move on", "tools_last", logs.grows, 2),
    ("the last reply ends otherwise", "return", logs.grows, 2),
)
def test_samples_are_divided_where_the_rendering_differs_and_only_there(template, log, expected):
    options = {"samples": "auto", "template": packed(template), "conversations": "all"}
    for shape in ("messages", "prompt-completion"):
        assert len(records(log(), preset="hf", sample_shape=shape, **options)) == expected


def test_changed_tools_divide():
    lines = logs.grows()
    lines[0]["request"]["tools"], lines[1]["request"]["tools"] = [logs.READ], [logs.READ, logs.tool("other")]
    assert len(records(lines, samples="auto", template=packed("im_start"), preset="hf")) == 2
    assert len(records(lines, samples="auto", template=packed("no_tools"), preset="hf")) == 1


def test_a_run_certifies_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs/a.jsonl", *logs.grows())
    write_log(tmp_path / "logs/b.jsonl", *logs.broken())
    options = Options(**PLAIN, samples="auto", preset="hf", template=packed("im_start"), metadata=True)
    summary = convert("logs", "out", options)
    assert table(summary)["certified"] == "3 train = inference: 3 of 3 trained replies"
    assert manifest()["counts"]["samples"] == {"trained": 3, "true": 3}
    assert "- train = inference: 3 of 3 trained replies\n" in (tmp_path / "out/README.md").read_text()
    assert not verify(tmp_path / "out").problems
    held, _ = read_lines(tmp_path / "out/data/train-00000-of-00001.jsonl")
    assert (held["sample"], held["samples"], held["session_id"]) == (1, 1, "s1")


def test_what_cannot_be_certified_is_written_and_counted():
    lines = [json.dumps(line) for line in logs.grows()]
    (outcome,) = convert_session(
        lines, Options(**PLAIN, samples="auto", preset="hf", template=packed("opened_thought"))
    )
    assert [(each.trained, each.inference_matches) for each in outcome.records] == [(1, 0), (1, 0)]
    assert [each.code for each in outcome.findings if each.severity == "warning"] == ["context-mismatch"]


def test_samples_say_which_belong_together_and_stay_together(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(40):
        first = user(f"Question {number}?")
        one = assistant("One.")
        log = logs.Log(f"s{number}")
        log.add(first, says=one)
        log.add(first, one, user("And?"), says="Two.")
        write_log(tmp_path / f"logs/{number:02}.jsonl", *log.lines)
    convert("logs", "out", Options(**PLAIN, samples="reply", preset="hf", split="train=0.5,validation=0.5"))
    rows = report("sessions.jsonl")
    assert [(row["sample"], row["samples"]) for row in rows] == [(1, 2), (2, 2)] * 40
    splits = {row["file"].partition("-")[0] for row in rows}
    assert splits == {"data/train", "data/validation"}
    for _, held in groupby(rows, itemgetter("session", "conversation")):
        assert len({row["file"] for row in held}) == 1


# The laws

SHAPES = ["messages", "prompt-completion"]


def single(line: dict) -> dict | None:
    """The record of one logged exchange alone."""
    (outcome,) = convert_session([json.dumps(line)], Options(**PLAIN, preset="hf"))
    return json.loads(outcome.records[0].line) if outcome.records else None


def spans(record: dict) -> list[int]:
    """The messages of a sample with loss, by their indices."""
    if "completion" in record:
        start = len(record["prompt"])
        return [start + at for at, each in enumerate(record["completion"]) if each["role"] == "assistant"]
    return [at for at, each in enumerate(record["messages"]) if each.get("training")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), template=st.sampled_from(sorted(TEMPLATES)), shape=st.sampled_from(SHAPES))
def test_each_reply_is_trained_on_once_behind_what_it_was_sampled_behind(tmp_path_factory, seed, template, shape):
    folder = tmp_path_factory.mktemp("played")
    for name, data in play(seed, without=PARTIAL).files.items():
        (folder / "logs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "logs" / name).write_bytes(data)
    options = Options(
        **PLAIN, samples="auto", conversations="all", preset="hf", sample_shape=shape, template=packed(template),
        trace_replies=True, drop_duplicates=False, sessions_by="chain", format="jsonl",
    )  # fmt: skip
    summary = convert(folder / "logs", folder / "out", options)
    held_to_the_law(folder, template, summary)


def held_to_the_law(folder, template, summary):
    render = Renderer(template, TemplateSource({"default": TEMPLATES[template]}, {}))
    made = read_lines(folder / "out/data/train-00000-of-00001.jsonl") if summary.written else []
    rows = read_lines(folder / "out/reports/replies.jsonl")
    trained = [row for row in rows if row["loss"]]
    true = 0
    wholes: dict[str, int] = {}
    for row in trained:
        lines = Path(row["file"]).read_bytes().splitlines()
        alone = single(json.loads(lines[row["line"] - 1]))
        sample = made[int(row["record"].rpartition(":")[2]) - 1]
        messages = sample.get("messages") or sample["prompt"] + sample["completion"]
        assert row["message"] in spans(sample)
        reply = alone["messages"][-1]
        prompt = render(alone["messages"][:-1], alone.get("tools"), generation=True).text
        whole = render(alone["messages"], alone.get("tools")).text
        assert messages[row["message"]]["content"] == reply["content"]
        if prompt is not None and whole.startswith(prompt):
            true += 1
            text = render(messages, sample.get("tools")).text
            assert text.startswith(whole)
            wholes[row["record"]] = max(wholes.get(row["record"], 0), len(whole))
    assert len({(row["record"], row["message"]) for row in trained}) == len(trained) == sum(map(len, map(spans, made)))
    assert (summary.trained, summary.true) == (len(trained), true)
