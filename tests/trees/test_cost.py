"""What is done for a request follows its length, whatever it holds."""

from __future__ import annotations

from typing import Any

from chatsquash import Options, convert
from chatsquash.trees import trees
from tests.conftest import assistant, user, write_log

from . import logs


def new_first_prompts(count: int) -> list[Any]:
    """Each request has another first prompt, and all replies are the same short one."""
    log, said = logs.Log(), []
    for number in range(count):
        log.add(logs.AGENT, user(f"{number} is what this one begins with"), *said, says="ok")
        said += [assistant("ok"), user("Go on.")]
    return log.lines


def test_few_messages_are_held_to_replies_of_the_same_words(tmp_path, monkeypatch):
    looked: list[int] = []
    original = trees.messages_between

    def messages_between(requests: Any, first: int, last: int) -> Any:
        looked.append(last + 1 - first)
        return original(requests, first, last)

    monkeypatch.setattr(trees, "messages_between", messages_between)
    lines = new_first_prompts(60)
    write_log(tmp_path / "logs" / "a.jsonl", *lines)
    convert(tmp_path / "logs", tmp_path / "out", Options(anonymize=False))
    sent = sum(len(line["request"]["messages"]) for line in lines)
    assert 0 < sum(looked) < 6 * sent + 256 * len(lines)
