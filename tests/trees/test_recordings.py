"""Recordings of agents at work: which replies of them are trained on, in conversations of which kind, after which messages.

Recorded offline from Claude Code 2.1.332, Codex 0.171.0, Gemini CLI 0.61.0 and OpenCode 1.18.33 behind a gateway, which logs
each request with the reply of a scripted model server on loopback.  ``NAME-days`` are twelve processes: new sessions,
resumed and forked ones, calls in parallel and calls that fail, sub-agents, requests that fail or are truncated, histories
that are compacted.  ``NAME-subagents`` has two of these at once, a fork, a command that the user interrupts, and a reply
that reaches its limit; Codex resumes the thread of the sub-agent that ended last.  ``NAME-terminal`` is one interactive
session, in which the user asks for a compaction.

All words are invented; what stays is the structure, which texts are equal, and marks: prompts contain ``uxRUNx001``,
those of sub-agents ``sxRUNx001``, replies and the output of their commands ``qxRUNx001`` with the number of the exchange.
``NAME.truth.json`` has, for each exchange, its kind, how the reply ended, and the marks that the model was sent, with
``a`` for what the assistant and ``t`` for what a tool said.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chatsquash import Options, convert
from tests.conftest import write_log
from tests.outputs import findings

RECORDINGS = Path(__file__).parent / "recordings"
NAMES = sorted(path.name.removesuffix(".jsonl.xz") for path in RECORDINGS.glob("*.jsonl.xz"))
WITH_ONE_SESSION = ["claude-terminal", "gemini-days", "gemini-terminal"]
MARK = re.compile(r"([qus])x\w{3}x(\d{3})")
ROLES = {("assistant", "q"): "a", ("tool", "q"): "t"}


class Exchange(NamedTuple):
    """What is known of a request and its reply."""

    reply: int
    kind: str
    status: str
    before: str


class Trained(NamedTuple):
    """A reply that is trained on."""

    kind: str
    before: str


def marks(message: dict[str, Any]) -> list[str]:
    """The marks in the content and the arguments of a message."""
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    text = json.dumps([message.get("content"), *calls])
    return [f"{ROLES.get((message['role'], kind), kind)}{int(number)}" for kind, number in MARK.findall(text)]


def trained(record: dict[str, Any]) -> Iterator[tuple[int, Trained]]:
    """The number of each reply that a record trains on, with its kind and the marks before it."""
    before: dict[str, None] = {}
    for message in record["messages"]:
        own = [mark for mark in marks(message) if mark[0] == "a"]
        if own and message.get("weight", 1):
            yield int(own[0][1:]), Trained(record["kind"], " ".join(before))
        before.update(dict.fromkeys(marks(message)))


def recording(name: str) -> list[dict[str, Any]]:
    """The lines of a gateway's log."""
    return [json.loads(line) for line in lzma.decompress((RECORDINGS / f"{name}.jsonl.xz").read_bytes()).splitlines()]


def converted(lines: list[dict[str, Any]], folder: Path, **options: Any) -> dict[int, list[Trained]]:
    """For each reply, the places where it is trained on."""
    log = write_log(folder / "log.jsonl", *lines)
    wanted = Options(format="jsonl", group_by="none", conversations="all", loss="weight", metadata=True, **options)
    convert(log, folder / "out", wanted)
    replies: dict[int, list[Trained]] = {}
    for path in sorted((folder / "out" / "data").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            for number, each in trained(json.loads(line)):
                replies.setdefault(number, []).append(each)
    return replies


def expected(name: str) -> dict[int, list[Trained]]:
    """The same by what was recorded: once for each complete reply."""
    rows = json.loads((RECORDINGS / f"{name}.truth.json").read_text(encoding="utf-8"))
    exchanges = [Exchange(**row) for row in rows]
    return {each.reply: [Trained(each.kind, each.before)] for each in exchanges if each.status == "whole"}


@pytest.mark.parametrize("name", NAMES)
def test_each_reply_is_trained_on_once_after_what_the_model_was_sent(tmp_path, name):
    assert converted(recording(name), tmp_path, sessions_by="chain") == expected(name)


@pytest.mark.parametrize("name", WITH_ONE_SESSION)
def test_a_file_with_one_session_is_converted_alike_without_chains(tmp_path, name):
    assert converted(recording(name), tmp_path) == expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_log_without_session_ids_has_the_same_conversations(tmp_path, name):
    lines = [{key: value for key, value in line.items() if key != "session_id"} for line in recording(name)]
    assert converted(lines, tmp_path, sessions_by="chain") == expected(name)


@pytest.mark.parametrize("sessions_by", ["chain", "id"])
@pytest.mark.parametrize("name", NAMES)
def test_the_trees_explain_each_history_that_is_not_the_beginning_of_the_next(tmp_path, name, sessions_by):
    log = write_log(tmp_path / "log.jsonl", *recording(name))
    for conversations in ("last", "main", "all"):
        out = tmp_path / conversations
        convert(log, out, Options(conversations=conversations, sessions_by=sessions_by, anonymize=False))
        assert findings("role-sequence", out=out) == []
