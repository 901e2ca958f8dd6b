"""Kills or starves a conversion at every kind of place: ``python -m tests.faults.harness SCENARIO``, in an empty folder.

One process imports everything once and forks for each fault, which makes a fault cost milliseconds.  What changes files
is counted: opening to write, writing, renaming, removing, flushing.  A row per fault is printed as JSON.
"""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Lock

from chatsquash import Options, convert
from chatsquash.conversion import workers
from chatsquash.core.errors import UsageError
from chatsquash.dataset import store as output
from chatsquash.results.verify import verify
from tests.conftest import log_line, tree, write_log

KEY = b"a key for tests of faults"
LOGS, OLD, NEW, OUT = (Path(name) for name in ("logs", "old", "new", "out"))
OPTIONS = Options(anonymize_key=KEY, keep_rejected=True)
SESSIONS = 15
WRITES = {"write", "writev", "pwrite", "staged", "copy_file_range"}
AUDITED = {"os.rename": "rename", "os.link": "link", "os.remove": "remove", "os.mkdir": "mkdir", "os.rmdir": "rmdir"}


class Calls:
    """Counts what this process does to files; from then on it cannot be stopped."""

    def __init__(self, strike: Callable[[int, str], None]) -> None:
        sys.dont_write_bytecode = True  # what is imported while a run goes on is no write of ours
        self.seen: list[str] = []
        self._strike = strike
        self._one = Lock()
        for name in ("write", "writev", "pwrite", "fsync", "ftruncate", "copy_file_range"):
            if hasattr(os, name):  # not all systems copy by themselves
                setattr(os, name, self._counted(name, getattr(os, name)))
        output.Output._handle = self._staged(output.Output._handle)
        output._BATCH = 0  # every line is written as it comes, so that there are as many places to strike
        fdopen = os.fdopen
        os.fdopen = lambda file, mode, *more: (
            CountedFile(file, self._count) if mode == "wb" else fdopen(file, mode, *more)
        )
        sys.addaudithook(self._audit)

    def _count(self, name: str) -> None:
        with self._one:  # flushes go side by side
            self.seen.append(name)
            self._strike(len(self.seen), name)

    def _counted(self, name: str, call):
        def counted(*given):
            self._count(name)
            return call(*given)

        return counted

    def _audit(self, event: str, given: tuple) -> None:
        if event == "open" and isinstance(given[2], int) and given[2] & (os.O_WRONLY | os.O_RDWR):
            self._count("open")
        elif event in AUDITED:
            self._count(AUDITED[event])

    def _staged(self, handle):
        count = self._count

        class Handle:
            """A staged file whose every other line reaches the system at once, so that some are cut."""

            def __init__(self, file) -> None:
                self._file = file

            def write(self, data: bytes) -> None:
                count("staged")
                self._file.write(data)
                if len(data) % 2:
                    self._file.flush()

            def flush(self) -> None:
                self._file.flush()

            def fileno(self) -> int:
                return self._file.fileno()

            def close(self) -> None:
                self._file.close()

        def opened(self, name):
            file = handle(self, name)
            if isinstance(file, Handle):
                return file
            self._handles[name] = Handle(file)
            return self._handles[name]

        return opened


class CountedFile(io.BufferedWriter):
    """A file whose writes are counted."""

    def __init__(self, descriptor: int, count: Callable[[str], None]) -> None:
        super().__init__(io.FileIO(descriptor, "wb"))
        self._count = count

    def write(self, data) -> int:
        self._count("write")
        return super().write(data)


def make_logs() -> None:
    """Sessions of several days, one of them mixed, some lines broken."""
    for number in range(14):
        lines = [log_line(*(f"{number}: me{n}@corp.de" for n in range(m)), at=m) for m in range(1, 3 + number % 4)]
        broken = [b"{broken"] if number % 5 == 0 else []
        write_log(LOGS / f"2026-01-{10 + number % 6}" / f"{number:02}.jsonl", *lines, *broken)
    write_log(LOGS / "empty.jsonl", b"")


def forked(act: Callable[[], None]) -> int:
    """How a process ended that did this: its exit code, or the negative number of the signal."""
    child = os.fork()
    if not child:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def comparable(folder: Path) -> dict[str, bytes | None]:
    """What a user sees of an output folder, without the seconds of the run."""
    files = {name: data for name, data in tree(folder).items() if not name.startswith(".")}
    if "run.json" in files:
        run = json.loads(files["run.json"])
        run.pop("seconds")
        files["run.json"] = json.dumps(run).encode()
    return files


def is_result(out: Path) -> bool:
    """Whether a folder says of itself that it is a result."""
    try:
        return not verify(out).problems
    except UsageError:
        return False


def judge(
    before: dict[str, bytes | None], after: dict[str, bytes | None], kept: int = 0, may_lack: tuple[str, ...] = ()
) -> list[str]:
    """What is wrong with the folder that a fault left, and with what the next run makes of it.

    ``kept`` is how many sessions were in the journal by then; ``may_lack`` names what need not be there in the end.
    """
    wrong = []
    there = comparable(OUT) if OUT.exists() else {}
    whole = {name: {before.get(name, b""), after.get(name, b"")} for name in {*before, *after}}
    wrong += [f"{name} is not whole" for name, data in there.items() if data not in whole.get(name, {None})]
    if is_result(OUT) and there not in (before, after):
        wrong.append("a mixture is taken for a result")
    summary = convert(LOGS, OUT, replace(OPTIONS, resume=True))
    if comparable(OUT) != after:
        wrong.append("the resumed run gave other bytes")
    if not is_result(OUT):
        wrong.append("the resumed run gave no result")
    left = {path.name for path in (OUT / ".chatsquash").iterdir()}
    if left.difference(may_lack) != {"journal", "lock", "state.json", "written.json"}.difference(may_lack):
        wrong.append(f"left behind: {sorted(left)}")
    if not summary.unchanged and summary.reused < kept:
        wrong.append(f"of {kept} sessions {summary.reused} were taken over")
    return [*wrong, *([] if summary.sessions == SESSIONS else ["not all sessions"])]


