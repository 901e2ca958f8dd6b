"""Commands of pages in one shell, in which ``chatsquash`` runs in the process of the test and not in a new one.

The shell is bash, and ``chatsquash`` is a function of it: it passes its arguments, variables, folder and input to the test,
and prints what comes back. So pipes, redirections, variables and exit codes are those of the shell.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from chatsquash.cli.main import main

FUNCTION = r"""
chatsquash() {
  local call code
  call=$(mktemp -d "$CALLS/XXXXXX") && printf '%s\0' "$@" > "$call/arguments" && pwd > "$call/folder" &&
    env -0 > "$call/environment" && cat > "$call/in" || return 99
  if [ /dev/fd/1 -ef /dev/fd/2 ]; then touch "$call/together"; fi
  printf '%s\n' "$call" >&"$ASK"
  read -r code <&"$ANSWER" || return 99
  cat "$call/out"
  if [ -s "$call/err" ]; then cat "$call/err" >&2; fi
  return "$code"
}
"""
SECONDS = 120


def run(script: str, folder: Path, environment: dict[str, str], calls: Path) -> tuple[int, str]:
    """The exit code of a script in bash, and what it prints to standard output and standard error."""
    calls.mkdir()
    asked, ask = os.pipe()
    answer, answered = os.pipe()
    variables = {**environment, "CALLS": str(calls), "ASK": str(ask), "ANSWER": str(answer)}
    with ExitStack() as ends, open(calls / "printed", "wb") as printed:
        ends.callback(os.close, asked)
        ends.callback(os.close, answered)
        shell = subprocess.Popen(
            ["bash", "-c", FUNCTION + script],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            pass_fds=(ask, answer),
        )
        ends.callback(shell.wait)
        ends.callback(shell.kill)
        os.close(ask)
        os.close(answer)
        for call in _calls(shell, asked):
            os.write(answered, b"%d\n" % _called(call))
        code = shell.wait(SECONDS)
    return code, (calls / "printed").read_text(encoding="utf-8")


def _calls(shell: subprocess.Popen, asked: int) -> Iterator[Path]:
    """The folder of each call, until the shell ends."""
    ends = time.monotonic() + SECONDS
    pending = b""
    calls = select.poll()  # not select, which refuses descriptors from 1024 on
    calls.register(asked, select.POLLIN)
    while True:
        over = shell.poll() is not None
        if not calls.poll(0 if over else 50):
            if over:
                return
            if time.monotonic() > ends:
                raise subprocess.TimeoutExpired(shell.args, SECONDS)
            continue
        data = os.read(asked, 65536)
        if not data:
            return
        *lines, pending = (pending + data).split(b"\n")
        yield from (Path(os.fsdecode(line)) for line in lines)


def _called(call: Path) -> int:
    """Run ``chatsquash`` as the call says; the exit code."""
    arguments = [os.fsdecode(each) for each in (call / "arguments").read_bytes().split(b"\0")[:-1]]
    variables = (os.fsdecode(each).partition("=") for each in (call / "environment").read_bytes().split(b"\0")[:-1])
    with ExitStack() as undo:
        undo.callback(os.chdir, os.getcwd())
        os.chdir((call / "folder").read_text(encoding="utf-8").removesuffix("\n"))
        undo.enter_context(_environment({name: value for name, _, value in variables}))
        undo.callback(setattr, sys, "argv", sys.argv)
        sys.argv = ["chatsquash", *(arguments if (call / "arguments").stat().st_size > 1 else [])]
        for number in (signal.SIGTERM, signal.SIGINT):
            undo.callback(signal.signal, number, signal.getsignal(number))
        undo.enter_context(_streams(call))
        try:
            main()
        except SystemExit as ended:
            return ended.code or 0


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _streams(call: Path) -> Iterator[None]:
    """Standard input, output and error are files of the call, for this process and those that it starts."""
    together = (call / "together").exists()
    before, descriptors = (sys.stdin, sys.stdout, sys.stderr), [os.dup(number) for number in range(3)]
    for stream in before[1:]:
        stream.flush()
    with open(call / "in", "rb") as stdin, open(call / "out", "ab") as out, open(call / "err", "ab") as err:
        for number, file in enumerate((stdin, out, out if together else err)):
            os.dup2(file.fileno(), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, encoding="utf-8", closefd=False) for number, mode in enumerate("rww")
    )
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        sys.stdin, sys.stdout, sys.stderr = before
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
