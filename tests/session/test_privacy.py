"""What is private is said by default, and replaced in everything that is written where it is asked for."""

import csv
import json
import stat

import polars as pl
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from chatsquash import Options, convert
from chatsquash.conversion import scanner_rules
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from chatsquash.redaction import scanner, secrets
from chatsquash.results.verify import KnownLogs, verify
from tests.conftest import assistant, log_line, table

KEY = b"a key for tests of what is private"
SECRET = "ghp_" + "a9Bc8De7Fg6Hi5Jk4Lm3No2Pq1Rs0TuVwXyZ"
PASSWORD = "Tr0ub4dor-and-3"
OTHER = "ghp_" + "Zz9Yy8Xx7Ww6Vv5Uu4Tt3Ss2Rr1Qq0PpOoNn"


def options(**more):
    return Options(anonymize_key=KEY, **more)


def written(folder, name, *lines):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def records(out):
    files = [*out.glob("*.jsonl"), *out.glob("data/*.jsonl")]
    return [json.loads(line) for file in sorted(files) for line in file.read_text().splitlines()]


def findings(out):
    return [json.loads(line) for line in (out / "reports/findings.jsonl").read_text().splitlines()]


def redactions(out):
    return list(csv.DictReader((out / "reports/redactions.csv").read_text().splitlines()))