def start(old: bool) -> dict[str, bytes | None]:
    """The output folder as it is before a fault."""
    shutil.rmtree(OUT, ignore_errors=True)
    if old:
        shutil.copytree(OLD, OUT, copy_function=shutil.copy2)
    return comparable(OUT) if old else {}


def counted(old: bool, act: Callable[[], object]) -> list[str]:
    """The calls of a command that nothing befalls."""
    start(old)

    def count() -> None:
        calls = Calls(lambda number, name: None)
        act()
        seen = json.dumps(calls.seen)
        Path("calls.json").write_text(seen)

    assert forked(count) == 0
    return json.loads(Path("calls.json").read_text())


def points(calls: list[str], count: int, random: Random) -> list[int]:
    """Which calls to strike at: a third before the first rename, a third among renames, a third of any kind."""
    first_write = next(at for at, name in enumerate(calls, 1) if name in WRITES)
    renames = [at for at, name in enumerate(calls, 1) if name == "rename"]
    third = count // 3
    chosen = {*random.sample(range(first_write + 1, renames[0]), third)}
    chosen |= {*random.sample(range(renames[0] + 1, renames[-1] + 1), third)}
    missing = sorted({*calls}.difference(calls[at - 1] for at in chosen))
    kinds = [[at for at, name in enumerate(calls, 1) if name == kind] for kind in missing]
    chosen |= {random.choice(kind) for kind in kinds[: count - len(chosen)]}
    rest = sorted({*range(1, len(calls) + 1)} - chosen)
    return sorted(chosen | {*random.sample(rest, count - len(chosen))})


def killed(after, random: Random, count: int, options: Options = OPTIONS) -> None:
    for old in (False, True):
        calls = counted(old, lambda: convert(LOGS, OUT, options))
        renames = [at for at, name in enumerate(calls, 1) if name == "rename"]
        for point in points(calls, count, random):
            before = start(old)

            def act() -> None:
                def strike(number: int, name: str) -> None:
                    if number == point:
                        os.kill(os.getpid(), signal.SIGKILL)

                Calls(strike)
                convert(LOGS, OUT, options)

            code = forked(act)
            place = "before" if point < renames[0] else "among" if point <= renames[-1] else "behind"
            row = {"old": old, "point": point, "call": calls[point - 1], "place": place, "code": code}
            kept = calls[: point - 1].count("writev")
            print(json.dumps({**row, "kept": kept, "wrong": judge(before, after, kept)}), flush=True)


def spread(after, random: Random, count: int) -> None:
    """The same for the parent of worker processes."""
    workers._WORTH_A_PROCESS, workers._BATCH_JOBS = 1, 2
    killed(after, random, count, replace(OPTIONS, workers=2))


def full(after, random: Random, count: int) -> None:
    """No file may become larger than so many bytes."""
    largest = max(len(data or b"") for data in comparable(NEW).values())
    for old in (False, True):
        for limit in sorted(random.sample(range(1, largest), count)):
            before = start(old)

            def act() -> None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                try:
                    convert(LOGS, OUT, OPTIONS)
                except OSError:
                    os._exit(9)

            code = forked(act)
            wrong = [] if (comparable(OUT) if OUT.exists() else {}) in (before, after) else ["the folder changed"]
            print(
                json.dumps({"old": old, "limit": limit, "code": code, "wrong": wrong + judge(before, after)}),
                flush=True,
            )


def failing(after, random: Random, count: int) -> None:
    """The system refuses a call, or every call from one on."""
    for old in (False, True):
        calls = counted(old, lambda: convert(LOGS, OUT, OPTIONS))
        for point in points(calls, count, random):
            for forever in (False, True):
                before = start(old)

                def act() -> None:
                    def strike(number: int, name: str) -> None:
                        if number == point or (forever and number > point):
                            raise OSError(errno.EIO, "Input/output error")

                    Calls(strike)
                    try:
                        convert(LOGS, OUT, OPTIONS)
                    except (OSError, UsageError):
                        os._exit(9)

                code = forked(act)
                there = comparable(OUT) if OUT.exists() else {}
                is_told = code == 9 or there == after
                wrong = [] if is_told and (forever or there in (before, after)) else ["the old result is not whole"]
                row = {"old": old, "point": point, "call": calls[point - 1], "forever": forever, "code": code}
                print(json.dumps({**row, "wrong": wrong + judge(before, after, may_lack=("journal",))}), flush=True)


def main() -> None:
    make_logs()
    write_log(LOGS / "2026-01-09" / "gone.jsonl")
    convert(LOGS, OLD, Options(anonymize_key=KEY, group_by="scenario"))
    (LOGS / "2026-01-09" / "gone.jsonl").unlink()
    convert(LOGS, NEW, OPTIONS)
    scenarios = {"killed": killed, "spread": spread, "full": full, "failing": failing}
    scenarios[sys.argv[1]](comparable(NEW), Random(7), int(sys.argv[2]))


if __name__ == "__main__":
    main()
