"""The columns of a dataset folder: those of the preset and, with ``--metadata``, the origin of each record."""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from chatsquash.core import jsonio
from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.options import Options
from chatsquash.core.outcome import Ending, Facts, Record
from chatsquash.records.presets import Column, get_preset


class Field(Struct, frozen=True):
    """A column, or the elements or members of one."""

    name: str
    kind: str
    """``text``, ``json``, ``int``, ``int32``, ``int8``, ``float``, ``bool``, ``list``, ``struct``, ``binary`` or
    ``image``; an ``int`` has 64 bits.
    """
    children: tuple[Field, ...] = ()

    @property
    def is_json_list(self) -> bool:
        """Whether this is a list of JSON values."""
        return self.kind == "list" and self.children[0].kind == "json"

    @property
    def has_structs(self) -> bool:
        """Whether this is a list of structs."""
        return self.kind == "list" and self.children[0].kind == "struct"


# A test checks that no trainer or loader gives these names a meaning.
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
ENDING = tuple(Field(name, _KINDS.get(name, "text")) for name in Ending.__struct_fields__)
"""Columns about the end of a record's conversation."""
CONVERSATION = (Field("conversation", "text"), Field("parent", "text"), Field("kind", "text"))
"""Columns about the conversation of a record, for sessions with several conversations."""
LABEL = (Field("label", "bool"), Field("evidence", "text"))
"""Columns with the label of a completion, and the evidence for it."""
TOKENS = Field("tokens", "int")
"""Number of tokens of a record, with a tokenizer."""
TOOLS_SUPPLIED = Field("tools_supplied", "bool")
"""Whether the tool definitions of a record are from ``--tools-file``; a column only with that option."""
STEPS = tuple(Field(f"steps_{kind}", "int") for kind in STEP_FACTS)
"""Columns with the number of a record's logged replies that have a step fact; in a sample, of those trained on."""
SAMPLE = (Field("sample", "int"), Field("samples", "int"))
"""Columns with the 1-based number of a sample in its session, and the number of samples."""
FRONT_TRUNCATED = Field("front_truncated", "int")
"""The number of messages that ``--too-long front`` removed from a sample; a column only with that option."""
_ITEM = "item"  # the name of list elements in Arrow
IMAGES = Field("images", "list", (Field(_ITEM, "image"),))
"""The images of a record, in order."""
_NUMBERS = {"int": "int64", "int32": "int32", "int8": "int8", "float": "float64"}
_DTYPES = {"text": "string", "json": "json", "bool": "bool", **_NUMBERS}


FOREST = (
    Field("session", "text"),
    Field("node", "int"),
    Field("parent", "int"),
    Field("message", "json"),
    Field("loss", "float"),
    Field("source", "text"),
    Field("sample", "json"),
    Field("tools", "json"),
)
"""The columns of the rows of ``records.forest``."""


def fields(options: Options) -> list[Field]:
    """Return the columns for options, in the order of a record."""
    if options.samples == "forest":
        return [*FOREST]
    outcome = ENDING if options.sample_columns == "prompt" else ()
    extra = [*METADATA, *(() if outcome else ENDING), *STEPS]
    extra += CONVERSATION if options.divides else ()
    extra += SAMPLE if options.samples != "session" else ()
    extra += (FRONT_TRUNCATED,) if options.too_long == "front" else ()
    extra += (TOOLS_SUPPLIED,) if options.tools_file is not None else ()
    extra += (TOKENS,) if options.tokenizer is not None or options.samples == "tokens" else ()
    return [*record_fields(options), *outcome, *(extra if options.metadata else ())]


def record_fields(options: Options) -> list[Field]:
    """Return the columns of records without the columns that are added when they are written."""
    if options.samples == "tokens":
        return _token_columns()
    columns = [
        column for column in get_preset(options.preset).COLUMNS if column.kind != "images" or options.media == "keep"
    ]
    parts = [_field(part, options.flag) for column in columns for part in _parts(column, options)]
    return [*parts, *(LABEL if options.sample_columns == "kto" else ())]


