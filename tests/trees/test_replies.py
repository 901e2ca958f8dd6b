"""What becomes of every logged reply: small logs, and the lines of ``reports/replies.jsonl`` for them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pytest

from chatsquash import Options, convert
from chatsquash.trees.trees import Trees
from tests.conftest import user, write_log

from . import logs


def traced(lines: list[Any], folder: Path, **options: Any) -> list[str]:
    """A line for each reply: where it is from, what it is, and where it went; conversations are A, B, C as they come.

    ``3 side B<A: carried 1[6]`` is the reply of line 3, of the kind ``side``, in a conversation B that comes from A; it
    stands in the record of row 1 as message 6.  One that stands in a record is to be trained on unless ``no loss`` is
    said, and no other is.
    """
    write_log(folder / "logs" / "a.jsonl", *lines)
    out = folder / "out"
    convert(folder / "logs", out, Options(anonymize=False, group_by="none", trace_replies=True, **options))
    with (out / "reports" / "replies.jsonl").open(encoding="utf-8") as file:
        replies = [json.loads(line) for line in file]
    names = {None: ""} | dict(
        zip(dict.fromkeys(each["conversation"] for each in replies), ascii_uppercase, strict=False)
    )
    return [_shown(each, names) for each in replies]


def _shown(reply: dict[str, Any], names: dict[str | None, str]) -> str:
    assert Path(reply["file"]).name == "a.jsonl"
    parent = f"<{names[reply['parent']]}" if reply["parent"] else ""
    what = f"{reply['line']} {reply['kind']} {names[reply['conversation']]}{parent}: {reply['status']}"
    if reply["status"] == "lost":
        assert (reply["record"], reply["message"], reply["loss"]) == (None, None, 0)
        return f"{what} {reply['why']}"
    assert reply["why"] is None
    row = reply["record"].removeprefix("conversations.jsonl:")
    usual = reply["status"] == "carried"
    return f"{what} {row}[{reply['message']}]" + (" no loss" if usual and not reply["loss"] else "")


ROWS = tomllib.loads((Path(__file__).parent / "replies.toml").read_text("utf-8"))


def _id(name: str) -> str:
    return getattr(logs, name).__doc__.strip().removesuffix(".")


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
@pytest.mark.parametrize("name", ROWS, ids=_id)
def test_what_becomes_of_every_reply(name, conversations, tmp_path):
    expected = ROWS[name].get("each") or ROWS[name][conversations]
    assert traced(getattr(logs, name)(), tmp_path, conversations=conversations) == expected.split(" | ")


# Where nobody asks for kinds, a request that has the reply before it in its place is not looked at any closer


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
