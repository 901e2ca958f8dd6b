"""Hostile logs and hostile files: each costs itself and nothing else, and says so in these words."""

import gzip
import json
import os
import socket
import stat
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import log_line, tree, user, write_log
from tests.outputs import findings, manifest

GOOD = log_line("good", session_id="good")
ENTRY = "entry skipped: {}; see reports/rejected.jsonl"
HERE = "line skipped: {}; see reports/rejected.jsonl"
ESCAPES = "\x1b[2J\x1b]0;owned\x07\x9b\u202e\u2028\r"


@pytest.fixture
def here(here):
    write_log(here / "logs" / "good.jsonl", GOOD)
    return here


def of(file: str) -> list[tuple[str, str]]:
    aside = ("no-tools", "missing-reply", "missing-timestamp", "replies-lost")
    return [
        (each["code"], each["text"])
        for each in findings()
        if (each["file"] or "") == file and each["code"] not in aside
    ]


def users() -> list[str]:
    lines = [line for path in sorted(Path("out").glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [json.loads(line)["messages"][0]["content"] for line in lines]


def hold_to_the_promise(here, command, *options):
    """The run ends well, the good log is converted, all else is as before, and nothing shown or reported is raw."""
    before = {name: data for name, data in tree(here).items() if not name.startswith("out")}
    code, out, err = command("convert", "logs", *options)
    assert code in (0, 3)
    assert out == ""
    assert all(char.isprintable() for line in err.split("\n") for char in line)
    assert {name: data for name, data in tree(here).items() if not name.startswith("out")} == before
    assert "good" in users()
    for path in Path("out/reports").iterdir():
        if path.name != "rejected-lines.jsonl":
            text = path.read_text("utf-8")
            assert not set(text) & set("\x1b\x07\x9b\x00\r\u202e\u2028"), path
    return code, err


class Line(NamedTuple):
    sentence: str
    line: bytes
    found: list[tuple[str, str]]
    options: tuple[str, ...] = ()


def nested(levels: int) -> bytes:
    """A line with a message of so many levels; the message is one, and so is what it holds the rest in."""
    return spelled(log_line(user("NESTED"))).replace(b'"NESTED"', b"[" * (levels - 1) + b"]" * (levels - 1))


def spelled(line) -> bytes:
    return json.dumps(line).encode()


def told(value: str) -> bytes:
    return spelled(log_line("VALUE")).replace(b'"VALUE"', value.encode("utf-8", "surrogateescape"))


DEEP = "nested more deeply than {} levels (--max-nesting)"
LINES = [
    Line("as deep as it may be", nested(500), []),
    Line("one level more", nested(501), [("bad-line", HERE.format(DEEP.format(500)))]),
    Line("less is asked for", nested(11), [("bad-line", HERE.format(DEEP.format(10)))], ("--max-nesting", "10")),
    Line("more is asked for", nested(800), [], ("--max-nesting", "800")),
    Line("deeper than any parser goes", nested(200_000), [("bad-line", HERE.format("nested too deeply"))]),
    Line(
        "a tool that is too deep",
        spelled(log_line("x", tools=[{"name": "NESTED"}])).replace(b'"NESTED"', b"[" * 500 + b"]" * 500),
        [("bad-line", HERE.format(DEEP.format(500)))],
    ),
    Line(
        "a reply that is too deep",
        spelled(log_line("x", reply={"role": "assistant", "content": "NESTED"})).replace(
            b'"NESTED"', b"[" * 500 + b"]" * 500
        ),
        [("bad-line", HERE.format(DEEP.format(500)))],
    ),
    Line("a string of 10 MB", told('"' + "x" * 10_000_000 + '"'), []),
    Line("10 MB that look like addresses", told('"' + "a.b@" * 2_500_000 + '"'), []),
    Line("10 MB that look like tags", told('"' + "<tool_call>" * 900_000 + '"'), []),
    Line("10 MB of white space", told('"' + " " * 10_000_000 + '"'), []),
    Line(
        "a line that is too long",
        told('"' + "x" * 10_000 + '"'),
        [("bad-line", HERE.format("longer than 4,096 bytes (--max-line)"))],
        ("--max-line", "4KiB"),
    ),
    Line(
        "too many messages",
        spelled(log_line(*"abcd")),
        [
            (
                "bad-entry",
                ENTRY.format("request has 4 messages, more than the 3 that are read (--max-messages)"),
            )
        ],
        ("--max-messages", "3"),
    ),
    Line("a number that is none", told("1e400"), [("bad-line", HERE.format("messages or tools contain the number Infinity, which is not JSON"))]),
    Line("an integer that does not end", told("1" * 5000), [("bad-line", HERE.format("not a JSON object: an integer has too many digits"))]),
    Line("an integer of 4,000 digits", told('[{"type": "text", "text": "a", "n": ' + "1" * 4000 + "}]"), []),
    Line("keys twice, of which the last counts", told('"a", "content": "b"'), []),
    Line("lone surrogates", told('"\\ud800 and \\udfff"'), []),
    Line("NUL bytes in a text", told('"\x00"'), [("bad-line", HERE.format("not a JSON object: Invalid control character at byte 76"))]),
    Line("NUL as JSON writes it", told('"\\u0000"'), []),
    Line("no UTF-8", told('"\udcff\udcfe"'), [("bad-line", HERE.format("not a JSON object: it is not valid UTF-8"))]),
    Line("two objects on one line", spelled(GOOD) + spelled(GOOD), [("bad-line", HERE.format("not a JSON object: Extra data at byte 219"))]),
    Line("a session id that is a path", spelled(log_line("x", session_id="../../etc/passwd")), []),
    Line("a session id that is a device", spelled(log_line("x", session_id="CON")), []),
    Line("a session id of 5,000 characters", spelled(log_line("x", session_id="x" * 5000)), []),
    Line("a session id of terminal escapes", spelled(log_line("x", session_id=ESCAPES)), []),
    Line(
        "a session id that is an endless integer",
        spelled(log_line("x", session_id="ID")).replace(b'"ID"', b"1" * 5000),
        [("bad-line", HERE.format("not a JSON object: an integer has too many digits"))],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    "row, by",
    [
        pytest.param(row, by, id=f"{row.sentence}-{by}", marks=pytest.mark.long if by == "id" and len(row.line) > 1_000_000 else ())
        for row in LINES for by in ("file", "id")
    ],
)  # fmt: skip
def test_a_hostile_line(here, command, row, by):
    write_log(here / "logs" / "hostile.jsonl", row.line)
    code, _ = hold_to_the_promise(here, command, "--sessions-by", by, *row.options)
    lost = [("empty-session", "the log has no usable entry, so there is no record: check why its lines were skipped")]
    assert of("logs/hostile.jsonl") == (
        sorted([*row.found, *lost], key=lambda each: each[0] != "empty-session") if row.found else []
    )
    assert code == (3 if row.found else 0)
    assert len(users()) == (1 if row.found else 2)


@pytest.mark.parametrize("by", ["file", "id"])
def test_lines_of_nul_bytes_alone_are_blank(here, command, by):
    """A crash leaves them."""
    write_log(here / "logs" / "hostile.jsonl", b"\x00" * 100, b"\x00")
    assert hold_to_the_promise(here, command, "--sessions-by", by)[0] == 0
    assert [code for code, _ in of("logs/hostile.jsonl")] == ["unanswered-session"]
    assert (users(), manifest()["counts"]["lines"]["blank"]) == (["good"], 2)


DEEP_TOOL = {
    "openai_chat": {"name": "t", "parameters": "NESTED"},
    "anthropic": {"name": "t", "input_schema": {"type": "object", "properties": "NESTED"}},
}


@pytest.mark.parametrize("name", DEEP_TOOL)
def test_a_tool_that_is_too_deep_costs_every_line_that_has_it(here, command, name):
    lines = [log_line(*"abcde"[: at + 1], tools=[DEEP_TOOL[name]] if at % 4 else [], at=at) for at in range(5)]
    if name == "anthropic":  # a log whose responses are of another format than --from is refused
        said = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hello"}]}
        lines = [{**line, "response": said} for line in lines]
        write_log(here / "logs" / "good.jsonl", {**GOOD, "response": said})
    nested = [spelled(line).replace(b'"NESTED"', b"[" * 500 + b"]" * 500) for line in lines]
    write_log(here / "logs" / "hostile.jsonl", *nested)
    hold_to_the_promise(here, command, "--from", name)
    assert of("logs/hostile.jsonl") == [("bad-line", HERE.format(DEEP.format(500)))] * 3


def test_nothing_of_a_log_reaches_the_terminal_without_v(here, command):
    secret = "TheSecretOfTheLog"
    texts = [
        log_line(secret, session_id=secret, tools=[{"name": secret}], at=secret),
        log_line(user(secret), session_id=secret + "2", reply={"role": secret, "content": secret}),
        f'{{"{secret}": 1e400, {secret}'.encode(),
        {"request": {"messages": [{"role": 5, secret: secret}]}},
    ]
    write_log(here / "logs" / "hostile.jsonl", *texts)
    write_log(here / "logs" / "foreign.jsonl", {secret: secret})
    for options in ((), ("--on-invalid", "keep"), ("--strict",), ("--on-invalid", "abort"), ("--json",)):
        for logs in ("logs", "logs/hostile.jsonl"):
            _, out, err = command("convert", logs, *options)
            assert secret not in out + err, options


# Files

HOSTILE_NAME = "a\x1b[2J\n\t\u202e.jsonl"


def a_folder(logs: Path) -> None:
    (logs / "hostile.jsonl").mkdir()


def a_pipe(logs: Path) -> None:
    os.mkfifo(logs / "hostile.jsonl")


def a_device(logs: Path) -> None:
    (logs / "hostile.jsonl").symlink_to("/dev/zero")


def a_socket(logs: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(logs / "hostile.jsonl"))


def a_loop(logs: Path) -> None:
    (logs / "hostile.jsonl").symlink_to("hostile.jsonl")
    (logs / "up").symlink_to("..")


def a_way_out(logs: Path) -> None:
    (logs.parent / "outside").mkdir()
    write_log(logs.parent / "outside" / "x.jsonl")
    (logs / "hostile").symlink_to("../outside")


def nothing_there(logs: Path) -> None:
    (logs / "hostile.jsonl").symlink_to("gone")


FILES = [
    (a_folder, []),
    (a_pipe, ["1 special file not read: only regular files are read"]),
    (a_device, ["1 special file not read: only regular files are read"]),
    (a_socket, ["1 special file not read: only regular files are read"]),
    (a_loop, ["1 broken link not read: the target does not exist", "1 linked folder not read: --follow-links includes them"]),
    (a_way_out, ["1 linked folder not read: --follow-links includes them"]),
    (nothing_there, ["1 broken link not read: the target does not exist"]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "texts"), FILES, ids=[row[0].__name__ for row in FILES])
def test_a_hostile_file(here, command, make, texts):
    make(here / "logs")
    assert hold_to_the_promise(here, command)[0] == 0
    assert [text for code, text in of("") if code == "file-not-read"] == texts
    assert users() == ["good"]


def test_loops_are_followed_once(here, command):
    a_loop(here / "logs")
    a_way_out(here / "logs")
    hold_to_the_promise(here, command, "--follow-links", "--exclude", "out")
    assert sorted(users()) == ["good", "hi"]


def test_a_pipe_in_the_place_of_a_log_is_not_waited_for(here, command, monkeypatch):
    write_log(here / "logs" / "hostile.jsonl")
    from chatsquash.conversion import inputs as module

    found = module.discover

    def replaced(*args, **kwargs):
        jobs = found(*args, **kwargs)
        (here / "logs" / "hostile.jsonl").unlink()
        os.mkfifo(here / "logs" / "hostile.jsonl")
        return jobs

    monkeypatch.setattr(module, "discover", replaced)
    assert command("convert", "logs").code == 3
    assert of("logs/hostile.jsonl") == [
        ("unreadable-log", "the log cannot be read (not a regular file): check the file and its permissions")
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(here, command):
    write_log(here / "logs" / "hostile.jsonl").chmod(0)
    assert hold_to_the_promise(here, command)[0] == 3
    assert of("logs/hostile.jsonl") == [
        ("unreadable-log", "the log cannot be read (Permission denied): check the file and its permissions")
    ]


NAMES = [
    ("control characters and line feeds", HOSTILE_NAME, "a__2J___"),
    ("a device", "CON.jsonl", "_CON"),
    ("dots", "....jsonl", "_"),
    ("the longest that there may be", "x" * 249 + ".jsonl", "x" * 111 + "-"),
    ("a formula", "=cmd|calc.jsonl", "_cmd_calc"),
    ("an option", "--output.jsonl", "--output"),
]
if sys.platform != "darwin":
    NAMES.append(("no UTF-8", "\udcff\udcfe.jsonl", "__"))


@pytest.mark.parametrize(("sentence", "name", "label"), NAMES, ids=[row[0] for row in NAMES])
def test_a_hostile_name(here, command, sentence, name, label):
    write_log(here / "logs" / name, log_line("x"), b"bad")
    hold_to_the_promise(here, command, "--group-by", "scenario")
    found = [path.name for path in Path("out").glob("*.jsonl") if path.name != "good.jsonl"]
    assert len(found) == 1
    assert found[0].startswith(label)
    assert found[0].isprintable()
    assert len(found[0]) <= 126
    assert sorted(users()) == ["good", "x"]


# What is private


def test_outputs_have_the_mode_that_the_umask_says(here, command):
    write_log(here / "logs" / "bad.jsonl", b"{bad")
    before = os.umask(0o027)
    try:
        command("convert", "logs", "--keep-rejected")
    finally:
        os.umask(before)
    modes = {path.as_posix(): stat.S_IMODE(path.stat().st_mode) for path in Path("out").rglob("*")}
    owners = {name for name, mode in modes.items() if mode == 0o600}
    (journal,) = (path.as_posix() for path in Path("out/.chatsquash/journal").iterdir())
    assert owners == {"out/.chatsquash/lock", "out/reports/rejected-lines.jsonl", journal}
    folders = {name for name in modes if Path(name).is_dir()}
    assert {name: modes.pop(name) for name in folders if "journal" in name} == {"out/.chatsquash/journal": 0o700}
    assert {modes[name] for name in folders if name in modes} == {0o750}
    assert {mode for name, mode in modes.items() if name not in owners | folders} == {0o640}


AUDIT = """
import os, sys, threading
out = os.path.realpath("out")
below = threading.local()  # the open folder that a name is looked up from, which audit events do not tell

def told(call):
    def act(*given, **named):
        below.folder = named.get("dst_dir_fd", named.get("dir_fd"))
        try:
            return call(*given, **named)
        finally:
            below.folder = None
    return act

for name in ("open", "mkdir", "rmdir", "unlink", "rename", "link"):
    setattr(os, name, told(getattr(os, name)))

def place(name):
    folder = getattr(below, "folder", None)
    inside = os.getcwd() if folder is None else os.readlink(f"/proc/self/fd/{folder}")
    return os.path.realpath(os.path.join(inside, os.fsdecode(name)))

CHANGES = {"os.mkdir": 0, "os.remove": 0, "os.rmdir": 0, "os.rename": 1, "os.link": 1, "tempfile.mkstemp": 0, "tempfile.mkdtemp": 0}

def hook(event, args):
    if event.startswith("socket.") and event != "socket.__new__" or event in ("urllib.Request", "ftplib.connect"):
        os.write(2, f"NETWORK {event} {args}\\n".encode())
    if event == "open" and isinstance(args[0], (str, bytes)) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        written = place(args[0])
        if not written.startswith(out + os.sep) and written != os.devnull:
            os.write(2, f"WRITES {written}\\n".encode())
    if event in CHANGES:
        changed = place(args[CHANGES[event]])
        if changed != out and not changed.startswith(out + os.sep):
            os.write(2, f"CHANGES {event} {changed}\\n".encode())
sys.addaudithook(hook)
from chatsquash.__main__ import main
sys.argv = ["chatsquash", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("options", [(), ("--workers", "2"), ("--sessions-by", "id", "--keep-rejected")])
def test_nothing_is_sent_and_nothing_is_written_outside_the_output_folder(here, options):
    import gzip
    import subprocess

    mixed = [spelled(log_line(f"{name}{at}", at=at, session_id=name)) for at in range(1, 9) for name in "xy"]
    (here / "logs" / "mixed.jsonl.gz").write_bytes(gzip.compress(b"\n".join([*mixed, b"bad"])))
    for number in range(3):
        write_log(here / "logs" / f"{number}.jsonl", log_line("x" * 5_000_000))
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, "convert", "logs", "--quiet", *options],
        capture_output=True, text=True, env=environment, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (3, "")


def test_a_log_of_which_hardly_a_line_can_be_read_is_read_no_further(here, command):
    """Else 20 MB of such lines would take the memory of many GB; the hash is that of the whole log all the same."""
    write_log(here / "logs" / "many.jsonl", log_line("first", session_id="many"), *[b"x"] * 9, log_line("behind"))
    (here / "logs" / "many.jsonl.gz").write_bytes(gzip.compress(b"{x\n" * 9 + b"behind"))
    (here / "logs" / "few.jsonl").write_bytes(b"{x\n" * 3)
    hold_to_the_promise(here, command, "--max-rejected", "3", "--exclude", "many.jsonl.gz")
    why = "more than 3 of its lines cannot be read (--max-rejected allows more)"
    cut = ("cut-short", f"only the beginning of the log was read: {why}; look for an intact copy")
    assert [each for each in of("logs/many.jsonl") if each[0] != "bad-line"] == [cut]
    assert sorted(users()) == ["first", "good"]
    assert [code for code, _ in of("logs/few.jsonl")] == ["empty-session", *["bad-line"] * 3]
    assert command("verify", "out", "--logs")[0] == 0
    counts = manifest()["counts"]
    assert counts["lines"]["unreadable"] == 4 + 3
    (here / "logs" / "many.jsonl").unlink()
    hold_to_the_promise(here, command, "--max-rejected", "3")
    assert cut in of("logs/many.jsonl.gz")
    assert command("verify", "out", "--logs")[0] == 0
    hold_to_the_promise(here, command, "--max-rejected", "10")
    assert "cut-short" not in [code for code, _ in of("logs/many.jsonl.gz")]


def test_a_log_may_end_so_within_the_lines_that_tell_its_format(here, command):
    bad = told("1e400")
    write_log(here / "logs" / "bad.jsonl", log_line("first", session_id="bad"), bad, bad, log_line("behind"))
    hold_to_the_promise(here, command, "--max-rejected", "1")
    assert sorted(users()) == ["first", "good"]
    assert [code for code, _ in of("logs/bad.jsonl")] == ["cut-short", "bad-line", "bad-line"]
    assert command("verify", "out", "--logs")[0] == 0


def test_of_sessions_in_one_log_each_has_its_own_bound(here, command):
    lines = [log_line("a", session_id="a"), *[b"x"] * 9, log_line("b", session_id="b"), log_line("a2", session_id="a")]
    write_log(here / "logs" / "mixed.jsonl", *lines)
    hold_to_the_promise(here, command, "--max-rejected", "3", "--sessions-by", "id")
    assert sorted(users()) == ["a", "b", "good"]
    assert command("verify", "out", "--logs")[0] == 0


def test_blank_lines_take_no_time_worth_mentioning(here, command):
    (here / "logs" / "blank.jsonl").write_bytes(b"\n" * 500_000 + b" \t\r\n" * 500_000)
    started = time.process_time()
    hold_to_the_promise(here, command)
    assert time.process_time() - started < 10  # parsing each took 30
    counts = manifest()["counts"]
    assert (counts["lines"]["blank"], counts["bytes"]["blank"]) == (1_000_000, 2_500_000)


def test_nor_do_they_behind_a_session(here, command):
    (here / "logs" / "blank.jsonl").write_bytes(spelled(log_line("first", session_id="blank")) + b"\n" * 1_000_000)
    started = time.process_time()
    hold_to_the_promise(here, command)
    assert time.process_time() - started < 5
    assert sorted(users()) == ["first", "good"]
    assert manifest()["counts"]["lines"]["blank"] == 999_999


def test_a_line_beyond_the_bound_is_not_blank(here, command):
    (here / "logs" / "long.jsonl").write_bytes(b"  12\n")
    command("convert", "logs", "--max-line", "3")
    assert manifest()["counts"]["lines"]["blank"] == 0