def _token_columns() -> list[Field]:
    """Return the columns of samples of token ids."""
    from chatsquash.records import TOKEN_MEMBERS  # imported here because few runs need it

    kinds = zip(TOKEN_MEMBERS, ("int32", "int32", "int8", "float"), strict=True)
    return [Field(name, "list", (Field(_ITEM, kind),)) for name, kind in kinds]


def pair_fields(options: Options) -> list[Field]:
    """Return the columns of pairs, in the order in which they are written."""
    preset = {column.name: column for column in get_preset(options.preset).COLUMNS}
    messages = [_field(replace(preset["messages"], name=name), "none") for name in ("prompt", "chosen", "rejected")]
    return [*messages, _field(preset["tools"], "none"), Field("evidence", "text")]


def _parts(column: Column, options: Options) -> tuple[Column, ...]:
    """Return a column, or the columns that replace it if records are divided into prompt and completion."""
    if column.name != "messages" or options.sample_columns == "messages":
        return (column,)
    names = ("prompt",) if options.shape == "prompt" else ("prompt", "completion")
    return tuple(replace(column, name=name) for name in names)


def _field(column: Column, loss: str) -> Field:
    if column.kind == "images":
        return IMAGES
    if column.kind == "text":
        return Field(column.name, "text")
    flags = (Field(loss, "int" if loss == "weight" else "bool"),) if loss != "none" else ()
    members = (*(Field(name, "text") for name in column.members), *flags) if column.members else ()
    return Field(column.name, "list", (Field(_ITEM, "struct", members) if members else Field(_ITEM, "json"),))


def additions(record: Record, options: Options) -> dict[str, Any]:
    """Return the values of the columns that are added to a record when it is written."""
    outcome = asdict(record.ending) if options.sample_columns == "prompt" else {}
    return outcome | (_metadata(record, record.facts) if options.metadata and record.facts else {})


def _metadata(record: Record, facts: Facts) -> dict[str, Any]:
    values = {"session_id": facts.session} | {field.name: getattr(facts, field.name) for field in METADATA[1:]}
    values |= asdict(record.ending)
    steps = record.steps or {}
    values |= {column.name: steps.get(kind, 0) for column, kind in zip(STEPS, STEP_FACTS, strict=True)}
    values |= {field.name: getattr(record, field.name) for field in CONVERSATION if record.conversation}
    values |= {field.name: getattr(record, field.name) for field in SAMPLE if record.sample}
    values |= {FRONT_TRUNCATED.name: record.front_truncated} if record.front_truncated else {}
    values |= {} if facts.tools_supplied is None else {TOOLS_SUPPLIED.name: facts.tools_supplied}
    return values if record.tokens is None else values | {TOKENS.name: record.tokens}


def has_json(columns: list[Field]) -> bool:
    """Return whether any column is JSON, which ``datasets`` supports since version 4.7."""
    return any(column.is_json_list for column in columns)


def features(columns: list[Field], *, has_types: bool) -> list[str]:
    """Return the columns as lines of YAML, in the form in which ``datasets`` writes features.

    Args:
        columns: The columns, in order.
        has_types: Whether the files contain the types of their columns, as Parquet does.
    """
    # In JSON lines, datasets rewrites strings as timestamps if all of them look like dates, unless the column is
    # declared as JSON.
    texts = "string" if has_types or not has_json(columns) else "json"
    lines: list[str] = []
    for column in columns:
        lines.append(f"- name: {column.name}")
        if column.kind == "text":
            lines.append(f"  dtype: {texts}")
        elif column.kind != "list":
            lines.append(f"  dtype: {_DTYPES[column.kind]}")
        elif column.is_json_list:
            lines.append("  list: json")
        elif column.children[0].kind in _NUMBERS:
            lines.append(f"  list: {_NUMBERS[column.children[0].kind]}")
        elif column == IMAGES:
            lines.append("  list: image")
        else:
            lines.append("  list:")
            for member in column.children[0].children:
                lines += [f"  - name: {member.name}", f"    dtype: {_DTYPES[member.kind]}"]
    return lines


def with_metadata(record: bytes, extra: dict[str, Any]) -> bytes:
    """Return a record as JSON with its metadata as the last members."""
    return record[:-1] + b"," + jsonio.dumps(extra)[1:] if extra else record
