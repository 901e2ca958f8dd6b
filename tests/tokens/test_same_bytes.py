"""The same samples for any number of workers, when logs are added, and when outputs are merged."""

import json
import os
import random
import shutil
import subprocess
import sys

import pytest

from .test_drift import wander

OPTIONS = ["--samples", "tokens", "--preset", "hf", "--no-anonymize", "--metadata"]
SESSIONS = 6


def run(folder, *arguments):
    command = [sys.executable, "-m", "chatsquash", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "HOME": str(folder)}, check=False)
    assert done.returncode == 0, done.stderr


def files(out):
    return {file.name: file.read_bytes() for file in sorted((out / "data").iterdir())}


def token_samples(out):
    return json.loads((out / "run.json").read_text())["counts"]["token_samples"]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_workers_additions_and_merges_write_the_same_bytes(form, tmp_path):
    parts = [tmp_path / "a", tmp_path / "b"]
    for seed in range(SESSIONS):
        client, _ = wander(random.Random(seed))
        for line in client.lines:
            line["session_id"] = f"s{seed}"
        client.write(tmp_path / "logs", f"s{seed}.jsonl")
        client.write(parts[seed * 2 // SESSIONS], f"s{seed}.jsonl")
    options = [*OPTIONS, "--format", form]
    for workers in ("1", "2"):
        run(tmp_path, "convert", tmp_path / "logs", "-o", tmp_path / f"out{workers}", *options, "--workers", workers)
    expected = files(tmp_path / "out1")
    assert files(tmp_path / "out2") == expected
    for part in parts:
        run(tmp_path, "convert", part, "-o", tmp_path / f"out-{part.name}", *options)
    run(tmp_path, "merge", *(tmp_path / f"out-{part.name}" for part in parts), "-o", tmp_path / "merged")
    assert files(tmp_path / "merged") == expected
    shutil.copytree(parts[0], tmp_path / "growing")
    run(tmp_path, "convert", tmp_path / "growing", "-o", tmp_path / "grown", *options)
    shutil.copytree(parts[1], tmp_path / "growing", dirs_exist_ok=True)
    run(tmp_path, "convert", tmp_path / "growing", "-o", tmp_path / "grown", *options)
    assert files(tmp_path / "grown") == expected
    counts = token_samples(tmp_path / "out1")
    assert counts["breaks"]
    assert all(token_samples(tmp_path / out) == counts for out in ("out2", "merged", "grown"))
