"""Presets are found in their folder; what trainers want beside a dataset."""

import json
import subprocess
import sys
from pathlib import Path

from chatsquash.records import presets
from tests.conftest import cases

FOLDER = Path(presets.__file__).parent


def test_presets_are_the_modules_of_their_folder_the_default_first():
    modules = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
    assert presets.names()[0] == presets.DEFAULT == "chat"
    assert sorted(presets.names()) == modules


def test_names_are_told_without_any_of_them():
    code = "import sys; from chatsquash.records import presets; presets.names(); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in shown if name.startswith("chatsquash.records")] == [
        "chatsquash.records",
        "chatsquash.records.presets",
    ]
    assert not {"polars", "orjson"} & set(shown)  # structs need msgspec, which every command imports


def test_a_conversion_to_the_specified_record_loads_none_of_what_shapes():
    code = (
        "import sys, chatsquash\n"
        'line = \'{"request": {"messages": [{"role": "user", "content": "hi"}]}}\'\n'
        "assert chatsquash.convert_session([line], chatsquash.Options(anonymize=False))[0].record\n"
        "print(*sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "chatsquash.records.presets" in shown
    assert not {"chatsquash.records.shaping", "chatsquash.records.presets.hf", "chatsquash.records.presets.chat"} & set(
        shown
    )


@cases("splits, expected",
    ("a split is an entry", {"train": ["data/a.jsonl"], "validation": ["data/b.jsonl"]}, {"train": "data/a.jsonl", "validation": "data/b.jsonl"}),
    ("the only split is its folder", {"train": ["data/a.jsonl", "data/b.jsonl"]}, {"train": "data"}),
    ("files of several splits are entries of their own", {"train": ["data/a.jsonl", "data/b.jsonl"], "test": ["data/c.jsonl"]}, {"train_0": "data/a.jsonl", "train_1": "data/b.jsonl", "test": "data/c.jsonl"}),
    ("a split without files is none", {"train": ["data/a.jsonl"], "test": []}, {"train": "data/a.jsonl"}),
)  # fmt: skip
def test_dataset_info_leads_llama_factory_to_the_files(splits, expected):
    files = presets.get_preset("sharegpt").extra_files([name for parts in splits.values() for name in parts], splits)
    assert list(files) == ["dataset_info.json"]
    info = json.loads(files["dataset_info.json"])
    assert {name: entry["file_name"] for name, entry in info.items()} == expected
    for entry in info.values():
        assert entry["formatting"] == "sharegpt"
        columns = {column.name for column in presets.get_preset("sharegpt").COLUMNS}
        assert set(entry["columns"].values()) == columns
        assert {entry["tags"]["role_tag"], entry["tags"]["content_tag"]} == {"from", "value"}


def test_the_tags_of_llama_factory_are_those_of_the_turns():
    preset = presets.get_preset("sharegpt")
    tags = json.loads(preset.extra_files([], {"train": ["a"]})["dataset_info.json"])["train"]["tags"]
    kinds = preset.SCHEMA["properties"]["conversations"]["items"]["properties"]["from"]["enum"]
    assert {tags[tag] for tag in ("user_tag", "assistant_tag", "observation_tag", "function_tag")} == set(kinds)
