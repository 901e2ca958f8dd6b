"""What the viewer opens: a folder without a result, or with a table that is none, is an error that says so."""

import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.view.result import ViewerResult
from tests.conftest import log_line, user, write_log


def test_a_folder_without_a_result_is_an_error(here):
    (here / "empty").mkdir()
    with pytest.raises(UsageError, match=r"run\.json: cannot be read \(No such file"):
        ViewerResult(here / "empty")


@pytest.mark.parametrize("table", ["{", '{"file": 1}\n', "[]\n", '{"findings": 3}\n'])
def test_a_table_that_is_none_of_ours_is_an_error_and_no_crash(here, table):
    write_log(here / "logs/a.jsonl", log_line(user("hi")))
    convert("logs", "out", Options(anonymize=False))
    (here / "out/reports/sessions.jsonl").write_text(table)
    result = ViewerResult(here / "out")
    try:
        height = result.sessions.height
    except UsageError as problem:
        height = 0
        why = str(problem)
    else:
        why = "was not written by this version of chatsquash"
    assert "was not written by this version of chatsquash" in why
    assert all(result.place(at) is None for at in range(height))
