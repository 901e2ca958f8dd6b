"""Session traces next to a dataset: one for each record, complete, up to date and without anything private."""

import json
import re
import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.merge_results import merge_results
from chatsquash.core import jsonio
from chatsquash.core.blocks import Call, Media, Reasoning, Result, Text
from chatsquash.core.errors import UsageError
from chatsquash.dataset.card import TRACES
from chatsquash.formats.writing import text_of
from chatsquash.records import reading
from chatsquash.results.verify import verify
from chatsquash.translate import conversations
from tests.conftest import KEY, assistant, cases, log_line, user, write_log
from tests.formats.kinds import image
from tests.formats.sts_checker import problems
from tests.outputs import comparable

ROOT = Path(__file__).parents[2]
HF = Options(preset="hf", traces=True, anonymize=False)


def options(**values):
    return Options(**{"preset": "hf", "traces": True, "anonymize": False, **values})


def traces(out="out"):
    """The traces of an output, by name."""
    return {path.name: path.read_bytes() for path in sorted(Path(out, TRACES).glob("*"))}


def headers(out="out"):
    return [json.loads(trace.splitlines()[0]) for trace in traces(out).values()]


def records(out="out"):
    lines = [line for path in sorted(Path(out, "data").iterdir()) for line in path.read_bytes().splitlines()]
    return [reading.native(reading.record(json.loads(line))) for line in lines]


def content(messages):
    """What a trace has a place for: roles, texts, reasoning, calls and results."""
    turns = conversations.load(messages, "openai_chat").turns
    return json.dumps([(turn.role, text_of(turn.blocks), [*filter(None, map(part, turn.blocks))]) for turn in turns])


def part(block):
    match block:
        case Call():
            return block.id, block.name, jsonio.value(block.arguments, block.arguments)
        case Result():
            return block.id, text_of(block.content)
        case Reasoning():
            return block.text
    return None if isinstance(block, Text | Media) else block


@cases("preset", "hf", "openai", "text", "chat", "sharegpt")
def test_each_record_has_a_trace_with_its_messages(here, preset):
    convert(ROOT / "sample_logs", "out", options(preset=preset, format="jsonl", conversations="all"))
    assert not [found for trace in traces().values() for found in problems(trace)]
    stored = records()
    assert len(traces()) == len(stored) > 60
    read = [conversations.load([json.loads(line) for line in trace.splitlines()]) for trace in traces().values()]
    assert sorted(content(each.messages) for each in read) == sorted(content(each.messages) for each in stored)


def test_branches_and_sub_agents_refer_to_their_parents(here):
    shutil.copytree(ROOT / "tests/golden/claude_code/all_conversations_of_a_session/logs", "logs")
    convert("logs", "out", options(conversations="all"))
    ids = {each["id"]: each for each in headers()}
    others = [each for each in headers() if "kind" in each]
    assert {each["kind"] for each in others} >= {"subagent"}
    assert len(ids) == len(headers())
    assert all(each["parentId"] in ids for each in others)
    assert len({each.get("sessionId") for each in headers()}) == 1
    assert {each["harness"] for each in headers()} == {"claude_code"}


def test_models_are_those_of_the_replies(here):
    lines = [log_line("a", reply="1"), log_line("a", assistant("1"), "b", reply="2", at="2026-01-13T10:00:01Z")]
    for number, line in enumerate(lines, 1):
        line["response"]["model"] = f"m-{number}"
    write_log(Path("logs/a.jsonl"), *lines)
    convert("logs", "out", HF)
    (trace,) = traces().values()
    messages = [json.loads(line)["message"] for line in trace.splitlines()[1:]]
    assert [each.get("model") for each in messages] == [None, "m-1", None, "m-2"]


# Runs


def logs(*names):
    for name in names:
        write_log(Path("logs") / f"{name}.jsonl", log_line(f"hi {name}", session_id=name))


def test_a_later_run_replaces_and_removes_traces(here):
    logs("a", "b", "c")
    convert("logs", "out", HF)
    before = traces()
    write_log(Path("logs/b.jsonl"), log_line("hi b", session_id="b", reply="another"))
    Path("logs/c.jsonl").unlink()
    logs("d")
    convert("logs", "out", options(replace=True))
    assert [name[0] for name in traces()] == ["a", "b", "d"]
    same, changed = (next(name for name in traces() if name.startswith(start)) for start in "ab")
    assert traces()[same] == before[same]
    assert traces()[changed] != before[changed]
    convert("logs", "full", HF)
    assert comparable("out") == comparable("full")
    assert verify(Path("out")).problems == []
    Path("out/traces", same).write_text("{}")
    assert verify(Path("out")).problems
    convert("logs", "out", Options(preset="hf", anonymize=False, replace=True))
    assert not Path("out/traces").exists() or not traces()


