"""A directory of session logs becomes a dataset: the whole run, through the Python interface."""

import doctest
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from xxhash import xxh3_128

import chatsquash
from chatsquash import Options, convert
from chatsquash.api import in_python
from chatsquash.conversion import convert as convert_module
from chatsquash.conversion import in_memory, workers
from chatsquash.core.errors import StoppedError, UsageError
from chatsquash.session import converter as session
from chatsquash.session import private_texts as rejected_module
from chatsquash.sources.compression import stem
from chatsquash.sources.names import LOGS
from chatsquash.sources.no_logs import READ
from tests.checks.rows import assistant, call, result, tool
from tests.conftest import cases, log_line, tree, write_log
from tests.outputs import comparable, manifest, report

UUID = "123e4567-e89b-12d3-a456-426614174000"
BACKWARD = [log_line("a", at="2026-01-13T10:00:01Z"), log_line("a", "b", at="2026-01-13T10:00:00Z")]
MIXED = [log_line("a", at=1), log_line("a", "b", at=2, session_id="s2")]
BAD = b'{"no": "entry"}'


def records(out="out") -> dict[str, list[str]]:
    """The first user's text of every record, by file."""
    return {
        path.name: [json.loads(line)["messages"][0]["content"] for line in path.read_text("utf-8").splitlines()]
        for path in sorted(Path(out).glob("*.jsonl"))
    }


# What stands where


@cases("logs, options, expected",
    ("by the day in the path", {"2026-01-13/a": "x", "b/2026-01-14": "y"}, {}, {"2026-01-13": ["x"], "2026-01-14": ["y"]}),
    ("else by the day of the first entry", {"a": "x"}, {}, {"2026-01-12": ["x"]}),
    ("in one file in the order of the input", {"2026-01-13/b": "y", "2026-01-13/a": "x"}, {}, {"2026-01-13": ["x", "y"]}),
    ("by scenario", {"maps-es-01": "x", "maps-es-02": "y", f"gpt-4-{UUID}": "z"}, {"group_by": "scenario"}, {"gpt-4": ["z"], "maps-es": ["x", "y"]}),
    (
        "scenarios that are alike share a file",
        {"Maps-es-01": "x", "maps-es-02": "y", "maps es": "z", "maps_es": "w"},
        {"group_by": "scenario"},
        {"Maps-es": ["x", "y"], "maps_es": ["z", "w"]},
    ),
    ("device names are none", {"CON-a-1": "x", "CON": "y"}, {"group_by": "scenario"}, {"CON-a": ["x"], "_CON": ["y"]}),
    ("no file is hidden", {".hidden": "x"}, {"group_by": "scenario"}, {"hidden": ["x"]}),
    ("in one file", {"2026-01-13/a": "x", "b": "y"}, {"group_by": "none"}, {"conversations": ["x", "y"]}),
)  # fmt: skip
def test_records_go_to_files(here, logs, options, expected):
    for name, text in logs.items():
        write_log(here / "logs" / f"{name}.jsonl", log_line(text, at="2026-01-12T23:00:00-00:30"))
    summary = convert("logs", "out", Options(**options))
    assert records() == {f"{name}.jsonl": texts for name, texts in expected.items()}
    assert summary.files == [f"{name}.jsonl" for name in sorted(expected)]


TITLE = log_line(
    {"role": "system", "content": "Reply with only a description in four words or less"},
    "Here are the first few user messages: x",
    reply="A title",
    at="2026-01-13T23:59:59Z",
)  # fmt: skip


@cases("lines, options, day",
    ("a title request does not count", [TITLE, log_line("a", at="2026-01-14T00:00:01Z")], {}, "2026-01-14"),
    ("unless it stays", [TITLE, log_line("a", "b", at="2026-01-14T00:00:01Z")], {"cleanup_goose": False}, "2026-01-13"),
    ("it is the UTC date", [log_line("a", at="2026-01-14T01:00:00+02:00")], {}, "2026-01-13"),
    ("what has no readable time does not count", [BAD, log_line("a", at=None), log_line("a", at=1)], {}, "1970-01-01"),
    ("nothing has one", [log_line("a", at="yesterday")], {}, "undated"),
)  # fmt: skip
def test_sessions_are_chosen_by_the_day_they_are_grouped_by(here, lines, options, day):
    write_log(here / "logs" / "a.jsonl", *lines)
    convert("logs", "all", Options(**options))
    assert list(records("all")) == [f"{day}.jsonl"]
    for chosen in ("1970-01-01", "2026-01-13", "2026-01-14"):
        if chosen == day:
            assert convert("logs", "out", Options(since=day, until=day, **options)).written == 1
        else:
            with pytest.raises(UsageError, match="1 excluded by options"):
                convert("logs", "out", Options(since=chosen, until=chosen, **options))


