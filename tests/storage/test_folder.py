"""A whole run that writes a dataset folder."""

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import zstandard

from chatsquash import Options, convert
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.errors import UsageError
from chatsquash.dataset import shards as text
from chatsquash.records.presets import names
from tests.conftest import cases, log_line, tree, write_log
from tests.outputs import manifest

TOOLS = [{"type": "function", "function": {"name": "ls", "description": "Lists.", "parameters": {"type": "object"}}}]
USAGE = {"usage": {"prompt_tokens": 90, "completion_tokens": 10}, "model": "gpt-5-mini"}


def answered(*said, reply="hello", **fields):
    line = log_line(*said, reply=reply, **fields)
    line["response"] |= USAGE
    return line


@pytest.fixture
def logs(tmp_path, monkeypatch):
    """Twenty sessions that begin alike two by two, one with a tool, one that is another again, one that is left out."""
    monkeypatch.chdir(tmp_path)
    for number in range(20):
        say = f"question {number // 2}"
        write_log(
            tmp_path / f"logs/a-b-{number:02}.jsonl", answered(say, reply=f"answer {number}", session_id=f"s{number}")
        )
    call = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": '{"a": 1}'}}],
    }
    result = {"role": "tool", "tool_call_id": "c", "content": "x"}
    write_log(tmp_path / "logs/tools.jsonl", answered("list", call, result, tools=TOOLS, reply="done"))
    write_log(tmp_path / "logs/z.jsonl", answered("question 0", reply="answer 0"))
    write_log(tmp_path / "logs/zz.jsonl", log_line("x", at=2), log_line("x", "y", at=1))
    return tmp_path / "logs"


def records(out="out") -> list[dict]:
    """The records of a folder of lines, in the order of its files."""
    read = {".jsonl": bytes, ".gz": gzip.decompress, ".zst": lambda data: zstandard.decompress(data, 1 << 24)}
    return [
        json.loads(line)
        for path in sorted(Path(out, "data").iterdir())
        for line in (
            zstandard.ZstdDecompressor().decompressobj().decompress(path.read_bytes())
            if path.suffix == ".zst"
            else read[path.suffix](path.read_bytes())
        ).splitlines()
    ]


def files(out="out") -> list[str]:
    return [name for name, data in tree(Path(out)).items() if data is not None and not name.startswith(".chatsquash/")]


def test_the_folder_has_data_a_card_and_what_is_not_for_upload(logs):
    summary = convert(logs, "out", Options(format="jsonl"))
    assert summary.files == ["data/train-00000-of-00001.jsonl"]
    reports = [
        f"reports/{name}"
        for name in (
            *("findings.jsonl", "integrity-report.txt", "outcomes.jsonl"),
            *("redactions.csv", "rejected.jsonl", "sessions.jsonl"),
        )
    ]
    assert files() == [
        ".gitignore",
        "README.md",
        "croissant.json",
        *summary.files,
        *reports,
        "reports/tool-usage.csv",
        "reports/tools.csv",
        "run.json",
    ]
    assert [each["path"] for each in manifest()["outputs"]] == [name for name in files() if name != "run.json"]


def test_the_sums_hold(logs):
    summary = convert(logs, "out", Options(format="jsonl", min_turns=1, drop=("no-tools",), only_model=("gpt*",)))
    assert summary.counts()["sessions"] == {
        "seen": 23, "written": 1, "left_out": {"timestamp-order": 1}, "filtered": {"--drop no-tools": 21}, "duplicates": 0,
        "joined": 0,
    }  # fmt: skip
    assert summary.lines == sum(summary.account) == 24
    assert summary.account.left_out == 21 + 2
    summary = convert(logs, "out", Options(format="jsonl"))
    assert (summary.written, summary.duplicates, summary.left_out.total()) == (21, 1, 1)
    assert (summary.written, summary.account.selected) == (len(records()), len(records()))


@pytest.mark.parametrize("packing", ["jsonl", "jsonl.gz", "jsonl.zst"])
def test_lines_are_those_of_the_grouped_files(logs, packing):
    convert(logs, "grouped", Options(group_by="none", drop_duplicates=True))
    convert(logs, "out", Options(format=packing))
    grouped = [json.loads(line) for line in Path("grouped/conversations.jsonl").read_bytes().splitlines()]
    assert records() == grouped
    (data,) = (each for each in manifest()["outputs"] if each["path"].startswith("data/"))
    assert (data["path"], data["lines"]) == (f"data/train-00000-of-00001.{packing}", 21)


