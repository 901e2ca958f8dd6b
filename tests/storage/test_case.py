"""A file system that takes upper and lower case for one, mounted where this machine can: nothing overwrites anything."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.results.verify import verify
from tests.conftest import log_line, write_log

KINDS = [
    (["mkfs.vfat"], ["mount"]),
    (["mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8"], ["mount"]),
    (["mkfs.exfat"], ["mount"]),
    (["mkfs.exfat"], ["mount.exfat-fuse"]),
]
"""How such file systems are made, and how they are mounted."""


def _ran(command: list[str]) -> str | None:
    """What a command prints; ``None`` where it fails, or is not there."""
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode else done.stdout.strip()


def _is_one(folder: Path) -> bool:
    """Whether upper and lower case are one there; in ext4 a folder has to be told so."""
    _ran(["chattr", "+F", str(folder)])
    (folder / "Case").touch()
    found = (folder / "cASE").exists()
    (folder / "Case").unlink()
    return found


@pytest.fixture(scope="module")
def mounted(tmp_path_factory) -> Iterator[Path]:
    """A folder in such a file system, which goes with the tests."""
    if os.geteuid() or not shutil.which("losetup"):
        pytest.skip("no file system without case can be mounted: that takes root and loop devices")
    image, at = tmp_path_factory.mktemp("image") / "image", tmp_path_factory.mktemp("mounted")
    for make, mount in KINDS:
        with open(image, "wb") as file:
            file.truncate(64 << 20)
        if _ran([*make, str(image)]) is None or not (device := _ran(["losetup", "-f", "--show", str(image)])):
            continue
        try:
            if _ran([*mount, device, str(at)]) is None:
                continue
            try:
                (at / "here").mkdir()
                if _is_one(at / "here"):
                    yield at / "here"
                    return
            finally:
                _ran(["umount", str(at)])
        finally:
            _ran(["losetup", "-d", device])
    pytest.skip("no file system without case can be mounted: neither vfat, ext4 with casefold nor exfat works here")


NAMES = ["Maps", "maps", "MAPS", "Straße", "STRASSE"]


@pytest.fixture
def logs(tmp_path) -> Path:
    """Sessions whose files, and whose ids, differ in nothing but case."""
    for number, name in enumerate(NAMES):
        write_log(tmp_path / "logs" / str(number) / f"{name}.jsonl", log_line(f"hello {number}", session_id=name))
    return tmp_path / "logs"


def said(files: list[Path]) -> set[str]:
    lines = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["messages"][0]["content"] for line in lines}


SHAPES = [
    ("a file for each scenario", Options(group_by="scenario"), "*.jsonl"),
    ("a file for each day", Options(), "*.jsonl"),
    ("a dataset folder", Options(format="jsonl", split="train=0.5,test=0.5"), "data/*.jsonl"),
]


@pytest.mark.parametrize("what, options, files", SHAPES, ids=[what for what, *_ in SHAPES])
def test_every_record_is_there_and_a_second_run_finds_its_files(mounted, logs, what, options, files):
    out = mounted / what
    assert convert(logs, out, options).written == len(NAMES)
    assert said(sorted(out.glob(files))) == {f"hello {number}" for number in range(len(NAMES))}
    assert verify(out).problems == []
    assert convert(logs, out, options).unchanged


def test_a_file_for_each_conversation_stays_one(mounted, logs):
    out = mounted / "chats"
    command = [sys.executable, "-m", "chatsquash", "translate", logs, "--to", "openai_chat", "-o", out]
    subprocess.run(command, check=True, capture_output=True)
    files = sorted(out.iterdir())
    assert len(files) == len(NAMES)
    assert {json.loads(file.read_bytes())["messages"][0]["content"] for file in files} == {
        f"hello {number}" for number in range(len(NAMES))
    }


def test_an_output_that_is_named_in_another_case_is_the_same(mounted, logs):
    convert(logs, mounted / "out", Options(group_by="scenario"))
    assert convert(logs, mounted / "OUT", Options(group_by="scenario")).unchanged
