"""Logs and buckets for the tests of stores."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import boto3

SAMPLES = Path(__file__).parents[2] / "sample_logs"


class Bucket:
    """A bucket, changed past the proxy by another client."""

    def __init__(self, name, server, port):
        self.name, self.server = name, server
        self.client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}")
        self.client.create_bucket(Bucket=name)

    @property
    def url(self):
        return f"s3://{self.name}"

    def put(self, key, data=b"", **given):
        self.client.put_object(Bucket=self.name, Key=key, Body=data, **given)

    def fill(self, folder, prefix):
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                self.put(f"{prefix}/{path.relative_to(folder).as_posix()}", path.read_bytes())

    def keys(self, prefix=""):
        found = self.client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        return [each["Key"] for page in found for each in page.get("Contents", ())]

    def read(self, key):
        return self.client.get_object(Bucket=self.name, Key=key)["Body"].read()

    def files(self, prefix):
        return {key.removeprefix(f"{prefix}/"): self.read(key) for key in self.keys(f"{prefix}/")}


def line(number, words=20, session="s"):
    """A line of a log that grows."""
    asked = [
        {"role": ("user", "assistant")[at % 2], "content": f"{session} {at} " + "word " * words}
        for at in range(2 * number + 1)
    ]
    said = {"role": "assistant", "content": f"{session} {2 * number + 1} " + "word " * words}
    response = {"choices": [{"message": said, "finish_reason": "stop"}]}
    when = f"2026-01-02T03:{number // 60:02}:{number % 60:02}Z"
    told = {"timestamp": when, "session_id": session, "request": {"model": "m", "messages": asked}}
    return json.dumps({**told, "response": response}).encode() + b"\n"


def log(count, words=20, session="s"):
    """A log with so many lines."""
    return b"".join(line(number, words, session) for number in range(count))


def folder(path="logs"):
    """A folder with logs of all kinds: samples, large, compressed, nested, several sessions in a file, broken, empty."""
    root = Path(path)
    shutil.copytree(SAMPLES, root / "samples")
    (root / "a-b").mkdir()
    made = {
        "a-b/large.jsonl": log(40, 100, "large"),
        "a-b.jsonl": log(3, session="beside"),
        "a/small.jsonl": log(2, session="small"),
        "a/packed.jsonl.gz": gzip.compress(log(20, session="packed"), mtime=0),
        "a/mixed.jsonl": b"".join(line(n, 5, s) for n in range(8) for s in ("one", "two")),
        "a/broken.jsonl": log(2, session="broken") + b"{nothing\n",
        "a/empty.jsonl": b"",
        "z ä?#%41/odd name.jsonl": log(2, session="odd"),
        "notes.txt": b"no log",
    }
    for name, data in made.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_bytes(data)
    return root


def comparable(files, prefix=""):
    """The files of an output without what names the folder of the logs, or the time that the run took."""
    kept = {name: data for name, data in files.items() if data is not None and not name.startswith(".chatsquash")}
    kept = {name: data.replace(prefix.encode(), b"logs") if prefix else data for name, data in kept.items()}
    run = json.loads(kept.pop("run.json"))
    run.pop("seconds")
    for each in run["outputs"]:  # that hold those names
        if each["path"].startswith("reports/"):
            del each["sha256"], each["size"]
    return kept, run
