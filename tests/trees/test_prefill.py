"""A reply and the beginning that its request ends with are one message.

Chat services whose last message may be the assistant's continue it (Anthropic's documentation of prefill). Codex keeps
the items of Responses that were complete when a stream was interrupted (its source: items are recorded as they are done).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash import Options, convert_session
from chatsquash.core.blocks import Call, Reasoning, Text, Turn
from chatsquash.formats import view
from chatsquash.trees.canonical import Canon
from chatsquash.trees.prefill import is_beginning, join_messages
from tests.conftest import assistant, log_line

from .logs import HARBOUR, SHIPS, calling


@pytest.mark.parametrize(
    "prefill, reply, whole",
    [
        (assistant(HARBOUR), assistant(SHIPS), assistant(HARBOUR + SHIPS)),
        (assistant(HARBOUR), assistant(HARBOUR + SHIPS), assistant(HARBOUR + SHIPS)),
        (assistant("I look."), calling("run", "{}"), calling("run", "{}", text="I look.")),
        (
            assistant("a", reasoning_content="one"),
            assistant("b", reasoning_content="two"),
            assistant("ab", reasoning_content="one\n\ntwo"),
        ),
        (
            assistant("a", reasoning_content="one"),
            assistant("b", reasoning_content="one"),
            assistant("ab", reasoning_content="one"),
        ),
        (
            assistant([{"type": "text", "text": "a"}]),
            assistant("b"),
            assistant([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
        ),
    ],
    ids=["texts", "a reply that repeats it", "calls", "reasoning of both", "the same reasoning", "parts"],
)
def test_both_are_one_message(prefill: Any, reply: Any, whole: Any):
    assert join_messages(prefill, reply) == whole


def test_turns_are_one_with_each_block_of_reasoning_once():
    thought = Reasoning("one", signer="openai", encrypted="x")
    prefill = view.message(Turn("assistant", (thought, Text("a"))))
    reply = view.message(Turn("assistant", (thought, Text("b"), Call("c", "run"))))
    assert join_messages(prefill, reply) == view.message(Turn("assistant", (thought, Text("ab"), Call("c", "run"))))


@pytest.mark.parametrize("seam", ["", " ", "\n", "\n\n"])
def test_clients_join_both_with_any_seam(seam: str):
    canon, whole = Canon(), join_messages(assistant("a"), assistant(" b"))
    number = canon.number_of_both(assistant("a"), assistant(" b"), whole)
    assert canon.number(assistant(f"a{seam}b")) == canon.number(whole) == number


@pytest.mark.parametrize(
    "message, reply, expected",
    [
        (assistant("a"), assistant("ab"), True),
        (assistant("b"), assistant("ab"), False),
        (assistant("a"), assistant("<think>hm</think>ab"), True),
        (calling("run", "{}"), calling("run", "{}"), True),
        (calling("run", "{}", id="other"), calling("run", "{}"), False),
        (calling("run", "{}"), assistant(""), False),
    ],
)
def test_a_client_keeps_the_beginning_of_a_truncated_reply(message: Any, reply: Any, expected: bool):
    assert is_beginning(message, reply) is expected


@pytest.mark.parametrize("content", [5, {"text": "a"}, True])
@pytest.mark.parametrize("is_reply", [False, True])
def test_what_is_no_text_continues_nothing(content: Any, is_reply: bool):
    """No client is known to write it; logs may have any value where a text belongs."""
    odd = assistant(content)
    one, other = (assistant(HARBOUR), odd) if is_reply else (odd, assistant(HARBOUR))
    first, second = log_line("hi", at=1), log_line("hi", one, reply=other, at=2)
    (outcome,) = convert_session([json.dumps(each) for each in (first, second)], Options(anonymize=False))
    assert json.loads(outcome.record)["messages"][-2:] == [one, other]
