"""What it takes to read one record out of a large file of each form, as the viewer reads it."""

from __future__ import annotations

import random
import shutil
import statistics
import string
import subprocess
import time
from contextlib import closing
from pathlib import Path

from chatsquash.core.outcome import Place
from chatsquash.dataset.shards import PACKERS
from chatsquash.records.places import read
from chatsquash.storage.folder import Folder

_AIM = 100_000_000
"""Bytes of the lines in each file."""
_TIMES = 5
_COPIES = 40


def in_each_form(folder: Path, chatsquash: str, samples: Path) -> dict[str, float]:
    """Seconds until the record in the middle of a file is there, by what the file is."""
    rows = _parquet(folder, chatsquash, samples)
    data = (folder / "one" / "conversations.jsonl").read_bytes()
    copies, count = _AIM // len(data), data.count(b"\n")
    whole = b"".join(_another(data, number) for number in range(copies))
    for form, packer in PACKERS.items():  # as chatsquash compresses them
        made = packer()
        (folder / f"records.{form}").write_bytes(made.compress(whole) + made.flush())
    line = Place("records.jsonl", copies // 2 * count + 1, copies // 2 * len(data))
    places = {
        "100 MB of lines": line,
        "100 MB of lines in gzip": line._replace(file="records.jsonl.gz"),
        "100 MB of lines in Zstandard": line._replace(file="records.jsonl.zst"),
        "Parquet": Place(rows.relative_to(folder).as_posix(), _COPIES * count // 2),
    }
    with closing(Folder(folder)) as opened:
        return {name: _median(opened, place) for name, place in places.items()}


def _parquet(folder: Path, chatsquash: str, samples: Path) -> Path:
    """A file of several row groups: the sample logs many times over; beside it their records as lines."""
    out, one = folder / "parquet", folder / "one"
    if not (out / "run.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        logs = [shutil.copytree(samples, folder / "logs" / str(number)) for number in range(_COPIES)]
        options = {out: ["--format", "parquet", "--duplicates", "keep"], one: ["--single-file"]}
        for made, given in options.items():
            read_from = logs if made == out else [samples]
            subprocess.run(
                [chatsquash, "convert", *map(str, read_from), "-o", str(made), *given, "--quiet"], check=True
            )
    return next((out / "data").iterdir())


def _another(data: bytes, number: int) -> bytes:
    """Data of the same size in other letters, since one text time after time compresses as no text does."""
    letters = list(string.ascii_lowercase)
    random.Random(number).shuffle(letters)
    return data.translate(bytes.maketrans(string.ascii_lowercase.encode(), "".join(letters).encode()))


def _median(folder: Folder, place: Place) -> float:
    taken = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        assert read(folder, place)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)