def test_outputs_below_the_logs_and_second_names_are_reported(here):
    log = write_log(here / "logs" / "a.jsonl")
    os.link(log, here / "logs" / "b.jsonl")
    convert("logs", "logs/old")
    summary = convert("logs", "out")
    assert (summary.written, summary.others) == (1, {"same file again": 1, "earlier output": 1})
    found = [finding for finding in report("findings.jsonl") if finding["code"] == "file-not-read"]
    assert [finding["file"] or None for finding in found] == ["logs/old", None]
    readers = "chatsquash stats, check and translate read its records, and merge joins it with other results"
    assert [finding["text"] for finding in found] == [
        f"a chatsquash output, not logs: {readers}",
        "1 duplicate path not read: each file is converted once, under its first name",
    ]


def test_records_hold_messages_and_tools_and_nothing_else(here):
    write_log(here / "logs" / "a.jsonl", log_line("x", tools=[tool("grep")], model="m"))
    convert("logs")
    assert (here / "out" / "2026-01-13.jsonl").read_bytes() == (
        b'{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"hello"}],'
        b'"tools":[{"name":"grep","description":"d","parameters":{"type":"object","properties":{}}}]}\n'
    )


def test_the_folder_holds_records_run_json_hidden_files_and_reports(here):
    write_log(here / "logs" / "a.jsonl")
    convert("logs")
    reports = [
        "findings.jsonl", "integrity-report.txt", "outcomes.jsonl", "redactions.csv", "rejected.jsonl", "sessions.jsonl",
        "tool-usage.csv", "tools.csv",
    ]  # fmt: skip
    names = [".chatsquash", ".chatsquash/lock", ".chatsquash/written.json", "2026-01-13.jsonl", "README.md", "reports"]
    assert list(tree(here / "out")) == [*names, *(f"reports/{name}" for name in reports), "run.json"]


def test_logs_are_a_path_or_several_of_any_kind(here):
    write_log(here / "logs" / "a.jsonl", log_line("x"))
    write_log(here / "logs" / "b.jsonl", log_line("y"))
    for logs in (Path("logs"), ["logs"], [Path("logs/a.jsonl"), "logs/b.jsonl"], iter(["logs/*.jsonl"])):
        assert convert(logs, Path("out")).written == 2


# run.json


def mixed_logs(here):
    """Sessions of every fate, 15 lines in all."""
    long = [log_line(*"abc"[:n], at=n) for n in (1, 2, 3)]
    write_log(here / "logs" / "a.jsonl", *long, log_line("title", at=4), b"", BAD, b"\xff\xfe")
    write_log(here / "logs" / "b" / "2026-01-14.jsonl", log_line("me@corp.de, you@corp.de", tools=[tool("grep")]))
    write_log(here / "logs" / "c.jsonl", *BACKWARD, b"")
    write_log(here / "logs" / "d.jsonl", *MIXED)
    write_log(here / "logs" / "e.jsonl", b"", b" \t")
    (here / "logs" / "f.jsonl").touch()
    (here / "logs" / "notes.md").touch()


