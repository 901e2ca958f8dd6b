"""What is written has names that other systems take, too, and where this does not run a sentence says so."""

import ntpath
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert
from chatsquash.dataset.groups import sanitise
from tests.conftest import log_line, write_log

DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"}
DEVICES |= {f"{name}{number}" for name in ("com", "lpt") for number in "0123456789¹²³"}
"""What Windows takes for a device, whatever suffix stands behind it."""


def refused_by_windows(name: str) -> str:
    """Why a name is no plain name of a file on Windows; empty where it is one."""
    if ntpath.splitdrive(name)[0] or ntpath.basename(name) != name or ntpath.isabs(name):
        return "leads elsewhere"
    if set(name) & set('<>:"/\\|?*') or any(ord(char) < 32 for char in name):
        return "has a character that stands for something else"
    if name.endswith((".", " ")):
        return "loses its end"
    if name.partition(".")[0].rstrip(" ").casefold() in DEVICES:
        return "is a device"
    return "is too long" if len(name.encode("utf-16-le")) > 2 * 255 else ""


RULES = [
    ("C:a", "leads elsewhere"), ("C:\\a", "leads elsewhere"), ("..\\a", "leads elsewhere"), ("a/b", "leads elsewhere"),
    ("\\\\?\\C:\\a", "leads elsewhere"), ("\\\\server\\share\\a", "leads elsewhere"), ("file:stream", "has a character"),
    ("a\tb", "has a character"), ("a.", "loses its end"), ("a ", "loses its end"), ("CON", "is a device"),
    ("nul.txt", "is a device"), ("Com1.a.b", "is a device"), ("lpt³", "is a device"), ("aux .txt", "is a device"),
    ("x" * 256, "is too long"), ("console.txt", ""), ("a.b-c_d.jsonl", ""),
]  # fmt: skip


@pytest.mark.parametrize("name, why", RULES, ids=[ascii(name)[:20] for name, _ in RULES])
def test_the_rules_of_windows_are_those_that_are_asked(name, why):
    assert refused_by_windows(name)[: len(why) or None] == why


HOSTILE = [
    *sorted(DEVICES), "CON.a", "nul.tar.gz", "Com¹", "aux.", "prn ", "con .x", "a.", "a ", "a. .", "...", ". .", "",
    "a:stream", "a:$DATA", "C:", "C:a", "C:\\a", "\\\\?\\C:\\a", "\\\\.\\pipe\\a", "\\\\server\\share\\a", "..\\a",
    "../a", "a\\b", "a/b", "~", "a\0b", "\x7f", "x" * 400, "日" * 400, "😀" * 400, "x" * 119 + ".", "\u2215a", "a\u202eb",
]  # fmt: skip


@pytest.mark.parametrize("label", HOSTILE, ids=[f"{at} {ascii(label)[:20]}" for at, label in enumerate(HOSTILE)])
@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_no_label_becomes_a_name_that_windows_refuses(label, suffix):
    name = f"{sanitise(label)}{suffix}"
    assert refused_by_windows(name) == ""
    assert ntpath.normpath(ntpath.join("C:\\out", name)) == f"C:\\out\\{name}"


@given(st.text() | st.sampled_from(HOSTILE).flatmap(lambda label: st.text(max_size=3).map(label.__add__)))
def test_nor_does_any_other(label):
    assert refused_by_windows(f"{sanitise(label)}.jsonl") == ""


@pytest.fixture
def logs(tmp_path) -> Path:
    """Logs with names that this system takes, in a folder and in an archive, which may have any members."""
    names = [label for label in HOSTILE if label.strip(". ") and not set(label) & {"/", "\0"} and len(label) < 200]
    for number, name in enumerate(names):
        write_log(tmp_path / "logs" / f"{number:03}" / f"{name}.jsonl", log_line(f"hello {number}"))
    with zipfile.ZipFile(tmp_path / "logs/members.zip", "w") as archive:
        for name in (
            "CON.jsonl",
            "a:b.jsonl",
            "C:\\x.jsonl",
            "..\\y.jsonl",
            "\\\\?\\z.jsonl",
            "../up.jsonl",
            "ok.jsonl",
        ):
            archive.writestr(name, (tmp_path / "logs/000" / f"{names[0]}.jsonl").read_bytes())
    return tmp_path / "logs"


DATASETS = [
    ("a file for each scenario", Options(group_by="scenario")),
    ("a dataset folder", Options(format="jsonl", split="train=0.5,nul=0.5", metadata=True)),
]


@pytest.mark.parametrize("what, options", DATASETS, ids=[what for what, _ in DATASETS])
def test_all_files_of_an_output_have_names_that_windows_takes(logs, tmp_path, what, options):
    summary = convert(logs, tmp_path / "out", options)
    written = [path.relative_to(tmp_path / "out") for path in (tmp_path / "out").rglob("*")]
    refused = {str(path): why for path in written for part in path.parts if (why := refused_by_windows(part))}
    assert refused == {}
    assert summary.written >= len(HOSTILE) / 2
    assert {path.name for path in tmp_path.iterdir()} == {"logs", "out"}


def test_conversations_are_translated_to_names_that_windows_takes(logs, tmp_path):
    command = [sys.executable, "-m", "chatsquash", "translate", str(logs), "--to", "openai_chat"]
    subprocess.run([*command, "--output", str(tmp_path / "chats")], check=True, capture_output=True)
    names = [path.name for path in (tmp_path / "chats").iterdir()]
    assert len(names) > len(HOSTILE) / 2
    assert [name for name in names if refused_by_windows(name)] == []


# A system that is none of POSIX, as far as a process can play one

_PLAYED = """
import os, sys
for name in ("fcntl", "resource", "pwd", "grp"):
    sys.modules[name] = None
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "pread", "pwrite"):
    delattr(os, name)
"""
_SENTENCE = (
    "with POSIX system calls, and fcntl is missing on this system; run it on Linux or macOS, or on Windows in WSL"
)


def elsewhere(program: str, *arguments: str, at: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-c", _PLAYED + program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=at)


_COMMAND = "sys.argv[0] = 'chatsquash'\nfrom chatsquash.__main__ import main\nmain()"
COMMANDS = [
    ("--version", True), ("--help", True), ("convert --help", True), ("explain no-tools", True),
    ("convert logs", False), ("check logs", False), ("inspect logs", False), ("verify logs", False),
    ("redact logs/a.jsonl -o clean --redact secrets", False), ("translate logs --to anthropic -o chats", False),
    ("shards logs --shards 2", False), ("merge out", False),
]  # fmt: skip


@pytest.mark.parametrize("typed, works", COMMANDS, ids=[typed for typed, _ in COMMANDS])
def test_where_posix_is_missing_a_command_works_or_says_so(tmp_path, typed, works):
    write_log(tmp_path / "logs/a.jsonl")
    done = elsewhere(_COMMAND, *typed.split(), at=tmp_path)
    assert "Traceback" not in done.stderr
    if works:
        assert (done.returncode, done.stderr) == (0, "")
    else:
        assert done.returncode == 2
        assert _SENTENCE in done.stderr
        assert [path.name for path in tmp_path.iterdir()] == ["logs"]


@pytest.mark.parametrize("name", ["convert", "convert_session", "load"])
def test_from_python_it_says_the_same(tmp_path, name):
    asked = f"from chatsquash.core.errors import UsageError\ntry:\n    import chatsquash\n    chatsquash.{name}([])\n"
    done = elsewhere(f"{asked}except UsageError as problem:\n    print(problem)", at=tmp_path)
    assert (_SENTENCE in done.stdout, done.stderr) == (True, "")
