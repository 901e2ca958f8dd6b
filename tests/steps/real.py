"""Recordings of agents and golden cases as conversations, with labels written by hand.

A line of ``real.jsonl`` has the labels of all replies of a conversation, by the index of the message: kinds separated by spaces,
an empty text for none, or null where it cannot be decided, because the texts of a recording were replaced by invented words, or
because only the log's own marks show what happened.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from chatsquash import Options, convert
from chatsquash.checks.registry import View
from chatsquash.core.model import Conversation
from tests import golden
from tests.agents.clients import clients
from tests.agents.invent import FOLDER
from tests.steps.sessions import Session

LABELS = Path(__file__).with_name("real.jsonl")


def sessions() -> list[Session]:
    """Return the labelled conversations; replies that cannot be decided have no labels."""
    lines = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    sources = dict.fromkeys(line["source"] for line in lines)
    loaded = {source: conversations(source) for source in sources}
    return [_session(line, loaded[line["source"]]) for line in lines]


def _session(line: dict[str, Any], loaded: list[Conversation]) -> Session:
    name = f"{line['source']}#{line['conversation']}"
    messages = loaded[line["conversation"]].messages
    replies = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    assert [int(at) for at in line["labels"]] == replies, f"{name}: the labels are those of another conversation"
    labels = {int(at): frozenset(kinds.split()) for at, kinds in line["labels"].items() if kinds is not None}
    return Session(name, messages, labels)


def conversations(source: str) -> list[Conversation]:
    """Return the conversations of a golden case or a recording, as checks see them; equal ones once."""
    root, _, name = source.partition("/")
    if root == "golden":
        return _converted([golden.ROOT / name / "logs"])
    recording, _, part = name.partition("/")
    with tempfile.TemporaryDirectory() as folder, tarfile.open(FOLDER / f"{recording}.tar.xz") as archive:
        archive.extractall(folder, filter="data")
        home, log = Path(folder) / "home", Path(folder) / "log"
        patterns = clients()[recording.partition("-")[0]].files
        files = sorted(path for pattern in patterns for path in home.glob(pattern))
        return _converted(files if part == "files" else [log])


def _converted(logs: list[Path]) -> list[Conversation]:
    seen: list[Conversation] = []

    class Recorder(View):
        __slots__ = ()

        def __init__(self, conversation: Conversation, *others: Any, **more: Any) -> None:
            super().__init__(conversation, *others, **more)
            seen.append(conversation)

    options = Options(
        format="jsonl", group_by="none", conversations="all", loss="weight", metadata=True, on_invalid="keep", workers=1
    )
    with tempfile.TemporaryDirectory() as out, mock.patch("chatsquash.session.plan.View", Recorder):
        convert([str(path) for path in logs], f"{out}/out", options)
    return list(_distinct(seen))


def _distinct(seen: list[Conversation]) -> Iterator[Conversation]:
    known = set()
    for each in seen:
        key = repr(
            [{name: value for name, value in message.items() if name.isidentifier()} for message in each.messages]
        )
        if key not in known:
            known.add(key)
            yield each