def test_run_json_names_inputs_outputs_options_and_sums(here):
    mixed_logs(here)
    summary = convert("logs", "out", Options(exclude=("z*",), limit=10))
    run = manifest()
    assert list(run) == [
        *("schema_version", "chatsquash_version", "compiled", "options", "counts", "records_made", "seconds"),
        *("outputs", "inputs"),
    ]
    assert (run["schema_version"], run["chatsquash_version"]) == (1, chatsquash.__version__)
    counts = run["counts"]
    assert counts == summary.counts()
    left_out = {"unanswered-session": 2, "session-id-mismatch": 1, "timestamp-order": 1}
    assert counts["sessions"] == {
        "seen": 6, "written": 2, "left_out": left_out, "filtered": {}, "duplicates": 0, "joined": 0,
    }  # fmt: skip
    assert counts["lines"] == {
        "seen": 15, "selected": 2, "superseded": 2, "cut": 1, "cleaned": 0, "left_out": 4, "unreadable": 2, "blank": 4, "joined": 0,
    }  # fmt: skip
    assert list(counts["bytes"]) == list(counts["lines"])
    sizes = list(counts["bytes"].values())
    assert sizes[0] == sum(sizes[1:]) == sum(path.stat().st_size for path in (here / "logs").rglob("*.jsonl"))
    assert counts["addresses"] == 2
    assert counts["other_files"] == {".md": 1}
    assert (summary.sessions, summary.written, summary.lines, summary.complete) == (6, 2, 15, False)


def test_run_json_holds_the_options_that_decide_the_bytes(here):
    write_log(here / "logs" / "a.jsonl")
    convert("logs", "out", Options(workers=3, force=True, include=("*a*", "\udcff"), since="2026-01-01"))
    assert manifest()["options"] == {
        "cleanup_goose": True, "cleanup": [], "on_invalid": None, "keep_cut": False, "json_tool_calls": False, "anonymize": True, "join": False,
        "integrity_analysis": True, "group_by": "date", "tool_report": True, "tool_report_path": None, "provenance": False, "keep_rejected": False, "strict": False,
        "follow_links": False, "since": "2026-01-01", "until": None, "limit": None,
        "redact": None, "redact_names": None, "redact_rules": None, "redact_pattern": [], "redact_known": None,
        "allow": None, "deny": None, "phone_region": None, "write_known": None,
        "from_format": None, "reasoning": "keep", "sessions_by": None, "preset": "chat", "system": "keep",
        "merge_consecutive": False, "split_parallel": False, "split_text_and_calls": False, "tool_ids": "keep",
        "drop_text_beside_calls": False, "bridge_results": "keep", "mark_failed_results": False, "enums": "keep",
        "media": "text", "keep": "none", "unpaired": "refuse", "unpaired_text": None,
        "tools": "first", "tools_file": None, "system_file": None, "check_arguments": False,
        "max_line": 268435456, "max_nesting": 500, "max_messages": 100_000,
        "max_rejected": 10_000, "max_expansion": 200, "max_expanded": 17179869184, "max_output_growth": 1000, "max_memory": 2000000000,
        "max_database_time": 60,
        "conversations": None, "subagents": True, "side": True, "restore": "none", "loss": "none", "restored_loss": 0,
        "samples": "session", "sample_shape": None, "pairs": "none", "template": None, "tokenizer": None, "max_tokens": None,
        "too_long": "drop",
        "loss_model": [], "loss_skip": None, "loss_skip_failed": False, "loss_skip_side": False, "loss_labels": None, "traces": False, "trainer": None, "trace_replies": False,
        "include": ["*a*", "\\udcff"], "exclude": [], "only_model": [], "drop": [], "duplicates": None, "drop_duplicates": None,
        "flag_phrase": ["context limit was reached"],
        "format": None, "shard_size": None, "split": None, "split_by": "prompt", "seed": 0, "metadata": False,
        "min_turns": None, "max_turns": None, "max_chars": None, "where": None,
        "anonymize_key_fingerprint": manifest()["options"]["anonymize_key_fingerprint"],
    }  # fmt: skip


def test_run_json_tells_keys_apart_and_tells_no_key(here):
    write_log(here / "logs" / "a.jsonl")
    prints = []
    for key in (b"0123456789abcdef", b"0123456789abcdef", b"fedcba9876543210"):
        convert("logs", "out", Options(anonymize_key=key))
        prints.append(manifest()["options"]["anonymize_key_fingerprint"])
        assert key not in (here / "out" / "run.json").read_bytes()
    assert prints[0] == prints[1] != prints[2]
    convert("logs", "out", Options(anonymize=False))
    assert manifest()["options"]["anonymize_key_fingerprint"] is None


