"""Each result in a record is what was logged for its call, whatever the client emptied, renamed or left out."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from tests.simulator import play
from tests.simulator.canonical import squeezed
from tests.simulator.conversion import convert
from tests.simulator.nodes import CLEARED

SEEDS = range(10)
EMPTYING = ("micro-compact", "emptied-then-rewind", "note-on-prompt", "edit", "regenerate", "rewrite", "subagent")
_SENT = {"tool_call_id": "content", "tool_use_id": "content", "call_id": "output", "id": "response"}
"""The members of a result that have its id and its text, by provider."""


def sent(value: Any) -> Iterator[tuple[str, str]]:
    """The ids of the results in a value, each with its text."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            for name, said in _SENT.items():
                if name in each and said in each:
                    yield known_id(each[name]), text(each[said])
            for inner in each.values():
                yield from sent(inner) if isinstance(inner, list | dict) else ()


def known_id(name: str) -> str:
    """An id as the model gave it, also if the client renames it."""
    return name.replace("_", "").removesuffix("x")


def text(content: Any) -> str:
    content = content["output"] if isinstance(content, dict) else content  # as Gemini has it
    parts = [content] if isinstance(content, str) else [part["text"] for part in content if "text" in part]
    return squeezed("".join(parts))


@pytest.mark.parametrize("hard", [False, True], ids=["plain", "hard"])
@pytest.mark.parametrize(
    "only", [(), EMPTYING, ("micro-compact", "hard-short-texts")], ids=["all", "emptying", "short"]
)
def test_each_call_has_a_result_that_was_logged_for_it(only, hard, tmp_path):
    tried = 0
    for seed in SEEDS:
        played = play(seed, hard, only)
        logged = defaultdict(set)
        for data in played.files.values():
            for line in data.splitlines():
                for name, said in sent(json.loads(line)["request"]):
                    logged[name].add(said)
        for record in convert(played, tmp_path / str(seed)).records.values():
            for message in record["messages"]:
                if message["role"] == "tool":
                    of_call = logged[known_id(message["tool_call_id"])]
                    whole = of_call - {squeezed(CLEARED)}
                    assert text(message["content"]) in (whole or of_call), (seed, message)
                    tried += 1
    assert tried > 50