def test_parquet_has_the_same_records(logs):
    convert(logs, "lines", Options(format="jsonl"))
    summary = convert(logs, "out", Options(format="parquet"))
    (name,) = summary.files
    rows = pl.read_parquet(Path("out", name)).to_dicts()
    assert [{key: list(map(json.loads, texts)) for key, texts in row.items()} for row in rows] == records("lines")


@pytest.mark.parametrize("packing", ["jsonl", "parquet"])
def test_files_are_filled_up_to_a_size(logs, packing):
    summary = convert(logs, "out", Options(format=packing, shard_size=500))
    count = len(summary.files)
    assert count > 4
    assert summary.files == [f"data/train-{number:05}-of-{count:05}.{packing}" for number in range(count)]
    if packing == "jsonl":
        sizes = [path.stat().st_size for path in sorted(Path("out/data").iterdir())]
        assert max(sizes) <= 500
        first = [path.read_bytes().partition(b"\n")[0] for path in sorted(Path("out/data").iterdir())]
        assert all(size + len(line) + 1 > 500 for size, line in zip(sizes, first[1:], strict=False))
        assert len(records()) == 21
    else:
        assert sum(pl.read_parquet(Path("out", name)).height for name in summary.files) == 21


def test_a_record_larger_than_a_file_is_in_one_alone(logs):
    summary = convert(logs, "out", Options(format="jsonl", shard_size=1))
    assert len(summary.files) == 21
    assert {each["lines"] for each in manifest()["outputs"] if each["path"].startswith("data/")} == {1}


@pytest.mark.parametrize("packing", ["jsonl.gz", "jsonl.zst", "parquet"])
def test_the_same_logs_give_the_same_bytes_whatever_the_workers(logs, packing, monkeypatch):
    monkeypatch.setattr("chatsquash.conversion.workers._WORTH_A_PROCESS", 1)
    options = {"format": packing, "split": "train=0.5,test=0.5", "metadata": True, "shard_size": 2000}
    found = []
    for workers in (1, 2):
        convert(logs, f"out{workers}", Options(workers=workers, **options))
        kept = {name: data for name, data in tree(Path(f"out{workers}")).items() if name != "run.json"}
        found.append({name: data for name, data in kept.items() if not name.startswith(".chatsquash")})
    assert found[0] == found[1]
    assert manifest("out1")["outputs"] == manifest("out2")["outputs"]


def test_a_rerun_takes_the_place_of_the_one_before(logs):
    convert(logs, "out", Options(format="jsonl", shard_size=500))
    convert(logs, "out", Options(format="parquet"))
    assert [name for name in files() if name.startswith("data/")] == ["data/train-00000-of-00001.parquet"]
    convert(logs, "out", Options(group_by="none"))
    assert [name for name in files() if "/" not in name] == ["README.md", "conversations.jsonl", "run.json"]


def test_a_readme_of_somebody_else_stays_and_there_is_no_other(logs):
    Path("out").mkdir()
    Path("out/README.md").write_text("mine")
    assert convert(logs, "out", Options(force=True)).written
    assert Path("out/README.md").read_text() == "mine"
    assert "README.md" not in [each["path"] for each in manifest()["outputs"]]


def test_a_card_of_somebody_else_is_not_overwritten(logs):
    Path("out").mkdir()
    Path("out/README.md").write_text("mine")
    with pytest.raises(UsageError, match=r"README\.md: not written by chatsquash"):
        convert(logs, "out", Options(format="jsonl", force=True))
    assert Path("out/README.md").read_text() == "mine"


# Splits


def test_what_begins_alike_is_in_one_split(logs):
    summary = convert(logs, "out", Options(split="train=0.5,test=0.5"))
    held = {
        name: {json.loads(line)["messages"][0]["content"] for line in Path("out", name).read_bytes().splitlines()}
        for name in summary.files
    }
    assert [name.partition("-")[0] for name in held] == ["data/train", "data/test"]
    train, test = held.values()
    assert train
    assert test
    assert not train & test
    assert ("warning", "split-leak") not in summary.findings


