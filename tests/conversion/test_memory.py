"""What would take too much memory once it is parsed is left out before it is, and costs nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.reading import identify
from tests.conftest import log_line, write_log
from tests.outputs import report

MANY = "[" + "[]," * 20_000 + "[]]"
"""60 kB that take 1.5 MB."""
MEMORY = 1_000_000
WHY = "parsing it would take more than 1,000,000 bytes of memory (--max-memory)"


@pytest.fixture
def here(here):
    write_log(here / "logs/good.jsonl", log_line("good"))
    return here


def findings(out="out"):
    found = report("findings.jsonl", out)
    return [(each["code"], each["file"], each["text"]) for each in found if each["severity"] == "error"]


def rejected():
    return [(each["line"], each["code"], each["reason"]) for each in report("rejected.jsonl")]


def filled(line: dict) -> bytes:
    return json.dumps(line).replace('"MANY"', MANY).encode()


@pytest.mark.parametrize("sessions_by", [None, "id"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_line_is_a_bad_line_and_the_others_of_its_log_are_read(here, workers, sessions_by, monkeypatch):
    monkeypatch.setattr("chatsquash.conversion.workers._WORTH_A_PROCESS", 1)
    lines = log_line("a", at=1), filled(log_line("a", "MANY", at=2)), log_line("a", "b", "c", at=3)
    write_log(here / "logs/x.jsonl", *lines)
    options = Options(max_memory=MEMORY, workers=workers, sessions_by=sessions_by)
    summary = convert("logs", "out", options)
    assert rejected() == [(2, "bad-line", WHY)]
    assert (summary.written, summary.account.unreadable) == (2, 1)
    assert convert("logs", "more", Options(sessions_by=sessions_by)).account.unreadable == 0


@pytest.mark.parametrize("at", [0, 1], ids=["first", "second"])
@pytest.mark.parametrize("way", ["tools", "reply", "elsewhere", "HTTP"])
def test_it_does_not_matter_where_in_a_line_it_stands(here, way, at):
    lines = [log_line("a", at=1), log_line("a", "b", at=2)]
    if way == "tools":
        lines[at]["request"]["tools"] = "MANY"
    elif way == "reply":
        lines[at]["response"]["choices"][0]["message"]["content"] = "MANY"
    elif way == "elsewhere":
        lines[at]["more"] = "MANY"
    written = [filled(line) for line in lines]
    if way == "HTTP":  # JSON in a text, which takes little until it is taken out
        bodies = [{"messages": [{"role": "user", "content": "MANY" if n == at else "hi"}]} for n in range(2)]
        pairs = [{"request": {"headers": {}, "body": filled(body).decode()}, "response": {}} for body in bodies]
        written = [json.dumps(pair).encode() for pair in pairs]
    write_log(here / "logs/x.jsonl", *written)
    assert convert("logs", "out", Options(max_memory=MEMORY)).written == 2
    assert rejected() == [(at + 1, "bad-line", WHY)]


STEPS = [{"source": "user", "message": "hi"}, {"source": "agent", "message": "hello"}]
DOCUMENT = {"schema_version": "ATIF-v1.6", "steps": STEPS, "extra": "MANY"}
UNKNOWN = {"values": "MANY"}


def put(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(filled(value))


def test_a_document_is_an_unreadable_log_whose_reason_names_the_option(here):
    put(here / "logs/x.json", DOCUMENT)
    summary = convert("logs", "out", Options(max_memory=MEMORY))
    assert (summary.written, dict(summary.left_out)) == (1, {"unreadable-log": 1})
    assert findings() == [
        ("unreadable-log", "logs/x.json", f"the log cannot be read ({WHY}): check the file and its permissions")
    ]
    assert convert("logs", "out", Options()).written == 2


def test_a_file_that_is_not_known_is_counted_as_not_read(here):
    put(here / "logs/x.json", UNKNOWN)
    summary = convert("logs", "out", Options(max_memory=MEMORY))
    assert (summary.written, dict(summary.others), dict(summary.left_out)) == (1, {".json": 1}, {})


def test_one_that_was_named_is_an_unreadable_log(here):
    put(here / "other/x.json", UNKNOWN)
    summary = convert(["logs", "other/x.json"], "out", Options(max_memory=MEMORY))
    assert dict(summary.left_out) == {"unreadable-log": 1}
    assert findings()[0][2].startswith(f"the log cannot be read ({WHY})")


def test_the_conversations_of_a_document_count_together(here):
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    lines = [{"conversation_id": f"c{n}", "messages": said, "metadata": {}} for n in range(3000)]
    write_log(here / "logs/x.jsonl", *lines)
    assert dict(convert("logs", "out", Options(max_memory=MEMORY)).left_out) == {"unreadable-log": 1}
    assert convert("logs", "out", Options()).written == 3001


def test_what_runs_out_of_memory_while_it_is_looked_for_ends_no_run(here, monkeypatch):
    put(here / "logs/x.json", UNKNOWN)

    def short(*given, **named):
        raise MemoryError

    monkeypatch.setattr(identify.beginnings, "trim", short)
    assert convert("logs", "out").written == 1
    assert convert("logs", "out", Options(resume=True)).unchanged


def test_a_day_that_takes_too_much_memory_to_find_is_looked_for_when_it_is_converted(here, monkeypatch):
    def short(*given, **named):
        raise MemoryError

    monkeypatch.setattr("chatsquash.session.parts.days_logged", short)
    assert convert("logs", "out", Options(since="2020-01-01")).written == 1


LIMITED = """
import resource, sys
from chatsquash.__main__ import main
from chatsquash.core.platform import _bytes_in_use
limit = _bytes_in_use(0) + int(sys.argv[1]) * 1_000_000
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.argv[1:] = sys.argv[2:]
main()
"""


@pytest.mark.parametrize("more", [60, 150, 250])
def test_where_a_process_has_a_limit_one_file_costs_no_other_and_no_process_dies(here, more):
    many = "[" + "[]," * 600_000 + "[]]"
    (here / "logs/x.json").write_text(f'{{"values":{many}}}')
    (here / "logs/y.jsonl").write_bytes(filled(log_line("MANY")).replace(MANY.encode(), many.encode()))
    command = [sys.executable, "-c", LIMITED, str(more), "convert", "logs", "--workers", "1", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    assert "good" in "".join(path.read_text() for path in Path("out").glob("*.jsonl"))
    assert {code for code, *_ in findings()} <= {"lost-worker"}
    assert convert("logs", "out", Options(limit=None)).written == 2, "the next run tries again"


MUCH = {
    "lists": lambda: "[" + "[]," * 600_000 + "[]]",
    "keys": lambda: "{" + ",".join(f'"{number:x}":0' for number in range(400_000)) + "}",
}
COMMANDS = [
    ["inspect", "logs/y.jsonl"],
    ["check", "records.jsonl"],
    ["check", "records.jsonl", "--anonymize"],
    ["stats", "records.jsonl"],
    ["translate", "records.jsonl", "--to", "anthropic", "--output", "translated"],
]


LIMITS = [
    ("lists", 60),
    ("keys", 250),
    pytest.param("lists", 250, marks=pytest.mark.long),
    pytest.param("keys", 60, marks=pytest.mark.long),
]


@pytest.mark.parametrize("many, more", LIMITS)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_where_a_process_has_a_limit_a_command_ends_with_a_word(here, command, more, many):
    """Never with a traceback or a segmentation fault."""
    many = MUCH[many]()
    (here / "logs/y.jsonl").write_bytes(filled(log_line("MANY")).replace(MANY.encode(), many.encode()))
    messages = f'[{{"role":"user","content":"x","more":{many}}},{{"role":"assistant","content":"y"}}]'
    (here / "records.jsonl").write_text(f'{{"messages":{messages}}}\n')
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(more), *command], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1, 3), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 1:
        assert "error: out of memory: raise the limit" in done.stderr
