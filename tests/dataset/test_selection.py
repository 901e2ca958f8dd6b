"""A function that chooses which sessions are written, and one that is told of each."""

from pathlib import Path

import pytest

import chatsquash
from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.core.options import list_options
from tests.checks.rows import tool
from tests.conftest import log_line, write_log
from tests.outputs import findings, report


@pytest.fixture(autouse=True)
def logs(here):
    for name in ("a", "b", "c"):
        write_log(here / f"logs/{name}.jsonl", log_line(f"I am {name}", tools=[tool()], session_id=name))
    return here


def plain(**options):
    return Options(**{"anonymize": False, **options})


@pytest.mark.parametrize("options", [{}, {"workers": 2}, {"format": "jsonl"}, {"duplicates": "prefix"}], ids=str)
def test_only_what_the_function_wants_is_written(options):
    seen = []

    def wants(session):
        seen.append(session)
        return "I am b" in str(session.records)

    summary = convert("logs", "out", plain(**options), filter=wants)
    assert (summary.written, dict(summary.filtered)) == (1, {"filter": 2})
    assert sorted(each.facts["session"] for each in seen) == ["a", "b", "c"]
    assert {each.refused for each in seen} == {None}
    assert [each["session"] for each in findings("filtered")] == ["a", "c"]
    assert [row["filtered"] for row in report("sessions.jsonl")] == ["filter", None, "filter"]
    (path,) = [*Path("out").glob("*.jsonl"), *Path("out").glob("data/*.jsonl")]
    assert path.read_text().count("I am") == 1


def test_what_the_function_raises_ends_the_run_and_nothing_is_written():
    def fails(session):
        raise KeyError(session.facts["session"])

    with pytest.raises(KeyError):
        convert("logs", "out", plain(), filter=fails)
    assert not list(Path(".").glob("out/*.jsonl"))


def test_a_function_is_asked_again_where_nothing_changed():
    assert convert("logs", "out", plain(), filter=lambda session: True).written == 3
    assert convert("logs", "out", plain(), filter=lambda session: "a" in session.facts["session"]).written == 1


def test_progress_is_told_of_each_session():
    told = []
    convert("logs", "out", plain(), progress=lambda log, outcome, size: told.append((log.name, size)))
    total = sum(path.stat().st_size for path in Path("logs").iterdir())
    assert told == [("a.jsonl", total), ("b.jsonl", total), ("c.jsonl", total)]


def test_the_package_shows_its_names():
    assert dir(chatsquash) == sorted(chatsquash.__all__)
    assert len(dir(chatsquash)) <= 20


def test_help_says_what_each_option_and_each_part_of_a_session_is():
    told = str(Options.__doc__)
    assert all(f"\n{each.name}: " in told for each in list_options())
    assert "--" not in told
    assert all(f"\n    {name}: " in str(chatsquash.Session.__doc__) for name in chatsquash.Session._fields)


def test_a_text_in_place_of_several_is_an_error_that_says_how_it_is_written():
    with pytest.raises(UsageError, match=r"write drop=\('no-tools',\)"):
        convert("logs", "out", Options(drop="no-tools"))