def test_run_json_names_every_output_file_with_size_lines_and_hash(here):
    mixed_logs(here)
    convert("logs", "out", Options(keep_rejected=True))
    files = {name: data for name, data in tree(here / "out").items() if data is not None and name[0] != "."}
    del files["run.json"]
    assert manifest()["outputs"] == [
        {"path": name, "size": len(data), "lines": data.count(b"\n"), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in sorted(files.items())
    ]


def test_run_json_names_every_input_file_with_size_and_hash(here):
    big = write_log(here / "logs" / "big.jsonl", *[log_line("x" * 700_000, second=second) for second in range(4)])
    small = write_log(here / "logs" / "small.jsonl", log_line("x"))
    convert("logs")
    assert manifest()["inputs"] == [
        {"path": f"logs/{path.name}", "size": path.stat().st_size, "xxh3_128": xxh3_128(path.read_bytes()).hexdigest()}
        for path in (big, small)
    ]


# Reports


def test_findings_stand_in_both_reports_in_the_order_of_the_input(here):
    mixed_logs(here)
    summary = convert("logs")
    found = report("findings.jsonl")
    assert [(each["file"], each["line"]) for each in found if each["code"] in ("bad-line", "bad-entry")] == [
        ("logs/a.jsonl", 6), ("logs/a.jsonl", 7),
    ]  # fmt: skip
    files = [each["file"] for each in found]
    assert files == [*sorted(files[:-1]), None]
    text = (here / "out" / "reports" / "integrity-report.txt").read_text("utf-8").splitlines()
    assert len(text) == len(found) == summary.findings.total()
    for line, each in zip(text, found, strict=True):
        place = (each["file"] or "") + (f":{each['line']}" if each["line"] else "")
        session, record = each["session"] or "", each["record"] or ""
        assert line.startswith(
            f"{each['severity'].upper()}\tsession={session}\tinput={place}\trecord={record}\t[{each['code']}] "
        )


def test_without_analysis_only_what_happened_while_reading_is_reported(here):
    write_log(here / "logs" / "a.jsonl", log_line("x", tools=[{"name": "t", "description": "d"}]), BAD)
    codes = []
    for analysis in (True, False):
        convert("logs", "out", Options(integrity_analysis=analysis))
        codes.append([each["code"] for each in report("findings.jsonl")])
    assert codes == [["tool-parameters-missing", "bad-entry"], ["bad-entry"]]


def test_rejected_lines_are_told_by_where_their_bytes_are(here):
    path = write_log(here / "logs" / "a.jsonl", log_line("é"), b"\xff\xfe", log_line("x"), BAD)
    convert("logs")
    data = path.read_bytes()
    found = report("rejected.jsonl")
    assert [(each["file"], each["line"], each["code"]) for each in found] == [
        ("logs/a.jsonl", 2, "bad-line"), ("logs/a.jsonl", 4, "bad-entry"),
    ]  # fmt: skip
    assert [data[each["offset"] :][: each["length"]] for each in found] == [b"\xff\xfe", BAD]
    assert not (here / "out" / "reports" / "rejected-lines.jsonl").exists()


def test_rejected_lines_are_kept_on_request_byte_for_byte_and_for_their_owner_alone(here, monkeypatch):
    monkeypatch.setattr(rejected_module, "_PIECE", 7)
    bad = [b"\xff\xfe\x00", b"{" * 50, b'{"a": 1}\r', BAD]
    write_log(here / "logs" / "a.jsonl", bad[0], log_line("x"), *bad[1:])
    write_log(here / "logs" / "b.jsonl", BAD + b" me@corp.de")
    convert("logs", "out", Options(keep_rejected=True, anonymize=False))
    kept = here / "out" / "reports" / "rejected-lines.jsonl"
    assert kept.read_bytes() == b"".join(line + b"\n" for line in [*bad, BAD + b" me@corp.de"])
    convert("logs", "out", Options(keep_rejected=True))
    *same, last = kept.read_bytes().split(b"\n")[:-1]
    assert same == bad
    assert re.fullmatch(re.escape(BAD) + rb" [a-z0-9]{16}@[a-z0-9]{8}\.example", last), (
        "addresses are replaced there, too"
    )
    assert oct(kept.stat().st_mode & 0o777) == "0o600"


def test_where_nothing_was_rejected_nothing_is_kept(here):
    write_log(here / "logs" / "a.jsonl")
    convert("logs", "out", Options(keep_rejected=True))
    assert not (here / "out" / "reports" / "rejected-lines.jsonl").exists()
    assert report("rejected.jsonl") == []


def test_tool_usage_is_counted_per_group_on_the_native_record(here):
    talk = ["x", assistant("", call(), call("c2", "ls")), result(), result("", "c2")]
    for name in ("2026-01-13/a", "2026-01-13/b", "2026-01-14/c"):
        write_log(here / "logs" / f"{name}.jsonl", log_line(*talk, tools=[tool("grep")]))
    for inlined in (False, True):
        convert("logs", "out", Options(json_tool_calls=inlined))
        assert (here / "out" / "reports" / "tool-usage.csv").read_text().splitlines()[1:] == [
            "2026-01-13,,2,4,1,2,2,2", "2026-01-14,,1,2,1,1,1,1",
        ]  # fmt: skip
        assert (here / "out" / "reports" / "tools.csv").read_text().splitlines()[1:] == ["grep,3,3,0,0", "ls,3,3,0,0"]


@cases("group_by, date, scenario", ("date", "2026-01-13", ""), ("scenario", "", "a"), ("none", "", ""))
def test_tool_usage_names_the_group_in_its_own_column(here, group_by, date, scenario):
    write_log(here / "logs" / "a.jsonl")
    convert("logs", "out", Options(group_by=group_by))
    (row,) = report("tool-usage.csv")
    assert (row["date"], row["scenario"], row["session_count"]) == (date, scenario, "1")


def test_the_tool_report_can_be_left_out(here):
    write_log(here / "logs" / "a.jsonl")
    convert("logs", "out", Options(tool_report=False))
    assert not list((here / "out").glob("reports/to*.csv"))


# What cannot be read


def test_a_log_that_cannot_be_opened_is_left_out_and_the_others_are_converted(here, monkeypatch):
    write_log(here / "logs" / "a.jsonl", log_line("x"))
    write_log(here / "logs" / "b.jsonl", log_line("y"))
    read = session.Converter.convert

    def refuse(self, job, **more):
        if stem(job) == "a":
            raise PermissionError(13, "Permission denied")
        return read(self, job, **more)

    monkeypatch.setattr(session.Converter, "convert", refuse)
    summary = convert("logs")
    assert (summary.written, summary.left_out, summary.complete) == (1, {"unreadable-log": 1}, False)
    assert records() == {"2026-01-13.jsonl": ["y"]}
    (found,) = [each for each in report("findings.jsonl") if each["code"] == "unreadable-log"]
    assert (found["session"], found["file"]) == ("a", "logs/a.jsonl")
    assert "Permission denied" in found["text"]


@cases(
    "data, lines, blank, left_out",
    ("an empty file", b"", 0, 0, "unanswered-session"),
    ("blank lines", b"\n \t\r\n\n", 3, 3, "unanswered-session"),
    ("a byte order mark", b"\xef\xbb\xbf", 1, 1, "unanswered-session"),
    ("NUL bytes", b"\xef\xbb\xbf\0\0\n\0", 2, 2, "unanswered-session"),
    ("bad lines alone", b"{\n[]\n", 2, 0, "empty-session"),
)
def test_in_a_log_without_an_entry_nobody_answered_unless_it_has_bad_lines(here, data, lines, blank, left_out):
    (here / "a.jsonl").write_bytes(data)
    summary = convert("a.jsonl")
    assert summary.left_out == {left_out: 1}
    assert (summary.lines, summary.account.blank, summary.account.unreadable) == (lines, blank, lines - blank)
    assert records() == {}


@cases(
    "files, seen",
    ("an empty folder", {}, "no files"),
    ("other files alone", {"b.md": 2, "c": 1}, "1 .md, 1 no suffix"),
    ("logs that options leave aside", {"z.jsonl": 1}, "1 excluded by options"),
)
def test_nothing_to_read_is_an_error_that_says_what_was_seen(here, files, seen):
    (here / "logs").mkdir()
    for name in files:
        (here / "logs" / name).touch()
    with pytest.raises(UsageError) as caught:
        convert("logs", "out", Options(exclude=("z*",)))
    first, *hints = str(caught.value).split("\n")
    assert first == f"logs: no session logs to read; found: {seen}"
    if "by options" in seen:
        assert hints == [in_python("widen --include, --exclude, --since or --until")]
    else:
        assert hints[0] == READ
        assert len(hints) == 2
        assert all(name in "".join(hints) for name in (*LOGS, "chatsquash formats", "chatsquash sources", "archives"))
    assert not (here / "out").exists()


def test_the_error_is_three_short_lines_and_what_was_seen_adds_none(here, command):
    (here / "logs").mkdir()
    (here / "logs/a.x\nerror: y").touch()
    lines = command("convert", "logs").err.splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 120 for line in lines)
    assert len(" ".join(lines).split()) < 60


