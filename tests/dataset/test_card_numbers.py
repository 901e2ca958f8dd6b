"""The numbers of a card, each compared with what a naive reader counts in the record files."""

import json
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from chatsquash import Options, convert
from tests.checks.rows import assistant, call, result, tool
from tests.conftest import cases, log_line, write_log

SAMPLES = Path(__file__).parents[2] / "sample_logs"
PRIVATE = re.compile(
    r"[0-9a-z]{16}(@|%40)[0-9a-z]{8}\.example|<[A-Z][A-Z0-9_]*_[0-9a-f]{10}>|(user-|name_)[0-9a-f]{10}"
)


def card_tables(page: str) -> dict[str, list[list[str]]]:
    """The rows of the table of each section."""
    sections = [part.partition("\n\n") for part in page.split("\n## ")[1:]]
    rows = {title: [line for line in text.splitlines() if line.startswith("|")][2:] for title, _, text in sections}
    return {
        title: [[cell.strip(" `") for cell in row.strip("|").split("|")] for row in of] for title, of in rows.items()
    }


def records_of(out: Path, name: str) -> list[dict]:
    """The records of a file, as plain values."""
    if not name.endswith(".parquet"):
        return [json.loads(line) for line in (out / name).read_text("utf-8").splitlines()]
    rows = pl.read_parquet(out / name).to_dicts()
    return [{key: [json.loads(each) for each in value or ()] for key, value in row.items()} for row in rows]


def rows_of(out: Path) -> list[dict]:
    """The rows of the session table about records."""
    rows = [json.loads(line) for line in (out / "reports/sessions.jsonl").read_text("utf-8").splitlines()]
    return [row for row in rows if row["file"]]


def number(cell: str) -> int:
    return int(cell.replace(",", ""))


def said_by_assistants(record: dict) -> list[dict]:
    return [
        each
        for each in [*record.get("prompt", []), *record.get("completion", record.get("messages", []))]
        if each["role"] == "assistant"
    ]


def is_thought(message: dict) -> bool:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    thinks = any(part.get("type") in ("thinking", "reasoning", "redacted_thinking") for part in parts)
    return bool(message.get("reasoning_content") or message.get("thinking") or thinks or "</think>" in str(parts))


def has_image(record: dict) -> bool:
    messages = record.get("messages", [])
    parts = [part for each in messages if isinstance(each.get("content"), list) for part in each["content"]]
    return bool(record.get("images")) or any("image" in part.get("type", "") for part in parts)


def length(message: dict) -> int:
    """The characters of a message's text, reasoning, and calls."""
    content = message.get("content") or ""
    parts = content if isinstance(content, list) else [{"text": content}]
    text = sum(len(part.get("text", "")) for part in parts if part.get("type", "text") == "text")
    thought = len(message.get("reasoning_content") or message.get("thinking") or "")
    functions = [each["function"] for each in message.get("tool_calls") or ()]
    spelled = [
        each["arguments"]
        if isinstance(each["arguments"], str)
        else json.dumps(each["arguments"], separators=(",", ":"), ensure_ascii=False)
        for each in functions
    ]
    return text + thought + sum(len(each["name"]) for each in functions) + sum(map(len, spelled))


LAYOUTS = (
    ("files by day", {}),
    ("one file", {"group_by": "none"}),
    ("a preset", {"preset": "hf"}),
    ("placeholders of redaction", {"preset": "hf", "redact": "secrets,paths"}),
    ("Parquet with splits", {"preset": "hf", "format": "parquet", "split": "train=0.7,validation=0.3"}),
    ("messages of OpenAI", {"preset": "openai", "format": "jsonl"}),
    ("all conversations with weights", {"preset": "hf", "conversations": "all", "loss": "weight"}),
    ("tools that are used", {"preset": "hf", "tools": "used"}),
    ("reasoning dropped", {"preset": "hf", "reasoning": "drop"}),
    ("images kept", {"preset": "hf", "media": "keep"}),
    ("prompt and completion", {"preset": "hf", "samples": "reply", "sample_shape": "prompt-completion"}),
    ("a trainer", {"preset": "hf", "trainer": "trl", "format": "parquet"}),
)  # fmt: skip


