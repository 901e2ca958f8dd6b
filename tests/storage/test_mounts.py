"""A folder of ours on another file system is told before the run, and whatever fails leaves the old result."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.core import platform
from chatsquash.core.errors import UsageError
from chatsquash.dataset.store import Output
from chatsquash.results.verify import verify
from chatsquash.storage.folder import Folder
from tests.conftest import log_line, tree, write_log

MOUNT = platform.mount


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_log(tmp_path / "logs" / "a.jsonl", log_line("a"))
    convert("logs", "out")
    return tmp_path


def elsewhere(monkeypatch, *names: str) -> None:
    """These folders below ``out`` are on another file system, and so is what is in them."""
    roots = [Path("out").absolute() / name for name in names]

    def mount(descriptor):
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        number = next((at for at, root in enumerate(roots, 1) if path.is_relative_to(root)), 0)
        return MOUNT(descriptor)[0] + number, ""

    monkeypatch.setattr(platform, "mount", mount)


DATASET = Options(format="jsonl", force=True)
MOUNTS = [("reports", Options()), ("data", DATASET), (".chatsquash", Options()), (".chatsquash/staging", Options())]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no other way to tell which folder is open")
@pytest.mark.parametrize("name, options", MOUNTS, ids=[row[0] for row in MOUNTS])
def test_a_folder_of_ours_on_another_file_system_is_told_before_anything_changes(here, monkeypatch, name, options):
    (Path("out") / name).mkdir(exist_ok=True)
    write_log(here / "logs" / "b.jsonl", log_line("b"))
    before = {each: data for each, data in tree(Path("out")).items() if each != ".chatsquash/staging"}
    read = []
    with monkeypatch.context() as patch:
        elsewhere(patch, name)
        with pytest.raises(UsageError) as caught:
            convert("logs", "out", options, lambda *_: read.append(1))
    told = "is on a different file system than the output folder, so files cannot be moved there in one step"
    assert str(caught.value) == f"out/{name}: {told}; unmount it, or choose another folder with output"
    assert (tree(Path("out")), read) == (before, [])
    convert("logs", "out", options)
    assert verify(Path("out")).problems == []


def test_a_folder_that_the_run_does_not_write_to_may_be_anywhere(here, monkeypatch):
    (Path("out") / "data").mkdir()
    elsewhere(monkeypatch, "data")
    assert convert("logs", "out", Options(full=True)).written == 1


def test_what_cannot_be_written_to_is_told_before_anything_changes(here, monkeypatch):
    before = tree(Path("out"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda *_, **__: False)
        with pytest.raises(
            UsageError, match=r"^out: cannot be written to \(Permission denied\); change its mode, or choose"
        ):
            convert("logs", "out", Options(full=True))
    assert tree(Path("out")) == before


REAL = """
import sys
from pathlib import Path
from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
try:
    convert("logs", "out", Options(full=True))
except UsageError as problem:
    print(problem)
"""


@pytest.mark.parametrize("how", ["-t tmpfs none", "--bind kept"])
@pytest.mark.parametrize("name", ["reports", ".chatsquash"])
def test_a_mount_is_told_and_the_old_result_stays(here, how, name):
    """A real mount, where the system lets anybody make one, also of another folder of the same file system."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("the system lets nobody mount")
    shutil.copytree(f"out/{name}", "kept", copy_function=shutil.copy2)
    before = tree(Path("out"))
    script = f"mount {how} out/{name} && cp -a kept/. out/{name} 2>/dev/null; exec {sys.executable} -c '{REAL}'"
    command = ["unshare", "-rm", "sh", "-c", script]
    for _ in range(2):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert ran.stdout.startswith(f"out/{name}: is on a different file system")
        assert tree(Path("out")) == before
    assert convert("logs", "out").unchanged


# A commit that a killed run left, and that cannot be finished


class Killed(BaseException):
    """What no run catches, as it cannot catch what kills its process."""


def killed_at(monkeypatch, name: str) -> None:
    """A run with a log more that was killed when a file was to take its place."""
    write_log(Path("logs") / "b.jsonl", log_line("b"))
    move = Folder._move

    def kill(folder, each, other, to):
        if other.path == Path("out").absolute() and to == name:
            raise Killed
        return move(folder, each, other, to)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_move", kill)
        with pytest.raises(Killed):
            convert("logs", "out")
    assert Path("out/.chatsquash/commit.json").exists()


@pytest.mark.parametrize("name", ["2026-01-13.jsonl", "reports/findings.jsonl", "reports/rejected.jsonl", "run.json"])
def test_a_commit_that_can_no_longer_be_finished_gives_way_to_the_result_before_it(here, monkeypatch, name):
    before = tree(Path("out"))
    killed_at(monkeypatch, name)
    assert verify_fails()
    move = Folder._move

    def fail(folder, each, other, to):
        if other.path == Path("out").absolute() and to == name:
            raise OSError(18, "Invalid cross-device link")
        return move(folder, each, other, to)

    with monkeypatch.context() as patch:
        patch.setattr(Folder, "_move", fail)
        Output(Path("out")).discard()
    assert tree(Path("out")) == before
    assert verify(Path("out")).problems == []
    assert convert("logs", "out").written == 2
    assert verify(Path("out")).problems == []


def verify_fails() -> bool:
    try:
        return bool(verify(Path("out")).problems)
    except UsageError:
        return True


@pytest.mark.parametrize("links", [True, False], ids=["with hard links", "without"])
@pytest.mark.parametrize("name", ["2026-01-13.jsonl", "reports/tools.csv", "run.json"])
def test_a_commit_that_fails_leaves_the_old_result_also_where_there_are_no_hard_links(here, monkeypatch, links, name):
    def refuse(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    convert("logs", "out", DATASET)  # some files go
    before = tree(Path("out"))
    move = Folder._move

    def fail(folder, each, other, to):
        if folder.path.name == "staging" and to == name:
            raise OSError(28, "No space left on device")
        return move(folder, each, other, to)

    with monkeypatch.context() as patch:
        if not links:
            patch.setattr(os, "link", refuse)
        patch.setattr(Folder, "_move", fail)
        with pytest.raises(OSError, match="No space left"):
            convert("logs", "out")
    assert tree(Path("out")) == before
    assert convert("logs", "out", DATASET).unchanged


def test_what_can_neither_be_finished_nor_put_back_now_waits_for_a_run_that_can(here, monkeypatch):
    killed_at(monkeypatch, "run.json")

    def fail(*_):
        raise OSError(5, "Input/output error")

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(Folder, "_move", fail)
            with pytest.raises(UsageError, match=r"out: cannot be written to \(Input/output error\)"):
                Output(Path("out"))
    Output(Path("out")).discard()
    assert verify(Path("out")).problems == []
    assert convert("logs", "out").written == 2


def test_what_an_earlier_commit_put_aside_is_never_put_back_by_another(here, monkeypatch):
    aside = Path("out/.chatsquash/replaced")
    aside.mkdir()
    (aside / "run.json").write_text("older")
    before = tree(Path("out/reports"))
    with monkeypatch.context() as patch:
        patch.setattr(Folder, "clear", lambda *_: None)
        with pytest.raises(OSError, match="replaced: cannot be removed"):
            convert("logs", "out", Options(full=True))
    assert tree(Path("out/reports")) == before
    assert convert("logs", "out").unchanged
    assert not aside.exists()