def holding(out, *values):
    """The files below a folder whose names or bytes have one of some values."""
    found = []
    for path in sorted(out.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        if path.suffix == ".parquet":
            data = json.dumps(pl.read_parquet(path).to_dicts(), default=str).encode()
        found += [str(path.relative_to(out)) for value in values if value in path.name or value.encode() in data]
    return found


# Looking


def test_a_run_says_what_it_finds_and_replaces_nothing(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line(f"token {SECRET}", reply=f"It is {SECRET}.", at=1))
    summary = convert(tmp_path / "logs", tmp_path / "out", options())
    assert f"token {SECRET}" in json.dumps(records(tmp_path / "out"))
    (found,) = [each for each in findings(tmp_path / "out") if each["code"] == "secret-found"]
    assert (found["severity"], found["line"], found["message"]) == ("warning", 1, 0)
    assert SECRET not in json.dumps(found)
    assert table(summary)["secrets"] == "2 in 1 record, none replaced"
    rows = redactions(tmp_path / "out")
    assert sum(int(row["count"]) for row in rows) == 2
    assert {row["first"] for row in rows} == {f"{tmp_path}/logs/a.jsonl:1"}
    assert SECRET not in str(rows)
    assert [len(each) for each in {row["fingerprint"] for row in rows}] == [10]


def test_a_run_counts_a_secret_wherever_it_stands_as_one_that_replaces_it(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("export DB_PASSWORD=kettle9drum", reply="kettle9drum works.", at=1))
    looked = convert(tmp_path / "logs", tmp_path / "looked", options())
    replaced = convert(tmp_path / "logs", tmp_path / "replaced", options(redact="secrets"))
    assert table(looked)["secrets"] == "2 in 1 record, none replaced"
    assert table(replaced)["secrets"] == "2 in 1 record, all replaced"
    counts = [[row["count"] for row in redactions(tmp_path / out)] for out in ("looked", "replaced")]
    assert counts == [["2"], ["2"]]


def test_without_checks_a_run_does_not_look(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line(f"token {SECRET}", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(integrity_analysis=False))
    assert not redactions(tmp_path / "out")


def test_a_run_without_a_key_tells_no_fingerprint(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line(f"token {SECRET}", at=1))
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
    assert [row["fingerprint"] for row in redactions(tmp_path / "out")] == [""]


def test_values_of_records_that_are_not_written_are_not_counted(tmp_path):
    for name in ("a", "b"):
        written(tmp_path / "logs", f"{name}.jsonl", log_line(f"token {SECRET}", at=1))
    summary = convert(tmp_path / "logs", tmp_path / "out", options(format="jsonl"))
    assert summary.duplicates == 1
    assert table(summary)["secrets"].startswith("1 in 1 record,")
    assert [row["count"] for row in redactions(tmp_path / "out")] == ["1"]


# Replacing

EVERYWHERE = {
    "session_id": f"run-{SECRET}",
    "tools": [{"type": "function", "function": {"name": "f", "description": f"uses {SECRET}", "parameters": {}}}],
    "at": 1,
}


def test_nothing_of_a_secret_is_left_anywhere(tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": json.dumps({"key": SECRET})}}
    messages = [f"use {SECRET}", assistant(None, tool_calls=[call])]
    result = {"role": "tool", "tool_call_id": "c1", "content": f"HTTP 401 for {SECRET}"}
    lines = [
        log_line(*messages, result, reply=assistant("done", reasoning_content=f"{SECRET}?"), **EVERYWHERE),
        f'{{"broken": "{SECRET}',
    ]
    written(tmp_path / "logs", f"day-{SECRET}/x-{SECRET}.jsonl", *lines)
    asked = options(redact="secrets", keep_rejected=True, group_by="scenario", trace_replies=True)
    summary = convert(tmp_path / "logs", tmp_path / "out", asked)
    assert holding(tmp_path / "out", SECRET) == []
    assert table(summary)["secrets"].endswith("all replaced")
    (record,) = records(tmp_path / "out")
    (call,) = record["messages"][1]["tool_calls"]
    assert json.loads(call["function"]["arguments"])["key"] == record["messages"][0]["content"].removeprefix("use ")
    assert call["id"] == "c1"


@pytest.mark.parametrize(
    "more",
    [
        {"format": "jsonl", "metadata": True},
        {"format": "parquet", "metadata": True, "preset": "hf"},
        {"preset": "openai", "loss": "weight"},
        {"conversations": "all", "loss": "weight", "trace_replies": True},
        {"samples": "reply", "preset": "hf"},
        {"json_tool_calls": True},
        {"split": "train=0.5,test=0.5", "split_by": "scenario", "format": "jsonl"},
    ],
    ids=str,
)
def test_nothing_is_left_whatever_else_is_asked(tmp_path, more):
    first = log_line(f"use {SECRET}", reply=f"with {SECRET}", model=f"m-{SECRET}", **EVERYWHERE)
    second = log_line(f"use {SECRET}", assistant(f"with {SECRET}"), "go on", reply="yes", **EVERYWHERE)
    written(tmp_path / "logs", f"x-{SECRET}.jsonl", first, second)
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets", **more))
    assert holding(tmp_path / "out", SECRET) == []
    assert not verify(tmp_path / "out").problems


def test_what_is_known_by_what_stands_before_it_is_replaced_in_all_of_its_session(tmp_path):
    line = log_line(f"password = '{PASSWORD}'", reply=f"I typed {PASSWORD} twice", session_id=PASSWORD, at=1)
    written(tmp_path / "logs", f"{PASSWORD}.jsonl", line, f"not JSON: {PASSWORD}")
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets", keep_rejected=True))
    assert holding(tmp_path / "out", PASSWORD) == []


def test_a_list_is_replaced_in_all_sessions(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("our client is Quux Ltd", reply="Quux Ltd, yes", at=1))
    written(tmp_path / "logs", "b.jsonl", log_line("quux_ltd_invoice.pdf", session_id="s2", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(redact_names=b"Quux Ltd\n"))
    text = json.dumps(records(tmp_path / "out")).lower()
    assert "quux" not in text
    assert text.count("name_") == 3


def test_values_are_known_in_the_next_run_by_their_hashes(tmp_path):
    known = tmp_path / "known.txt"
    written(tmp_path / "logs", "a.jsonl", log_line(f"password = '{PASSWORD}'", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(write_known=str(known)))
    assert stat.S_IMODE(known.stat().st_mode) == 0o600
    assert PASSWORD not in known.read_text()
    written(tmp_path / "later", "b.jsonl", log_line(f"say {PASSWORD} to enter", at=1))
    convert(tmp_path / "later", tmp_path / "next", options(redact_known=known.read_bytes()))
    assert holding(tmp_path / "next", PASSWORD) == []


# What is trained on


def test_a_mask_is_not_taught(tmp_path):
    first = log_line("hi", reply=f"your key is {SECRET}", at=1)
    second = log_line("hi", assistant(f"your key is {SECRET}"), "thanks", reply="welcome", at=2)
    written(tmp_path / "logs", "a.jsonl", first, second)
    asked = options(redact="secrets", preset="openai", loss="weight", trace_replies=True)
    summary = convert(tmp_path / "logs", tmp_path / "out", asked)
    (record,) = records(tmp_path / "out")
    assert [turn["weight"] for turn in record["messages"] if turn["role"] == "assistant"] == [0, 1]
    assert table(summary)["messages"] == "2 of the assistant: 1 trained on, 1 redacted"
    rows = [json.loads(line) for line in (tmp_path / "out/reports/replies.jsonl").read_text().splitlines()]
    assert [(row["loss"], row.get("redacted")) for row in rows] == [(0, True), (1, None)]


def test_without_flags_a_finding_says_that_a_mask_would_be_taught(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("hi", reply=f"your key is {SECRET}", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets"))
    assert [each["message"] for each in findings(tmp_path / "out") if each["code"] == "placeholder-in-reply"] == [1]


def test_a_mask_of_the_user_is_no_reason_not_to_train(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line(f"my key is {SECRET}", reply="thanks", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets"))
    assert not [each for each in findings(tmp_path / "out") if each["code"] == "placeholder-in-reply"]


# Paths


def test_a_path_with_something_private_is_told_by_a_digest_that_verify_and_later_runs_know(tmp_path):
    logs = tmp_path / "home/jane@corp.com/logs"
    written(logs, "jane@corp.com.jsonl", log_line("hi", at=1), "broken")
    convert(logs, tmp_path / "out", options())
    assert holding(tmp_path / "out", "corp.com") == []
    (given,) = json.loads((tmp_path / "out/run.json").read_text())["inputs"]
    assert given["path"].endswith(".example/logs/" + given["path"].rpartition("/")[2])
    assert "replaced: pass LOGS" in verify(tmp_path / "out", logs=True).problems[0]
    done = verify(tmp_path / "out", logs=True, known=KnownLogs([str(logs)], KEY))
    assert (done.logs, done.problems) == (1, [])
    with pytest.raises(UsageError, match="the key does not match the run's key"):
        verify(tmp_path / "out", logs=True, known=KnownLogs([str(logs)], KEY * 2))
    assert convert(logs, tmp_path / "out", options()).unchanged
    written(logs, "jane@corp.com.jsonl", log_line("hello", at=1))
    assert convert(logs, tmp_path / "out", options()).written == 1, "an old result of the same logs is replaced"
    written(tmp_path / "others", "b.jsonl", log_line("hi", at=1))
    with pytest.raises(UsageError):
        convert(tmp_path / "others", tmp_path / "out", options())


def test_a_log_that_cannot_be_read_is_told_without_what_is_private(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("hi", at=1))
    (tmp_path / "logs/jane@corp.com.jsonl").mkdir()
    (tmp_path / "logs/ann@corp.com.jsonl.gz").write_bytes(b"\x1f\x8b broken")
    convert(tmp_path / "logs", tmp_path / "out", options())
    assert holding(tmp_path / "out", "corp.com") == []


# The same, however it is run


def test_shards_workers_and_reruns_give_the_same_bytes(tmp_path):
    for number in range(6):
        lines = [log_line(f"{number} {SECRET}", reply=f"{number} {OTHER}", session_id=f"s{number}", at=1), "broken"]
        written(tmp_path / "logs", f"log-{number}-{SECRET}/ann@corp.com.jsonl", *lines)
    asked = options(redact="secrets,paths", keep_rejected=True, trace_replies=True, write_known=str(tmp_path / "known"))
    convert(tmp_path / "logs", tmp_path / "one", asked)
    known = (tmp_path / "known").read_bytes()
    convert(tmp_path / "logs", tmp_path / "two", options(**{**_given(asked), "workers": 2}))
    divide([tmp_path / "logs"], tmp_path / "three", asked, 3)
    for number in (3, 1, 2):
        convert_shard(tmp_path / "three", Shard(number, 3), asked)
    merge(tmp_path / "three", key=KEY)
    assert (tmp_path / "known").read_bytes() == known
    first = _files(tmp_path / "one")
    assert _files(tmp_path / "two") == first
    assert _files(tmp_path / "three") == first
    convert(tmp_path / "logs", tmp_path / "one", options(**{**_given(asked), "full": True}))
    assert _files(tmp_path / "one") == first
    assert holding(tmp_path / "three", SECRET, OTHER, "corp.com") == []


def _given(asked):
    return {"redact": asked.redact, "keep_rejected": True, "trace_replies": True, "write_known": asked.write_known}


def _files(out):
    told = {}
    for path in sorted(out.rglob("*")):
        if path.is_file() and ".chatsquash" not in path.parts:
            told[str(path.relative_to(out))] = path.read_bytes()
    run = json.loads(told.pop("run.json"))
    told["run.json"] = {name: each for name, each in run.items() if name != "seconds"}
    return told


def test_a_merge_needs_the_key_where_an_option_holds_what_is_replaced(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("hi", at=1))
    asked = options(flag_phrase=("write to ann@corp.com",))
    divide([tmp_path / "logs"], tmp_path / "out", asked, 1)
    convert_shard(tmp_path / "out", Shard(1, 1), asked)
    with pytest.raises(UsageError, match="--anonymize-key-file"):
        merge(tmp_path / "out")
    with pytest.raises(UsageError, match="the key does not match the shards' key"):
        merge(tmp_path / "out", key=KEY * 2)
    merge(tmp_path / "out", key=KEY)
    assert holding(tmp_path / "out", "corp.com") == []


# What cannot be searched


def test_what_cannot_be_searched_is_left_out_and_said(tmp_path, monkeypatch):
    def fails(self, text):
        raise MemoryError(text[:0])

    written(tmp_path / "logs", "a.jsonl", log_line(f"token {SECRET}", at=1))
    monkeypatch.setattr(secrets.Secrets, "find", fails)
    summary = convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets"))
    assert summary.left_out == {"redaction-failed": 1}
    assert not summary.complete
    assert holding(tmp_path / "out", SECRET) == []
    assert [each["severity"] for each in findings(tmp_path / "out") if each["code"] == "redaction-failed"] == ["error"]


def test_a_long_line_that_cannot_be_read_is_searched_piece_by_piece(tmp_path):
    filling = "word " * 60_000
    line = f"broken {filling}{SECRET} {filling}ann@corp.com {filling}{OTHER}"
    written(tmp_path / "logs", "a.jsonl", log_line("hi", at=1), line)
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets", keep_rejected=True))
    kept = (tmp_path / "out/reports/rejected-lines.jsonl").read_text()
    assert SECRET not in kept
    assert OTHER not in kept
    assert "corp.com" not in kept
    assert kept.count("word ") == 180_000


# A second opinion


def test_the_rules_of_the_scanner_are_kept_and_held_to_a_digest(tmp_path, monkeypatch):
    written(tmp_path / "logs", "a.jsonl", log_line(f"token {SECRET}", at=1))
    monkeypatch.setattr(scanner, "_folder", None)
    scanner._native.cache_clear()
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets+kingfisher"))
    assert holding(tmp_path / "out", SECRET) == []
    ours = tmp_path / "out/.chatsquash"
    (rules,) = (ours / "kingfisher").iterdir()
    assert stat.S_IMODE(rules.stat().st_mode) == 0o600
    assert stat.S_IMODE((ours / "kingfisher").stat().st_mode) == 0o700
    monkeypatch.setattr(scanner, "_folder", None)
    scanner_rules.take(options(redact="secrets+kingfisher"), tmp_path / "out")
    assert scanner._folder == str(ours / "kingfisher")
    monkeypatch.setattr(scanner, "_folder", None)
    scanner_rules.take(Options(anonymize_key=KEY * 2, redact="secrets+kingfisher"), tmp_path / "out")
    assert scanner._folder is None, "of another key"
    rules.write_bytes(rules.read_bytes()[:-1] + b"x")
    scanner_rules.take(options(redact="secrets+kingfisher"), tmp_path / "out")
    assert scanner._folder is None, "changed"
    rules.unlink()
    rules.symlink_to(tmp_path / "elsewhere")
    scanner_rules.take(options(redact="secrets+kingfisher"), tmp_path / "out")
    assert scanner._folder is None, "a link"
    assert not verify(tmp_path / "out").problems


# What is counted


def test_tokens_are_those_of_the_record_that_is_written(tmp_path):
    words = Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    counted = {"tokenizer": words.to_str().encode(), "format": "jsonl"}
    written(tmp_path / "logs", "a.jsonl", log_line("one two three four", reply="ok", at=1))
    counts = []
    for name, more in [("plain", {}), ("replaced", {"deny": b"two three\n"})]:
        convert(tmp_path / "logs", tmp_path / name, options(**counted, **more))
        (row,) = (tmp_path / name / "reports/sessions.jsonl").read_text().splitlines()
        counts.append(json.loads(row)["tokens"])
    assert counts == [5, 4]


# Passwords of URLs

URL = "https://me:Hx7-qPz9@git.corp.com/x.git"


def test_the_password_of_a_url_is_replaced_with_addresses_and_counted(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line(f"clone {URL}", at=1))
    summary = convert(tmp_path / "logs", tmp_path / "out", options())
    (record,) = records(tmp_path / "out")
    placeholder = record["messages"][0]["content"].removeprefix("clone https://me:").removesuffix("@git.corp.com/x.git")
    assert placeholder.startswith("<SECRET_")
    assert table(summary)["secrets"] == "1 in 1 record, all replaced"
    (row,) = redactions(tmp_path / "out")
    assert (row["rule"], f"<SECRET_{row['fingerprint']}>") == ("url-userinfo", placeholder)
    convert(tmp_path / "logs", tmp_path / "again", options(redact="secrets"))
    assert records(tmp_path / "again") == [record], "the same placeholder, whoever replaces it"
    (found,) = redactions(tmp_path / "again")
    assert found["fingerprint"] == row["fingerprint"]


def test_where_secrets_are_replaced_it_is_known_in_all_of_its_session(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line(f"clone {URL}", reply="with Hx7-qPz9", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets"))
    assert holding(tmp_path / "out", "Hx7-qPz9") == []


# Corners


def test_a_part_of_a_file_name_between_points_is_searched(tmp_path):
    written(tmp_path / "logs", f"dump.{SECRET}.jsonl", log_line("hi", at=1))
    (tmp_path / f"logs/notes.{OTHER}").write_text("x")
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets", deny=OTHER.lower().encode() + b"\n"))
    assert holding(tmp_path / "out", SECRET, OTHER.lower()) == []


def test_what_spells_a_reply_out_goes_where_something_in_it_is_replaced(tmp_path):
    tokens = [{"token": part, "logprob": -0.1, "bytes": [*part.encode()]} for part in (SECRET[:9], SECRET[9:])]
    line = log_line("hi", reply=SECRET, at=1)
    line["response"]["choices"][0]["logprobs"] = {"content": tokens}
    other = log_line("hi", reply="yes", session_id="s2", at=1)
    other["response"]["choices"][0]["logprobs"] = {"content": [{"token": "yes", "logprob": -0.1, "bytes": [121]}]}
    written(tmp_path / "logs", "a.jsonl", line)
    written(tmp_path / "logs", "b.jsonl", other)
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets", preset="hf", keep="logprobs"))
    assert holding(tmp_path / "out", SECRET[9:]) == []
    kept = [turn for record in records(tmp_path / "out") for turn in record["messages"] if turn.get("logprobs")]
    assert [turn["content"] for turn in kept] == ["yes"]


def test_a_finding_does_not_quote_the_beginning_of_a_secret(tmp_path):
    message = {"role": f"rr{'x' * 40} {SECRET}", "content": "x"}
    written(tmp_path / "logs", "a.jsonl", log_line(f"token {SECRET}", message, at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets", on_invalid="keep"))
    assert holding(tmp_path / "out", SECRET[:10]) == []


def test_a_listed_value_that_holds_an_address_is_replaced_whole(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("kq7:ana@corp.com:zz81 and jane@corp.com", at=1))
    summary = convert(tmp_path / "logs", tmp_path / "out", options(deny=b"kq7:ana@corp.com:zz81\n"))
    assert holding(tmp_path / "out", "zz81", "corp.com") == []
    assert summary.addresses == 1


def test_a_password_of_a_url_is_not_taught_either(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("hi", reply=f"git clone {URL}", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(loss="weight", preset="openai"))
    assert records(tmp_path / "out")[0]["messages"][1]["weight"] == 0
    convert(tmp_path / "logs", tmp_path / "again", options())
    assert "placeholder-in-reply" in [each["code"] for each in findings(tmp_path / "again")]


def test_a_file_that_another_session_names_is_told_as_its_own_session_tells_it(tmp_path):
    password = "Kettle9drumX"
    written(tmp_path / "logs", f"a-{password}.jsonl", log_line(f"DB_PASSWORD={password}", at=1))
    more = log_line(f"DB_PASSWORD={password}", assistant("hello"), "go on", at=2)
    written(tmp_path / "logs", "b.jsonl", more)
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets"))
    assert "divided-session" in [each["code"] for each in findings(tmp_path / "out")]
    assert holding(tmp_path / "out", password) == []
    convert(tmp_path / "logs", tmp_path / "chain", options(redact="secrets", sessions_by="chain"))
    assert holding(tmp_path / "chain", password) == []


def test_patterns_and_lists_are_told_as_given(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("hi", at=1))
    asked = options(redact_pattern=("customer=(?i)init[e]ch",), deny=b"x9\n", write_known=str(tmp_path / "known"))
    convert(tmp_path / "logs", tmp_path / "out", asked)
    told = json.loads((tmp_path / "out/run.json").read_text())["options"]
    assert (told["redact_pattern"], told["deny"], told["write_known"]) == (["customer=given"], "given", "given")


def test_a_variable_is_known_by_the_name_beside_it(tmp_path):
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {
        "role": "tool",
        "tool_call_id": "c1",
        "content": [{"type": "text", "name": "DB_PASSWORD", "value": "Zk83jfQp1xV"}],
    }
    written(tmp_path / "logs", "a.jsonl", log_line("hi", assistant(None, tool_calls=[call]), result, at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets", on_invalid="keep"))
    assert holding(tmp_path / "out", "Zk83jfQp1xV") == []


def test_what_is_never_searched_is_counted(tmp_path):
    call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    result = {"role": "tool", "tool_call_id": "call_1", "content": "ok"}
    written(tmp_path / "logs", "a.jsonl", log_line("hi", assistant(None, tool_calls=[call]), result, at=1))
    for more in ({}, {"redact": "secrets"}):
        counts = convert(tmp_path / "logs", tmp_path / f"out{len(more)}", options(**more)).counts()
        assert counts["secrets"] == {"found": 0, "records": 0, "replaced": 0, "passed_over": 2}


SETTINGS = ["TOKEN=k9Jd83jfKs02jfLs83kdPq", "DB_PASSWORD=hunter2xx9", "SECRET_KEY=djslk39sjd93jd02jd", "DEBUG=true"]


@pytest.mark.parametrize("between", ["\n", "\r\n", "\n      - ", "\n+"], ids=["lines", "CRLF", "a list", "a diff"])
def test_settings_line_by_line_are_values_of_their_own(tmp_path, between):
    values = [each.partition("=")[2] for each in SETTINGS[:3]]
    line = log_line(between.join(["", *SETTINGS]), reply=f"I used {values[1]} and {values[2]}; {values[0]}.", at=1)
    written(tmp_path / "logs", "a.jsonl", line)
    convert(tmp_path / "logs", tmp_path / "out", options(redact="secrets"))
    (record,) = records(tmp_path / "out")
    assert [
        each in record["messages"][0]["content"] for each in ("TOKEN=", "DB_PASSWORD=", "SECRET_KEY=", "DEBUG=true")
    ] == [True] * 4
    assert holding(tmp_path / "out", *values) == []


def test_a_name_within_an_address_leaves_the_address_whole(tmp_path):
    text = "jane.doe@acme-corp.io wrote to acme-corp; jane.doe@52.14.201.7.nip.io"
    written(tmp_path / "logs", "a.jsonl", log_line(text, at=1))
    summary = convert(tmp_path / "logs", tmp_path / "out", options(redact="ips,names", redact_names=b"acme-corp\n"))
    assert holding(tmp_path / "out", "jane.doe", "acme") == []
    assert summary.addresses == 2
    assert table(summary)["replaced"] == "1 name"


def test_an_address_of_a_machine_is_no_phone_number(tmp_path):
    written(tmp_path / "logs", "a.jsonl", log_line("to 93.184.216.34 for Maria, x = 6.33 + 45928282681*I", at=1))
    convert(tmp_path / "logs", tmp_path / "out", options(redact="ips,phones", phone_region="DE"))
    (record,) = records(tmp_path / "out")
    assert "<IP_ADDRESS_" in record["messages"][0]["content"]
    assert "+ 45928282681*I" in record["messages"][0]["content"]
