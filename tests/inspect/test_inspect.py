"""A session entry by entry, readable at 100 columns."""

import os
import zipfile
from pathlib import Path

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.core.model import AddedRun, Entry, Response
from chatsquash.core.options import Options
from chatsquash.inspect import conversations
from chatsquash.inspect.inspect import inspect, inspect_as_json
from chatsquash.session import converter
from chatsquash.sources import no_logs
from chatsquash.trees.kinds import paths
from chatsquash.trees.trees import Trees
from tests.checks.rows import assistant, call, result, tool
from tests.conftest import cases, log_line, user, write_log
from tests.trees import logs

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
    assert shown("logs/a.jsonl")[:16] == [
        "logs/a.jsonl: session s1",
        "format: openai_chat (choices[].message in the response)",
        "line  time                     kept  added  tools  reply      outcome     roles added",
        "1     2026-01-13 10:00:00.123  0     1      1      Act 128 B  superseded  user",
        "2     2026-01-13 10:00:01.000  0     2      0      Ac 41 B    cleaned     system user",
        "4     2026-01-13 10:00:02.000  0     3      2      Ac 37 B    superseded  user Act tool",
        "5                                                  4 B        bad-line",
        "6     -                        2     1      0      none       selected    tool",
        "7     2026-01-13 10:00:04.000  1     0      0      A 35 B     cut",
        "2 conversations, 3 replies:",
        "main: 2 replies, lines 1, 4, 2026-01-13 10:00:00 to 10:00:02",
        "│  hi … done",
        "└─ branch: 1 reply, line 7, 2026-01-13 10:00:04",
        "      hi … ",
        "dropped by cleaning: line 2",
        "record: 704 bytes",
    ]
    findings = shown("logs/a.jsonl")[16:]
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


def test_mcp_servers_are_shown_where_they_change(here):
    tools = [
        [{"function": {"name": name}} for name in names] for names in (["mcp__a__x", "b__x"], ["b__x"], ["x"], ["x"])
    ]
    lines = [log_line(*["hi"] * at, tools=each, at=at) for at, each in enumerate(tools, 1)]
    write_log(here / "a.jsonl", *lines)
    shown_servers = [line.strip() for line in shown("a.jsonl", verbose=True) if "MCP" in line]
    assert shown_servers == ["MCP servers: a, b", "MCP servers: b", "no MCP servers"]
    (told,) = inspect_as_json(["a.jsonl"], Options())
    assert [entry["mcp_servers"] for entry in told["entries"]] == [["a", "b"], ["b"], [], []]


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


@cases(
    "lines, expected",
    ("a session that is left out says why", [log_line("a", at=2), log_line("a", at=1)], "skipped: timestamp-order"),
    ("so does one without an entry", [b"{bad"], "skipped: empty-session"),
    ("and an empty one", [b""], "skipped: unanswered-session"),
)
def test_left_out(here, lines, expected):
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


@cases(
    "given, message",
    ("a path that is not there", "nope", "nope: cannot be read (No such file or directory)"),
    (
        "a pipe, which would never end",
        "fifo.jsonl",
        f"fifo.jsonl: no session logs to read; found: 1 special file\n{no_logs.READ}\n{no_logs.NEXT}",
    ),
)
def test_what_cannot_be_shown_is_an_error(here, given, message):
    os.mkfifo("fifo.jsonl")
    with pytest.raises(UsageError) as caught:
        shown(given)
    assert str(caught.value) == message


def test_a_log_that_cannot_be_opened_is_a_finding_and_the_others_are_shown(here, command, monkeypatch):
    write_log(here / "a.jsonl")
    write_log(here / "b.jsonl")
    opened = converter.open_log

    def refuse(log, *others):
        if log.path == "a.jsonl":
            raise PermissionError(13, "Permission denied")
        return opened(log, *others)

    monkeypatch.setattr(converter, "open_log", refuse)
    lines = shown("a.jsonl", "b.jsonl")
    assert "skipped: unreadable-log" in lines
    why = "the log cannot be read (Permission denied): check the file and its permissions"
    assert f"ERROR\tsession=a\tinput=a.jsonl\t[unreadable-log] {why}" in lines
    assert "b.jsonl: session s1" in lines
    for options in ((), ("--json",), ("--definitions",)):
        assert command("inspect", "a.jsonl", "b.jsonl", *options).code == 3
        assert command("inspect", "b.jsonl", *options).code == 0