def test_of_many_arguments_the_first_are_named(here):
    for name in "abcdefg":
        write_log(here / name)
    with pytest.raises(UsageError, match=r"^a, b, c, d, e, \.\.\.: no session logs to read; found: 7 excluded"):
        convert(list("abcdefg"), "out", Options(exclude=("*",)))


# Hostile logs

HOSTILE = "\x1b[2J\x1b]0;x\x07\r\n\t\u202e\x9b\u2028=1"


def test_what_a_log_says_reaches_no_terminal_raw_and_breaks_no_report(here):
    logs = here / "logs" / HOSTILE.replace("/", "")
    lines = [
        log_line(
            {"role": HOSTILE, "content": HOSTILE},
            assistant("", call(HOSTILE, HOSTILE, HOSTILE), tool_calls=[call(HOSTILE, HOSTILE), call(HOSTILE, HOSTILE)]),
            {"role": "tool", "tool_call_id": HOSTILE * 2, "content": ""},
            session_id=HOSTILE,
            tools=[{"name": HOSTILE, "parameters": {"type": HOSTILE}}, {"name": HOSTILE}, HOSTILE, {HOSTILE: HOSTILE}],
            at=HOSTILE,
            response={
                "choices": [{"message": {"role": HOSTILE, "content": HOSTILE}, "finish_reason": HOSTILE}, HOSTILE]
            },
            reply=None,
        ),
        log_line({"role": "other" + HOSTILE, "content": HOSTILE}, session_id=HOSTILE),
        json.dumps({HOSTILE: HOSTILE}),
        HOSTILE.replace("\n", ""),
        log_line("x", session_id=HOSTILE + "2"),
    ]
    write_log(logs / f"{HOSTILE}.jsonl", *lines)
    (logs / f"x.{HOSTILE}").touch()
    seen = []
    for options in (Options(), Options(on_invalid="keep", json_tool_calls=True, group_by="scenario")):
        summary = convert("logs", "out", options, lambda job, outcome, total: seen.append(outcome))
        text = str(summary)
        assert all(char.isprintable() for line in text.split("\n") for char in line)
        reported = (here / "out" / "reports" / "integrity-report.txt").read_text("utf-8")
        lines = reported.removesuffix("\n").split("\n")
        assert len(lines) == summary.findings.total() > 5
        assert all(line.count("\t") == 4 for line in lines)
        assert all(char.isprintable() for line in lines for char in line.replace("\t", ""))
        for name in ("tool-usage.csv", "tools.csv"):
            assert all(char.isprintable() or char == "\n" for char in (here / "out" / "reports" / name).read_text())
        assert all(path.name.isprintable() for path in (here / "out").rglob("*"))
    assert any("session-id-mismatch" == outcome.left_out for outcome in seen)