def test_what_goes_apart_is_found(logs):
    summary = convert(logs, "out", Options(split="train=0.5,test=0.5", split_by="session"))
    lines = Path("out/reports/findings.jsonl").read_text().splitlines()
    leaks = [found for found in map(json.loads, lines) if found["code"] == "split-leak"]
    assert len(leaks) == summary.findings["warning", "split-leak"] > 0
    assert re.search(r"logs/a-b-\d\d\.jsonl$", leaks[0]["file"])


def test_an_empty_split_is_found_and_not_on_the_card(logs):
    summary = convert(logs, "out", Options(split="train=0.999999,rest=0.000001"))
    assert summary.findings["warning", "empty-split"] == 1
    assert summary.files == ["data/train-00000-of-00001.jsonl"]
    assert "rest-" not in Path("out/README.md").read_text()


def test_a_folder_without_records_is_one_all_the_same(logs):
    summary = convert(logs, "out", Options(format="parquet", min_turns=99))
    assert (summary.written, summary.files) == (0, [])
    assert "configs:" not in Path("out/README.md").read_text()


@cases("line, code",
    ("an integer beyond 64 bits in a definition", log_line("x", tools=[{"type": "function", "function": {"name": "ls", "n": {"m": 2**64}}}]), "integer-too-large"),
    ("one in an object of arguments", log_line("x", {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "ls", "arguments": {"n": -(2**63) - 1}}}]}), "integer-too-large"),
    ("half of a pair in a text", log_line("x \ud800"), "lone-surrogate"),
    ("half of a pair in a key", log_line("x", tools=[{**TOOLS[0], "function": {**TOOLS[0]["function"], "\udfff": 1}}]), "lone-surrogate"),
)  # fmt: skip
def test_a_specified_record_that_would_not_come_back_is_left_out_of_a_folder(tmp_path, line, code):
    """One integer beyond 64 bits, and loading fails for the whole dataset."""
    write_log(tmp_path / "logs/a.jsonl", line)
    write_log(tmp_path / "logs/b.jsonl", log_line("y"))
    summary = convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl"))
    assert (summary.written, summary.left_out) == (1, {code: 1})
    assert convert(tmp_path / "logs", tmp_path / "grouped").written == 2


@cases(
    "line",
    ("integers of 64 bits", log_line("x", tools=[{"type": "function", "function": {"name": "ls", "n": [2**64 - 1, -(2**63)]}}])),
    ("integers in texts", log_line(f"{2**64}")),
    ("the text of an escape", log_line("\\ud800")),
    ("what is nested deeply", log_line("x", tools=[{"type": "function", "function": {"name": "ls", "n": json.loads("[" * 300 + "]" * 300)}}])),
)  # fmt: skip
def test_other_specified_records_stand_in_a_folder_as_they_are(tmp_path, line):
    write_log(tmp_path / "logs/a.jsonl", line)
    convert(tmp_path / "logs", tmp_path / "out", Options(format="jsonl"))
    convert(tmp_path / "logs", tmp_path / "grouped")
    (grouped,) = (tmp_path / "grouped").glob("*.jsonl")
    assert records(tmp_path / "out") == [json.loads(grouped.read_bytes())]


def test_floats_that_datasets_rounds_are_counted_in_a_folder_of_specified_records(tmp_path):
    parameters = {"type": "object", "properties": {"x": {"enum": [0.7, 0.5, 1e-12]}}}
    write_log(tmp_path / "logs/a.jsonl", log_line("x", tools=[{"type": "function", "function": {"name": "f", "parameters": parameters}}]))  # fmt: skip
    for options, found in ((Options(format="jsonl"), 1), (Options(), 0)):
        summary = convert(tmp_path / "logs", tmp_path / "out", options)
        assert (summary.findings["warning", "float-rounded"], summary.written) == (found, 1)


# Metadata