@pytest.fixture(params=LAYOUTS, ids=[name for name, _ in LAYOUTS], scope="module")
def converted(request, tmp_path_factory):
    """The card of the sample logs with some options, their records, and the session table."""
    out = tmp_path_factory.mktemp("card") / "out"
    summary = convert(SAMPLES, out, Options(**request.param[1]))
    page = (out / "README.md").read_text("utf-8")
    rows, records = rows_of(out), {name: records_of(out, name) for name in summary.files}
    assert sum(map(len, records.values())) == len(rows)
    return page, [records[row["file"]][row["row"] - 1] for row in rows], rows, request.param[1]


def test_what_records_contain_is_what_is_in_their_files(converted):
    page, records, rows, _ = converted
    cells = {name: (number(yes), number(no)) for name, yes, no in card_tables(page)["Contents"]}
    assert f"\n{len(records)} records" in page
    texts = [json.dumps(record, ensure_ascii=False) for record in records]
    with_some = {
        "tool definitions": sum(bool(record.get("tools")) for record in records),
        "tool calls": sum(any(each.get("tool_calls") for each in said_by_assistants(record)) for record in records),
        "images": sum(map(has_image, records)),
        "reasoning": sum(any(map(is_thought, said_by_assistants(record))) for record in records),
        "redacted text": sum(bool(PRIVATE.search(text)) for text in texts),
    }
    assert cells == {
        **{name: (count, len(records) - count) for name, count in with_some.items()},
        "a truncated last reply": tuple(sum(row["truncated"] is value for row in rows) for value in (True, False)),
    }


def test_lengths_and_calls_are_those_of_the_files(converted):
    page, records, _, options = converted
    cells = {row[0]: row[1:] for row in card_tables(page)["Record sizes"]}
    calls = [sum(len(each.get("tool_calls") or ()) for each in said_by_assistants(record)) for record in records]
    assert [number(cells["tool calls"][at]) for at in (0, 3, 4)] == [min(calls), max(calls), sum(calls)]
    if options.get("format") != "parquet" and not options.get("metadata"):
        lengths = [len(json.dumps(record, ensure_ascii=False, separators=(",", ":"))) for record in records]
        assert number(cells["characters"][3]) == max(lengths)


def test_models_and_their_shares_are_those_of_the_messages_that_are_trained_on(converted):
    page, records, rows, options = converted
    by_model: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for record, row in zip(records, rows, strict=True):
        messages = record.get("completion", record.get("messages"))
        spoken = [each for each in messages if each["role"] == "assistant"]
        trained = [each for each in spoken if each.get("weight", 1) == 1]
        by_model[row["model"] or "not named in the log"] += sum(map(length, trained))
        counts[row["model"] or "not named in the log"] += bool(trained)
    table = card_tables(page)["Models"]
    total = by_model.total()
    assert f"In total, {total:,} characters of assistant messages are trained on" in page
    cells = {model: (number(records), number(length), share) for model, records, _, _, length, share in table[:20]}
    for model, (records_of_model, characters, share) in cells.items():
        assert share == f"{characters / total:.1%}"
        if model in by_model and options.get("samples") is None:
            assert (model, characters) == (model, by_model[model])
            assert records_of_model == counts[model]


def test_sources_are_those_of_the_session_table(converted):
    page, _, rows, _ = converted
    cells = {source: number(count) for source, count in card_tables(page)["Sources"]}
    assert cells == dict(Counter(row["format"] for row in rows))


def exchange(at: int, model: str, *messages, reply: str) -> dict:
    """A logged request with the model that answered."""
    line = log_line(*messages, reply=reply, at=at)
    line["response"]["model"] = model
    return line


ASKED = ("one", assistant("a" * 10), "two", assistant("b" * 20), "three")
GROWN = [
    exchange(at, model, *ASKED[: 2 * at + 1], reply=letter * size)
    for at, (model, letter, size) in enumerate((("m1", "a", 10), ("m2", "b", 20), ("m1", "c", 40)))
]
BRANCHED = [*GROWN, exchange(3, "m3", *ASKED[:2], "else", reply="d" * 80)]


