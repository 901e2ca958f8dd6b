"""Forks that Codex 0.171 writes without copies (`history_base`), as recorded from it."""

import json
import shutil
from pathlib import Path

import pytest

from chatsquash import Options, convert
from tests.conftest import tree, write_log
from tests.outputs import findings

DAY = "sessions/2026/02/01"


def rollout(session, *said, start=0, base=None, end=0):
    """A file of a session; ``base`` and ``end``: the session that it continues, and where."""
    more = {"history_base": {"thread_id": base, "end_ordinal_exclusive": end, "end_byte_offset": 9}} if base else {}
    more |= {"forked_from_id": base} if base else {"base_instructions": {"text": "You help."}}
    rows = [("session_meta", {"id": session, **more})]
    for role, text in said:
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        rows.append(("response_item", {"type": "message", "role": role, "content": [part]}))
    return [
        {"timestamp": f"2026-02-01T12:00:00.{at:03}Z", "ordinal": at, "type": of, "payload": payload}
        for at, (of, payload) in enumerate(rows, start)
    ]


def write(here, session, *said, day=DAY, **more):
    return write_log(here / "logs" / day / f"rollout-2026-02-01-{session}.jsonl", *rollout(session, *said, **more))


def turn(number):
    return ("user", f"u{number}"), ("assistant", f"a{number}")


def run(**options):
    """The messages of each record without the system prompt; those with the weight 0 are in parentheses."""
    defaults = {"conversations": "all", "loss": "weight", "format": "jsonl", "metadata": True, "replace": True}
    convert("logs", "out", Options(**{**defaults, **options}))
    records = []
    for name, data in sorted(tree(Path("out")).items()):
        if name.endswith(".jsonl") and not name.startswith(("reports", ".")):
            records += [json.loads(each) for each in (data or b"").splitlines()]
    spelled = [
        " ".join(
            f"({each['content']})" if each.get("weight") == 0 else each["content"]
            for each in record["messages"]
            if each["role"] != "system"
        )
        for record in records
    ]
    return sorted(spelled)


def parent(here, **more):
    write(here, "p", *turn(1), *turn(2), **more)  # ordinals 0 to 4


def test_a_fork_has_the_context_of_its_parent(here):
    parent(here)
    write(here, "f", *turn(3), start=3, base="p", end=3)
    assert run() == ["u1 (a1) u3 a3", "u1 a1 u2 a2"]
    assert not [each for each in findings() if each["code"] == "missing-history"]


def test_an_unknown_line_before_its_header_costs_a_fork_nothing(here):
    parent(here)
    unknown = {"timestamp": "2026-02-01T12:00:00.000Z", "type": "novelty", "payload": {}}
    path = here / "logs" / DAY / "rollout-2026-02-01-f.jsonl"
    write_log(path, unknown, *rollout("f", *turn(3), start=3, base="p", end=3))
    assert run() == ["u1 (a1) u3 a3", "u1 a1 u2 a2"]
    assert not [each for each in findings() if each["code"] == "missing-history"]


def test_it_has_the_system_prompt_of_its_parent(here):
    parent(here)
    write(here, "f", *turn(3), start=3, base="p", end=3)
    convert("logs", "out", Options(format="jsonl"))
    lines = b"".join(data or b"" for name, data in tree(Path("out")).items() if name.endswith(".jsonl")).splitlines()
    assert all(b"You help." in line for line in lines if b"messages" in line)


def test_a_fork_of_a_fork_has_what_both_have(here):
    parent(here)
    write(here, "f", *turn(3), start=3, base="p", end=3)
    write(here, "g", *turn(4), start=6, base="f", end=6)
    write(here, "h", *turn(5), start=3, base="f", end=3)
    assert "u1 (a1) u3 (a3) u4 a4" in run()
    assert "u1 (a1) u5 a5" in run()


def test_both_may_be_in_any_folder(here):
    parent(here, day=".")
    write(here, "f", *turn(3), day=".", start=3, base="p", end=3)
    assert run() == ["u1 (a1) u3 a3", "u1 a1 u2 a2"]


@pytest.mark.parametrize("day", ["sessions/2026/01/31", "archived_sessions"])
def test_the_parent_may_be_of_another_day_or_archived(here, day):
    parent(here, day=day)
    write(here, "f", *turn(3), start=3, base="p", end=3)
    assert "u1 (a1) u3 a3" in run()


def test_without_the_parent_no_reply_is_trained_on(here):
    write(here, "f", *turn(3), start=3, base="p", end=3)
    assert run() == ["u3 (a3)"]
    assert "missing-history" in [each["code"] for each in findings()]


def test_a_parent_whose_file_is_of_another_session_is_missing(here):
    write_log(here / "logs" / DAY / "rollout-2026-02-01-p.jsonl", *rollout("q", *turn(1)))
    write(here, "f", *turn(3), start=3, base="p", end=3)
    assert "u3 (a3)" in run()


@pytest.mark.parametrize("base", ["../p", "*", "", 7])
def test_a_parent_whose_id_is_no_name_is_missing(here, base):
    parent(here)
    write(here, "f", *turn(3), start=3, base=base or " ", end=3)
    assert "u3 (a3)" in run()


def test_files_that_name_each_other_end(here):
    write(here, "f", *turn(3), start=3, base="g", end=3)
    write(here, "g", *turn(4), start=3, base="f", end=3)
    write(here, "h", *turn(5), start=3, base="h", end=3)
    assert run() == ["u3 (a3)", "u4 (a4)", "u5 (a5)"]


def test_a_parent_in_a_linked_folder_is_read_only_if_links_are_followed(here):
    parent(here)
    (here / "elsewhere").mkdir()
    shutil.move(here / "logs" / DAY / "rollout-2026-02-01-p.jsonl", here / "elsewhere/rollout-2026-02-01-p.jsonl")
    write(here, "f", *turn(3), start=3, base="p", end=3)
    (here / "logs/sessions/2026/01").mkdir()
    (here / "logs/sessions/2026/01/31").symlink_to(here / "elsewhere")
    assert "u3 (a3)" in run()
    assert "u1 (a1) u3 a3" in run(follow_links=True, full=True)


def test_a_fork_is_converted_anew_when_its_parent_appears(here):
    write(here, "f", *turn(3), start=3, base="p", end=3)
    assert run() == ["u3 (a3)"]
    parent(here)
    assert "u1 (a1) u3 a3" in run()


def test_what_a_fork_compacts_needs_no_parent(here):
    write(here, "f", *turn(3), start=3, base="p", end=3)
    path = here / "logs" / DAY / "rollout-2026-02-01-f.jsonl"
    part = [{"type": "input_text", "text": "sum"}]
    payload = {"message": "", "replacement_history": [{"type": "message", "role": "user", "content": part}]}
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a4"}]}
    more = [("compacted", payload), ("response_item", said)]
    with path.open("a", encoding="utf-8") as file:
        for of, each in more:
            file.write(json.dumps({"timestamp": "2026-02-01T12:00:09Z", "type": of, "payload": each}) + "\n")
    assert run() == ["sum a4", "u3 (a3)"]
