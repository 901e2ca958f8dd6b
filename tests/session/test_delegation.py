"""Sub-agents with sessions of their own under ``--sessions-by chain``: which call began which, and what is never mixed.

OpenCode and Codex give each sub-agent a session id; Claude Code does behind gateways that give one for each agent.
"""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.results.verify import verify
from tests.conftest import assistant, user, write_log
from tests.trees.logs import AGENT, READ, SCOUT, TASK, Message, calling, result

CHAIN = Options(sessions_by="chain", conversations="all", trace_replies=True)
PROMPT = "Find every place in the repository where add() is called, and say which of them pass strings."
REPORT = "Only main() in src/main.py calls add() with strings, in line {}."
WRAPPED = "Another agent asks you this:\n\n{}\n\nReport when it is done."


class Gateway:
    """Logs requests of several sessions, a second apart."""

    def __init__(self, ids: bool = True) -> None:
        self.files: dict[str, list[Any]] = {}
        self.kinds: list[str] = []
        """Those of the conversations, after ``sessions``."""
        self._ids, self._count = ids, count()

    def add(self, session: str, *messages: Message, says: str | Message, tools: Any = (READ, TASK)) -> Message:
        number = next(self._count)
        reply = assistant(says) if isinstance(says, str) else says
        body = {"model": "m", "messages": list(messages), **({"tools": list(tools)} if tools else {})}
        line: dict[str, Any] = {"timestamp": f"2026-01-13T10:{number // 60:02}:{number % 60:02}Z", "request": body}
        line["session_id"] = session
        if not self._ids:
            del line["session_id"]
        choice = {"index": 0, "message": reply, "finish_reason": "tool_calls" if reply.get("tool_calls") else "stop"}
        line["response"] = {"id": f"r{number}", "choices": [choice]}
        self.files.setdefault(session, []).append(line)
        return reply

    def caller(self, session: str, asked: str, prompt: str = PROMPT) -> tuple[Message, ...]:
        call = calling("task", json.dumps({"description": "calls of add", "prompt": prompt}), f"call of {session}")
        return (AGENT, user(asked), self.add(session, AGENT, user(asked), says=call))

    def scout(self, session: str, prompt: str = PROMPT, *, says: str, **request: Any) -> None:
        asked = (SCOUT, user(prompt))
        look = self.add(session, *asked, says=calling("read_file", json.dumps({"path": session})), **request)
        self.add(session, *asked, look, result("def main(): ..."), says=says, **request)

    def end(self, session: str, told: tuple[Message, ...], text: str) -> None:
        self.add(session, *told, result(text, f"call of {session}"), says=f"{session} is done.")

    def sessions(self, together: bool) -> list[set[str]]:
        """The sessions that chatsquash finds, each as the names of ours in it."""
        lines = [(line["timestamp"], name, line) for name, its in self.files.items() for line in its]
        files: dict[str, list[Any]] = {}
        names: dict[str, list[str]] = {}
        for _, name, line in sorted(lines, key=lambda each: each[:2]):
            file = "all" if together else name
            files.setdefault(file, []).append(line)
            names.setdefault(file, []).append(name)
        for file, its in files.items():
            write_log(Path(f"logs/{file}.jsonl"), *its)
        convert("logs", "out", CHAIN)
        assert verify(Path("out"), logs=True).problems == []
        replies = [json.loads(row) for row in Path("out/reports/replies.jsonl").read_text().splitlines()]
        assert len(replies) == len(lines)
        sessions: dict[str, set[str]] = {}
        for each in replies:
            sessions.setdefault(each["session"], set()).add(names[Path(each["file"]).stem][each["line"] - 1])
        self.kinds = sorted({each["conversation"]: each["kind"] for each in replies}.values())
        return sorted(sessions.values(), key=sorted)


@pytest.mark.parametrize("together", [False, True], ids=["a file each", "one file"])
@pytest.mark.parametrize("wrap", ["{}", WRAPPED])
@pytest.mark.parametrize("after", ["", "\n\nagentId: 7\n<usage>tokens: 12</usage>"])
def test_a_subagent_with_its_own_id_is_of_the_session_of_its_caller(here, together, wrap, after):
    log = Gateway()
    told = log.caller("main", "Who calls add()?")
    log.scout("child", wrap.format(PROMPT), says=REPORT.format(1), tools=[READ])
    log.end("main", told, REPORT.format(1) + after)
    assert log.sessions(together) == [{"main", "child"}]
    assert log.kinds == ["main", "subagent"]


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
@pytest.mark.parametrize("wrap", ["{}", WRAPPED])
def test_a_subagent_may_be_logged_before_its_caller(here, ids, wrap):
    log = Gateway(ids)
    log.scout("child", wrap.format(PROMPT), says=REPORT.format(1), tools=[READ])
    told = log.caller("main", "Who calls add()?")
    log.end("main", told, REPORT.format(1))
    assert log.sessions(False) == [{"child", "main"}]


@pytest.mark.parametrize("ids", [True, False])
def test_the_prompt_may_follow_a_text_of_the_client_and_its_answer(here, ids):
    """Qwen Code 0.15.10 begins each history with what it knows of the machine, and an answer of its own."""
    gateway = Gateway(ids)
    context = (user("This is the context of the chat: the system is Linux."), assistant("I have read the context."))
    call = calling("task", json.dumps({"description": "calls of add", "prompt": PROMPT}), "call of a")
    asked = (AGENT, *context, user("Look for the calls of add()."))
    before = (*asked, gateway.add("a", *asked, says=call))
    scout = (SCOUT, *context, user(PROMPT))
    look = gateway.add("b", *scout, says=calling("read_file", json.dumps({"path": "src"})))
    gateway.add("b", *scout, look, result("def main(): ..."), says=REPORT.format(7))
    gateway.end("a", before, REPORT.format(7))
    assert gateway.sessions(False) == [{"a", "b"}]
    assert gateway.kinds == ["main", "subagent"]


