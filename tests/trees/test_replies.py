"""What becomes of every logged reply: small logs, and the lines of ``reports/replies.jsonl`` for them."""

from __future__ import annotations

import json
from pathlib import Path
from string import ascii_uppercase
from typing import Any, NamedTuple

import pytest

from chatsquash import Options, convert
from tests.conftest import write_log

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


class Row(NamedTuple):
    log: Any
    """The log, whose first line says what it shows."""
    last: str = ""
    main: str = ""
    all: str = ""
    """What becomes of its replies, by ``--conversations``."""
    each: str = ""
    """The same whatever that says."""


ROWS = [
    Row(logs.grows, each="1 main A: carried 1[2] | 2 main A: carried 1[4]"),
    Row(
        logs.regenerated,
        last="1 main A: carried 1[2] | 2 branch B<A: lost branch | 3 main A: carried 1[4] | 4 main A: carried 1[6]",
        main="1 main A: carried 1[2] | 2 branch B<A: lost branch | 3 main A: carried 1[4] | 4 main A: carried 1[6]",
        all="1 main A: carried 2[2] | 2 branch B<A: carried 1[4] | 3 main A: carried 2[4] | 4 main A: carried 2[6]",
    ),
    Row(
        logs.edited,
        last="1 main A: carried 1[2] | 2 branch B<A: lost branch | 3 main A: carried 1[4] | 4 main A: carried 1[6]",
        main="1 main A: carried 1[2] | 2 branch B<A: lost branch | 3 main A: carried 1[4] | 4 main A: carried 1[6]",
        all="1 main A: carried 2[2] | 2 branch B<A: carried 1[4] | 3 main A: carried 2[4] | 4 main A: carried 2[6]",
    ),
    Row(
        logs.rewound,
        last="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6] | 4 branch B<A: lost branch",
        main="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6] | 4 branch B<A: lost branch",
        all="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6] | 4 branch B<A: carried 2[4]",
    ),
    Row(
        logs.taken_up,
        last="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 branch B<A: lost branch | 4 main A: carried 1[6]",
        main="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 branch B<A: lost branch | 4 main A: carried 1[6]",
        all="1 main A: carried 2[2] | 2 main A: carried 2[4] | 3 branch B<A: carried 1[4] | 4 main A: carried 2[6]",
    ),
    Row(
        logs.compacted,
        last="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 side B<A: carried 1[6] | 4 compacted C<A: lost short-tail",
        main="1 main A: lost compacted | 2 main A: lost compacted | 3 side B<A: lost side-request | 4 compacted C<A: carried 1[2]",
        all="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 side B<A: carried 2[6] | 4 compacted C<A: carried 3[2]",
    ),
    Row(
        logs.compacted_twice,
        last="1 main A: lost compacted | 2 side B<A: lost side-request | 3 compacted C<A: carried 1[2] | 4 side D<C: carried 1[4] | 5 compacted E<C: lost short-tail",
        main="1 main A: lost compacted | 2 side B<A: lost side-request | 3 compacted C<A: lost compacted | 4 side D<C: lost side-request | 5 compacted E<C: carried 1[2]",
        all="1 main A: carried 1[2] | 2 side B<A: carried 2[4] | 3 compacted C<A: carried 3[2] | 4 side D<C: carried 4[4] | 5 compacted E<C: carried 5[2]",
    ),
    Row(
        logs.title_last,
        last="1 main A: lost short-tail | 2 side B<A: carried 1[2]",
        main="1 main A: carried 1[2] | 2 side B<A: lost side-request",
        all="1 main A: carried 1[2] | 2 side B<A: carried 2[2]",
    ),
    Row(logs.clock, each="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6]"),
    Row(logs.emptied, each="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6]"),
    Row(logs.reworded, each="1 main A: rewritten 1[2] | 2 main A: carried 1[4]"),
    Row(
        logs.subagent,
        last="1 main A: carried 1[2] | 2 subagent B<A: lost subagent | 3 subagent B<A: lost subagent | 4 main A: carried 1[4]",
        main="1 main A: carried 1[2] | 2 subagent B<A: lost subagent | 3 subagent B<A: lost subagent | 4 main A: carried 1[4]",
        all="1 main A: carried 2[2] | 2 subagent B<A: carried 1[2] | 3 subagent B<A: carried 1[4] | 4 main A: carried 2[4]",
    ),
    Row(logs.retried, each="1 retry A: lost retry | 2 main A: carried 1[2] | 3 main A: carried 1[4]"),
    Row(logs.resent_with_other_notes, each="1 retry A: lost retry | 2 retry A: lost retry | 3 main A: carried 1[2] | 4 main A: carried 1[4]"),
    Row(
        logs.windows,
        last="1 main A: lost short-tail | 2 main A: lost short-tail | 3 main A: lost short-tail | 4 main A: lost short-tail | 5 main A: carried 1[2] | 6 main A: carried 1[4] | 7 main A: carried 1[6] | 8 main A: carried 1[8]",
        main="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6] | 4 main A: carried 1[8] | 5 main A: carried 1[10] no loss | 6 main A: carried 1[12] no loss | 7 main A: carried 1[14] no loss | 8 main A: carried 1[16] no loss",
        all="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6] | 4 main A: carried 1[8] | 5 main A: carried 1[10] no loss | 6 main A: carried 1[12] no loss | 7 main A: carried 1[14] no loss | 8 main A: carried 1[16] no loss",
    ),
    Row(
        logs.wrapped_subagent,
        last="1 main A: carried 1[2] | 2 subagent B<A: lost subagent | 3 main A: carried 1[4]",
        main="1 main A: carried 1[2] | 2 subagent B<A: lost subagent | 3 main A: carried 1[4]",
        all="1 main A: carried 2[2] | 2 subagent B<A: carried 1[2] | 3 main A: carried 2[4]",
    ),
    Row(
        logs.edited_behind_summary,
        last="1 main A: lost compacted | 2 side B<A: lost side-request | 3 branch C<D: lost branch | 4 compacted D<A: carried 1[4] | 5 compacted D<A: carried 1[6]",
        main="1 main A: lost compacted | 2 side B<A: lost side-request | 3 branch C<D: lost branch | 4 compacted D<A: carried 1[4] | 5 compacted D<A: carried 1[6]",
        all="1 main A: carried 1[2] | 2 side B<A: carried 2[4] | 3 branch C<D: carried 3[4] | 4 compacted D<A: carried 4[4] | 5 compacted D<A: carried 4[6]",
    ),
    Row(
        logs.kept_task_and_tail,
        last="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 side B<A: carried 1[6] | 4 compacted C<A: lost short-tail",
        main="1 main A: lost compacted | 2 main A: lost compacted | 3 side B<A: lost side-request | 4 compacted C<A: carried 1[4]",
        all="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 side B<A: carried 2[6] | 4 compacted C<A: carried 3[4]",
    ),
    Row(
        logs.topic_of_noted_prompt,
        last="1 main A: lost short-tail | 2 side B<A: carried 1[2]",
        main="1 main A: carried 1[2] | 2 side B<A: lost side-request",
        all="1 main A: carried 1[2] | 2 side B<A: carried 2[2]",
    ),
    Row(
        logs.transcript_of_one_reply,
        last="1 main A: carried 1[2] | 2 side B<A: lost side-request | 3 main A: carried 1[4]",
        main="1 main A: carried 1[2] | 2 side B<A: lost side-request | 3 main A: carried 1[4]",
        all="1 main A: carried 2[2] | 2 side B<A: carried 1[2] | 3 main A: carried 2[4]",
    ),
    Row(
        logs.short_tail_of_summary,
        last="1 main A: lost compacted | 2 main A: lost compacted | 3 side B<A: lost side-request | 4 compacted C<A: carried 1[6] | 5 compacted C<A: carried 1[8] | 6 branch D<C: lost branch",
        main="1 main A: lost compacted | 2 main A: lost compacted | 3 side B<A: lost side-request | 4 compacted C<A: carried 1[6] | 5 compacted C<A: carried 1[8] | 6 branch D<C: lost branch",
        all="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 side B<A: carried 2[6] | 4 compacted C<A: carried 3[6] | 5 compacted C<A: carried 3[8] | 6 branch D<C: carried 4[6]",
    ),
    Row(logs.broken, each="1 main A: carried 1[2] | 2 main A: carried 1[4] no loss"),
    Row(logs.twice, each="1 retry A: lost retry | 2 main A: carried 1[2] | 3 main A: carried 1[4]"),
    Row(logs.same_words, each="1 branch A: lost duplicate | 2 main A: carried 1[2] | 3 main A: carried 1[4]"),
    Row(logs.stripped, each="1 main A: carried 1[2] | 2 main A: carried 1[4] | 3 main A: carried 1[6]"),
    Row(logs.cleaned_title, each="1 side A<B: lost side-request | 2 main B: carried 1[2] | 3 main B: carried 1[4]"),
    Row(logs.unanswered, each="1 main A: carried 1[2]"),
    Row(
        logs.lone,
        last="1 main A: lost short-tail | 2 main B: carried 1[2]",
        main="1 main A: lost short-tail | 2 main B: carried 1[2]",
        all="1 main A: carried 1[2] | 2 main B: carried 2[2]",
    ),
]  # fmt: skip


def _id(row: Row) -> str:
    return row.log.__doc__.strip().removesuffix(".")


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_what_becomes_of_every_reply(row, conversations, tmp_path):
    expected = row.each or getattr(row, conversations)
    assert traced(row.log(), tmp_path, conversations=conversations) == expected.split(" | ")
