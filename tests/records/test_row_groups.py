"""The row groups of Parquet files, and that none is expanded which is too large."""

import io
import random

import polars as pl
import pytest

from chatsquash import Options, convert
from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Place
from chatsquash.records import places
from chatsquash.storage.parquet_footer import FooterError, row_groups
from chatsquash.view.conversation import Needle
from chatsquash.view.pages.search import hits
from chatsquash.view.result import ViewerResult
from tests.conftest import log_line, user, write_log


def written(frame, **options):
    file = io.BytesIO()
    frame.write_parquet(file, **options)
    return file


@pytest.mark.parametrize("statistics", [True, False])
def test_rows_and_sizes_are_those_of_the_file(statistics):
    frame = pl.DataFrame({"messages": [[f"{at} " * 1_000] for at in range(5)], "n": range(5), "f": [True] * 5})
    groups = row_groups(written(frame, row_group_size=2, statistics=statistics, metadata={"a": "b"}))
    assert [group.rows for group in groups] == [2, 2, 1]
    assert all(group.sizes.keys() == {"messages", "n", "f"} for group in groups)
    assert all(2_000 * group.rows <= group.sizes["messages"] < 2_200 * group.rows for group in groups)


def test_many_columns_and_groups_are_told():
    frame = pl.DataFrame({f"c{at}": range(40) for at in range(30)})
    groups = row_groups(written(frame, row_group_size=1))
    assert len(groups) == 40
    assert all(len(group.sizes) == 30 for group in groups)


def test_a_damaged_footer_is_an_error_and_nothing_else():
    frame = pl.DataFrame({"messages": [["x"], ["y"]]})
    data = written(frame, row_group_size=1).getvalue()
    rng = random.Random(1)
    told = 0
    for _ in range(3_000):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(data) // 2, len(data))] = rng.randrange(256)
        try:
            row_groups(io.BytesIO(damaged[: rng.choice((None, -1, 20))]))
        except FooterError:
            told += 1
    assert told > 1_000


@pytest.fixture
def large(here, monkeypatch):
    """A result of which a row group is too large, and nothing may be expanded."""
    for at in range(3):
        write_log(here / f"logs/{at}.jsonl", log_line(user(f"word {at} " + "x" * 90_000), session_id=f"s{at}"))
    convert("logs", "out", Options(anonymize=False, format="parquet", preset="hf"))
    monkeypatch.setattr(places, "LONGEST", 200_000)

    def expand(*_, **__):
        raise AssertionError("it is expanded")

    monkeypatch.setattr(pl, "scan_parquet", expand)
    return ViewerResult(here / "out")


def test_no_record_of_a_row_group_that_is_too_large_is_read(large):
    name = next(name for name in large.outputs if name.endswith(".parquet"))
    for reads in (
        lambda: places.read(large.folder, Place(name, 1, None)),
        lambda: list(places.rows(large.folder, name)),
        lambda: list(hits(large, Needle("word"))),
    ):
        with pytest.raises(UsageError, match=r"cannot be read \(a row group has \d+,\d+ bytes, more than"):
            reads()


def test_a_record_that_is_longer_than_one_may_be_is_not_kept(here, monkeypatch):
    """As JSON a text may be six times as long as in the file."""
    write_log(here / "logs/a.jsonl", log_line(user("a"), session_id="a"))
    convert("logs", "out", Options(anonymize=False, format="parquet", preset="hf"))
    result = ViewerResult(here / "out")
    name = next(name for name in result.outputs if name.endswith(".parquet"))
    pl.DataFrame({"messages": ["\0" * 300_000]}).write_parquet(here / "out" / name)
    monkeypatch.setattr(places, "LONGEST", 1_000_000)
    for reads in (lambda: result.records.read(Place(name, 1, None)), lambda: list(places.rows(result.folder, name))):
        with pytest.raises(UsageError, match=":1: line is longer than"):
            reads()
    assert not result.records._last