@pytest.mark.skipif(sys.platform == "darwin", reason="file names are text there")
def test_file_names_that_are_no_text_are_utf_8_in_every_file(here):
    write_log(here / "logs" / "a\udcff.jsonl", log_line("x", session_id=None), BAD)
    (here / "logs" / "b.\udcfe").touch()
    summary = convert("logs", "out\udcfd", Options(group_by="scenario"))
    out = here / "out\udcfd"
    assert [path.name for path in out.glob("*.jsonl")] == ["a_.jsonl"]
    for path in (path for path in out.rglob("*") if path.is_file()):
        path.read_text("utf-8")
    assert {each["file"] for each in report("findings.jsonl", out)} == {"logs/a\\udcff.jsonl", None}
    assert report("rejected.jsonl", out)[0]["file"] == manifest(out)["inputs"][0]["path"] == "logs/a\\udcff.jsonl"
    assert summary.as_json()["output"] == "out\\udcfd"


# Again


def test_the_same_input_and_options_give_the_same_bytes(here):
    mixed_logs(here)
    convert("logs", "out")
    first = comparable("out")
    convert("logs", "out")
    convert("logs", "other")
    assert first == comparable("out") == comparable("other")


def test_a_changed_grouping_removes_the_files_that_it_no_longer_writes(here):
    for name in ("a", "b"):
        write_log(here / "logs" / f"{name}.jsonl", log_line(name), BAD)
    for group_by, files in (("scenario", ["a", "b"]), ("date", ["2026-01-13"]), ("none", ["conversations"])):
        convert("logs", "out", Options(group_by=group_by))
        assert list(records()) == [f"{name}.jsonl" for name in files]


