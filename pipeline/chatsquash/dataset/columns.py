"""The columns of a dataset folder: those of the preset, and on request those on where a record comes from."""

from __future__ import annotations

from typing import Any

from chatsquash.core.options import Options
from chatsquash.core.outcome import Ending, Facts, Record
from chatsquash.dataset.arrow import Field
from chatsquash.records.presets import Column, get_preset

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
_KINDS: dict[str, str] = {"exit": "int", "reward": "float", "truncated": "bool", "failed_results": "int"}
ENDING = tuple(Field(name, _KINDS.get(name, "text")) for name in Ending._fields)
"""The columns on how the conversation of a record ended."""
CONVERSATION = (Field("conversation", "text"), Field("parent", "text"), Field("kind", "text"))
"""The columns on the conversation of a record, where a session may have several."""
TOKENS = Field("tokens", "int")
"""How many tokens a record has, where somebody counts them."""
TOOLS_SUPPLIED = Field("tools_supplied", "bool")
"""Whether the definitions of a record are from ``--tools-file``, with that option."""
SAMPLE = (Field("sample", "int"), Field("samples", "int"))
"""The columns on which of its session's samples a record is, from 1, and how many there are."""
_ITEM = "item"  # what Arrow calls what is in a list
IMAGES = Field("images", "list", (Field(_ITEM, "image"),))
"""The images of a record, in their order."""
_DTYPES = {"text": "string", "json": "json", "int": "int64", "float": "float64", "bool": "bool"}


def fields(options: Options) -> list[Field]:
    """The columns that the options ask for, in the order of a record."""
    columns = [
        column for column in get_preset(options.preset).COLUMNS if column.kind != "images" or options.media == "keep"
    ]
    beside = [*METADATA, *ENDING]
    beside += CONVERSATION if options.divides else ()
    beside += SAMPLE if options.samples != "session" else ()
    beside += (TOOLS_SUPPLIED,) if options.tools_file is not None else ()
    beside += (TOKENS,) if options.tokenizer is not None else ()
    parts = [_field(part, options.flag) for column in columns for part in _parts(column, options)]
    return [*parts, *(beside if options.metadata else ())]


def pair_fields(options: Options) -> list[Field]:
    """The columns of pairs, in the order in which they are written."""
    preset = {column.name: column for column in get_preset(options.preset).COLUMNS}
    said = [_field(preset["messages"]._replace(name=name), "none") for name in ("prompt", "chosen", "rejected")]
    return [*said, _field(preset["tools"], "none"), Field("evidence", "text")]


def _parts(column: Column, options: Options) -> tuple[Column, ...]:
    """A column, or those that stand for it where records are divided into prompt and completion."""
    if column.name != "messages" or options.samples == "session" or options.shape == "messages":
        return (column,)
    return column._replace(name="prompt"), column._replace(name="completion")


def _field(column: Column, loss: str) -> Field:
    if column.kind == "images":
        return IMAGES
    if column.kind == "text":
        return Field(column.name, "text")
    flags = (Field(loss, "int" if loss == "weight" else "bool"),) if loss != "none" else ()
    members = (*(Field(name, "text") for name in column.members), *flags) if column.members else ()
    return Field(column.name, "list", (Field(_ITEM, "struct", members) if members else Field(_ITEM, "json"),))


def metadata(record: Record, facts: Facts) -> dict[str, Any]:
    """What the columns beside a record hold."""
    values = {"session_id": facts.session} | {field.name: getattr(facts, field.name) for field in METADATA[1:]}
    values |= record.ending._asdict()
    values |= {field.name: getattr(record, field.name) for field in CONVERSATION if record.conversation}
    values |= {field.name: getattr(record, field.name) for field in SAMPLE if record.sample}
    values |= {} if facts.tools_supplied is None else {TOOLS_SUPPLIED.name: facts.tools_supplied}
    return values if record.tokens is None else values | {TOKENS.name: record.tokens}


def has_json(columns: list[Field]) -> bool:
    """Whether any column is one of JSON, which ``datasets`` knows since 4.7 only."""
    return any(column.is_json_list for column in columns)


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
        elif column.is_json_list:
            lines.append("  list: json")
        elif column == IMAGES:
            lines.append("  list: image")
        else:
            lines.append("  list:")
            for member in column.children[0].children:
                lines += [f"  - name: {member.name}", f"    dtype: {_DTYPES[member.kind]}"]
    return lines
