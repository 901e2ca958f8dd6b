"""Golden cases; ``tests/golden/__init__.py`` says what one is."""

import json

import pytest

import chatsquash
from chatsquash import convert, convert_session
from chatsquash.formats import documents, formats
from chatsquash.sources.names import DOCUMENTS, LOGS
from chatsquash.translate import conversations
from tests import golden

CASES = golden.cases()


def name(case):
    return f"{case.parent.name}/{case.name}"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_case_becomes_the_bytes_expected_in_memory_and_in_a_run(case, tmp_path):
    expected = (case / "expected.jsonl").read_bytes()
    assert expected, "a case in which no record is written shows nothing"
    if golden.is_of_logs_alone(case):
        found = [
            record.line
            for log in golden.logs(case)
            for each in convert_session(golden.source(case, log), golden.options(case))
            for record in each.records
        ]
        assert b"".join(line + b"\n" for line in found) == expected
    options = golden.options(case, group_by="none")
    summary = convert([str(case / "logs")], tmp_path / "out", options)
    assert summary.files == ["data/train-00000-of-00001.jsonl" if options.folder else "conversations.jsonl"]
    assert (tmp_path / "out" / summary.files[0]).read_bytes() == expected


def test_every_folder_is_a_case_and_holds_nothing_else():
    folders = [path for path in golden.ROOT.glob("*/*") if path.parent.name not in ("__pycache__", "written")]
    assert sorted(folders) == CASES
    for case in CASES:
        assert {path.name for path in case.iterdir()} <= {"logs", "expected.jsonl", "options.json", "README.md"}
        suffixes = {*LOGS, *DOCUMENTS, ".md"}
        assert {path.suffix for path in golden.logs(case)} <= suffixes


def test_every_format_has_cases():
    found = [case.parent.name for case in CASES]
    assert all(found.count(form) >= 4 for form in (*formats(), "envelopes", "presets"))
    assert all(form in found for form in documents.names())


# What is written

CONVERSATION = json.loads((golden.WRITTEN / "conversation.json").read_bytes())


@pytest.mark.parametrize("form", conversations.writable_formats())
def test_a_conversation_is_written_as_expected(form):
    written = chatsquash.dump(chatsquash.load(CONVERSATION, "anthropic"), form)
    expected = json.loads((golden.WRITTEN / f"{form}.json").read_bytes())
    assert json.dumps(written) == json.dumps(expected), "the order counts as well"


def test_nothing_is_expected_of_formats_that_are_not_written():
    assert {path.stem for path in golden.WRITTEN.iterdir()} == {"conversation", *conversations.writable_formats()}
