"""Where ``chatsquash translate`` writes: all or nothing, whatever stands there and however it ends."""

import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path

import pytest

from chatsquash.core.errors import UsageError
from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import lock, unlock
from chatsquash.translate import files, output
from chatsquash.translate.files import Translation, write_all
from tests.conftest import cases, tree

COMMAND = [sys.executable, "-m", "chatsquash", "translate"]
BODY = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]}
STALE = ".chatsquash-0123456789abcdef"


@pytest.fixture
def inputs(here):
    """Three bodies."""
    for name in "abc":
        (here / f"in/{name}.json").parent.mkdir(exist_ok=True)
        (here / f"in/{name}.json").write_text(json.dumps(BODY))
    return here


def translate(out, given="in", **wanted):
    return write_all([given], Translation("gemini", out, **wanted), io.BytesIO(), io.BytesIO())


# What stands there

KINDS = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link to a device": lambda path: path.symlink_to("/dev/null"),
    "a link to a folder": lambda path: path.symlink_to("in"),
    "a link to nothing": lambda path: path.symlink_to("gone"),
}


def identity(path):
    """What tells a file from another in its place; following a link may change the time at which it was read."""
    status = os.lstat(path)
    return status.st_dev, status.st_ino, status.st_mode, status.st_mtime_ns


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_never_replaced(inputs, kind, force):
    (inputs / "out").mkdir()
    for place in ("x.jsonl", "out/c.json"):
        KINDS[kind](inputs / place)
    before = identity("x.jsonl"), identity("out/c.json")
    for out in ("x.jsonl", "out"):
        with pytest.raises(UsageError, match=r"(x\.jsonl|c\.json): already exists and is not a regular file"):
            translate(out, jsonl=out != "out", force=force)
    assert (identity("x.jsonl"), identity("out/c.json")) == before
    assert os.listdir("out") == ["c.json"]


def test_a_link_to_a_file_is_replaced_and_not_what_it_leads_to(inputs):
    (inputs / "kept").write_text("kept")
    (inputs / "x.jsonl").symlink_to("kept")
    translate("x.jsonl", force=True)
    assert (inputs / "kept").read_text() == "kept"
    assert not (inputs / "x.jsonl").is_symlink()


@cases("place, jsonl", ("", False), ("", True), (".", True), ("/", True), ("..", True), ("new/..", False))
def test_a_place_without_a_name_is_refused(inputs, place, jsonl):
    with pytest.raises(UsageError, match=r"neither a file nor a folder|not a regular file"):
        translate(place, jsonl=jsonl, force=True)
    assert os.listdir() == ["in"]


# What comes meanwhile


def at_commit(monkeypatch, act):
    """Do something when all is written and nothing is in its place."""
    settle = files._Failures.report_to
    monkeypatch.setattr(files._Failures, "report_to", lambda *given, **more: (act(), settle(*given, **more)))


MEANWHILE = {
    "a link to a folder": ("out", lambda: Path("out").symlink_to("elsewhere")),
    "a link to a file": ("x.jsonl", lambda: Path("x.jsonl").symlink_to("elsewhere/a")),
    "a link to nothing": ("out", lambda: Path("out").symlink_to("gone")),
    "a file": ("out", lambda: Path("out").write_text("theirs")),
    "a file of that name": ("old", lambda: Path("old/b.json").write_text("theirs")),
    "a folder of that name": ("old", lambda: Path("old/c.json").mkdir()),
}


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_comes_while_it_is_written_is_neither_replaced_nor_followed(inputs, monkeypatch, what):
    for name in ("elsewhere", "old"):
        (inputs / name).mkdir()
    (inputs / "elsewhere/a").write_text("theirs")
    out, act = MEANWHILE[what]
    at_commit(monkeypatch, act)
    with pytest.raises(UsageError, match="already exists"):
        translate(out)
    assert tree(inputs / "elsewhere") == {"a": b"theirs"}
    assert set(tree(inputs / "old").values()) <= {b"theirs", None}
    assert not [*inputs.rglob(".*")]


@pytest.mark.parametrize("force", [False, True])
def test_where_one_file_cannot_take_its_place_none_does(inputs, monkeypatch, force):
    (inputs / "old").mkdir()
    if force:
        (inputs / "old/a.json").write_text("old")
        (inputs / "old/c.json").write_text("old")
    before = tree(inputs / "old")

    def fails(act):
        def wrapped(self, name, folder, to):
            if to == "c.json" and self.path.name == "staging":
                raise OSError(5, "Input/output error")
            act(self, name, folder, to)

        return wrapped

    for name in ("move", "link"):
        monkeypatch.setattr(Folder, name, fails(getattr(Folder, name)))
    with pytest.raises(UsageError, match=r"^old: cannot be written \(Input/output error\)"):
        translate("old", force=force)
    assert tree(inputs / "old") == before


HELD = """
import os, signal
from chatsquash.storage.folder import Folder

def signalled(act):
    def wrapped(self, name, *given):
        if self.path.name == "staging":
            os.kill(os.getpid(), signal.{number})
        return act(self, name, *given)
    return wrapped

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
Folder.move, Folder.link = signalled(Folder.move), signalled(Folder.link)
if __name__ == "__main__":
    from chatsquash.cli.main import main
    main()
"""


