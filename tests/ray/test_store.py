"""Logs and output in a bucket: each worker opens the store for itself."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import tree
from tests.ray import clusters
from tests.remote.conftest import SECRET, moto, s3  # noqa: F401
from tests.remote.logs import comparable, folder


def test_a_bucket_gives_what_a_local_run_gives(s3):  # noqa: F811
    folder()
    Path("key").write_text(clusters.KEY)
    key = ("--anonymize-key-file", Path("key").resolve())
    local = clusters.ran(Path("logs").resolve(), "-o", Path("out").resolve(), *key)
    assert local.returncode in (0, 3), local.stderr
    s3.fill("logs", "logs")
    done = clusters.ran(f"{s3.url}/logs", "-o", f"{s3.url}/out", "--engine", "ray", "--workers", 2, *key)
    assert done.returncode == local.returncode, done.stderr
    files, run = comparable(s3.files("out"), f"{s3.url}/logs")
    expected, expected_run = comparable(tree(Path("out")), str(Path("logs").resolve()))
    assert run == expected_run
    assert files == expected
    assert SECRET not in done.stdout + done.stderr
    assert not [path for path in s3.keys("out/.chatsquash/") if "begun" in path or "trial" in path]
