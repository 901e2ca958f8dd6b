"""What breaks on the way changes nothing of the result."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from chatsquash import Options, convert
from chatsquash.sources import remote
from chatsquash.storage.stores import objects
from tests.conftest import tree
from tests.remote.logs import SAMPLES, comparable, folder
from tests.remote.proxy import FAULTS

PLANS = int(os.environ.get("FAULT_PLANS", "5"))
OPTIONS = [
    Options(workers=1),
    Options(workers=1, conversations="all", sessions_by="id"),
    Options(workers=1, sessions_by="chain"),
    Options(workers=1, format="parquet", metadata=True),
    Options(workers=1, keep_rejected=True, exclude=("samples/c*", "a-b", "broken*")),
]


@pytest.mark.parametrize("seed", range(1, PLANS + 1))
def test_a_run_over_a_store_with_faults_equals_the_local_run(s3, monkeypatch, seed):
    for name, size in {"FIRST": 64 << 10, "_STEP": 128 << 10, "_SEEK_SIZE": 16 << 10}.items():
        monkeypatch.setattr(remote, name, size)
    pauses = {"init_backoff": timedelta(milliseconds=2), "max_backoff": timedelta(milliseconds=20), "base": 2}
    monkeypatch.setitem(objects._RETRIES, "backoff", pauses)
    options = OPTIONS[seed % len(OPTIONS)]
    convert(folder(samples=SAMPLES / "documents"), "out", options)
    s3.fill("logs", "logs")
    s3.server.seed = seed
    convert(f"{s3.url}/logs", f"{s3.url}/out", options)
    assert s3.server.done.total() > 15
    assert len(s3.server.done) >= len(FAULTS) - 1
    files, run = comparable(s3.files("out"), f"{s3.url}/logs")
    expected, expected_run = comparable(tree(Path("out")))
    assert run == expected_run
    assert files == expected
    assert [key for key in s3.keys("out/") if ".chatsquash" in key] == ["out/.chatsquash/written.json"]
