"""The message that `reports/replies.jsonl` names of a reply holds it, whatever the preset and the modifiers."""

from __future__ import annotations

import json
from functools import cache
from itertools import islice, product
from typing import Any

import pytest

from chatsquash import Options, convert_session
from chatsquash.core import chat
from chatsquash.dataset.option_rules import matching_pairs
from chatsquash.records import presets
from tests.modifiers import combinations
from tests.simulator.canonical import squeezed
from tests.simulator.play import Played, play
from tests.simulator.truth import Reply

COMBINATIONS = combinations(tool_ids=("keep", "short9"))
STRIDES = [23, pytest.param(11, marks=pytest.mark.long)]
"""Of the combinations one in so many is tried, another one first for each preset; neither divides a period."""


@cache
def plays(count: int) -> list[Played]:
    """The first plays of one session in one file, with calls, sub-agents and edits."""
    found = (play(seed, only=("subagent", "regenerate", "compact-inside")) for seed in range(100))
    fitting = (each for each in found if len(each.files) == 1 and len(each.truth.sessions) == 1)
    return list(islice(fitting, count))


def is_in(message: dict[str, Any], reply: Reply) -> bool:
    """Whether a message holds what a reply says, or the first of its calls where its text has no place."""
    held = squeezed(" ".join(map(str, chat.strings({**message, "at": list(names(message))}))))
    said = reply.canonical
    if said.text and said.text in held:
        return True
    return bool(said.calls) and said.calls[0].split(" ")[0] in held


def names(value: Any) -> list[str]:
    """The names of the native calls of a message."""
    return [call["function"]["name"] for call in value.get("tool_calls", ())]


@pytest.mark.parametrize("stride", STRIDES)
@pytest.mark.parametrize("name", presets.names())
def test_the_message_of_a_reply_holds_it(name, stride):
    tried = 0
    for number, (combination, played) in enumerate(product(COMBINATIONS, plays(2))):
        if number % stride != presets.names().index(name):
            continue
        idle = {pair.idle for pair in matching_pairs(Options(preset=name, **combination))}
        options = {each: value for each, value in combination.items() if each not in idle}
        (log,) = played.files.values()
        replies = {reply.line: reply for reply in played.truth.replies}
        given = Options(
            anonymize=False, integrity_analysis=False, conversations="all", restore="results", trace_replies=True,
            preset=name, drop_duplicates=False, **options,
        )  # fmt: skip
        for outcome in convert_session(log.splitlines(), given):
            records = [json.loads(record.line) for record in outcome.records]
            for row in outcome.replies.rows:
                if row.record is None or row.message is None:
                    continue
                record = records[row.record]
                said, *behind = (record.get("messages") or record["conversations"])[row.message :]
                text = squeezed(said.get("content") or "")
                is_thought = text.endswith("</think>") and not names(said)  # behind which its calls stand
                assert is_in(behind[0] if is_thought else said, replies[row.line]), (options, row, said)
                flag = said.get("weight")
                assert flag == (row.loss if options.get("loss") == "weight" else None)
                tried += 1
    assert tried > 100
