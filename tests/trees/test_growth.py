"""Where nobody asks for kinds, a request that has the reply before it in its place is not looked at any closer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.trees.trees import Trees
from tests.conftest import user, write_log

from . import logs


def clock_and_rewind() -> list[Any]:
    """The system prompt has a clock, and the user goes back in the end."""
    lines = logs.clock()
    asked = lines[-1]["request"]["messages"]
    log = logs.Log()
    log.lines = lines
    log.add(*asked[:-1], user("Explain it."), says="The sum is one too much.")
    return log.lines


def renamed() -> list[Any]:
    """The client writes ids anew with each request."""
    log = logs.Log(tools=[logs.READ])
    asked = (logs.AGENT, user("Mend the failing test."))
    log.add(*asked, says=logs.calling("read_file", '{"path": "a.py"}'))
    one = (logs.calling("read_file", '{"path":"a.py"}', "call_a"), logs.result("def add(): ...", "call_a"))
    log.add(*asked, *one, says=logs.calling("read_file", '{"path": "b.py"}'))
    two = (logs.calling("read_file", '{"path":"b.py"}', "call_b"), logs.result("def test(): ...", "call_b"))
    again = (logs.calling("read_file", '{"path":"a.py"}', "call_c"), logs.result("def add(): ...", "call_c"))
    log.add(*asked, *again, *two, says="It is mended.")
    return log.lines


def lost_later() -> list[Any]:
    """A later request has another reply in the place of one that the requests before it held."""
    lines = logs.clock()
    lines[-1]["request"]["messages"][2] = {"role": "assistant", "content": "I forgot what I said."}
    return lines


LOGS = [value for value in vars(logs).values() if callable(value) and getattr(value, "__module__", "") == logs.__name__]
LOGS = [log for log in LOGS if log.__doc__ and not isinstance(log, type) and log.__code__.co_argcount == 0]


def table(lines: list[Any], folder: Any, *, trace: bool) -> list[Any]:
    write_log(folder / "logs" / "a.jsonl", *lines)
    out = folder / ("traced" if trace else "plain")
    convert(folder / "logs", out, Options(anonymize=False, trace_replies=trace))
    return [json.loads(line) for line in (out / "reports" / "sessions.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("log", [*LOGS, clock_and_rewind, renamed, lost_later])
def test_coverage_is_the_same_whether_kinds_are_asked_for_or_not(log, tmp_path):
    plain = table(log(), tmp_path, trace=False)
    assert plain == table(log(), tmp_path, trace=True)
    assert plain[0]["replies"]["logged"] > 0


@pytest.mark.parametrize("log, grows", [(logs.clock, True), (renamed, True), (clock_and_rewind, False), (lost_later, False), (logs.title_last, False), (logs.regenerated, False)])  # fmt: skip
def test_trees_are_made_where_requests_do_not_only_grow(log, grows, tmp_path, monkeypatch):
    made = []
    add = Trees.add
    monkeypatch.setattr(Trees, "add", lambda *given: made.append(given[1].line) or add(*given))
    table(log(), tmp_path, trace=False)
    assert (not made) is grows