def test_metadata_are_columns_behind_the_record(logs):
    convert(logs, "out", Options(format="jsonl", metadata=True))
    assert list(records()[0].items())[2:] == [
        ("session_id", "s0"), ("source", "a-b-00.jsonl"), ("model", "gpt-5-mini"), ("started_at", "2026-01-13T10:00:00Z"),
        ("entries", 1), ("prompt_tokens", 90), ("completion_tokens", 10), ("exit", None), ("exit_evidence", None),
        ("reward", None), ("reward_evidence", None), ("finish", None), ("finish_evidence", None),
        ("truncated", None), ("truncated_evidence", None),
        ("failed_results", 0), ("failed_results_evidence", None), ("scores", None), ("scores_evidence", None), ("last_user", "none"), ("last_user_evidence", None),
        *((f"steps_{kind}", 0) for kind in STEP_FACTS),
    ]  # fmt: skip


def test_what_is_not_known_is_null(logs):
    write_log(logs / "a-a.jsonl", log_line("no model, no time", at=None))
    convert(logs, "out", Options(format="parquet", metadata=True))
    row = pl.read_parquet(next(Path("out/data").iterdir())).row(0, named=True)
    assert [row[name] for name in ("model", "started_at", "prompt_tokens", "completion_tokens")] == [None] * 4


def test_addresses_in_metadata_are_replaced_too(logs):
    write_log(logs / "jane@corp.com.jsonl", answered("hi", session_id="of joe@corp.com"))
    convert(logs, "out", Options(format="jsonl", metadata=True))
    convert(logs, "plain", Options(format="jsonl", metadata=True, anonymize=False))
    assert [b"@corp.com" in Path(out, "data/train-00000-of-00001.jsonl").read_bytes() for out in ("out", "plain")] == [
        False,
        True,
    ]
    found = next(each for each in records() if each["source"].endswith(".example.jsonl"))
    assert re.fullmatch(r"of [a-z0-9]{16}@[a-z0-9]{8}\.example", found["session_id"])


@pytest.mark.parametrize("packing", ["jsonl", "parquet"])
def test_names_that_are_no_text_are_written_with_escapes(logs, packing):
    line = answered("odd", session_id="s\ud800")
    line["response"]["model"] = "m\udfff"
    write_log(Path(os.fsdecode(os.fsencode(logs) + b"/odd-\xff.jsonl")), json.dumps(line))
    summary = convert(logs, "out", Options(format=packing, metadata=True))
    path = Path("out", summary.files[0])
    rows = pl.read_parquet(path).to_dicts() if packing == "parquet" else records()
    odd = next(row for row in rows if row["session_id"] == "s\\ud800")
    assert (odd["model"], odd["source"]) == ("m\\udfff", "odd-\\udcff.jsonl")


# Presets, formats, and what can go wrong


@pytest.mark.parametrize("preset", names())
def test_every_preset_is_written_in_every_format(logs, preset):
    convert(logs, "lines", Options(preset=preset, format="jsonl"))
    summary = convert(logs, "out", Options(preset=preset, format="parquet"))
    rows = pl.read_parquet(Path("out", summary.files[0]))
    assert rows.height == len(records("lines")) == 21
    for row, record in zip(rows.to_dicts(), records("lines"), strict=True):
        assert {key for key, value in row.items() if value is not None} == record.keys()


def test_the_files_that_a_preset_has_beside_are_written(logs):
    convert(logs, "out", Options(preset="sharegpt"))
    info = json.loads(Path("out/dataset_info.json").read_bytes())
    assert Path("out", info["train"]["file_name"]).is_file()
    assert "dataset_info.json" in [each["path"] for each in manifest()["outputs"]]


def test_without_zstandard_it_says_what_to_install(logs, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setattr(text.sys, "version_info", (3, 11))
    with pytest.raises(UsageError, match=r"pip install 'chatsquash\[zstd\]'"):
        convert(logs, "out", Options(format="jsonl.zst"))
    assert not Path("out").exists()


def test_polars_is_not_imported_for_lines(logs):
    script = "import sys; from chatsquash import *; convert('logs', 'out', Options(format='jsonl', metadata=True)); print('polars' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "False\n"
    )


def test_git_takes_only_what_is_for_upload(logs):
    convert(logs, "out", Options(preset="sharegpt", force=True))
    Path("out/notes.txt").write_text("mine")
    subprocess.run(["git", "init", "-q", "out"], check=True)
    done = subprocess.run(
        ["git", "-C", "out", "ls-files", "--others", "--exclude-standard"], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "README.md",
        "croissant.json",
        "data/train-00000-of-00001.jsonl",
        "dataset_info.json",
    ]
