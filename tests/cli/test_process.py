"""The command as a process: pipes, terminals, signals, worker processes."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from tests.conftest import cases, log_line, tree, write_log

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "chatsquash"]
BIG = 12 << 20
"""Bytes of logs that are worth a second process."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The present folder is a new one; it holds one good log."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "PYTHONUTF8", "PYTHONIOENCODING", "LC_ALL", "LANG"):
        monkeypatch.delenv(name, raising=False)
    write_log(tmp_path / "logs" / "a.jsonl")
    return tmp_path


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Many logs of growing sessions, ``BIG`` bytes in all."""
    folder = tmp_path_factory.mktemp("big")
    talk = [{"role": "user", "content": f"{n}: me{n}@corp.de {'x' * 2000}"} for n in range(40)]
    lines = [log_line(*talk[: n + 1], at=n) for n in range(40)]
    size = number = 0
    while size < BIG:
        size += write_log(folder / f"2026-01-{10 + number % 3}" / f"{number}.jsonl", *lines).stat().st_size
        number += 1
    return folder


def run(*arguments, **options) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **{"timeout": 60, **options})


def on_a_terminal(*arguments, answers: bool = False, columns: int = 100, **environment: str) -> tuple[int, str]:
    """Exit code and what the command shows where standard error is a terminal, and standard output if it ``answers``."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    command = [*COMMAND, *map(str, arguments)]
    variables = {**os.environ, "TERM": "xterm", **environment}
    with subprocess.Popen(
        command, stderr=theirs, stdout=theirs if answers else subprocess.DEVNULL, env=variables
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # what Linux reports for the end
            while piece := os.read(ours, 65536):
                shown += piece
    os.close(ours)
    return process.returncode, shown.decode()


@pytest.mark.parametrize(
    "command", [COMMAND, [str(Path(sys.executable).with_name("chatsquash"))]], ids=["-m", "script"]
)
def test_the_script_and_the_module_are_the_same(here, command):
    ran = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.split(",")[0], ran.stderr) == (0, "chatsquash", "")


# Terminals and pipes


def test_progress_in_bytes_is_shown_on_a_terminal(here):
    code, shown = on_a_terminal("convert", "logs")
    assert code == 0
    assert "  0%|" in shown
    assert "B/s]" in shown
    assert "1 record written to out" in shown


def test_the_summary_is_coloured_on_a_terminal_alone(here):
    write_log(here / "logs" / "b.jsonl", b"not JSON")
    attention = "needs attention: 1 session skipped, 1 error"
    code, coloured = on_a_terminal("convert", "logs")
    assert (code, f"\x1b[31m\x1b[1m{attention}\x1b[0m" in coloured) == (3, True)
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        _, plain = on_a_terminal("convert", "logs", "--full", **environment)
        assert attention in plain
        assert "\x1b[31m" not in plain
    assert "\x1b" not in run("convert", "logs", "--full").stderr


@pytest.mark.parametrize("columns, most", [(50, 50), (80, 80), (200, 80)])
def test_the_summary_is_as_wide_as_the_terminal_and_at_most_80_columns(here, columns, most):
    _, shown = on_a_terminal("convert", ROOT / "sample_logs", "-v", columns=columns, NO_COLOR="1")
    lines = shown[shown.index("85 records written") :].splitlines()
    assert most - 5 < max(map(len, lines)) <= most


def test_the_summary_of_the_sample_logs_fits_a_screen(here):
    lines = run("convert", ROOT / "sample_logs").stderr.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80


def test_progress_for_programs_is_json_on_a_terminal_too(here):
    code, shown = on_a_terminal("convert", "logs", "--progress", "json")
    assert code == 0
    *_, last = [line for line in shown.splitlines() if line.startswith("{")]  # one more for each second that passes
    assert json.loads(last)["sessions"] == 1
    assert "%|" not in shown


def test_alone_it_says_what_it_can_do_with_what_lies_here(here):
    write_log(here / "home/.pi/agent/sessions/p/s.jsonl", b"{}")
    code, shown = on_a_terminal(answers=True, HOME=str(here / "home"))
    assert code == 0
    assert "Make a dataset:" in shown
    assert "chatsquash convert --agent pi" in shown


def test_quiet_shows_nothing_on_a_terminal(here):
    assert on_a_terminal("convert", "logs", "--quiet") == (0, "")


def test_traces_are_shown_beside_progress(here):
    write_log(here / "logs" / "b.jsonl", log_line({"role": "\x1b[2J", "content": "x"}, tools=["none"]))
    code, shown = on_a_terminal("convert", "logs", "-v")
    assert code == 0
    assert "logs/b.jsonl: \\x1b[2J" in shown


def test_without_a_terminal_there_is_neither_progress_nor_colour(here):
    for ran in (run("convert", "logs"), run("convert", "nope")):
        assert "%|" not in ran.stderr
        assert "\x1b" not in ran.stderr
        assert "\r" not in ran.stderr