@cases(
    "name",
    "2026-01-13.jsonl",
    "run.json",
    "reports/findings.jsonl",
    "reports/tools.csv",
    "reports/rejected-lines.jsonl",
)
def test_force_overwrites_nothing_of_others(here, name):
    write_log(here / "logs" / "a.jsonl", log_line("x"), BAD)
    write_log(here / "out" / name, b"mine")
    before = tree(here)
    with pytest.raises(UsageError, match=f"^out/{name}: not written by chatsquash, but would be overwritten"):
        convert("logs", "out", Options(force=True, keep_rejected=True))
    assert tree(here) == before


# Stopping


def interrupt(*_):
    raise KeyboardInterrupt


WHERE = "logs/b.jsonl"
BAD_REASON = f"{WHERE}:2: request is missing [bad-entry]"


@cases("lines, options, observer, error, text",
    ("abort, a clock that goes back", BACKWARD, {"on_invalid": "abort"}, None, StoppedError,
     f"stopped by --on-invalid abort; nothing was written: {WHERE}:2: timestamp is earlier than that of line 1 (--on-invalid keep"),
    ("abort, a second session id", MIXED, {"on_invalid": "abort"}, None, StoppedError,
     f"stopped by --on-invalid abort; nothing was written: {WHERE}:2: session_id is '…', but line 1 has '…'"),
    ("abort names the reason and no bad line before it", [BAD, *BACKWARD], {"on_invalid": "abort"}, None, StoppedError,
     f"stopped by --on-invalid abort; nothing was written: {WHERE}:3: timestamp is"),
    ("strict, a session left out", BACKWARD, {"strict": True}, None, StoppedError, f"stopped by --strict; nothing was written: {WHERE}:2: timestamp is"),
    ("strict, a bad line", [log_line("x"), BAD], {"strict": True}, None, StoppedError, f"stopped by --strict; nothing was written: {BAD_REASON}"),
    ("strict, a session of bad lines", [b"", b"{"], {"strict": True}, None, StoppedError,
     f"stopped by --strict; nothing was written: {WHERE}:2: not a JSON object"),
    ("strict, what is no log", [b"", BAD], {"strict": True}, None, StoppedError, f"stopped by --strict; nothing was written: {WHERE}: unknown format"),
    ("strict, a session of which cleaning leaves nothing", [TITLE], {"strict": True}, None, StoppedError,
     f"stopped by --strict; nothing was written: {WHERE}: cleaning removed all content of "),
    ("strict, a session in which nobody answered", [b""], {"strict": True}, None, StoppedError,
     f"stopped by --strict; nothing was written: {WHERE}: the session has no reply, so there is no record [unanswered-session]"),
    ("strict, an invalid session that is kept is no reason", [*BACKWARD, BAD], {"strict": True, "on_invalid": "keep"},
     None, StoppedError, f"stopped by --strict; nothing was written: {WHERE}:3: request is missing [bad-entry]"),
    ("Ctrl-C", [log_line("x")], {}, interrupt, KeyboardInterrupt, ""),
)  # fmt: skip
@pytest.mark.parametrize("rerun", [False, True], ids=["first run", "rerun"])
def test_a_run_that_stops_leaves_everything_as_it_was(here, lines, options, observer, error, text, rerun):
    write_log(here / "logs" / "a.jsonl", log_line("old"))
    if rerun:
        convert("logs", "out", Options(group_by="scenario"))
    write_log(here / "logs" / "a.jsonl", log_line("new"))
    write_log(here / WHERE, *lines)
    before = tree(here)
    with pytest.raises(error) as caught:
        convert("logs", "out", Options(**options), observer)
    assert str(caught.value).startswith(in_python(text))
    kept = {"out", "out/.chatsquash", "out/.chatsquash/lock"} if error is KeyboardInterrupt else set()
    assert {name: data for name, data in tree(here).items() if name in before or name not in kept} == before


