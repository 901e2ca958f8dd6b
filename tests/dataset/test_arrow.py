"""The schema in the footer of a Parquet file; ``make conformance`` holds it to what Arrow itself reads."""

from base64 import b64decode
from struct import unpack_from

import pytest

from chatsquash.core.options import Options
from chatsquash.dataset.arrow import schema
from chatsquash.dataset.columns import ENDING, METADATA, STEPS, Field, features, fields
from chatsquash.records.presets import names
from tests.conftest import cases

JSON = Field("item", "json")
RESERVED = {
    "prompt", "completion", "chosen", "rejected", "label", "labels", "text", "conversations", "messages", "tools",
    "images", "image", "videos", "audio", "input_ids", "attention_mask", "position_ids", "token_type_ids",
    "seq_lengths", "chat_template_kwargs", "trace", "harness",
}  # fmt: skip
"""Names of columns that trainers and loaders take for something of their own."""
TRACES = (
    {"id", "source", "model", "system_prompt"}, {"type", "message"}, {"type", "payload"},
    {"type", "id", "version", "cwd"}, {"harness", "trace"},
)  # fmt: skip
"""Columns by which ``datasets`` takes a file for an agent's trace, where all of a set are there."""
TURNS = Field("item", "struct", (Field("role", "text"), Field("content", "text")))


def test_a_message_says_how_long_it_is():
    for columns in ([], [Field("a", "text")], [Field("messages", "list", (JSON,)), Field("n", "int")]):
        data = b64decode(schema(columns))
        mark, length = unpack_from("<Ii", data)
        assert (mark, length) == (0xFFFFFFFF, len(data) - 8)
        assert len(data) % 8 == 0


def test_json_is_what_the_extension_type_says():
    assert b64decode(schema([Field("messages", "list", (JSON,))])).count(b"arrow.json") == 1
    assert b"arrow.json" not in b64decode(schema([Field("messages", "list", (TURNS,))]))


def test_names_are_held_as_utf_8():
    data = b64decode(schema([Field("naïve", "text")]))
    at = data.index("naïve".encode())
    assert unpack_from("<I", data, at - 4) == (6,)


@cases(
    "column, expected",
    ("JSON", Field("messages", "list", (JSON,)), ["- name: messages", "  list: json"]),
    ("text", Field("system", "text"), ["- name: system", "  dtype: string"]),
    ("numbers", Field("entries", "int"), ["- name: entries", "  dtype: int64"]),
    (
        "turns of texts",
        Field("messages", "list", (TURNS,)),
        [
            "- name: messages",
            "  list:",
            "  - name: role",
            "    dtype: string",
            "  - name: content",
            "    dtype: string",
        ],
    ),
)
def test_columns_are_told_as_features(column, expected):
    assert features([column], has_types=True) == expected


def test_texts_beside_json_are_json_where_a_loader_would_guess():
    columns = [Field("messages", "list", (JSON,)), Field("started_at", "text"), Field("entries", "int")]
    assert [features(columns, has_types=typed)[3] for typed in (True, False)] == ["  dtype: string", "  dtype: json"]
    assert features(columns[1:], has_types=False)[1] == "  dtype: string"


@pytest.mark.parametrize("preset", names())
def test_no_column_of_ours_is_one_that_somebody_else_claims(preset):
    every = [field.name for field in fields(Options(preset=preset, metadata=True))]
    beside = [field.name for field in (*METADATA, *ENDING, *STEPS)]
    assert every[-len(beside) :] == beside
    assert not RESERVED & {*beside}
    assert not [markers for markers in TRACES if markers <= set(every)]
    assert len(set(every)) == len(every)
