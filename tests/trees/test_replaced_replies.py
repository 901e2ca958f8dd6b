"""A reply that the client replaces in later requests is trained on in the history in which it was sampled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatsquash import Options, convert
from tests.conftest import assistant, user, write_log
from tests.trees.logs import AGENT, READ, Log, calling, result
from tests.trees.test_replies import traced

ASKED = (AGENT, user("Which test fails, and why?"))
LONG = "The test of sums fails, since add() begins at one."
MORE = "The other tests of the module pass, all twelve of them."


def moves_reasoning() -> list[Any]:
    """OpenCode 1.18.33 sends the reasoning of another model as text (recorded)."""
    log = Log(tools=[READ])
    one = log.add(*ASKED, says=calling("read_file", '{"path": "a.py"}'))
    two = log.add(*ASKED, one, result("def add(): ..."), says=LONG)
    other = {**one, "content": "I think about add() first."}
    log.add(*ASKED, other, result("def add(): ..."), two, user("Fix it."), says="It is fixed.")
    return log.lines


def joins_replies() -> list[Any]:
    """Qwen Code 0.15.10 joins what came of a truncated reply and the next one (recorded)."""
    log = Log()
    log.add(*ASKED, says="The test of", finish=None)
    log.add(*ASKED, says=LONG)
    three = log.add(*ASKED, assistant(f"The test of{LONG}"), user("Fix it."), says="I will fix it now.")
    log.add(*ASKED, assistant(f"The test of{LONG}"), user("Fix it."), three, user("And?"), says="It is fixed.")
    return log.lines


def removes_prompt() -> list[Any]:
    """Copilot CLI 1.0.102 removes its request to continue, and the reply that reached its limit (recorded)."""
    log = Log()
    one = log.add(*ASKED, says="I look at the module.")
    two = log.add(*ASKED, one, user("Go on."), says="The test of", finish="length")
    three = log.add(*ASKED, one, user("Go on."), two, user("Please continue from where you left off."), says=LONG)
    four = log.add(*ASKED, one, user("Go on."), three, user("Fix it."), says=MORE)
    log.add(*ASKED, one, user("Go on."), three, user("Fix it."), four, user("And?"), says="It is fixed.")
    return log.lines


def replaces_each() -> list[Any]:
    """The client shortens each reply as soon as it continues."""
    log, history = Log(), [*ASKED]
    for number in range(4):
        said = f"Step {number} of the work is complete."
        log.add(*history, says=f"{said}\nThese are details of step {number}, which nobody needs any longer.")
        history += [assistant(said), user(f"Go on with step {number + 1}.")]
    return log.lines


def edits_after_replacing() -> list[Any]:
    """The user edits a prompt after the client had replaced a reply; both versions have its words."""
    log = Log()
    log.add(*ASKED, says=f"{LONG}\nI looked at line 3.")
    two = log.add(*ASKED, assistant(LONG), user("Fix it."), says=MORE)
    log.add(*ASKED, assistant(LONG), user("Fix it."), two, user("And?"), says="It is fixed.")
    log.add(*ASKED, assistant(LONG), user("Fix it, please."), says="I fix it.")
    return log.lines


def restores_words() -> list[Any]:
    """The words of a reply are replaced in a request of the client alone."""
    log = Log(tools=[READ])
    one = log.add(*ASKED, says=f"{LONG}\nI looked at line 3.")
    log.add(*ASKED, assistant(LONG), user("Write a title for this."), says="Sums", tools=[])
    log.add(*ASKED, one, user("Fix it."), says="It is fixed.")
    return log.lines


ROWS: dict[str, tuple[list[Any], list[str]]] = {
    "reasoning as text": (moves_reasoning(), [
        "1 branch A<B: carried 1[2]", "2 branch A<B: carried 1[4]", "3 main B: carried 2[6]",
    ]),
    "joined": (joins_replies(), [
        "1 retry A<B: lost retry", "2 branch A<B: carried 1[2]", "3 main B: carried 2[4]", "4 main B: carried 2[6]",
    ]),
    "without its prompt": (removes_prompt(), [
        "1 main A: carried 2[2]", "2 branch B<A: carried 1[4] no loss", "3 branch B<A: carried 1[6]",
        "4 main A: carried 2[6]", "5 main A: carried 2[8]",
    ]),
    "each": (replaces_each(), [
        "1 branch A<D: carried 1[2]", "2 branch B<D: carried 2[4]", "3 branch C<D: carried 3[6]", "4 main D: carried 4[8]",
    ]),
    "with an edited prompt": (edits_after_replacing(), [
        "1 branch A<B: carried 1[2]", "2 main B: carried 2[4]", "3 main B: carried 2[6]", "4 branch C<B: carried 3[4]",
    ]),
    "only by a request of the client": (restores_words(), [
        "1 main A: carried 2[2]", "2 side B<A: carried 1[4]", "3 main A: carried 2[4]",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_a_replaced_reply_ends_a_branch_in_which_it_is_trained_on(name, tmp_path):
    lines, expected = ROWS[name]
    assert traced(lines, tmp_path, conversations="all") == expected


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("conversations", ["last", "main"])
def test_one_record_is_written_as_before(name, conversations, tmp_path):
    lines, _ = ROWS[name]
    write_log(tmp_path / "a.jsonl", *lines)
    convert(
        tmp_path / "a.jsonl", tmp_path / "out", Options(conversations=conversations, group_by="none", anonymize=False)
    )
    (line,) = Path(tmp_path / "out/conversations.jsonl").read_text("utf-8").splitlines()
    last = lines[-1] if name != "with an edited prompt" else lines[2]
    said = [*last["request"]["messages"], last["response"]["choices"][0]["message"]]
    assert [each["content"] for each in json.loads(line)["messages"]] == [each["content"] for each in said]


def test_each_record_has_what_the_model_was_sent(tmp_path):
    lines = removes_prompt()
    write_log(tmp_path / "a.jsonl", *lines)
    convert(tmp_path / "a.jsonl", tmp_path / "out", Options(conversations="all", group_by="none", anonymize=False))
    records = [json.loads(line) for line in (tmp_path / "out/conversations.jsonl").read_text("utf-8").splitlines()]
    contents = [[each["content"] for each in record["messages"][:-1]] for record in records]
    assert contents == [[each["content"] for each in lines[at]["request"]["messages"]] for at in (2, 4)]
