"""Kills or starves a command that replaces the files of a folder, at every call that changes files.

``python -m tests.faults.replacing redact|translate COUNT``, in an empty folder.  A row per fault is printed as JSON.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from chatsquash import Options
from chatsquash.core.errors import UsageError
from chatsquash.results.redact.redact import Watch, redact
from chatsquash.translate.files import Translation, write_all
from tests.conftest import tree
from tests.faults.harness import KEY, OLD, OUT, Calls, counted, forked, start

Tree = dict[str, bytes | None]


def redact_folder() -> None:
    """Write a folder of records without addresses; what is there is replaced."""
    options = Options(redact="emails", anonymize_key=KEY)
    redact(["records"], str(OUT), options, Watch(lambda finding: None), force=True)


def translate_folder() -> None:
    """Write a folder of histories in another format; what is there is replaced."""
    write_all(["histories"], Translation("gemini", str(OUT), force=True), None, None)


ACTS = {"redact": redact_folder, "translate": translate_folder}
"""Commands that replace the files of a folder."""
FAULTS = [("kill", False), *((name, forever) for name in ("EIO", "ENOSPC") for forever in (False, True))]


def write_inputs(word: str) -> None:
    """What these commands read; the word will be in all files that they write."""
    for name in ("records/a.jsonl", "records/b.jsonl", "records/in/c.jsonl", *(f"histories/{n}.json" for n in "abc")):
        line = {"messages": [{"role": "user", "content": f"{word} {name}: bob@corp.de"}]}
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(json.dumps(line) + "\n")


def replacing(act: Callable[[], None], count: int) -> None:
    """Every fault at so many calls of a command that replaces files, and what the same command makes of the rest."""
    OUT.mkdir()
    (OUT / "theirs.txt").write_text("of somebody else")
    write_inputs("old")
    act()
    OUT.rename(OLD)
    write_inputs("new")
    start(old=True)
    act()
    old, new = tree(OLD), tree(OUT)
    calls = counted(True, act)
    for point in range(1, len(calls) + 1, max(1, len(calls) // count)):
        for fault, forever in FAULTS:
            start(old=True)
            code = forked(lambda: _strike(act, point, fault, forever))
            wrong = list(problems(old, new, code, forever=forever))
            act()
            wrong += [] if tree(OUT) == new else ["the same command did not complete it"]
            row = {"point": point, "call": calls[point - 1], "fault": fault, "forever": forever, "code": code}
            print(json.dumps({**row, "wrong": wrong}), flush=True)


def _strike(act: Callable[[], None], point: int, fault: str, forever: bool) -> None:
    def strike(number: int, name: str) -> None:
        if number < point or (number > point and not forever):
            return
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        code = getattr(errno, fault)
        raise OSError(code, os.strerror(code))

    Calls(strike)
    try:
        act()
    except UsageError:
        os._exit(9)


def problems(old: Tree, new: Tree, code: int, *, forever: bool) -> Iterator[str]:
    """What is wrong with the folder that a fault left."""
    there = tree(OUT)
    journals = {name.partition("/")[0] for name in there if name.startswith(".chatsquash-")}
    files = {name: data for name, data in there.items() if name.partition("/")[0] not in journals}
    is_pending = any(f"{name}/commit.json" in there for name in journals)
    for name, data in files.items():
        if data not in (old.get(name), new.get(name)):
            yield f"{name} is not whole"
    if files not in (old, new) and not is_pending:
        yield "old and new files are mixed, and there is no journal"
    if code == 0 and files != new:
        yield "a run that failed did not say so"
    if code not in (0, 9, -signal.SIGKILL):
        yield "a run that failed did not say why"
    if journals and code >= 0 and not (is_pending or forever):
        yield f"left behind: {sorted(journals)}"


if __name__ == "__main__":
    replacing(ACTS[sys.argv[1]], int(sys.argv[2]))