@pytest.mark.parametrize("options", [(), ("--json",), ("--definitions",)], ids=str)
def test_an_archive_that_cannot_be_read_is_shown_as_a_finding(here, command, options):
    write_log(here / "good.jsonl")
    (here / "bad.zip").write_bytes(b"PK\3\4")
    with zipfile.ZipFile(here / "links.zip", "w") as archive:
        archive.write(here / "good.jsonl", "../a.jsonl")
        archive.write(here / "good.jsonl", "b.jsonl")
    done = command("inspect", "bad.zip", *options)
    assert (done.code, done.err) == (3, "")
    assert "unreadable-archive" in done.out
    done = command("inspect", "bad.zip", "links.zip", "good.jsonl", *options)
    assert (done.code, done.err) == (3, "")
    assert all(
        what in done.out for what in ("unreadable-archive", "archive-member", "links.zip!/b.jsonl", "good.jsonl")
    )


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


def drawn(lines, here, **options):
    """What is shown between the table of entries and the record."""
    write_log(here / "a.jsonl", *lines)
    found = shown("a.jsonl", **options)
    first = next((at for at, line in enumerate(found) if line.endswith(("reply:", "replies:"))), None)
    last = next(at for at, line in enumerate(found) if line.startswith("record: "))
    return [] if first is None else found[first:last]


DAY = "2026-01-13"
TREES = [
    (logs.grows, []),
    (logs.compacted, [
        "3 conversations, 4 replies:",
        f"main: 2 replies, lines 1-2, {DAY} 10:00:00 to 10:01:00, gpt-4.1",
        "│  Mend the failing test. … add() starts from one; I changed …",
        f"├─ side, from line 2: 1 reply, line 3, {DAY} 10:02:00, gpt-4.1",
        "│     Write a summary of this conversat… … The user wants the failing test o…",
        f"└─ compacted, from line 3: 1 reply, line 4, {DAY} 10:03:00, gpt-4.1",
        "      This session goes on from an earl… … All tests pass now.",
    ]),
    (logs.subagent, [
        "2 conversations, 4 replies:",
        f"main: 2 replies, lines 1, 4, {DAY} 10:00:00 to 10:03:00, gpt-4.1",
        "│  Who calls add()? … main() calls it, with strings.",
        f"└─ subagent, from line 1: 2 replies, lines 2-3, {DAY} 10:01:00 to 10:02:00, gpt-4.1",
        "      Find every place in the repositor… … Only main() does, with strings.",
    ]),
    (logs.retried, [
        "1 conversation, 3 replies:",
        f"main: 2 replies, lines 2-3, {DAY} 10:01:00 to 10:02:00, gpt-4.1",
        "   Which test fails? … It is mended.",
        "retried: line 1",
    ]),
    (logs.twice, [
        "1 conversation, 3 replies:",
        f"main: 2 replies, lines 2-3, {DAY} 10:01:00 to 10:02:00, gpt-4.1",
        "   Which test fails? … It is mended.",
        "retried: line 1",
    ]),
    (logs.title_last, [
        "2 conversations, 2 replies:",
        f"main: 1 reply, line 1, {DAY} 10:00:00, gpt-4.1",
        "│  Which test fails? … The test of sums.",
        f"└─ side: 1 reply, line 2, {DAY} 10:01:00, gpt-4.1",
        "      Which test fails? … A failing test",
    ]),
    (logs.lone, [
        "2 conversations, 2 replies:",
        f"main: 1 reply, line 1, {DAY} 10:00:00, gpt-4.1",
        "   Which test fails? … The test of sums.",
        f"main: 1 reply, line 2, {DAY} 10:01:00, gpt-4.1",
        "   How large is the repository? … It has 40 files.",
    ]),
]  # fmt: skip


@pytest.mark.parametrize("log, expected", TREES, ids=[row[0].__name__ for row in TREES])
def test_the_conversations_of_a_session_are_drawn(here, log, expected):
    assert drawn(log(), here) == expected


def rewound_to_each(count):
    """One prompt after the other, each of which the user took back."""
    log = logs.Log()
    one = log.add(logs.AGENT, user("Name a number."), says="Which?")
    for number in range(count):
        log.add(logs.AGENT, user("Name a number."), one, user(f"Number {number}?"), says=f"It is {number}.")
    return [{**line, "timestamp": at} for at, line in enumerate(log.lines, 1768298400)]


def test_of_many_conversations_few_are_drawn_and_the_others_are_counted(here):
    found = drawn(rewound_to_each(2000), here)
    assert len(found) == 1 + 2 * (1 + 10) + 2
    assert found[-3:] == [
        "│     Number 9? … It is 9.",
        "└─ … 1,989 more: 1,989 branch",
        "1,989 of 2,000 conversations are not shown (--verbose shows all)",
    ]
    assert found[1].startswith("main: 2 replies, lines 1, 2001, ")
    whole = drawn(rewound_to_each(2000), here, verbose=True)
    assert len(whole) == 1 + 2 * 2000


