"""Kills ``forget``, or lets calls of it fail, at every call that changes files; the same command completes it.

``python -m tests.faults.forgetting COUNT``, in an empty folder.  A row per fault is printed as JSON.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Iterator

from chatsquash import Options, convert
from chatsquash.conversion.forget.forget import ForgetRequest, forget
from chatsquash.core.errors import UsageError
from tests.conftest import log_line, write_log
from tests.faults import harness
from tests.faults.harness import LOGS, OLD, OUT, Calls, counted, forked, is_result, start

SECRET, FORGOTTEN = b"only this session", "reports/forgotten.jsonl"
Tree = dict[str, bytes | None]


def act() -> None:
    forget(str(OUT), ForgetRequest(["b"], False, lambda matches: None, lambda: True))


def comparable() -> Tree:
    """The folder without the receipt, which has a time and a salt."""
    files = harness.comparable(OUT)
    files.pop(FORGOTTEN, None)
    if run := json.loads(files.get("run.json") or b"{}"):
        run["outputs"] = [each for each in run["outputs"] if each["path"] != FORGOTTEN]
        files["run.json"] = json.dumps(run).encode()
    return files


def remains() -> list[str]:
    """The files of the folder with the text of the session, hidden ones too."""
    return [str(path) for path in OUT.rglob("*") if path.is_file() and SECRET in path.read_bytes()]


def faults(count: int) -> None:
    """Every fault at so many calls, and what the same command makes of the rest."""
    for name in "abc":
        write_log(
            LOGS / f"{name}.jsonl", log_line(f"{SECRET.decode()} {name}" if name == "b" else name, session_id=name)
        )
    convert(LOGS, OLD, Options(anonymize=False, trace_replies=True))
    start(old=True)
    old = comparable()
    act()
    new = comparable()
    calls = counted(True, act)
    for point in range(1, len(calls) + 1, max(1, len(calls) // count)):
        for fault, forever in (("kill", False), ("ENOSPC", False), ("ENOSPC", True)):
            start(old=True)
            code = forked(lambda: strike(point, fault, forever))
            wrong = list(problems(old, new, code))
            act()
            wrong += [] if comparable() == new and is_result(OUT) else ["the same command did not complete it"]
            wrong += [f"{name} contains the text after the same command" for name in remains()]
            row = {"point": point, "call": calls[point - 1], "fault": fault, "forever": forever, "code": code}
            print(json.dumps({**row, "wrong": wrong}), flush=True)


def strike(point: int, fault: str, forever: bool) -> None:
    def at(number: int, name: str) -> None:
        if number < point or (number > point and not forever):
            return
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(getattr(errno, fault), os.strerror(getattr(errno, fault)))

    Calls(at)
    try:
        act()
    except (OSError, UsageError):
        os._exit(9)


def problems(old: Tree, new: Tree, code: int) -> Iterator[str]:
    """What is wrong with the folder that a fault left."""
    there = comparable()
    for name, data in there.items():
        if data not in (old.get(name), new.get(name)):
            yield f"{name} is not whole"
    if is_result(OUT) and there not in (old, new):
        yield "a mixture is taken for a result"
    if code == 0 and (there != new or remains()):
        yield "a run that failed did not say so"
    if code not in (0, 9, -signal.SIGKILL):
        yield "a run that failed did not say why"


if __name__ == "__main__":
    faults(int(sys.argv[-1]))