@pytest.mark.parametrize("number, code", [("SIGTERM", 143), ("SIGINT", 130)])
def test_a_signal_waits_while_files_take_their_places(inputs, number, code):
    (inputs / "old").mkdir()
    (inputs / "held.py").write_text(HELD.format(number=number))
    command = [sys.executable, "held.py", "translate", "in", "--to", "gemini", "-o", "old"]
    assert subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == code
    assert sorted(os.listdir("old")) == ["a.json", "b.json", "c.json"]


# What a killed run leaves


@pytest.mark.parametrize("out", ["out", "old", "in/x.jsonl", "in/new"])
def test_what_a_killed_run_leaves_is_neither_read_nor_in_the_way_and_goes(inputs, monkeypatch, out):
    (inputs / "old").mkdir()
    place = inputs / ("old" if out == "old" else out).rpartition("/")[0] if out != "old" else inputs / "old"
    (place / STALE / "new").mkdir(parents=True)
    (place / STALE / "new/a.json").write_text(json.dumps(BODY))
    monkeypatch.setattr(os, "getpid", lambda: 7)
    done = translate(out)
    assert (done.written, dict(done.ignored)) == (3, {})
    assert not [*inputs.rglob(".*")]


@cases("folder, out", (".", "out"), (".", "out/"), ("out", "."), ("in", "../out"), ("in", "link"), (".", "in/link"))
def test_what_a_killed_run_staged_beside_its_output_goes_whatever_the_next_one_calls_that(
    inputs, monkeypatch, folder, out
):
    (inputs / "out").mkdir()
    (inputs / "in/link").symlink_to("../out")
    (inputs / STALE / "staging/out").mkdir(parents=True)
    monkeypatch.chdir(inputs / folder)
    assert translate(out, str(inputs / "in/a.json")).written == 1
    assert not [*inputs.rglob(".*")]


def test_what_another_run_stages_stays_and_is_not_read(inputs):
    held = Folder(inputs / "in" / STALE)
    held.make()
    (held.path / "a.json").write_text(json.dumps(BODY))
    descriptor = lock(held, "lock")
    assert translate("in/x.jsonl").written == 3
    assert sorted(os.listdir(held.path)) == ["a.json", "lock"]
    unlock(descriptor)
    (inputs / "in/.chatsquash-of-mine").mkdir()
    (inputs / "in/.chatsquash-fedcba9876543210").symlink_to(inputs)
    translate("in/y.jsonl", "in/a.json")
    assert sorted(os.listdir("in"))[:2] == [".chatsquash-fedcba9876543210", ".chatsquash-of-mine"]
    assert not held.path.exists()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the system does not tell processes")
def test_workers_end_with_a_process_that_is_killed(inputs):
    with (inputs / "big.jsonl").open("w") as file:
        file.write((json.dumps(BODY) + "\n") * 200_000)
    command = [*COMMAND, "big.jsonl", "--to", "gemini", "-o", "x.jsonl", "--workers", "3"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
    try:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(children.read_text().split()) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
        process.communicate(timeout=30)  # which all of them hold
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


# What cannot be


@pytest.mark.parametrize("out", ["x.jsonl", "new/x.jsonl.gz", "new/out", "old"])
def test_a_disk_that_is_full_leaves_nothing(inputs, out):
    (inputs / "old").mkdir()
    (inputs / "in/a.json").write_text(
        json.dumps({"messages": [{"role": "user", "content": b64encode(os.urandom(4800)).decode()}]})
    )
    before = tree(inputs)
    ran = subprocess.run(
        [*COMMAND, "in", "--to", "gemini", "-o", out], capture_output=True, text=True, check=False, timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)),
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},  # half of a module would be kept
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (2, f"error: {out}: cannot be written (File too large)\n")
    assert tree(inputs) == before
    assert sorted(os.listdir()) == ["in", "old"]


@cases(
    "arguments, expected",
    ("in/a.json --to gemini -o - >&-", "standard output is closed"),
    ("- --to gemini -o out <&-", "standard input is closed"),
)
def test_a_stream_that_is_closed_is_said(inputs, arguments, expected):
    shell = f'"$0" -m chatsquash translate {arguments}'
    ran = subprocess.run(["sh", "-c", shell, sys.executable], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert expected in ran.stderr
    assert os.listdir() == ["in"]


def test_closed_streams_that_nobody_needs_are_no_matter(inputs):
    shell = '"$0" -m chatsquash translate in --to gemini -o out <&- >&- 2>&-'
    assert subprocess.run(["sh", "-c", shell, sys.executable], check=False, timeout=60).returncode == 0
    assert len(os.listdir("out")) == 3


@pytest.mark.parametrize("wanted", [{"to": "gemini", "from_format": "nope"}, {"to": "nope"}])
def test_a_format_that_is_none_is_refused_before_anything_is_read(here, wanted):
    with pytest.raises(UsageError, match=r"^nope: unknown format"):
        write_all(["gone.json"], Translation(output="out", **wanted), io.BytesIO(), io.BytesIO())


def test_many_conversations_of_one_name_take_no_longer_each(here, monkeypatch):
    asked = []
    monkeypatch.setattr(output, "refuse_existing", lambda path, **_: asked.append(path))
    (here / "old").mkdir()
    with output.output("old", io.BytesIO(), output.Layout(is_file=False), force=False) as writer:
        at = time.process_time()
        for _ in range(10_000):
            writer.write("a", b"{}\n")
    assert time.process_time() - at < 5
    assert len(asked) == 10_000
