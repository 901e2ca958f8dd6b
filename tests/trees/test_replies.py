"""What becomes of every logged reply: small logs, and the lines of ``reports/replies.jsonl`` for them."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from string import ascii_uppercase
from typing import Any

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


ROWS = tomllib.loads((Path(__file__).parent / "replies.toml").read_text("utf-8"))


def _id(name: str) -> str:
    return getattr(logs, name).__doc__.strip().removesuffix(".")


@pytest.mark.parametrize("conversations", ["last", "main", "all"])
@pytest.mark.parametrize("name", ROWS, ids=_id)
def test_what_becomes_of_every_reply(name, conversations, tmp_path):
    expected = ROWS[name].get("each") or ROWS[name][conversations]
    assert traced(getattr(logs, name)(), tmp_path, conversations=conversations) == expected.split(" | ")
