"""The columns of a dataset folder: those of the preset, and on request those on where a record comes from."""

from __future__ import annotations

from typing import Any

from chatsquash.model import Facts
from chatsquash.options import Options
from chatsquash.records.presets import Column, named
from chatsquash.write.arrow import Field

# A test holds their names to those that trainers and loaders take for something of their own.
METADATA = (
    Field("session_id", "text"),
    Field("source", "text"),
    Field("model", "text"),
    Field("started_at", "text"),
    Field("entries", "int"),
    Field("prompt_tokens", "int"),
    Field("completion_tokens", "int"),
)
_ITEM = "item"  # what Arrow calls what is in a list
IMAGES = Field("images", "list", (Field(_ITEM, "image"),))
"""The images of a record, in their order."""
_DTYPES = {"text": "string", "json": "json", "int": "int64"}


def fields(options: Options) -> list[Field]:
    """The columns that the options ask for, in the order of a record."""
    columns = [column for column in named(options.preset).COLUMNS if column.kind != "images" or options.media == "keep"]
    return [*map(_field, columns), *(METADATA if options.metadata else ())]


def _field(column: Column) -> Field:
    if column.kind == "images":
        return IMAGES
    if column.kind == "text":
        return Field(column.name, "text")
    members = tuple(Field(name, "text") for name in column.members)
    return Field(column.name, "list", (Field(_ITEM, "struct", members) if members else Field(_ITEM, "json"),))


def metadata(facts: Facts) -> dict[str, Any]:
    """What the columns of ``METADATA`` hold for a record."""
    values = (facts.session, facts.source, facts.model, facts.started_at, facts.entries)
    names = (field.name for field in METADATA)
    return dict(zip(names, (*values, facts.prompt_tokens, facts.completion_tokens), strict=True))


def has_json(columns: list[Field]) -> bool:
    """Whether any column is one of JSON, which ``datasets`` knows since 4.7 only."""
    return any(column.kind == "list" and column.children[0].kind == "json" for column in columns)


def features(columns: list[Field], *, typed: bool) -> list[str]:
    """The columns as lines of YAML, as ``datasets`` writes its features; ``typed`` is a file whose columns have types.

    In lines of JSON it takes texts for times where all look like some, and writes them anew, unless they are JSON.
    """
    texts = "string" if typed or not has_json(columns) else "json"
    lines: list[str] = []
    for column in columns:
        lines.append(f"- name: {column.name}")
        if column.kind == "text":
            lines.append(f"  dtype: {texts}")
        elif column.kind != "list":
            lines.append(f"  dtype: {_DTYPES[column.kind]}")
        elif column.children[0].kind == "json":
            lines.append("  list: json")
        elif column == IMAGES:
            lines.append("  list: image")
        else:
            lines.append("  list:")
            for member in column.children[0].children:
                lines += [f"  - name: {member.name}", f"    dtype: {_DTYPES[member.kind]}"]
    return lines