def summed_up(times):
    """A conversation that is compacted so often."""
    log = logs.Log()
    asked = (logs.AGENT, user("Begin the long work."))
    for number in range(times):
        done = f"file {number + 1} was read, and {number * 7} lines of it were mended"
        said = f"The user wants step {number} of the work; {done}."
        one = log.add(*asked, says=f"Step {number} is done.")
        log.add(*asked, one, logs.ASK_SUMMARY, says=said)
        asked = (logs.AGENT, user(f"What was done so far: {said}"))
    return [{**line, "timestamp": at} for at, line in enumerate(log.lines, 1768298400)]


def test_conversations_that_come_from_each_other_are_indented_up_to_some_columns(here):
    found = drawn(summed_up(200), here)
    assert max(map(len, found)) <= 110
    assert len(found) == 1 + 2 * 100 + 1
    assert found[-1] == "300 of 400 conversations are not shown (--verbose shows all)"
    assert len(drawn(summed_up(200), here, verbose=True)) == 1 + 2 * 400


def test_lines_models_and_texts_of_a_conversation_are_shown_in_short_and_escaped(here):
    log = logs.Log()
    asked, evil = [logs.AGENT, user("\x1b[2J\u202e" * 1000)], "\x1b[31m" * 1000
    for number in range(12):
        asked.append(log.add(*asked, says=f"Reply {number}."))
        asked.append(user("Go on."))
        log.add({"role": "system", "content": f"Classify {number}"}, *asked, says="Fine.", max_tokens=1)
    lines = log.lines
    for number, line in enumerate(lines):
        line["response"]["model"] = f"{evil}{number}"
    lines[-1]["timestamp"] = "2026-01-14T00:00:00Z"
    found = drawn(lines, here)
    assert all(line.isprintable() and len(line) <= 200 for line in found)
    assert found[1].startswith(f"main: 12 replies, lines 1, 3, 5, … 23, {DAY} 10:00:00 to 10:22:00, \\x1b[31m")
    assert found[1].endswith(", 9 more models")
    assert found[2] == "│  " + r"\x1b[2J\u202e\x1b[2J\u202e\x1b[2J…" + " … Reply 11."


def test_a_reply_that_only_calls_is_shown_by_its_calls(here):
    found = drawn(logs.subagent()[:3], here)
    assert found[2] == "│  Who calls add()? … task()"


def test_a_conversation_of_an_agents_file_is_told_on_a_line(here):
    path = Path(__file__).parents[2] / "sample_logs/documents/claude_code-seating-csv.jsonl"
    found = shown(str(path))
    assert "main: 3 replies, lines 4, 10, 12, 2026-01-16 09:00:04 to 09:00:36, claude-example-4" in found


def test_paths_that_come_from_each_other_in_a_circle_are_drawn_once():
    trees = Trees()
    for line in logs.lone():
        messages = line["request"]["messages"]
        reply = Response(line["response"]["choices"][0]["message"], finish_reason="stop")
        trees.add(
            Entry(len(trees.replies) + 1, None, None, messages, (AddedRun(tuple(messages)),), [], reply), None, ""
        )
    one, two = paths(trees.replies, trees.links)
    one.parent, two.parent = two, one
    found = list(conversations.tree_lines([one, two], trees.links, {}, every=True))
    assert [line for line in found if "reply" in line] == ["main: 1 reply, line 2", "└─ main: 1 reply, line 1"]


IDS = {"s1": "an id that another begins with", "s10": "the whole id", "t2": "the beginning of one id"}


@pytest.mark.parametrize(("named", "lines"), [("s1", 1), ("s10", 1), ("t", 2)])
def test_the_session_that_is_named_is_shown_alone(here, command, named, lines):
    for id_ in IDS:
        write_log(here / "logs" / f"{id_}.jsonl", log_line("hi", session_id=id_))
    write_log(here / "logs" / "again.jsonl", log_line("hi", session_id="t2"))
    ended = command("inspect", "logs", named)
    heads = [line for line in ended.out.splitlines() if ": session " in line]
    assert (ended.code, len(heads)) == (0, lines)
    assert all(line.rpartition(" ")[2] == (named if named != "t" else "t2") for line in heads)


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("s", "several sessions begin with 's': 's1', 's10'; use a longer part of the id"),
        ("x", "no session id begins with 'x', and no such file exists"),
    ],
)
def test_an_id_that_names_no_session_or_several_is_refused(here, command, named, why):
    for id_ in IDS:
        write_log(here / "logs" / f"{id_}.jsonl", log_line("hi", session_id=id_))
    ended = command("inspect", "logs", named)
    assert (ended.code, why in ended.err) == (2, True)
