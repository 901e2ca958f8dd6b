"""Shards that meet in a bucket, over a way on which much breaks."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.conversion.shards import remote
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from chatsquash.storage.stores import objects
from tests.conftest import tree
from tests.remote.logs import comparable, folder
from tests.remote.test_faults import PLANS

KEY = b"a key for tests of shards"
PLAIN = Options(anonymize=False)
OPTIONS = [
    Options(anonymize_key=KEY),
    Options(anonymize_key=KEY, sessions_by="chain", conversations="all"),
    Options(anonymize_key=KEY, format="parquet", preset="hf", keep_rejected=True),
]


@pytest.mark.parametrize("seed", range(1, 2 + PLANS // 10))
def test_the_dataset_is_that_of_a_local_run(s3, monkeypatch, seed):
    pauses = {"init_backoff": timedelta(milliseconds=2), "max_backoff": timedelta(milliseconds=20), "base": 2}
    monkeypatch.setitem(objects._RETRIES, "backoff", pauses)
    monkeypatch.setattr(remote, "_BUDGET", 100_000)
    options = OPTIONS[seed % len(OPTIONS)]
    convert(folder(), "out", options)
    s3.fill("logs", "logs")
    s3.server.seed = seed
    out = f"{s3.url}/out"
    divide(f"{s3.url}/logs", out, options, 4)
    for number in (3, 1, 2, 4, 2):
        convert_shard(out, Shard(number, 4), options)
    merge(out)
    assert s3.server.done.total() > 10
    files, run = comparable(s3.files("out"), f"{s3.url}/logs")
    expected, expected_run = comparable(tree(Path("out")))
    assert run == expected_run
    assert files == expected
    assert [key for key in s3.keys("out/") if ".chatsquash" in key] == ["out/.chatsquash/written.json"]


@pytest.fixture
def listed(s3, here):
    """An output with a listing of two shards."""
    folder()
    divide("logs", f"{s3.url}/out", PLAIN, 2)
    return f"{s3.url}/out"


def test_a_shard_that_is_converted_is_skipped(s3, listed):
    assert not convert_shard(listed, Shard(1, 2), PLAIN).is_known
    before = s3.files("out")
    assert convert_shard(listed, Shard(1, 2), PLAIN).is_known
    assert not convert_shard(listed, Shard(1, 2), Options(anonymize=False, full=True)).is_known
    assert s3.files("out") == before


def test_what_is_missing_or_gone_is_told(s3, listed):
    with pytest.raises(UsageError, match=r"^2 of 2 shards not converted: 1-2; convert each with: .* -o s3://bucket-"):
        merge(listed)
    for number in (1, 2):
        convert_shard(listed, Shard(number, 2), PLAIN)
    part = json.loads(s3.read("out/.chatsquash/shards/done-00002-of-00002.json"))["part"]["name"]
    s3.client.delete_object(Bucket=s3.name, Key=f"out/.chatsquash/shards/{part}")
    with pytest.raises(UsageError, match=r"^shard 2: the output is missing or truncated; convert it again with --full"):
        merge(listed)
    with pytest.raises(
        UsageError,
        match=r"^s3://bucket-\d+/none: no listing in this folder, or its shards were already merged; create one with",
    ):
        convert_shard(f"{s3.url}/none", Shard(1, 2), PLAIN)


def test_another_listing_removes_what_was_converted(s3, listed):
    convert_shard(listed, Shard(1, 2), PLAIN)
    before = s3.files("out")
    divide("logs", listed, PLAIN, 2)
    assert s3.files("out") == before
    divide("logs", listed, Options(anonymize=False, preset="hf"), 2)
    assert not [key for key in s3.keys("out/") if "done" in key or "part" in key]


def test_no_listing_holds_a_signature(here, monkeypatch, s3):
    from chatsquash.conversion.shards import divide as division
    from chatsquash.core.log import Log
    from chatsquash.sources.find import Discovery

    found = Discovery()
    found.logs.append(Log("https://host/a.jsonl?X-Amz-Signature=abc", "https://host/a.jsonl", "a.jsonl", 5))
    monkeypatch.setattr(division, "find", lambda *_: found)
    with pytest.raises(UsageError) as refused:
        divide("https://host/a.jsonl?X-Amz-Signature=abc", "out", PLAIN, 1)
    assert str(refused.value).startswith("https://host/a.jsonl: listings cannot contain signed URLs")
    assert "abc" not in str(refused.value)
