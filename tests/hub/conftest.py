"""A dataset folder, a Hub, and the command between them."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from chatsquash import Options, convert
from tests.conftest import KEY, log_line, user, write_log
from tests.dataset.test_images import image
from tests.hub.hub import TOKEN, FakeHub
from tests.servers import serving

PRIVATE = "kept-to-ourselves"
"""Stands in paths of logs, and in reports for that reason, and in no file that is meant for upload."""


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A dataset folder with lines, an image, and reports."""
    folder = tmp_path_factory.mktemp("push")
    logs = folder / PRIVATE
    write_log(logs / "a.jsonl", log_line(user([image(), {"type": "text", "text": "what is this"}]), session_id="a"))
    write_log(logs / "b.jsonl", log_line("hi", session_id="b"), b"no line")
    options = Options(preset="hf", media="keep", split="train=0.5,test=0.5", seed=1, anonymize_key=KEY.encode())
    convert(logs, folder / "out", options)
    return folder / "out"


@pytest.fixture
def out(made, here) -> Path:
    """A copy of it, in the present folder."""
    return Path(shutil.copytree(made, here / "out"))


@pytest.fixture
def hub(monkeypatch):
    with serving(FakeHub()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


@pytest.fixture
def push(command, hub, out):
    """Runs ``chatsquash push``, without questions unless it is told otherwise."""

    def run(*arguments, url="hf://datasets/me/chats", yes=True):
        done = command("push", "out", url, *(["--yes"] if yes else []), *arguments)
        assert TOKEN not in done.out + done.err
        assert "Traceback" not in done.err
        return done

    return run


def manifest(out: Path) -> dict:
    return json.loads((out / "run.json").read_text())


def public(out: Path) -> dict[str, bytes]:
    """What a push has to send."""
    names = ("README.md", "croissant.json", *(f"{each.parent.name}/{each.name}" for each in out.glob("*/*.*")))
    return {name: (out / name).read_bytes() for name in names if not name.startswith((".chatsquash", "reports/"))}


class Terminal:
    """Standard input with somebody who answers."""

    encoding, errors = "utf-8", "strict"

    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self, *_) -> str:
        return f"{self.answer}\n"

    def fileno(self) -> int:
        raise OSError


@pytest.fixture
def answer(monkeypatch):
    return lambda text: monkeypatch.setattr(sys, "stdin", Terminal(text))