def test_an_error_is_red_on_a_terminal_unless_colour_is_unwanted(here):
    assert on_a_terminal("convert", "nope")[1].startswith("\x1b[31m\x1b[1merror\x1b[0m: nope")
    assert on_a_terminal("convert", "nope", NO_COLOR="1")[1].startswith("error: nope")


def test_a_pipe_that_is_closed_ends_the_command_quietly(here):
    # More than a pipe and this process take: else the command may be done before the pipe is closed.
    write_log(here / "long.jsonl", log_line(*["x" * 200] * 2000))
    with subprocess.Popen(
        [*COMMAND, "inspect", "long.jsonl", "-v"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"long.jsonl: session s1\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 1


@cases("arguments", ["inspect", "logs"], ["check", "bad.jsonl"], ["convert", "logs", "--json"], ["--help"])
def test_a_pipe_that_nobody_reads_ends_the_command_quietly(here, arguments):
    write_log(here / "bad.jsonl", "[]")
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([*COMMAND, *arguments], stdout=writing, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writing)
    assert ran.stderr == b""


@cases(
    "arguments, code, closed",
    ("all written", ["logs", "--json"], 0, "stdout"),
    ("a line left out", ["logs", "bad.jsonl", "--json"], 3, "stdout"),
    ("the summary for people", ["logs", "bad.jsonl"], 3, "stderr"),
    ("an error", ["nope"], 2, "stderr"),
    ("a usage error", ["logs", "--nope"], 2, "stderr"),
)
def test_a_pipe_that_nobody_reads_does_not_change_how_a_run_ended(here, arguments, code, closed):
    write_log(here / "bad.jsonl", b"{bad")
    reading, writing = os.pipe()
    os.close(reading)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, closed: writing}
    ran = subprocess.run([*COMMAND, "convert", *arguments], **streams, timeout=60, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stdout or b"", ran.stderr or b"") == (code, b"", b"")
    assert (here / "out" / "run.json").exists() == (code != 2)


IMPORTING = """
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{module}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
sys.argv = ["chatsquash", "convert", "logs"]
from chatsquash.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["chatsquash.cli.main", "click", "orjson", "chatsquash.conversion.convert"])
def test_an_interrupt_while_modules_are_imported_is_clean(here, module):
    script = [sys.executable, "-c", IMPORTING.format(module=module)]
    ran = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.strip()) == (130, "", "interrupted")
    assert not (here / "out").exists()


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_streams_may_be_closed_from_the_start(here, closed):
    shell = f'"$0" -m chatsquash convert logs --json {closed}'
    assert subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, check=False).returncode == 0
    assert (here / "out" / "run.json").exists()


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8"])
def test_text_that_the_encoding_does_not_have_is_escaped(here, encoding):
    write_log(here / "日.jsonl", log_line("日本", session_id="日"))
    shown = run("inspect", "日.jsonl", "-v", env={**os.environ, "PYTHONIOENCODING": encoding}, encoding=encoding).stdout
    name = "日" if encoding == "utf-8" else "\\u65e5"
    assert shown.startswith(f"{name}.jsonl: session {name}\n")


def test_json_on_standard_output_is_the_only_thing_there(here):
    write_log(here / "logs" / "b.jsonl", b"{bad")
    ran = run("convert", "logs", "--json", "-v")
    assert ran.returncode == 3
    assert json.loads(ran.stdout)["sessions"]["seen"] == 2


def test_quoted_globs_are_expanded(here):
    write_log(here / "logs" / "2026-01-14" / "b.jsonl")
    assert run("convert", "logs/**/*.jsonl", "--quiet").returncode == 0
    assert sorted(path.name for path in (here / "out").glob("*.jsonl")) == ["2026-01-13.jsonl", "2026-01-14.jsonl"]


def test_a_key_is_made_once_and_is_all_that_is_written_outside_the_output(here, monkeypatch):
    monkeypatch.delenv("CHATSQUASH_ANONYMIZE_KEY_FILE")
    monkeypatch.setenv("HOME", str(here / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(here / "home" / "config"))
    write_log(here / "logs" / "a.jsonl", log_line("me@corp.de"))
    first = run("convert", "logs", "-o", "one", "--quiet")
    (key,) = (path for path in (here / "home").rglob("*") if path.is_file())
    assert run("convert", "logs", "-o", "two", "--quiet").returncode == first.returncode == 0
    assert (here / "one" / "2026-01-13.jsonl").read_bytes() == (here / "two" / "2026-01-13.jsonl").read_bytes()
    assert b"me@corp.de" not in (here / "one" / "2026-01-13.jsonl").read_bytes()
    assert oct(key.stat().st_mode & 0o777) == "0o600"
    assert sorted(path.name for path in here.iterdir()) == ["home", "logs", "one", "two"]


# Worker processes


def without_seconds(folder: Path) -> dict[str, bytes | None]:
    files = tree(folder)
    counts = json.loads(files["run.json"])
    del counts["seconds"]
    return {**files, "run.json": json.dumps(counts).encode()}


def test_all_bytes_are_equal_for_one_and_two_processes(here, big):
    for count in (1, 2):
        assert run("convert", big, "-o", f"out{count}", "--workers", count, "--quiet").returncode == 0
    assert without_seconds(here / "out1") == without_seconds(here / "out2")


GUARDED = """
import polars
from chatsquash import Options, convert
if __name__ == "__main__":
    print(convert({logs!r}, "out", Options(workers=2)).written)
"""


def test_worker_processes_are_safe_beside_polars(here, big):
    (here / "script.py").write_text(GUARDED.format(logs=str(big)))
    ran = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert int(ran.stdout) == len(list(big.rglob("*.jsonl")))


# Signals

HELD = """
import os, time
from pathlib import Path
from chatsquash.conversion import pool, workers
from chatsquash.session import converter

def held(self, job, **more):
    Path(f"ready-{os.getpid()}").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return convert(self, job, **more)

workers._WORTH_A_PROCESS = 1
workers._BATCH_JOBS = 1
convert, converter.Converter.convert = converter.Converter.convert, held
if __name__ == "__main__":
    from chatsquash.cli.main import main
    main()
"""


@pytest.fixture
def converting(here):
    """Starts a conversion in a session of its own; every process of it has begun and waits for a file ``go``.

    All of them hold its standard output, so that ``communicate`` returns when the last one has ended.
    """
    (here / "held.py").write_text(HELD)
    begun = []

    def start(count: int) -> subprocess.Popen[str]:
        command = [sys.executable, "held.py", "convert", "logs", "--workers", str(count)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, **pipes, start_new_session=True, text=True)
        begun.append(process.pid)
        while len([*here.glob("ready-*")]) < count:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        return process

    yield start
    for group in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@cases(
    "number, send, code, err",
    ("Ctrl-C", signal.SIGINT, os.killpg, 130, "interrupted"),
    ("an interrupt of the main process alone", signal.SIGINT, os.kill, 130, "interrupted"),
    ("a request to end", signal.SIGTERM, os.kill, 143, ""),
)
@pytest.mark.parametrize("count", [1, 2])
def test_a_signal_leaves_no_output_and_no_processes(here, converting, count, number, send, code, err):
    assert run("convert", "logs", "--quiet").returncode == 0
    before = tree(here / "out")
    for name in "bc":
        write_log(here / "logs" / f"{name}.jsonl")
    process = converting(count)
    send(process.pid, number)
    (here / "go").touch()
    out, shown = process.communicate(timeout=60)
    said = shown.strip().partition(";")[0]  # behind that stands how to go on, where a worker has finished something
    assert (process.returncode, out, said) == (code, "", err)
    assert tree(here / "out") == before


HOLDING_THE_LAST = HELD.replace(
    '    Path(f"ready', '    if job.name != "z.jsonl":\n        return convert(self, job, **more)\n    Path(f"ready'
)


@pytest.mark.parametrize("count", [1, 2])
def test_an_interrupt_says_within_a_second_what_was_done_and_how_to_go_on(here, count):
    for name in "bz":
        write_log(here / "logs" / f"{name}.jsonl")
    (here / "last.py").write_text(HOLDING_THE_LAST)
    command = [sys.executable, "last.py", "convert", "logs", "--workers", str(count)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True) as process:
        while not [*here.glob("ready-*")]:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.2)  # for the other worker
        at = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, shown = process.communicate(timeout=60)
        took = time.monotonic() - at
    go_on = "2 sessions done, but nothing new was written; run the same command with --resume to continue"
    assert (process.returncode, shown.strip()) == (130, f"interrupted; {go_on}")
    assert took < 1
    ran = run("convert", "logs", "--resume", "--json")
    assert (ran.returncode, json.loads(ran.stdout)["reused"]) == (0, 2)


def test_what_a_killed_run_leaves_is_no_hindrance(here, converting):
    write_log(here / "logs" / "b.jsonl")
    process = converting(2)
    process.kill()
    process.communicate(timeout=60)
    assert run("convert", "logs", "--quiet").returncode == 0
    assert not (here / "out" / ".chatsquash" / "staging").exists()


def test_an_interrupt_while_workers_start_is_clean(here):
    write_log(here / "logs" / "b.jsonl")
    # Without a file ``go`` no session is ever done, so that a slow main process finds none to go on from.
    (here / "held.py").write_text(HELD.replace("if __name__", INTERRUPTING + "if __name__"))
    ran = subprocess.run(
        [sys.executable, "held.py", "convert", "logs", "--workers", "2"],
        capture_output=True, text=True, timeout=60, check=False, start_new_session=True,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout, ran.stderr.strip()) == (130, "", "interrupted")
    assert not (here / "out").exists()


INTERRUPTING = """
def interrupt(*given):
    os.killpg(0, 2)
    serve(*given)

serve, pool._serve = pool._serve, interrupt
"""
