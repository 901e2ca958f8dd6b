"""The dataset of shards is that of one run, whatever their number, order, repetitions and interruptions."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsquash import Options, convert
from chatsquash.conversion.shards import parts
from chatsquash.conversion.shards.convert import convert_shard
from chatsquash.conversion.shards.divide import divide
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core.errors import UsageError
from tests import strategies
from tests.conftest import examples, tree
from tests.simulator import play

KEY = b"a key for tests of shards"
SAMPLES = sorted(path for path in Path("sample_logs").resolve().rglob("*") if path.suffix in (".json", ".jsonl"))
OPTIONS: list[dict[str, Any]] = [
    {},
    {"conversations": "all", "trace_replies": True, "loss": "weight"},
    {"sessions_by": "chain", "conversations": "all"},
    {"sessions_by": "chain", "preset": "hf", "split": "train=0.5,test=0.5"},
    {"sessions_by": "id", "keep_rejected": True},
    {"group_by": "none", "drop_duplicates": True, "max_turns": 6},
    {"group_by": "scenario", "json_tool_calls": True, "keep_rejected": True},
    {"preset": "hf", "format": "parquet", "metadata": True, "shard_size": 4000, "media": "keep"},
    {"preset": "hf", "format": "jsonl", "split": "train=0.7,validation=0.3", "split_by": "session"},
    {"preset": "openai", "split": "train=0.5,validation=0.5", "split_by": "day", "anonymize": False},
    {"since": "2026-01-13", "only_model": ("*4*",)},
    {"drop": ("errors",), "restore": "all", "conversations": "main"},
    {"duplicates": "prefix", "format": "jsonl", "split": "a=0.5,b=0.5", "split_by": "cluster", "keep_rejected": True},
    {"format": "parquet", "metadata": True, "loss": "weight", "loss_model": ("*4*",), "loss_skip": "failed_call,loop"},
    {"duplicates": "near", "sessions_by": "id", "conversations": "all", "loss": "weight"},
]


PLAYED = st.integers(0, 400).map(lambda seed: ("played", seed))
HOSTILE = strategies.logs().map(lambda data: ("hostile", data))
SAMPLE = st.sampled_from(SAMPLES).map(lambda path: ("sample", path))
LOGS = st.lists(PLAYED | HOSTILE | SAMPLE, min_size=1, max_size=5)
PLACES = ("2026-01-1{0}/s{0}", "s{0}", "deep/er/\udcffs{0}")


def put(here: Path, logs: list[tuple[str, Any]], place: str, *, packed: bool) -> None:
    """Write played sessions, hostile ones and samples of other formats; the last one twice, some compressed."""
    for number, (kind, what) in enumerate([*logs, logs[-1]]):
        name = place.format(number)
        if kind == "played":
            files = {f"{name}/{below}": data for below, data in play(what).files.items()}
        elif kind == "hostile":
            files = {f"{name}.jsonl": what}
        else:
            files = {f"{name}{what.suffix}": what.read_bytes()}
        for below, data in files.items():
            packs = packed and below.endswith(".jsonl")
            path = here / (f"{below}.gz" if packs else below)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(gzip.compress(data, mtime=0) if packs else data)


class Killed(BaseException):
    """Stands for what ends a process."""


def written(folder: Path) -> dict[str, Any]:
    """All files of an output folder, ``run.json`` without its time."""
    found: dict[str, Any] = {name: data for name, data in tree(folder).items() if not name.startswith(".chatsquash/")}
    run = json.loads(found["run.json"])
    run.pop("seconds")
    return {**found, "run.json": run}


def interrupted(out: Path, shard: Shard, options: Options, after: int) -> None:
    """Begin a shard and end it after so many sessions."""
    add, left = parts.PartWriter.add, [after]

    def ended(self, *told):
        if not left[0]:
            raise Killed
        left[0] -= 1
        add(self, *told)

    parts.PartWriter.add = ended  # type: ignore[method-assign]
    try:
        with suppress(Killed):
            convert_shard(out, shard, options)
    finally:
        parts.PartWriter.add = add  # type: ignore[method-assign]


@examples(60)
@given(st.data())
def test_shards_give_what_one_run_gives(data):
    logs, place, packed = data.draw(LOGS), data.draw(st.sampled_from(PLACES)), data.draw(st.booleans())
    chosen = data.draw(st.sampled_from(OPTIONS))
    options = Options(**chosen, anonymize_key=KEY if chosen.get("anonymize", True) else None)
    count = data.draw(st.integers(1, 9))
    order = data.draw(st.permutations(range(1, count + 1)))
    again = data.draw(st.lists(st.integers(1, count), max_size=3))
    killed = data.draw(st.dictionaries(st.integers(1, count), st.integers(0, 3), max_size=2))
    here = Path(tempfile.mkdtemp())
    try:
        put(here / "logs", logs, place, packed=packed)
        try:
            convert(here / "logs", here / "local", options)
        except UsageError:  # nothing is of these days
            with pytest.raises(UsageError):
                divide(here / "logs", here / "out", options, count)
            return
        divide(here / "logs", here / "out", options, count)
        for number in [*order, *again]:
            shard = Shard(number, count)
            if number in killed:
                interrupted(here / "out", shard, options, killed.pop(number))
            convert_shard(here / "out", shard, Options(anonymize_key=KEY, full=number in again))
        merge(here / "out")
        assert written(here / "out") == written(here / "local")
    finally:
        shutil.rmtree(here)
