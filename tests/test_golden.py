"""Golden cases; ``tests/golden/__init__.py`` says what one is and how to write it anew."""

import json
from dataclasses import fields

import pytest

import chatsquash
from chatsquash import Options, convert, convert_session
from chatsquash.formats import documents, formats
from chatsquash.translate import conversations
from tests import golden

CASES = golden.cases()
BY_OTHER_CODE = [case for case in CASES if not golden.is_by_hand(case)]


def name(case):
    return f"{case.parent.name}/{case.name}"


@pytest.fixture(params=CASES, ids=name)
def case(request):
    return request.param


def test_a_case_converts_to_the_bytes_expected(case):
    outcomes = [outcome for log in golden.logs(case) for outcome in convert_session(log, golden.options(case))]
    records = [outcome.record + b"\n" for outcome in outcomes if outcome.record is not None]
    assert b"".join(records) == (case / "expected.jsonl").read_bytes()


def test_a_case_converts_to_the_same_bytes_line_by_line(case):
    for log in golden.logs(case):
        whole = convert_session(log, golden.options(case))
        by_line = convert_session(log.read_bytes().split(b"\n"), golden.options(case))
        assert [outcome.record for outcome in by_line] == [outcome.record for outcome in whole]


def test_a_whole_run_writes_the_bytes_expected(case, tmp_path):
    options = golden.options(case)
    chosen = {field.name: getattr(options, field.name) for field in fields(options)} | {"group_by": "none"}
    summary = convert([str(case / "logs")], tmp_path / "out", Options(**chosen))
    assert summary.files == ["data/train-00000-of-00001.jsonl" if options.folder else "conversations.jsonl"]
    assert (tmp_path / "out" / summary.files[0]).read_bytes() == (case / "expected.jsonl").read_bytes()


@pytest.mark.parametrize("case", BY_OTHER_CODE, ids=name)
def test_what_is_expected_is_what_other_code_gives(case):
    expected = golden.by_other_means(case)
    assert (case / "expected.jsonl").read_bytes() == expected, "python -m tests.golden writes it anew"


def test_a_case_holds_nothing_else(case):
    assert {path.name for path in case.iterdir()} <= {"logs", "expected.jsonl", "options.json"}
    assert {path.suffix for path in golden.logs(case)} <= (
        {".jsonl", ".json"} if golden.is_by_hand(case) else {".jsonl"}
    )
    assert (case / "expected.jsonl").read_bytes(), "a case in which no record is written shows nothing"


def test_every_folder_is_a_case():
    folders = [path for path in golden.ROOT.glob("*/*") if path.parent.name not in ("__pycache__", "naive", "written")]
    assert sorted(folders) == CASES


@pytest.mark.parametrize("form", [*formats(), "envelopes", "presets"])
def test_every_format_has_cases(form):
    assert len([case for case in CASES if case.parent.name == form]) >= 4


@pytest.mark.parametrize("form", documents.names())
def test_every_document_has_a_case(form):
    assert [case for case in CASES if case.parent.name == form]


# What is written

CONVERSATION = json.loads((golden.WRITTEN / "conversation.json").read_bytes())


@pytest.mark.parametrize("form", conversations.writable())
def test_a_conversation_is_written_as_expected(form):
    written = chatsquash.dump(chatsquash.load(CONVERSATION, "anthropic"), form)
    expected = json.loads((golden.WRITTEN / f"{form}.json").read_bytes())
    assert json.dumps(written) == json.dumps(expected), "the order counts as well"


def test_nothing_is_expected_of_formats_that_are_not_written():
    assert {path.stem for path in golden.WRITTEN.iterdir()} == {"conversation", *conversations.writable()}