@cases(
    "lines, options",
    ("strict, nothing wrong", [log_line("x"), b""], {"strict": True}),
    ("strict, an error in a record", [log_line("x", tools=["no tool"])], {"strict": True}),
    ("strict, an invalid session that is kept", BACKWARD, {"strict": True, "on_invalid": "keep"}),
    ("abort, a bad line", [log_line("x"), BAD], {"on_invalid": "abort"}),
)
def test_what_does_not_stop_a_run(here, lines, options):
    write_log(here / "a.jsonl", *lines)
    assert convert("a.jsonl", "out", Options(**options)).written == 1


def test_keep_converts_an_invalid_session_in_file_order_and_warns(here):
    write_log(here / "a.jsonl", *BACKWARD)
    assert convert("a.jsonl", "out", Options(on_invalid="keep")).complete
    (found,) = [each for each in report("findings.jsonl") if each["code"] == "timestamp-order"]
    assert (found["severity"], found["line"]) == ("warning", 2)
    assert len(json.loads((here / "out" / "2026-01-13.jsonl").read_bytes())["messages"]) == 3


# Worker processes


@pytest.fixture
def spread(monkeypatch):
    """Small logs are worth a process, too."""
    monkeypatch.setattr(workers, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(workers, "_BATCH_BYTES", 2000)
    monkeypatch.setattr(workers, "_BATCH_JOBS", 3)


def many_logs(here):
    mixed_logs(here)
    for number in range(40):
        lines = [log_line(*(f"{number}: me{n}@corp.de" for n in range(m)), at=m) for m in range(1, 2 + number % 7)]
        write_log(here / "logs" / f"2026-01-{10 + number % 5}" / f"maps-es-{number}.jsonl", *lines)


@pytest.mark.parametrize("options", [{}, {"group_by": "scenario", "json_tool_calls": True, "keep_rejected": True}])
def test_all_bytes_are_equal_for_any_number_of_workers(here, spread, options):
    many_logs(here)
    seen = []
    for count in (1, 2, 3):
        convert("logs", f"out{count}", Options(workers=count, **options), lambda job, *_: seen.append(job.display_path))
    assert comparable("out1") == comparable("out2") == comparable("out3")
    assert len(set(seen)) == 46
    assert seen == [*seen[:46]] * 3


@pytest.mark.parametrize("options", [{"strict": True}, {"on_invalid": "abort"}])
def test_workers_stop_at_the_same_session_and_leave_nothing(here, spread, options):
    many_logs(here)
    before = tree(here)
    texts = set()
    for count in (1, 2):
        with pytest.raises(StoppedError) as caught:
            convert("logs", "out", Options(workers=count, **options))
        texts.add(str(caught.value))
    assert len(texts) == 1
    assert tree(here) == before


SCRIPT = """
from chatsquash import Options, convert
print(convert("logs", "out", Options(anonymize=False)).written)
"""


def test_one_worker_needs_no_main_guard(here):
    write_log(here / "logs" / "a.jsonl")
    (here / "script.py").write_text(SCRIPT)
    ran = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "1\n", "")


def test_an_observer_is_told_every_session_in_order(here):
    write_log(here / "logs" / "a.jsonl", log_line("x"))
    write_log(here / "logs" / "b.jsonl", *BACKWARD)
    sizes = [(here / "logs" / f"{name}.jsonl").stat().st_size for name in "ab"]
    told = []
    convert("logs", "out", None, lambda job, outcome, total: told.append((job.size, outcome.left_out, total)))
    assert told == [(sizes[0], None, sum(sizes)), (sizes[1], "timestamp-order", sum(sizes))]


@pytest.mark.parametrize("module", [convert_module, in_memory])
def test_the_examples_in_the_documentation_run(module):
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_inputs_of_run_json_wait_in_a_file_where_they_are_many(here, monkeypatch):
    for number in range(9):
        write_log(here / "logs" / f"{number}.jsonl")
    convert("logs", "out")
    before = manifest()["inputs"]
    monkeypatch.setattr("chatsquash.dataset.manifest._MAX_MEMORY", 100)
    convert("logs", "out", Options(full=True))
    assert manifest()["inputs"] == before
    assert len(before) == 9
