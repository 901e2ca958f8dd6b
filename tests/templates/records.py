"""Records as presets write them, to try templates on."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from tests.checks.rows import assistant, call, result, tool, user

FAMILIES = Path(__file__).parent / "families"
SYSTEM = {"role": "system", "content": "Be brief and kind."}
TOOLS = [tool(description="Look for a word in files."), tool("ls", description="List what is in a folder.")]
ANSWER = assistant("Only the notes mention it.")


def family(name: str) -> str:
    return str(FAMILIES / f"{name}.jinja")


def wrapped(*tools: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"type": "function", "function": each} for each in tools or TOOLS]


def objects(messages: list[Any]) -> list[Any]:
    """The messages with arguments as objects."""
    import json

    made = copy.deepcopy(messages)
    for message in made:
        for each in message.get("tool_calls", []):
            each["function"]["arguments"] = json.loads(each["function"]["arguments"])
    return made


def grep(call_id: str = "c1", word: str = "harbour lights") -> dict[str, Any]:
    return call(call_id, "grep", f'{{"word":"{word}","depth":2}}')


ONE_CALL = [SYSTEM, user("Where is it mentioned?"), assistant("", grep()), result("notes.txt: line 4"), ANSWER]
TEXT_BESIDE = [SYSTEM, user("Where is it mentioned?"), assistant("I will look for it.", grep()), result("4"), ANSWER]
TWO_CALLS = [
    SYSTEM,
    user("Where is it mentioned?"),
    assistant("", grep(), call("c2", "ls", "{}")),
    result("notes.txt: line 4"),
    result("notes.txt", "c2"),
    ANSWER,
]
PLAIN = [SYSTEM, user("Is it late?"), assistant("It is."), user("How late?"), assistant("Past ten.")]
