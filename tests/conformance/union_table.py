"""The table of what is not carried of the SDKs' unions by decision, or not yet, and how losses are compared with it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.conformance.document_unions import DOCUMENTS
from tests.conformance.examples import words
from tests.conformance.sdk_unions import MEMBERS, Member

TABLE = tomllib.loads((Path(__file__).parent / "unions.toml").read_text("utf-8"))
"""Of each direction rows of a union, some of its members, the paths that are lost, and why."""


def lost(value: Any, gone: set[str], path: str = "") -> Iterator[str]:
    """The paths of members with words that are gone; the places in lists are not part of a path."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from lost(each, gone, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for each in value:
            yield from lost(each, gone, path)
    elif isinstance(value, str) and words(value) & gone:
        yield path


def known(direction: str, member: Member) -> set[str]:
    """The paths that the table has for a member."""
    rows = [
        row for row in TABLE.get(direction, []) if row["union"] == member.union.name and member.name in row["members"]
    ]
    return {path for row in rows for path in row["lost"]}


def assert_known(direction: str, member: Member, found: dict[str, str]) -> None:
    """Compare what is lost, each with an example, with the table."""
    rows = known(direction, member)
    is_known = bool(found) if rows == {"*"} else found.keys() == rows
    assert is_known, f"{member.name} ({member.union.name}) loses {found}, the table has {sorted(rows)}"


def unknown_rows() -> list[tuple[str, str, str]]:
    """Rows of the table of members that there are not, or without a reason."""
    there = {(each.values[0].union.name, each.values[0].name) for each in MEMBERS}
    there |= {(each.values[0].union.name, each.values[0].name) for each in DOCUMENTS}
    rows = [(direction, row) for direction, rows in TABLE.items() for row in rows]
    return [
        (direction, row["union"], name)
        for direction, row in rows
        for name in row.get("members", [])
        if (row["union"], name) not in there or not row["why"]
    ]