def test_traces_do_not_depend_on_the_number_of_workers_and_merging(here):
    logs(*"abcdefgh")
    convert("logs", "one", HF)
    convert("logs", "several", options(workers=3))
    assert comparable("one") == comparable("several")
    convert("logs/[a-d].jsonl", "first", HF)
    convert("logs/[e-h].jsonl", "second", HF)
    merge_results(["first", "second"], Path("both"), Options())
    assert traces("both") == traces("one")


def test_samples_have_traces_of_their_own(here):
    write_log(
        Path("logs/a.jsonl"), log_line("a", reply="1"), log_line("a", assistant("1"), "b", at="2026-01-13T10:00:01Z")
    )
    convert("logs", "out", options(samples="reply"))
    assert len(traces()) == len(records()) == 2
    assert len({each["id"] for each in headers()}) == 2


# Names, and what is private


@cases("name", "../../evil", "a" * 300, "zürich/日本", "nul", ".hidden", "a b\n")
def test_names_are_those_of_sessions_and_safe(here, name):
    write_log(Path("logs/a.jsonl"), log_line("hi", session_id=name))
    convert("logs", "out", HF)
    (file,) = traces()
    assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,120}\.jsonl", file)
    assert headers()[0]["id"].strip() == name.strip()


def test_sessions_of_one_name_have_traces_of_their_own(here):
    for folder in ("one", "two"):
        write_log(Path("logs") / folder / "a.jsonl", log_line(f"hi {folder}", session_id="s"))
    convert("logs", "out", HF)
    assert len(traces()) == 2


def test_traces_contain_only_what_the_records_contain(here):
    secret = "ghp_" + "a1B2c3D4" * 4 + "wxyz"
    write_log(
        Path(f"logs/me@corp.de-{secret}.jsonl"), log_line(f"{secret} me@corp.de", session_id=f"me@corp.de {secret}")
    )
    convert("logs", "out", options(redact="secrets", anonymize=True, anonymize_key=KEY.encode()))
    ((name, trace),) = traces().items()
    assert "<GITHUB_TOKEN_" in trace.decode()
    for private in (secret, "corp.de"):
        assert private not in name
        assert private.encode() not in trace


# What cannot be written


def test_parts_other_than_text_are_reported(here):
    write_log(Path("logs/a.jsonl"), log_line(user([{"type": "text", "text": "See"}, image()])))
    convert("logs", "out", options(media="keep"))
    assert len(traces()) == 1
    text = "missing in the trace of the record: 1 part other than text, such as images"
    assert text in Path("out/reports/integrity-report.txt").read_text()


def test_a_record_that_is_no_conversation_costs_its_trace_only(here):
    odd = {
        "role": "assistant",
        "content": "x",
        "tool_calls": [1, {"id": 3, "function": {"name": ["f"], "arguments": 7}}],
    }
    write_log(Path("logs/a.jsonl"), log_line("hi", odd, "more"))
    convert("logs", "out", options(preset="chat", format="jsonl"))
    assert len(records()) == 1


def test_traces_need_a_dataset_folder(here):
    logs("a")
    with pytest.raises(UsageError, match="traces=True has no effect without format"):
        convert("logs", "out", Options(traces=True))


def test_a_foreign_file_in_the_folder_is_not_replaced(here):
    logs("a")
    convert("logs", "out", HF)
    (name,) = traces()
    Path("full/traces").mkdir(parents=True)
    Path("full/traces", name).write_text("mine")
    with pytest.raises(UsageError, match="not written by chatsquash"):
        convert("logs", "full", options(force=True))
    assert Path("full/traces", name).read_text() == "mine"


def test_the_card_has_the_tag_and_the_config(here):
    logs("a")
    convert("logs", "out", HF)
    card = Path("out/README.md").read_text()
    assert "- agent-traces\n" in card
    assert "- config_name: traces\n  data_files:\n  - split: train\n    path: traces/*.jsonl\n" in card
    assert "- config_name: traces\n  features:\n  - name: harness\n    dtype: string\n" in card
    convert("logs", "plain", Options(preset="hf", anonymize=False))
    assert "traces" not in Path("plain/README.md").read_text()


def test_redacting_a_dataset_redacts_its_traces(here, command):
    secret = "ghp_" + "a1B2c3D4" * 4 + "wxyz"
    write_log(Path("logs/a.jsonl"), log_line(f"Use {secret}", reply=f"I use {secret}."))
    convert("logs", "out", HF)
    assert command("redact", "out", "-o", "clean", "--redact", "secrets").code == 0
    ((name, trace),) = traces("clean").items()
    assert [name] == list(traces())
    assert secret.encode() not in trace
    assert problems(trace) == []
    stored = Path("clean/data/train-00000-of-00001.jsonl").read_text()
    assert re.findall(r"<GITHUB_TOKEN_\w+>", trace.decode()) == re.findall(r"<GITHUB_TOKEN_\w+>", stored)
