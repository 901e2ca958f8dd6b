"""The work for a log follows its size: twice as many requests of a kind take at most 2.6 times the calls.

Counted are calls of Python functions and of built-in ones, which do not depend on the machine as time does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from chatsquash import Options, convert_session
from tests.conftest import user

from . import logs

MOST = 2.6
SIZE = 25
"""Requests of the smallest log."""
WORDS = "the parser drops the last token of each line when the buffer is full and the file has no newline".split()


def text(number: int) -> str:
    """Some words that are equal in no two texts."""
    return " ".join(f"{word}{number * 7 % 1009}" for word in WORDS[number % 5 :])


def retries(count: int) -> logs.Log:
    """One request is truncated again and again."""
    log = logs.Log()
    for number in range(count):
        log.add(logs.AGENT, user(text(0)), says=text(number)[:40], finish=None)
    log.add(logs.AGENT, user(text(0)), says=text(count))
    return log


def branches(count: int) -> logs.Log:
    """All requests continue from one reply."""
    log = logs.Log()
    first = log.add(logs.AGENT, user(text(0)), says=text(1))
    for number in range(count):
        log.add(logs.AGENT, user(text(0)), first, user(text(2 * number + 2)), says=text(2 * number + 3))
    return log


def subagents(count: int) -> logs.Log:
    """Calls begin sub-agents, of which each has one reply; the parent begins anew after each."""
    log = logs.Log(tools=[logs.TASK])
    for number in range(count):
        call = logs.calling("task", f'{{"prompt": "{text(2 * number)}"}}', id=f"call_{number}")
        log.add(logs.AGENT, user(f"{number} is the task"), says=call)
        log.add(logs.SCOUT, user(text(2 * number)), says=text(2 * number + 1))
    return log


def equal_prompts(count: int) -> logs.Log:
    """Sessions begin with one prompt, and one more word is said in each."""
    log = logs.Log()
    for number in range(count):
        first = log.add(logs.AGENT, user("Continue."), says=text(number))
        log.add(logs.AGENT, user("Continue."), first, user("Continue."), says="Done.")
    return log


def rolling_summaries(count: int) -> logs.Log:
    """A history is summarised again and again, and each new one begins with the last two summaries."""
    log, before = logs.Log(), []
    for number in range(count):
        begun = [*before, user(f"{number} is next")]
        reply = log.add(logs.AGENT, *begun, says=text(2 * number))
        summary = log.add(logs.AGENT, *begun, reply, user("Summarise."), says=text(2 * number + 1))
        before = [*before[-1:], user(f"Memory:\n{summary['content']}")]
    return log


def each_turn(count: int) -> logs.Log:
    """After each turn of conversations of five turns, one text is sent that nothing continues from."""
    log, said = logs.Log(), []
    for number in range(count):
        said = [*(said if number % 5 else ()), user(text(2 * number))]
        reply = log.add(logs.AGENT, *said, says=text(2 * number + 1))
        said = [*said, reply]
        log.add(logs.AGENT, *said, user("Suggest the next prompt."), says=f"prompt {number}")
    return log


def emptied(count: int) -> logs.Log:
    """Two agents take turns, and send their results only for as long as they are among the last three messages."""
    log = logs.Log(tools=[logs.READ])
    said = [[user(text(0))], [user(text(1))]]
    for number in range(count):
        own = said[number % 2]
        sent = [
            {**message, "content": "[cleared]"} if message["role"] == "tool" and place < len(own) - 3 else message
            for place, message in enumerate(own)
        ]
        call = logs.calling("read_file", f'{{"path": "{number}.py"}}', id=f"call_{number}")
        log.add((logs.AGENT, logs.SCOUT)[number % 2], *sent, says=call)
        own += [call, logs.result(text(number), id=f"call_{number}")]
    return log


def lines(log: logs.Log) -> list[bytes]:
    """Return the lines of a log, with times that grow."""
    for number, line in enumerate(log.lines):
        line["timestamp"] = f"2026-01-13T{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}Z"
    return [orjson.dumps(line) for line in log.lines]


def calls(work: Callable[[], Any]) -> int:
    """Count the calls that some work makes."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("played", [retries, branches, subagents, equal_prompts, rolling_summaries, each_turn])
def test_work_follows_the_number_of_requests(played):
    options = Options(conversations="all", restore="all", loss="weight", preset="hf", anonymize=False)
    logged = [lines(played(SIZE * times)) for times in (1, 1, 2, 4)]
    _, once, twice, four = (calls(lambda each=each: convert_session(each, options)) for each in logged)
    assert twice < MOST * once, (once, twice, four)
    assert four < MOST * twice, (once, twice, four)


def test_work_for_emptied_results_follows_the_bytes():
    options = Options(conversations="all", restore="all", loss="weight", preset="hf", anonymize=False)
    logged = [lines(emptied(SIZE * times)) for times in (1, 1, 2, 4)]
    _, *made = (calls(lambda each=each: convert_session(each, options)) for each in logged)
    sizes = [sum(map(len, each)) for each in logged[1:]]
    assert made[1] * sizes[0] < MOST / 2 * made[0] * sizes[1], (made, sizes)
    assert made[2] * sizes[1] < MOST / 2 * made[1] * sizes[2], (made, sizes)
