"""Sub-agents: conversations that a call began, by its argument and its result.

The shapes are those of the sources of agents: Claude Code's ``Task`` and ``SendMessage`` with the result as text, the id
of the agent behind it; Codex's ``spawn_agent`` and ``wait_agent``; forks with the history of their caller and a directive.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import assistant, user

from .logs import AGENT, READ, SCOUT, TASK, TITLE, Log, Message, calling, result
from .test_replies import traced

WHO = user("Who calls add() in this repository?")
PROMPT = "Find every place in the repository where add() is called, and say which of them pass strings."
REPORT = "Only main() in src/main.py calls add() with strings."
DONE = "main() calls add(), with strings."


def kinds(lines: list[Any], folder: Any) -> str:
    """For each line its kind and conversation, and the one that this comes from."""
    rows = traced(lines, folder, conversations="all")
    return " | ".join(row.split(":")[0] for row in rows)


def task(*prompts: str, id: str = "call") -> Message:
    calls = [calling("task", json.dumps({"prompt": each}), f"{id}_{at}") for at, each in enumerate(prompts)]
    return assistant(None, tool_calls=[each["tool_calls"][0] for each in calls])


def look(path: str) -> Message:
    return calling("read_file", json.dumps({"path": path}), f"look at {path}")


def scout(log: Log, prompt: str, *paths: str, says: str = REPORT, **request: Any) -> list[Message]:
    """All requests of a sub-agent; returns the messages of it."""
    request = {"tools": [READ], **request}
    asked = [SCOUT, user(prompt)]
    for path in paths:
        said = log.add(*asked, says=look(path), **request)
        asked += [said, result("def add(): ...", f"look at {path}")]
    asked.append(log.add(*asked, says=says, **request))
    return asked


def begun(*prompts: str) -> tuple[Log, Message]:
    log = Log(tools=[READ, TASK])
    return log, log.add(AGENT, WHO, says=task(*prompts))


def ended(log: Log, called: Message, *results: str) -> list[Any]:
    log.add(AGENT, WHO, called, *(result(each, f"call_{at}") for at, each in enumerate(results)), says=DONE)
    return log.lines


def test_two_at_once_with_equal_prompts_are_two_subagents(tmp_path):
    log, called = begun(PROMPT, PROMPT)
    one = log.add(SCOUT, user(PROMPT), says=look("a.py"), tools=[READ])
    two = log.add(SCOUT, user(PROMPT), says=look("b.py"), tools=[READ])
    log.add(SCOUT, user(PROMPT), two, result("b", "look at b.py"), says="b.py does not call it.", tools=[READ])
    log.add(SCOUT, user(PROMPT), one, result("a", "look at a.py"), says="a.py calls it twice.", tools=[READ])
    lines = ended(log, called, "a.py calls it twice.", "b.py does not call it.")
    expected = "1 main A | 2 subagent B<A | 3 subagent C<A | 4 subagent C<A | 5 subagent B<A | 6 main A"
    assert kinds(lines, tmp_path) == expected


def test_two_at_once_that_begin_with_the_same_reply_are_two_subagents(tmp_path):
    log, called = begun(PROMPT, PROMPT)
    one = log.add(SCOUT, user(PROMPT), says=look("a.py"), tools=[READ])
    log.add(SCOUT, user(PROMPT), says=look("a.py"), tools=[READ])
    for path in ("b.py", "c.py"):
        log.add(SCOUT, user(PROMPT), one, result("a", "look at a.py"), says=look(path), tools=[READ])
    lines = ended(log, called, "nothing", "nothing")
    assert kinds(lines, tmp_path).split(" | ")[3:] == ["4 subagent C<A", "5 subagent B<A", "6 main A"]


def test_a_reply_of_a_subagent_that_is_sampled_again_is_a_branch(tmp_path):
    log, called = begun(PROMPT)
    log.add(SCOUT, user(PROMPT), says="I cannot see the repository, so I guess.", tools=[READ])
    scout(log, PROMPT, "a.py")
    assert kinds(ended(log, called, REPORT), tmp_path).split(" | ")[1:3] == ["2 branch B<C", "3 subagent C<A"]


def test_a_subagent_calls_another_one(tmp_path):
    log, called = begun(PROMPT)
    below = "Read src/main.py and list the arguments of each call of add() there."
    inner = log.add(SCOUT, user(PROMPT), says=task(below, id="inner"), tools=[READ, TASK])
    scout(log, below, "src/main.py", says="add('1', '2') in line 9.")
    told = result("add('1', '2') in line 9.", "inner_0")
    log.add(SCOUT, user(PROMPT), inner, told, says=REPORT, tools=[READ, TASK])
    expected = "1 main A | 2 subagent B<A | 3 subagent C<B | 4 subagent C<B | 5 subagent B<A | 6 main A"
    assert kinds(ended(log, called, REPORT), tmp_path) == expected


def test_a_subagent_that_passes_its_prompt_on_is_no_child_of_itself(tmp_path):
    log, called = begun(PROMPT)
    inner = log.add(SCOUT, user(PROMPT), says=task(PROMPT, id="inner"), tools=[READ, TASK])
    scout(log, PROMPT, "a.py")
    log.add(SCOUT, user(PROMPT), inner, result(REPORT, "inner_0"), says="As the other says.", tools=[READ, TASK])
    expected = "1 main A | 2 subagent B<A | 3 subagent C<B | 4 subagent C<B | 5 subagent B<A | 6 main A"
    assert kinds(ended(log, called, "As the other says."), tmp_path) == expected


def test_a_prompt_of_the_user_that_is_passed_on_stays_that_of_the_user(tmp_path):
    log = Log(tools=[READ, TASK])
    called = log.add(AGENT, user(PROMPT), says=task(PROMPT))
    scout(log, PROMPT, "a.py")
    log.add(AGENT, user(PROMPT), called, result(REPORT, "call_0"), says=DONE)
    assert kinds(log.lines, tmp_path) == "1 main A | 2 subagent B<A | 3 subagent B<A | 4 main A"


def test_a_second_prompt_continues_a_subagent(tmp_path):
    log, called = begun(PROMPT)
    asked = scout(log, PROMPT, "a.py")
    more = calling("send_message", json.dumps({"to": "7", "message": "Look at the tests as well."}), "call_2")
    log.add(AGENT, WHO, called, result(REPORT, "call_0"), says=more)
    log.add(*asked, user("Look at the tests as well."), says="The tests pass numbers only.", tools=[READ])
    told = result("The tests pass numbers only.", "call_2")
    log.add(AGENT, WHO, called, result(REPORT, "call_0"), more, told, says=DONE)
    expected = "1 main A | 2 subagent B<A | 3 subagent B<A | 4 main A | 5 subagent B<A | 6 main A"
    assert kinds(log.lines, tmp_path) == expected


@pytest.mark.parametrize("wrap", ["{}", "Another agent asks you this:\n\n{}\n\nReport when it is done."])
def test_a_subagent_may_be_logged_before_the_reply_with_its_call(tmp_path, wrap):
    log = Log(tools=[READ, TASK])
    first = log.add(AGENT, WHO, says=look("README.md"))
    scout(log, wrap.format(PROMPT))
    told = (AGENT, WHO, first, result("...", "look at README.md"))
    called = log.add(*told, says=task(PROMPT))
    log.add(*told, called, result(REPORT, "call_0"), says=DONE)
    assert kinds(log.lines, tmp_path) == "1 main A | 2 subagent B<A | 3 main A | 4 main A"


def test_a_result_may_come_with_a_later_call(tmp_path):
    """Codex: ``spawn_agent`` returns an id, and ``wait_agent`` the last message as JSON."""
    log, called = begun(PROMPT)
    spawned = (AGENT, WHO, called, result('{"agent_id": "7"}', "call_0"))
    wait = log.add(*spawned, says=calling("wait_agent", '{"ids": ["7"]}', "call_2"))
    report = 'Only main() in src/main.py calls "add" with strings.\nNobody else does.'
    scout(log, f"Another agent asks you this:\n\n{PROMPT}", says=report, tools=None)
    told = json.dumps({"status": {"7": {"completed": report}}})
    log.add(*spawned, wait, result(told, "call_2"), says=DONE)
    assert kinds(log.lines, tmp_path) == "1 main A | 2 main A | 3 subagent B<A | 4 main A"


@pytest.mark.parametrize("after", ["", "\n\nagentId: 7 (send it a message to go on)", "\n<usage>tokens: 12</usage>"])
def test_a_wrapped_prompt_and_the_result_tell_a_subagent_of_one_reply(tmp_path, after):
    log, called = begun(PROMPT)
    scout(log, f"Another agent asks you this:\n\n{PROMPT}\n\nReport when it is done.", tools=None)
    assert kinds(ended(log, called, REPORT + after), tmp_path) == "1 main A | 2 subagent B<A | 3 main A"


def test_a_prompt_may_be_a_part_of_the_content_and_follow_other_texts(tmp_path):
    """Codex sends the instructions of a project and the environment as messages of the user before the prompt."""
    log = Log(tools=[READ, TASK])
    items = json.dumps({"items": [{"type": "text", "text": PROMPT}]})
    called = log.add(AGENT, WHO, says=calling("spawn_agent", items, "call_0"))
    log.add(SCOUT, user("# Instructions for src\n\nBe brief."), user(PROMPT), says=REPORT, tools=[READ])
    assert kinds(ended(log, called, REPORT), tmp_path) == "1 main A | 2 subagent B<A | 3 main A"


def test_a_last_call_may_be_the_result(tmp_path):
    """Gemini CLI ends a sub-agent with a call of ``complete_task``, whose argument is the result."""
    log, called = begun(PROMPT)
    log.add(SCOUT, user(f"Your task:\n{PROMPT}"), says=calling("complete_task", json.dumps({"result": REPORT})))
    assert kinds(ended(log, called, f"Subagent finished.\nResult:\n{REPORT}"), tmp_path) == (
        "1 main A | 2 subagent B<A | 3 main A"
    )


# Forks: the history of the caller, the call, and its argument as a directive

DIRECTIVE = "Find out on the side which tests call add(), and report them in three lines."


def fork(log: Log, called: Message, directive: str, *paths: str, placeholder: str = "The fork runs.") -> None:
    asked = [AGENT, WHO, called, result(placeholder, "call_0"), user(directive)]
    for path in paths:
        said = log.add(*asked, says=look(path))
        asked += [said, result("def test(): ...", f"look at {path}")]
    log.add(*asked, says="Two tests do.")


@pytest.mark.parametrize("wrap", ["{}", "You are a fork. Do only this:\n{}\nReport in the end."])
@pytest.mark.parametrize("paths", [(), ("a.py",), ("a.py", "b.py", "c.py", "d.py")])
def test_a_fork_with_the_argument_of_a_call_is_a_subagent_however_long(tmp_path, paths, wrap):
    log, called = begun(DIRECTIVE)
    fork(log, called, wrap.format(DIRECTIVE), *paths)
    rows = kinds(ended(log, called, "Two tests do."), tmp_path).split(" | ")
    assert rows == ["1 main A", *(f"{at} subagent B<A" for at in range(2, len(paths) + 3)), f"{len(paths) + 3} main A"]


def test_forks_at_once_are_subagents_each(tmp_path):
    other = "Find out on the side which documents name add(), and report them in three lines."
    log, called = begun(DIRECTIVE, other, DIRECTIVE)
    runs = [result("The fork runs.", f"call_{at}") for at in range(3)]
    for directive, says in ((DIRECTIVE, "Two tests."), (other, "One page."), (DIRECTIVE, "Three tests.")):
        log.add(AGENT, WHO, called, *runs, user(directive), says=says)
    rows = kinds(ended(log, called, "Two tests.", "One page.", "Three tests."), tmp_path)
    assert rows == "1 main A | 2 subagent B<A | 3 subagent C<A | 4 subagent D<A | 5 main A"


def test_a_fork_may_leave_the_history_before_its_call(tmp_path):
    log, called = begun(DIRECTIVE)
    first = called
    told = (AGENT, WHO, first, result("ok", "call_0"))
    second = log.add(*told, says=task(PROMPT, id="late"))
    log.add(*told, user(PROMPT), says=REPORT)
    log.add(*told, second, result(REPORT, "late_0"), says=DONE)
    assert kinds(log.lines, tmp_path) == "1 main A | 2 main A | 3 subagent B<A | 4 main A"


def test_what_the_user_says_after_a_call_is_no_fork(tmp_path):
    """The user interrupts a call, and repeats its argument; nothing else continues the call."""
    log, called = begun(DIRECTIVE)
    log.add(AGENT, WHO, called, result("interrupted", "call_0"), user(DIRECTIVE), says="Two tests do.")
    assert kinds(log.lines, tmp_path) == "1 main A | 2 main A"


def test_an_edited_prompt_with_what_a_call_looked_for_is_a_branch(tmp_path):
    path = "packages/server/src/handlers/upload.py"
    log = Log(tools=[READ])
    one = log.add(AGENT, user(f"What does {path} do?"), says=look(path))
    log.add(AGENT, user(f"What does {path} do?"), one, result("...", f"look at {path}"), says="It stores files.")
    log.add(AGENT, user(f"Mend {path}, please."), says="What is wrong with it?")
    assert "subagent" not in kinds(log.lines, tmp_path)


# Short arguments: some words, or thirty characters

COMMAND = "rg -n 'parse_row' src | head"


@pytest.mark.parametrize(
    "argument",
    [COMMAND, "npm run build", "packages/server/src/handlers/upload.py", "git commit -m 'Mend the \"sums\"'"],
)
@pytest.mark.parametrize("quoted", [str, json.dumps])
def test_a_question_about_a_short_argument_is_of_the_client(tmp_path, argument, quoted):
    log = Log(tools=[READ, TASK])
    called = log.add(AGENT, WHO, says=calling("bash", json.dumps({"command": argument}), "call_0"))
    log.add(TITLE, user(f"Which prefix has this command?\n<command>{quoted(argument)}</command>"), says="rg")
    assert kinds(ended(log, called, "rg: nothing found"), tmp_path) == "1 main A | 2 side B<A | 3 main A"


@pytest.mark.parametrize("system", [AGENT, SCOUT], ids=["the same settings", "another system prompt"])
def test_what_the_user_asks_about_an_earlier_argument_is_a_conversation(tmp_path, system):
    log = Log(tools=[READ, TASK])
    called = log.add(AGENT, WHO, says=calling("bash", json.dumps({"command": COMMAND}), "call_0"))
    ended(log, called, "src/a.py:12")
    asked = (system, user(f"Why does {COMMAND} print nothing?"))
    one = log.add(*asked, says=look("a.py"))
    log.add(*asked, one, result("...", "look at a.py"), says="Nobody calls parse_row.")
    assert kinds(log.lines, tmp_path) == "1 main A | 2 main A | 3 main B | 4 main B"


def test_one_question_with_an_argument_under_the_same_settings_is_a_conversation(tmp_path):
    log = Log(tools=[READ, TASK])
    log.add(AGENT, WHO, says=calling("bash", json.dumps({"command": COMMAND}), "call_0"))
    log.add(AGENT, user(f"Do not run {COMMAND}, but explain what it does."), says="It looks for parse_row.")
    assert kinds(log.lines, tmp_path) == "1 main A | 2 main B"
