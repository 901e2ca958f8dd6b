"""A session entry by entry, readable at 100 columns."""

import os

import pytest

from chatsquash.errors import UsageError
from chatsquash.options import Options
from chatsquash.run.inspect import inspect
from tests.checks.rows import assistant, call, result, tool
from tests.conftest import log_line, write_log

TITLE = [
    {"role": "system", "content": "Reply with only a description in four words or less"},
    "Here are the first few user messages: hi",
]
ACT = assistant("I look", call())


def shown(*logs, verbose=False, **options):
    return list(inspect(logs, Options(anonymize=False, **options), verbose=verbose))


def session(here):
    """Every outcome that an entry can have."""
    write_log(
        here / "logs" / "a.jsonl",
        log_line("hi", reply=ACT, at="2026-01-13T10:00:00.123456Z", tools=[tool("grep")]),
        log_line(*TITLE, at="2026-01-13T10:00:01Z", reply="Greeting"),
        b"",
        log_line("hi", ACT, result(), at="2026-01-13T12:00:02+02:00", reply="done", tools=[tool("grep"), tool("ls")]),
        b"{bad",
        log_line("hi", ACT, result("\x1b[2J\n" + "x" * 300), at=None, reply=None),
        log_line("hi", at="2026-01-13T10:00:04Z", reply={"content": None}),
    )


def test_a_table_shows_what_became_of_every_line(here):
    session(here)
    assert shown("logs/a.jsonl")[:10] == [
        "logs/a.jsonl: session s1",
        "format: openai_chat (choices[].message in the response)",
        "line  time                     kept  added  tools  reply      outcome     roles added",
        "1     2026-01-13 10:00:00.123  0     1      1      Act 128 B  superseded  user",
        "2     2026-01-13 10:00:01.000  0     2      0      Ac 41 B    cleaned     system user",
        "4     2026-01-13 10:00:02.000  0     3      2      Ac 37 B    superseded  user Act tool",
        "5                                                  4 B        bad-line",
        "6     -                        2     1      0      none       selected    tool",
        "7     2026-01-13 10:00:04.000  1     0      0      A 35 B     cut",
        "record: 704 bytes",
    ]
    findings = shown("logs/a.jsonl")[10:]
    assert [line.split("[")[1].split("]")[0] for line in findings] == [
        "bad-line", "short-tail", "cleaned", "missing-reply", "replies-lost", "missing-timestamp",
    ]  # fmt: skip


def test_text_is_shown_on_request_escaped_and_cut(here):
    session(here)
    lines = shown("logs/a.jsonl", verbose=True)
    start = next(at for at, line in enumerate(lines) if line.startswith("6 "))
    assert lines[start + 1] == "    tool: \\x1b[2J\\n" + "x" * 195 + "…"


def test_a_message_that_is_said_again_is_added(here):
    write_log(here / "a.jsonl", log_line("go on", at=1), log_line("go on", "go on", "else", at=2))
    assert [line.split()[3:5] for line in shown("a.jsonl")[3:5]] == [["0", "1"], ["1", "2"]]


def test_a_long_role_trace_is_wrapped(here):
    messages = [each for _ in range(100) for each in ("hi", ACT, result())]
    write_log(here / "a.jsonl", log_line(*messages))
    lines = shown("a.jsonl")
    assert all(len(line) <= 100 for line in lines[:11])
    roles = " ".join(line.strip() for line in lines[3:]).partition("selected  ")[2].partition(" record: ")[0]
    assert roles.split() == ["user", "Act", "tool"] * 100


def test_roles_and_names_cannot_speak_to_the_terminal(here):
    evil = "\x1b[2J\n\u202e" * 30
    write_log(
        here / "\x1b[31m.jsonl",
        log_line({"role": evil, "content": evil}, session_id=evil, reply={"role": evil}, at=evil),
    )
    lines = shown(".", verbose=True)
    assert all(char.isprintable() or char == "\t" for line in lines for char in line)
    assert all(len(line) <= 100 for line in lines[1:4])


def test_cleaning_can_be_left_out(here):
    session(here)
    assert "cleaned" in "".join(shown("logs/a.jsonl"))
    assert "cleaned" not in "".join(shown("logs/a.jsonl", cleanup_goose=False))


LEFT_OUT = [
    ("a session that is left out says why", [log_line("a", at=2), log_line("a", at=1)], "left out: timestamp-order"),
    ("so does one without an entry", [b"{bad"], "left out: empty-session"),
    ("and an empty one", [b""], "left out: empty-session"),
]


@pytest.mark.parametrize("sentence, lines, expected", LEFT_OUT, ids=[row[0] for row in LEFT_OUT])
def test_left_out(here, sentence, lines, expected):
    write_log(here / "a.jsonl", *lines)
    assert expected in shown("a.jsonl")


def test_folders_globs_and_several_logs_are_shown_one_after_the_other(here):
    for name in ("a", "b", "c"):
        write_log(here / "logs" / f"{name}.jsonl")
    for given in (["logs"], ["logs/*"], ["logs/a.jsonl", "logs/b.jsonl", "logs/c.jsonl"]):
        lines = shown(*given)
        assert [line for line in lines if line.startswith("logs/")] == [
            f"logs/{name}.jsonl: session s1" for name in "abc"
        ]
        assert lines.count("") == 2


def test_what_comes_first_is_shown_before_the_rest_is_read(here):
    write_log(here / "a.jsonl")
    write_log(here / "b.jsonl").unlink()
    lines = inspect(["a.jsonl"], Options(anonymize=False))
    assert next(lines) == "a.jsonl: session s1"


WRONG = [
    ("a path that is not there", "nope", "nope: cannot be read (No such file or directory)"),
    (
        "a pipe, which would never end",
        "fifo.jsonl",
        "fifo.jsonl: no session logs to read; seen: 1 special file. Logs are *.jsonl and *.ndjson, or files named",
    ),
]


@pytest.mark.parametrize("sentence, given, message", WRONG, ids=[row[0] for row in WRONG])
def test_what_cannot_be_shown_is_an_error(here, sentence, given, message):
    os.mkfifo("fifo.jsonl")
    with pytest.raises(UsageError) as caught:
        shown(given)
    assert str(caught.value) == message


def test_a_log_that_cannot_be_opened_is_an_error(here, monkeypatch):
    write_log(here / "a.jsonl")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("chatsquash.run.session.opened_log", refuse)
    with pytest.raises(UsageError, match=r"^a.jsonl: cannot be read \(Permission denied\)$"):
        shown("a.jsonl")


def test_the_format_and_the_evidence_for_it_are_shown(here):
    request = {"system": "s", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
    response = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "yo"}], "usage": {}}
    write_log(here / "a.jsonl", {"request": {"body": request, "headers": {}}, "response": {"body": response}})
    lines = shown("a.jsonl")
    assert lines[1].startswith("format: anthropic (")
    assert lines[2] == "envelope: HTTP pairs"


def test_each_session_of_a_file_is_shown_by_itself(here):
    lines = [log_line("hi", at=at, session_id=name) for at, name in enumerate("abab", 1)]
    write_log(here / "a.jsonl", *lines)
    found = shown("a.jsonl", sessions_by="id")
    assert [line for line in found if line.startswith("a.jsonl")] == ["a.jsonl: session a", "a.jsonl: session b"]
