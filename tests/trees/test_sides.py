"""Requests of the client's own: what decides that a reply is ``side``.

The shapes are from documentation and source code of agents: suggestions and recaps after each turn, titles and topics
for each prompt, warm-ups and probes before the first one.
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from chatsquash import Options, convert
from tests.conftest import assistant, log_line, user, write_log
from tests.trees.logs import AGENT, READ, SCOUT, TASK, TITLE, Log
from tests.trees.test_replies import traced

TOOLS = [READ, TASK]
GUESS = "Suggest in a few words what the person may type next, and nothing else."
RECAP = "Say in one sentence what was done in this turn, for the status line."
PROMPTS = ("Which of the tests fails on the new machine?", "Mend it.", "Run all tests once more.", "Commit that.")
LONG = "Make the importer accept files with semicolons, since our partner in Lyon sends those every Monday."


class Day(Log):
    """A conversation that grows, with requests of the client after its turns."""

    def __init__(self, **request: Any) -> None:
        super().__init__(tools=TOOLS)
        self.history: list[Any] = [AGENT]
        self.request = {"max_tokens": 8192, **request}
        self._numbers = count(1)

    def turn(self, prompt: str) -> None:
        self.history.append(user(prompt))
        self.history.append(self.add(*self.history, says=f"This is answer {next(self._numbers)}.", **self.request))

    def aside(self, text: str, **request: Any) -> None:
        self.add(*self.history, user(text), says=f"Aside {next(self._numbers)}", **{**self.request, **request})


def kinds(lines: list[Any], folder: Any, **options: Any) -> list[str]:
    return [line.split()[1] for line in traced(lines, folder, conversations="all", **options)]


def day(asides: Any, turns: int = 3) -> list[Any]:
    log = Day()
    for turn, prompt in enumerate(PROMPTS[:turns]):
        log.turn(prompt)
        for text in asides(turn):
            log.aside(text)
    return log.lines


@pytest.mark.parametrize(
    ("asides", "turns"),
    [
        (lambda turn: [GUESS], 3),
        (lambda turn: [GUESS], 2),
        (lambda turn: [GUESS, RECAP], 3),
        (lambda turn: [f"It is {turn}:05 o'clock. {GUESS}"], 3),
        (lambda turn: [f"<system-reminder>Turn {PROMPTS[turn]}</system-reminder>\n{GUESS}"], 3),
        (lambda turn: [f"What was said so far: {PROMPTS[turn]}\n{GUESS}"], 3),
        (lambda turn: ["Next?"], 3),
    ],
    ids=["one text", "twice", "two texts", "a clock", "a reminder", "other text before it", "a short text"],
)
def test_a_text_that_ends_several_requests_of_a_growing_conversation_is_the_clients(asides, turns, tmp_path):
    lines = day(asides, turns)
    number = len(asides(0))
    assert kinds(lines, tmp_path) == ["main", *["side"] * number] * turns
    assert traced(lines, tmp_path / "main", conversations="main")[-number - 1].split()[3] == "carried"


def test_suggestions_that_are_logged_after_the_next_turn_are_the_clients(tmp_path):
    lines = day(lambda turn: [GUESS], 4)
    lines[1], lines[2] = lines[2], lines[1]
    lines[1]["timestamp"], lines[2]["timestamp"] = lines[2]["timestamp"], lines[1]["timestamp"]
    assert sorted(kinds(lines, tmp_path)) == ["main"] * 4 + ["side"] * 4


def test_what_a_person_repeats_is_not_the_clients(tmp_path):
    log = Day()
    for prompt in (PROMPTS[0], "Please continue with the next step.", "Please continue with the next step."):
        log.turn(prompt)
    assert kinds(log.lines, tmp_path) == ["main"] * 3


def test_a_prompt_that_a_person_sends_at_an_earlier_place_after_a_rewind_is_not_the_clients(tmp_path):
    log = Day()
    log.turn(PROMPTS[0])
    log.turn(PROMPTS[1])
    log.turn("Explain the cause in a few sentences.")
    del log.history[-4:]
    log.turn("Explain the cause in a few sentences.")
    assert kinds(log.lines, tmp_path) == ["main", "main", "main", "branch"]


def test_a_short_prompt_that_a_person_sends_twice_is_not_the_clients(tmp_path):
    log = Day()
    log.turn(PROMPTS[0])
    log.turn("Go on.")
    del log.history[-2:]
    log.turn(PROMPTS[1])
    log.turn("Go on.")
    assert kinds(log.lines, tmp_path) == ["main", "branch", "main", "main"]


def alone(*requests: tuple[Any, str, dict[str, Any]]) -> list[Any]:
    """Requests of one message each."""
    log = Log()
    for number, (system, prompt, request) in enumerate(requests):
        log.add(*([system] if system else []), user(prompt), says=f"This is reply {number}.", **request)
    return log.lines


WIDE = "请让导入程序接受分号分隔的文件"
"""A prompt in a script without spaces."""
ROOM, LITTLE = {"max_tokens": 8192}, {"max_tokens": 512}
WORK, NO_WORK = {"tools": TOOLS, **ROOM}, {"tools": [READ], **LITTLE}
TURN = (AGENT, LONG, WORK)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([(TITLE, LONG, LITTLE), (AGENT, LONG, ROOM)], "side main"),
        ([(AGENT, LONG, ROOM), (TITLE, LONG, LITTLE)], "main side"),
        ([(TITLE, LONG, ROOM), (AGENT, LONG, ROOM)], "side main"),
        ([(TITLE, LONG, {}), (AGENT, LONG, {})], "side main"),
        ([(AGENT, LONG, {"tools": TOOLS}), (TITLE, LONG, {"tools": [READ]})], "main side"),
        ([(TITLE, LONG, LITTLE), (SCOUT, LONG, LITTLE), TURN], "side side main"),
        ([TURN, (TITLE, f"Title this: {LONG} Be brief.", WORK)], "main side"),
        ([(TITLE, f"Title this: {LONG} Be brief.", NO_WORK), TURN], "side main"),
        ([(TITLE, LONG[:80], NO_WORK), TURN], "side main"),
        ([(TITLE, f"请写标题:{WIDE}。", NO_WORK), (AGENT, WIDE, WORK)], "side main"),
        ([(None, "quota", {"max_tokens": 1}), TURN], "side main"),
        ([(AGENT, "Are you there?", {"tools": TOOLS, "max_tokens": 10}), TURN], "side main"),
    ],
    ids=[
        "the later has more room",
        "the earlier has more room",
        "the later of equals",
        "no limits",
        "more tools",
        "two of three",
        "a prompt within a text, under the same settings",
        "a prompt within a text, first",
        "a cut prompt",
        "a prompt without spaces within a text",
        "a probe",
        "little room",
    ],
)
def test_of_two_requests_for_one_prompt_one_is_main(requests, expected, tmp_path):
    assert kinds(alone(*requests), tmp_path) == expected.split()


def warmed_up(systems: Any) -> list[Any]:
    lines = alone(*((system, "Warmup", NO_WORK) for system in systems))
    log = Day()
    log.turn(PROMPTS[0])
    log.turn(PROMPTS[1])
    for number, line in enumerate(log.lines, len(lines)):
        line["timestamp"] = f"2026-01-13T11:{number:02}:00Z"
    return lines + log.lines


def test_one_text_that_begins_several_trees_in_addition_to_a_conversation_is_a_warm_up(tmp_path):
    assert kinds(warmed_up([SCOUT, TITLE]), tmp_path) == ["side", "side", "main", "main"]


def test_warm_ups_accompany_a_conversation_of_one_turn_too_if_it_has_more_tools(tmp_path):
    requests = [(SCOUT, "Warmup", NO_WORK), (TITLE, "Warmup", NO_WORK), TURN]
    assert kinds(alone(*requests), tmp_path) == ["side", "side", "main"]


def unnamed(minute: int, *messages: Any, reply: str, **fields: Any) -> Any:
    line = log_line(*messages, reply=reply, at=f"2026-01-13T10:{minute:02}:00Z", **fields)
    line.pop("session_id", None)
    line["request"]["max_tokens"] = line.pop("max_tokens")
    line["response"]["id"] = f"response {minute}"
    return line


WRAPPED = f"<prompt>\n{LONG}\n</prompt>\nBe brief."


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_continued", [True, False])
@pytest.mark.parametrize(
    ("prompt", "asked"),
    [
        (LONG, [LONG]),
        (LONG, [WRAPPED]),
        (LONG, ["Write a title for this:", LONG]),
        (WIDE, [WIDE]),
        (WIDE, [f"请写标题:{WIDE}。"]),
    ],
    ids=["alone", "within a text", "in a message of its own", "without spaces", "without spaces within a text"],
)
def test_a_title_without_an_id_is_of_the_session_of_its_prompt(is_first, is_continued, prompt, asked, tmp_path):
    title = (TITLE, *map(user, asked))
    lines = [unnamed(1 if is_first else 3, *title, reply="Semicolons", max_tokens=64)]
    lines.append(unnamed(2, AGENT, user(prompt), reply="I look at the importer.", max_tokens=8192))
    if is_continued:
        history = (AGENT, user(prompt), assistant("I look at the importer."), user("And?"))
        lines.append(unnamed(4, *history, reply="It takes them now.", max_tokens=8192))
    lines.sort(key=lambda line: line["timestamp"])
    found = traced(lines, tmp_path, conversations="all", sessions_by="chain")
    assert sorted(line.split()[1] for line in found) == ["main"] * (1 + is_continued) + ["side"]
    assert sum("<" in line for line in found) == 1


@pytest.mark.parametrize("tools, names", [([READ], {"read_file"}), ([], {"read_file", "task"})])
def test_a_request_of_the_client_has_its_own_tools_if_any(here, tools, names):
    """Qwen Code 0.15.10 extracts memories with 7 tools after a turn with 15; a summary without tools needs definitions."""
    log = Day()
    log.turn(PROMPTS[0])
    log.aside("Read what is worth remembering of this, and note it down for later.", tools=tools)
    log.turn(PROMPTS[1])
    write_log(here / "a.jsonl", *log.lines)
    convert("a.jsonl", "out", Options(conversations="all", group_by="none"))
    records = map(json.loads, (here / "out/conversations.jsonl").read_text().splitlines())
    ends = {record["messages"][-1]["content"]: {tool["name"] for tool in record["tools"]} for record in records}
    assert ends["Aside 2"] == names
    assert ends["This is answer 3."] == {"read_file", "task"}