@cases(
    "lines, options, expected",
    ("requests that only grow", GROWN, {}, {"m1": 50, "m2": 20}),
    ("a log with branches", BRANCHED, {"conversations": "all"}, {"m1": 60, "m2": 20, "m3": 80}),
    ("each reply trained on once", BRANCHED, {"conversations": "all", "loss": "weight"}, {"m1": 50, "m2": 20, "m3": 80}),
    ("a sample of each reply", GROWN, {"preset": "hf", "samples": "reply", "sample_shape": "prompt-completion"}, {"m1": 50, "m2": 20}),
    ("samples with flags", GROWN, {"preset": "hf", "samples": "reply", "loss": "weight", "sample_shape": "messages"}, {"m1": 50, "m2": 20}),
    ("texts", GROWN, {"preset": "text"}, {"m1": 50, "m2": 20}),
    ("turns of ShareGPT", GROWN, {"preset": "sharegpt"}, {"m1": 50, "m2": 20}),
)  # fmt: skip
def test_each_reply_counts_for_the_model_that_gave_it(tmp_path, lines, options, expected):
    write_log(tmp_path / "log.jsonl", *lines)
    convert(tmp_path / "log.jsonl", tmp_path / "out", Options(**options))
    page = (tmp_path / "out/README.md").read_text()
    assert {model: number(characters) for model, _, _, _, characters, _ in card_tables(page)["Models"]} == expected


def turn(number: int, role: str, text: str, **fields) -> dict:
    """A line of Claude Code's."""
    said = {"role": role, "content": [{"type": "text", "text": text}], **fields}
    own = {"uuid": str(number), "parentUuid": str(number - 1) if number else None, "sessionId": "s"}
    return {
        "type": role,
        "timestamp": f"2026-01-13T10:00:0{number}Z",
        "version": "2.0.0",
        "cwd": "/",
        "message": said,
        **own,
    }


FILE = [
    turn(0, "user", "one"),
    turn(1, "assistant", "a" * 10, model="claude-a", id="r1", stop_reason="end_turn"),
    turn(2, "user", "two"),
    turn(3, "assistant", "b" * 20, model="claude-b", id="r2", stop_reason="end_turn"),
]


@cases(
    "options",
    ("the specified record", {}),
    ("with flags", {"preset": "hf", "loss": "weight"}),
    ("samples", {"preset": "hf", "samples": "reply", "sample_shape": "prompt-completion"}),
)
def test_each_reply_of_a_file_counts_for_the_model_that_gave_it(tmp_path, options):
    write_log(tmp_path / "log.jsonl", *FILE)
    convert(tmp_path / "log.jsonl", tmp_path / "out", Options(**options))
    table = card_tables((tmp_path / "out/README.md").read_text())["Models"]
    assert {model: number(characters) for model, _, _, _, characters, _ in table} == {"claude-a": 10, "claude-b": 20}


@cases(
    "preset",
    *((preset, preset) for preset in ("chat", "hf", "openai", "text", "sharegpt")),
)
def test_tools_are_counted_in_every_preset(tmp_path, preset):
    lines = [
        log_line("Which?", assistant("", call(name="ls")), result("a"), reply="a.", session_id="1", tools=[tool("ls")]),
        log_line("Which?", assistant("", call(name="ls")), result("a"), reply="b.", session_id="2"),
        log_line("Which?", reply="None.", session_id="3"),
    ]
    write_log(tmp_path / "log.jsonl", *lines)
    convert(tmp_path / "log.jsonl", tmp_path / "out", Options(preset=preset, sessions_by="id"))
    cells = {name: numbers for name, *numbers in card_tables((tmp_path / "out/README.md").read_text())["Contents"]}
    assert (cells["tool definitions"], cells["tool calls"]) == (["1", "2"], ["2", "1"])


def test_a_secret_in_the_name_of_a_model_is_replaced(tmp_path):
    lines = [
        exchange(at, f"ann{at}@acme.com/m", *ASKED[: 2 * at + 1], reply=letter * 9) for at, letter in enumerate("ab")
    ]
    write_log(tmp_path / "log.jsonl", *lines)
    convert(tmp_path / "log.jsonl", tmp_path / "out", Options(preset="hf"))
    page = (tmp_path / "out/README.md").read_text()
    assert "acme.com" not in page
    assert len(card_tables(page)["Models"]) == 2
