"""What a machine lacks is no damage of a log: the run stops, nothing is replaced, and the next run converts all."""

import errno
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.shards import divide
from chatsquash.core.errors import ShortageError
from chatsquash.dataset.store import Output
from chatsquash.reading import sessions
from chatsquash.storage.folder import Folder
from tests.conftest import log_line, tree, write_log
from tests.conversion.test_compressed import WAYS

MIXED = [log_line(f"{name}{n}", at=n, session_id=name) for n in range(1, 9) for name in ("x", "y", "z")]
DATA = b"".join(json.dumps(row).encode() + b"\n" for row in MIXED)
BY_ID = Options(sessions_by="id", anonymize=False)
ROOM = [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS]
DESCRIPTORS = [errno.EMFILE, errno.ENFILE, errno.ENOMEM]


@pytest.fixture
def here(here):
    """The present folder has a result of another log, and a compressed log of three sessions beside it."""
    write_log(here / "logs/a.jsonl", log_line("before"))
    convert("logs", "out", BY_ID)
    (here / "logs/b.jsonl.gz").write_bytes(gzip.compress(DATA))
    return here


def sessions_of(out="out"):
    lines = [line for path in Path(out).glob("*.jsonl") for line in path.read_text().splitlines()]
    return sorted(json.loads(line)["messages"][-2]["content"] for line in lines)


def refuse(number):
    def refused(*given, **named):
        raise OSError(number, os.strerror(number))

    return refused


def holds_to_it(stopped: str, number: int, before: dict) -> None:
    """A stopped run says which log, why and what to do, and leaves the old result; the next one gives all of it."""
    assert stopped.startswith("logs/b.jsonl.gz: cannot be ")
    assert os.strerror(number) in stopped
    assert stopped.endswith("free some resources or raise the limit, then run the same command again")
    assert tree(Path("out")) == before
    assert not Path("out/.chatsquash/expanded").exists()


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("call", ["write", "create", "make"])
@pytest.mark.parametrize("number", ROOM, ids=errno.errorcode.get)
def test_a_log_that_cannot_be_expanded_stops_the_run_and_the_next_one_tries_again(
    here, monkeypatch, number, call, resume
):
    before = tree(Path("out"))
    with monkeypatch.context() as lacking:
        if call == "write":
            lacking.setattr(sessions, "_write", refuse(number))
        else:
            real = getattr(Folder, call)

            def lack(folder, *given, **named):
                return (refuse(number) if folder.path.name == "expanded" else real)(folder, *given, **named)

            lacking.setattr(Folder, call, lack)
        with pytest.raises(ShortageError) as stopped:
            convert("logs", "out", BY_ID)
    holds_to_it(str(stopped.value), number, before)
    summary = convert("logs", "out", Options(sessions_by="id", anonymize=False, resume=resume))
    assert (summary.written, summary.unchanged) == (4, False)
    assert sessions_of() == ["before", "x8", "y8", "z8"]


RUNS = [("file", 1, 2), (None, 1, 1), ("id", 1, 4), ("id", 2, 4)]
LACKING = [
    pytest.param(number, way, *RUNS[run], marks=pytest.mark.long if (at + kind + run) % len(RUNS) else ())
    for at, number in enumerate(DESCRIPTORS)
    for kind, way in enumerate(WAYS)
    for run in range(len(RUNS))
]
"""Each way of a run with each errno and with each compression, of which a quarter holds every pair."""


@pytest.mark.parametrize("number, way, sessions_by, workers, written", LACKING)
def test_a_log_that_cannot_be_opened_for_want_of_descriptors_stops_the_run(
    here, monkeypatch, number, way, sessions_by, workers, written
):
    monkeypatch.setattr("chatsquash.conversion.workers._WORTH_A_PROCESS", 1)
    (here / "logs/b.jsonl.gz").unlink()
    path = here / f"logs/b.jsonl.{way}"
    path.write_bytes(WAYS[way](DATA))
    before, real = tree(Path("out")), os.open
    options = Options(sessions_by=sessions_by, workers=workers, on_invalid="keep", anonymize=False)

    def lacking(name, flags, *more, **named):
        if str(name).endswith(path.name):
            raise OSError(number, os.strerror(number))
        return real(name, flags, *more, **named)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", lacking)
        with pytest.raises(ShortageError, match=r"logs/b\.jsonl.*cannot be opened"):
            convert("logs", "out", options)
    assert tree(Path("out")) == before
    assert convert("logs", "out", options).written == written


def test_the_command_says_it_and_how_to_go_on_and_ends_with_1(here, command, monkeypatch):
    with monkeypatch.context() as lacking:
        lacking.setattr(sessions, "_write", refuse(errno.EDQUOT))
        code, out, err = command("convert", "logs", "--sessions-by", "id", "--full")
    assert (code, out) == (1, "")
    assert err == (
        f"error: logs/b.jsonl.gz: cannot be expanded into {here}/out/.chatsquash/expanded "
        f"({os.strerror(errno.EDQUOT)}), for a reason unrelated to the log: free some resources or raise the limit, then run the "
        "same command again; 1 session done, but nothing new was written; run the same command with --resume to continue\n"
    )
    assert command("convert", "logs", "--sessions-by", "id", "--quiet", "--resume").code == 0
    assert sessions_of() == ["before", "x8", "y8", "z8"]


