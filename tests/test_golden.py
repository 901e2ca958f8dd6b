"""Golden cases; ``tests/golden/__init__.py`` says what one is and how to write it anew."""

from dataclasses import fields

import pytest

from pipeline import Options, convert, convert_session
from pipeline.formats import formats
from tests import golden

CASES = golden.cases()
ONE_SESSION_A_LOG = [case for case in CASES if case.name not in golden.BY_ID]


def name(case):
    return f"{case.parent.name}/{case.name}"


@pytest.fixture(params=CASES, ids=name)
def case(request):
    return request.param


@pytest.mark.parametrize("case", ONE_SESSION_A_LOG, ids=name)
def test_a_case_converts_to_the_bytes_expected(case):
    outcomes = [convert_session(log, golden.options(case)) for log in golden.logs(case)]
    records = [outcome.record + b"\n" for outcome in outcomes if outcome.record is not None]
    assert b"".join(records) == (case / "expected.jsonl").read_bytes()


@pytest.mark.parametrize("case", ONE_SESSION_A_LOG, ids=name)
def test_a_case_converts_to_the_same_bytes_line_by_line(case):
    for log in golden.logs(case):
        whole = convert_session(log, golden.options(case))
        by_line = convert_session(log.read_bytes().split(b"\n"), golden.options(case))
        assert by_line.record == whole.record


def test_a_whole_run_writes_the_bytes_expected(case, tmp_path):
    options = golden.options(case)
    chosen = {field.name: getattr(options, field.name) for field in fields(options)} | {"group_by": "none"}
    summary = convert([str(case / "logs")], tmp_path / "out", Options(**chosen))
    assert summary.files == ["data/train-00000-of-00001.jsonl" if options.folder else "conversations.jsonl"]
    assert (tmp_path / "out" / summary.files[0]).read_bytes() == (case / "expected.jsonl").read_bytes()


def test_what_is_expected_is_what_other_code_gives(case):
    expected = golden.by_other_means(case)
    assert (case / "expected.jsonl").read_bytes() == expected, "python -m tests.golden writes it anew"


def test_a_case_holds_nothing_else(case):
    assert {path.name for path in case.iterdir()} <= {"logs", "expected.jsonl", "options.json"}
    assert {path.suffix for path in (case / "logs").iterdir()} == {".jsonl"}
    assert (case / "expected.jsonl").read_bytes(), "a case in which no record is written shows nothing"


def test_every_folder_is_a_case():
    folders = [path for path in golden.ROOT.glob("*/*") if path.parent.name not in ("__pycache__", "naive")]
    assert sorted(folders) == CASES


@pytest.mark.parametrize("form", [*formats(), "envelopes", "presets"])
def test_every_format_has_cases(form):
    assert len([case for case in CASES if case.parent.name == form]) >= 4