def test_a_result_may_come_with_a_later_call(here):
    log = Gateway()
    told = log.caller("main", "Who calls add()?")
    told = (*told, result('{"agent_id": "7"}', "call of main"))
    wait = log.add("main", *told, says=calling("wait_agent", '{"ids": ["7"]}', "wait"))
    log.scout("child", WRAPPED.format(PROMPT), says=REPORT.format(1), tools=[READ])
    status = json.dumps({"status": {"7": {"completed": REPORT.format(1)}}})
    log.add("main", *told, wait, result(status, "wait"), says="main is done.")
    assert log.sessions(False) == [{"child", "main"}]
    assert log.kinds == ["main", "subagent"]


@pytest.mark.parametrize("together", [False, True], ids=["a file each", "one file"])
@pytest.mark.parametrize("wrap", ["{}", WRAPPED])
def test_runs_of_a_benchmark_at_once_keep_their_own_subagents(here, together, wrap):
    log = Gateway()
    runs = {at: log.caller(f"run{at}", "Task: who calls add()?") for at in range(4)}
    for at in (2, 0, 3, 1):
        log.scout(f"child{at}", wrap.format(PROMPT), says=REPORT.format(at), tools=[READ])
    for at in (1, 3, 0, 2):
        log.end(f"run{at}", runs[at], REPORT.format(at))
    assert log.sessions(together) == sorted([{f"child{at}", f"run{at}"} for at in range(4)], key=sorted)
    assert log.kinds == ["main"] * 4 + ["subagent"] * 4


def test_runs_of_a_benchmark_in_turn_keep_their_own_subagents_though_all_say_the_same(here):
    log = Gateway()
    for at in range(4):
        told = log.caller(f"run{at}", "Task: who calls add()?")
        log.scout(f"child{at}", says=REPORT.format(1), tools=[READ])
        log.end(f"run{at}", told, REPORT.format(1))
    assert log.sessions(False) == sorted([{f"child{at}", f"run{at}"} for at in range(4)], key=sorted)


def test_runs_at_once_of_which_all_say_the_same_are_not_mixed(here):
    log = Gateway()
    runs = [log.caller(f"run{at}", "Task: who calls add()?") for at in range(2)]
    for at in range(2):
        log.scout(f"child{at}", says=REPORT.format(1), tools=[READ])
    for at, told in enumerate(runs):
        log.end(f"run{at}", told, REPORT.format(1))
    assert log.sessions(False) == [{"child0"}, {"child1"}, {"run0"}, {"run1"}]


def test_runs_that_pass_their_prompt_on_are_not_mixed(here):
    log = Gateway()
    for at in range(3):
        told = log.caller(f"run{at}", PROMPT)
        log.scout(f"child{at}", says=REPORT.format(at), tools=[READ])
        log.end(f"run{at}", told, REPORT.format(at))
    assert log.sessions(False) == sorted([{f"child{at}", f"run{at}"} for at in range(3)], key=sorted)
    assert log.kinds == ["main"] * 3 + ["subagent"] * 3


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
def test_two_users_with_one_first_prompt_are_not_mixed(here, ids):
    log = Gateway(ids)
    one = log.caller("alice", "Who calls add()?", "Look for add() in the folder src and report its callers to me.")
    two = log.caller("bob", "Who calls add()?", "Search tests and docs for add() and report what they say of it.")
    log.end("bob", two, "Nobody says anything of it in the tests or the docs.")
    log.end("alice", one, "Only main() in src/main.py calls it.")
    assert log.sessions(False) == [{"alice"}, {"bob"}]


@pytest.mark.parametrize("text", [PROMPT, f"What do you think of this prompt?\n\n{PROMPT}"])
def test_a_user_who_quotes_the_argument_of_another_session_is_not_mixed_with_it(here, text):
    log = Gateway()
    told = log.caller("alice", "Who calls add()?")
    log.scout("child", says=REPORT.format(1), tools=[READ])
    log.end("alice", told, REPORT.format(1))
    log.scout("bob", text, says="I would name the folder in which to look as well.")
    assert log.sessions(False) == [{"alice", "child"}, {"bob"}]
    assert log.kinds == ["main", "main", "subagent"]


@pytest.mark.parametrize("ids", [True, False], ids=["with ids", "without ids"])
def test_a_path_that_two_users_work_on_mixes_nothing(here, ids):
    path = "packages/server/src/handlers/upload.py"
    log = Gateway(ids)
    asked = (AGENT, user("What is wrong with the uploads?"))
    read = log.add("alice", *asked, says=calling("read_file", json.dumps({"path": path}), "call of alice"))
    log.scout("bob", f"Add a test for {path}, please.", says="It is written.")
    log.add("alice", *asked, read, result("...", "call of alice"), says="alice is done.")
    assert log.sessions(False) == [{"alice"}, {"bob"}]
    assert log.kinds == ["main", "main"]


@pytest.mark.parametrize("ids", [True, False])
def test_a_subagent_that_ends_without_a_report_is_of_the_session_of_its_caller(here, ids):
    """Gemini CLI gives up on a sub-agent that ends without a last call, and reports only that (from a recording)."""
    log = Gateway(ids)
    caller = log.caller("a", "Who calls add() in this repository?")
    log.scout("b", says="It is hard to say.", tools=[READ])
    log.end("a", caller, "The agent stopped without an answer.")
    assert log.sessions(together=True) == [{"a", "b"}]
    assert log.kinds == ["main", "subagent"]