FULL = [
    ("convert", ["convert", "logs", "--full", "--no-anonymize"], Output, "write"),
    ("shards", ["shards", "logs", "-n", "1", "--no-anonymize"], divide, "_write"),
    ("merge of shards", ["merge", "out"], Output, "write"),
    ("merge of results", ["merge", "out", "other", "-o", "both"], Output, "write"),
]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=errno.errorcode.get)
@pytest.mark.parametrize("what, arguments, holder, name", FULL, ids=[row[0] for row in FULL])
def test_a_full_disk_is_told_with_the_folder(here, command, monkeypatch, number, what, arguments, holder, name):
    (here / "logs/b.jsonl.gz").unlink()
    convert("logs", "other", BY_ID)
    if what == "merge of shards":
        command("shards", "logs", "-n", "1", "--no-anonymize", "--replace")
        command("convert", "--shard", "1/1")
    with monkeypatch.context() as lacking:
        lacking.setattr(holder, name, refuse(number))
        code, out, err = command(*arguments)
    folder = here / "both" if "both" in arguments else here / "out"
    assert (code, out) == (1, "")
    told = {f"error: {place}: {os.strerror(number)}" for place in (folder, folder.relative_to(here))}
    assert err.splitlines()[-1].partition(";")[0] in told


def test_a_full_temporary_folder_is_named(here, command, monkeypatch):
    monkeypatch.setattr("chatsquash.conversion.session_list.read", refuse(errno.ENOSPC))
    ended = command("list", "logs")
    assert (ended.code, ended.err) == (1, f"error: {tempfile.gettempdir()}: {os.strerror(errno.ENOSPC)}\n")


def test_another_error_of_the_system_names_no_folder(here, command, monkeypatch):
    monkeypatch.setattr(Output, "write", refuse(errno.EIO))
    ended = command("convert", "logs", "--full", "--no-anonymize")
    assert ended.err.startswith(f"error: {os.strerror(errno.EIO)}")


LIMITED = """
import resource, sys
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]),) * 2)
sys.argv[1:] = sys.argv[3:]
from chatsquash.__main__ import main
main()
"""


def limited(limit: str, most: int) -> subprocess.CompletedProcess:
    arguments = ["convert", "logs", "--sessions-by", "id", "--quiet", "--workers", "1"]
    return subprocess.run(
        [sys.executable, "-c", LIMITED, limit, str(most), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_limit_on_the_size_of_files_stops_the_run(here, way):
    large = [
        log_line(f"{name}{n}", at=n, session_id=name, pad=os.urandom(10_000).hex())
        for n in range(1, 9)
        for name in "xyz"
    ]
    (here / "logs/b.jsonl.gz").unlink()
    data = b"".join(json.dumps(row).encode() + b"\n" for row in large)
    (here / f"logs/b.jsonl.{way}").write_bytes(WAYS[way](data))
    done = limited("RLIMIT_FSIZE", 200_000)
    assert (done.returncode, f"logs/b.jsonl.{way}: cannot be expanded" in done.stderr) == (1, True)
    assert limited("RLIMIT_FSIZE", resource.RLIM_INFINITY).returncode == 0
    assert sessions_of() == ["before", "x8", "y8", "z8"]


def test_a_limit_on_descriptors_never_mixes_sessions(here):
    """Whatever the number at which it ends, a run converts all sessions, or stops and leaves the old result."""
    ended = {}
    for most in range(3, 30):
        ended[most] = limited("RLIMIT_NOFILE", most).returncode
        assert sessions_of() in (["before"], ["before", "x8", "y8", "z8"]), most
        if ended[most] == 0:
            assert sessions_of() == ["before", "x8", "y8", "z8"]
            break
    assert set(ended.values()) <= {0, 1, 2}, ended
    assert 0 in ended.values()


def test_a_log_that_could_not_be_split_is_never_converted_as_one_session(here, monkeypatch):
    """What fails while the sessions are looked for may be over when the log is converted."""
    real, failures = sessions.by_ids, [OSError(errno.EIO, "once")]

    def once(*given):
        if failures:
            raise failures.pop()
        return real(*given)

    monkeypatch.setattr(sessions, "by_ids", once)
    assert convert("logs", "other", BY_ID).written == 4
    assert sessions_of("other") == ["before", "x8", "y8", "z8"]


def test_a_log_that_can_never_be_split_is_unreadable(here, monkeypatch):
    def never(*given):
        raise OSError(errno.EIO, "always")

    monkeypatch.setattr(sessions, "places_by_id", never)
    summary = convert("logs", "other", BY_ID)
    assert dict(summary.left_out) == {"unreadable-log": 2}
